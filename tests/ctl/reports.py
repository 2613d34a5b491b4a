# SPDX-License-Identifier: LGPL-2.1-or-later
"""What tests of idlelab report share: recordings that are made, and pages about them."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from ctltest import IDLELAB, environment

MAKE_RECORDING = os.environ["MAKE_RECORDING"]


def make_recording(directory, kind, cpus, seconds):
    path = Path(directory, f"{kind}-{cpus}-{seconds}.rec")
    subprocess.run([MAKE_RECORDING, kind, str(cpus), str(seconds), str(path)], check=True)
    return path


def make_page(test, *recordings, **more):
    """The page about recordings of (KIND, CPUS, SECONDS), until the test ends; `more` is its environment."""
    directory = tempfile.mkdtemp(prefix="idlectl-report-")
    test.addCleanup(shutil.rmtree, directory)
    page = Path(directory, "page.html")
    paths = [str(make_recording(directory, *recording)) for recording in recordings]
    result = subprocess.run([IDLELAB, "report", "--output", str(page), *paths], capture_output=True,
                            text=True, env=environment(**more), check=False, timeout=120)
    test.assertEqual((result.returncode, result.stderr), (0, ""))
    return page
