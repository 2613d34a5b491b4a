#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The rules for Prometheus are well-formed, record what they should, and raise each alert when they
should and not before: promtool's own tests. Everything that they and the dashboard read is printed
by idlectl metrics. 77, which is "skipped", where promtool is not installed."""
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
RULES = TOP / "conf/prometheus/idled.rules.yml"
SKIPPED = 77


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout + done.stderr)
    return done.returncode


def names_printed():
    """Names of samples, from the tables of the source."""
    text = (TOP / "ctl/verbs/metrics-families.c").read_text()
    names = set(re.findall(r'"(idled_[a-z0-9_]+)"', text))
    return names | {name + suffix for name in names for suffix in ("_total", "_info")}


def names_read():
    text = RULES.read_text()
    for panel in json.loads((TOP / "conf/grafana/idled.json").read_text())["panels"]:
        text += "".join(target["expr"] + "\n" for target in panel.get("targets", []))
    recorded = set(re.findall(r"record: (\S+)", text))
    return {n for n in re.findall(r"[a-z_:]*\bidled_[a-z0-9_:]+|[a-z_]+:idled_[a-z0-9_:]+", text)
            if n not in recorded}


def main():
    unknown = names_read() - names_printed()
    for name in sorted(unknown):
        print(f"{name}: is read, but idlectl metrics does not print it")
    if not shutil.which("promtool"):
        print("needs promtool")
        sys.exit(1 if unknown else SKIPPED)
    status = run("promtool", "check", "rules", str(RULES))
    status |= run("promtool", "test", "rules", *map(str, sorted(HERE.glob("*.test.yml"))))
    sys.exit(1 if unknown or status else 0)


main()
