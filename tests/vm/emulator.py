# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which QEMU runs a guest.

Normally the one of this machine. If the guest's time is counted in instructions, QEMU before 8.1 gives
all of it to one CPU, and the guest does not boot. For these guests a newer QEMU is cached with the
images, with the libraries that it needs, and run by its own dynamic linker.
"""

import hashlib
import re
import subprocess

import image

PROGRAM = "qemu-system-x86_64"
LIBRARIES = "usr/lib/x86_64-linux-gnu"


def system_version():
    text = subprocess.run([PROGRAM, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return tuple(int(n) for n in re.search(r"version (\d+)\.(\d+)", text).groups())


def unpacked(suite, say):
    """The command of the QEMU of another suite."""
    def make(directory):
        say(f"unpacking QEMU of {suite}")
        image.run_logged([str(image.HERE / "unpack"), suite, "qemu-system-x86", str(directory)],
                         directory / "log", f"QEMU of {suite}")

    inputs = (image.HERE / "unpack").read_text() + image.sources()
    digest = hashlib.sha256(inputs.encode()).hexdigest()[:16]
    root = image.cached(f"qemu-{suite}-{digest}", make) / "root"
    libraries = root / LIBRARIES
    return ["env", f"QEMU_MODULE_DIR={libraries}/qemu",
            str(libraries / "ld-linux-x86-64.so.2"),
            "--library-path", f"{libraries}:{libraries}/pulseaudio",
            str(root / "usr/bin" / PROGRAM),
            "-L", str(root / "usr/share/qemu"), "-L", str(root / "usr/share/seabios")]


def command(counted, say=print):
    """How to call QEMU for a guest whose time is counted in instructions, or is this machine's."""
    if not counted or system_version() >= (8, 1):
        return [PROGRAM]
    return unpacked("trixie", say)
