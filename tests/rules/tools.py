#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""--help of the programs in tools prints help, and wrong arguments are refused: neither installs a
package, even where all are missing. tools/trust reports what fails, whatever that printed before."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from source import TOP, finish

# Program, arguments, exit status.
CASES = [("vm", ["--help"], 0), ("vm", ["-h"], 0), ("vm", ["test", "--help"], 0), ("vm", ["demo", "--help"], 0),
         ("vm", ["run", "-h"], 0), ("run", ["--help"], 0), ("run", ["-h"], 0), ("run", ["foo"], 2),
         ("check", ["--help"], 0), ("fuzz", ["-h"], 0), ("fuzz", ["ten"], 1), ("analyze", ["--help"], 0),
         ("analyze", ["lint"], 1), ("coverage", ["-h"], 0), ("coverage", ["all"], 1),
         ("trust", ["--help"], 0), ("trust", ["ten"], 1), ("package", ["--help"], 0),
         ("package", ["--suite", "trixie", "foo"], 2), ("package", ["reproduce", "foo"], 2),
         ("package", ["cross", "foo"], 2)]


def stub(directory, name, text):
    path = Path(directory) / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def check(program, arguments, status):
    """Packages are all missing; what would install them leaves a mark and fails."""
    with tempfile.TemporaryDirectory(prefix="idled-tools-") as directory:
        mark = Path(directory) / "mark"
        stub(directory, "dpkg-query", "exit 1\n")
        stub(directory, "apt-get", f'touch "{mark}"\nexit 1\n')
        run = subprocess.run([TOP / "tools" / program, *arguments], capture_output=True, text=True,
                             timeout=60, check=False,
                             env=dict(os.environ, PATH=f"{directory}:{os.environ['PATH']}"))
        what = f"tools/{program} " + " ".join(arguments)
        text = run.stderr if status else run.stdout
        if mark.exists():
            yield f"{what}: installs packages"
        elif run.returncode != status or "usage: " not in text:
            yield f"{what}: exit status {run.returncode}: {run.stdout[:200]}{run.stderr[:200]}"
        elif status and arguments[-1] not in text:
            yield f"{what}: does not name the argument: {text[:200]}"


# What each program prints that tools/trust calls.
PRINTED = {
    "meson": "9 calls of 8 members\n7 faults tried: {}\nRan 6 tests in 5 s\n5 kB, then 4\n",
    "fuzz": "app address 4000 10 300 -\n",
    "analyze": "no findings\n",
    "coverage": "| all | 100 | 90.0 | x | 50 | 80.0 |\n",
    "vm": "minute 1: 9 turns, 1 kB\nminute 2: 9 turns, 2 kB\nminute 3: 9 turns, 3 kB\n",
    "systemd-analyze": "Overall exposure level for idled.service: 1.8 OK\n",
}
ROWS = {"meson": 4}


def trust(name=None, how=None):
    """The rows of its table that say FAILED, if one of these programs fails, prints nothing, or skips tests."""
    with tempfile.TemporaryDirectory(prefix="idled-tools-") as directory:
        tools, build = Path(directory, "tools"), Path(directory, "build-check")
        tools.mkdir()
        build.mkdir()
        (build / "build.ninja").touch()
        for program in "trust", "setup.sh":
            shutil.copy(TOP / "tools" / program, tools)
        for program, text in {"ninja": "", **PRINTED}.items():
            its = how if program == name else None
            text = {"is silent": "", "skips": text + "OK (skipped=1)\n"}.get(its, text)
            stub(tools, program, f"cat <<'END'\n{text}END\nexit {int(its == 'fails')}\n")
        run = subprocess.run([tools / "trust"], capture_output=True, text=True, timeout=60, check=False,
                             env=dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}"))
        rows = [line for line in run.stdout.splitlines() if "FAILED" in line]
        what = f"tools/trust, where {name or 'nothing'} {how or 'fails'}"
        if len(rows) != (ROWS.get(name, 1) if name else 0):
            yield f"{what}: {len(rows)} rows say FAILED: {run.stdout}{run.stderr}"
        if (run.returncode != 0) != bool(name):
            yield f"{what}: exit status {run.returncode}"


TRUST = [(), ("meson", "skips"), *((name, how) for name in PRINTED for how in ("fails", "is silent"))]
problems = [problem for case in CASES for problem in check(*case)]
problems += [problem for case in TRUST for problem in trust(*case)]
finish(problems, len(CASES) + len(TRUST))
