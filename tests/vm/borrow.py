# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs of the host that a test runs in a guest, with the libraries and the dynamic linker of the host, so that
the image does not need them."""

import shutil
import subprocess
import unittest
from pathlib import Path


def borrow(guest, program):
    """The command that runs the program in the guest. Skips the test if the host does not have it."""
    path = shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if not path:
        raise unittest.SkipTest(f"the host has no {program}")
    words = subprocess.run(["ldd", path], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    place = guest.share / program
    place.mkdir(exist_ok=True)
    linker = None
    for library in {Path(word) for word in words if word.startswith("/")}:
        shutil.copyfile(library, place / library.name)
        if library.name.startswith("ld-"):
            linker = library.name
    shutil.copyfile(path, place / program)
    guest.run(f"chmod +x /share/{program}/{program} /share/{program}/{linker}")
    return f"/share/{program}/{linker} --library-path /share/{program} /share/{program}/{program}"
