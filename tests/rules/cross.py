#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idled builds for another machine: nothing that is built for it runs while building.

The cross file names this machine's compiler and claims that its programs do not run here, so that
Meson refuses to configure a build that would run one. The manual pages, which a native tool fills
from the tables and the policies, are the same as those of the native build.

usage: cross.py BUILD MESON NINJA COMPILER...
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from source import TOP, finish

CROSS = """[binaries]
c = {compiler}
ar = 'ar'
strip = 'strip'
pkgconfig = 'pkg-config'

[properties]
needs_exe_wrapper = true

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
"""
PAGES = ("idled.8", "idled.conf.5", "org.idled1.5")


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return [] if done.returncode == 0 else [f"{' '.join(command)}:\n{done.stdout[-4000:]}"]


def text(page):
    """Without the heading, which has the day of the build."""
    return [line for line in page.read_text().split("\n") if not line.startswith(".TH ")]


def differ(native, cross):
    for page in PAGES:
        if text(native / "man" / page) != text(cross / "man" / page):
            yield f"{page}: differs from the native build's"


def main():
    build, meson, ninja, *compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="idled-cross-") as directory:
        cross, description = Path(directory) / "build", Path(directory) / "cross.ini"
        description.write_text(CROSS.format(compiler=compiler))
        problems = run(meson, "setup", "--cross-file", str(description), "-Dtests=false",
                       "-Dbpf=disabled", str(cross), str(TOP))
        problems = problems or run(ninja, "-C", str(cross), *(f"man/{page}" for page in PAGES))
        problems = problems or list(differ(Path(build), cross))
    finish(problems, len(PAGES))


main()
