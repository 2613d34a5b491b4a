#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""tools/vm --help prints help: it installs no package, even where all are missing."""

import os
import subprocess
import tempfile
from pathlib import Path

from source import TOP, finish

HELP = (["--help"], ["-h"], ["test", "--help"], ["run", "-h"])


def stub(directory, name, text):
    path = Path(directory) / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def check(arguments):
    """Packages are all missing; what would install them leaves a mark and fails."""
    with tempfile.TemporaryDirectory(prefix="idled-tools-") as directory:
        mark = Path(directory) / "mark"
        stub(directory, "dpkg-query", "exit 1\n")
        stub(directory, "apt-get", f'touch "{mark}"\nexit 1\n')
        run = subprocess.run([TOP / "tools/vm", *arguments], capture_output=True, text=True,
                             timeout=60, check=False,
                             env=dict(os.environ, PATH=f"{directory}:{os.environ['PATH']}"))
        what = "tools/vm " + " ".join(arguments)
        if mark.exists():
            yield f"{what}: installs packages"
        elif run.returncode != 0 or not run.stdout.startswith("usage: "):
            yield f"{what}: exit status {run.returncode}: {run.stdout[:200]}{run.stderr[:200]}"


finish([problem for arguments in HELP for problem in check(arguments)], len(HELP))
