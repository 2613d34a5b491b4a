#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A new visible number of the machine costs few files: HACKING.md lists them, and idled and idlectl
name no measured property and no key of `idlectl status` but in the table that drives them.
"""

import re

from source import TOP, finish, literals, relative

MOST = 12
TABLE = TOP / "daemon/model/measured.c"
# Files that name a property for a reason of their own.
OTHERS = {
    "ctl/cpus-describe.c": "a property of each CPU",
    "ctl/measure.c": "a property of each CPU",
    "daemon/bus/bus-cpu.c": "a property of each CPU",
    "ctl/metrics-families.c": "families of OpenMetrics have help and types of their own",
    "ctl/report-page.c": "the title of a chart",
}


def recipe():
    """Files that HACKING.md names under "Add a sensor"."""
    text = (TOP / "HACKING.md").read_text()
    section = re.search(r"^## Add a sensor\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)[1]
    return sorted(set(re.findall(r"`((?:daemon|tests|ctl|man)/[\w./-]+\.\w+)`", section)
                      + re.findall(r"`((?:daemon|tests)/[\w./-]*meson\.build)`", section)))


def names():
    """Properties and keys of the table."""
    text = TABLE.read_text()
    keys = " ".join(re.findall(r"\.keys = \{([^}]*)\}", text))
    return set(re.findall(r'\.property = "(\w+)"', text) + re.findall(r'"(\w+)"', keys)) - {"source"}


def main():
    problems, told, rows = [], recipe(), names()
    if not 0 < len(told) <= MOST:
        problems.append(f"HACKING.md: a sensor costs {len(told)} files, expected 1 to {MOST}: {told}")
    for path in sorted([*TOP.glob("daemon/**/*.[ch]"), *TOP.glob("ctl/*.[ch]")]):
        if path == TABLE or relative(path) in OTHERS:
            continue
        for line, text in literals(path.read_text()):
            if text in rows:
                problems.append(f'{relative(path)}:{line}: names "{text}": use the rows of measured.h')
    finish(problems, len(told) + len(rows))


main()
