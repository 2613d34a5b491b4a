#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""All C code and JavaScript is as clang-format 14, Debian 12's, formats it by the next .clang-format."""

import re
import shutil
import subprocess
import sys

from source import SKIPPED, TOP, files, finish

program = shutil.which("clang-format-14") or shutil.which("clang-format")
version = subprocess.check_output([program, "--version"], text=True) if program else "none"
if not re.search(r"version 14\.", version):
    print(f"needs clang-format 14, found {version.strip()}")
    sys.exit(SKIPPED)
sources = files(".c", ".h", ".js")
run = subprocess.run([program, "--dry-run", "-Werror", *sources], cwd=TOP, text=True,
                     stderr=subprocess.PIPE)
finish([line.replace(f"{TOP}/", "") for line in run.stderr.split("\n") if "error:" in line],
       len(sources))
