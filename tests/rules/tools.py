#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""--help of the programs in tools prints help, and wrong arguments are refused: neither installs a
package, even where all are missing."""

import os
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


finish([problem for case in CASES for problem in check(*case)], len(CASES))
