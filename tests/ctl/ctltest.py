# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests of idlectl share: a private bus, a daemon that only talks, and idlectl itself.

The environment says where things are: IDLECTL, IDLELAB, IDLED_MACHINES, IDLED_POLICIES.
With UPDATE_GOLDEN=1 what idlectl prints becomes what is expected.
"""
import difflib
import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unittest
from pathlib import Path

import measured

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from privatebus import Bus  # pylint: disable=wrong-import-position

IDLECTL = os.environ["IDLECTL"]
IDLELAB = os.environ["IDLELAB"]  # empty: not built
LAB = {"record", "export", "report", "diff", "replay", "advise", "latency", "estimate", "prove"}
POLICIES = os.environ["IDLED_POLICIES"]
TIMEOUT = 30


def environment(**more):
    """Without what the caller's terminal or bus would change."""
    kept = {k: v for k, v in os.environ.items()
            if k in ("PATH", "HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")}
    return {**kept, "LC_ALL": "C.UTF-8",
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/system", **more}


def program(arguments):
    """idlelab if the first of its verbs or of idlectl's is one of its own."""
    words = [word for word in arguments if not word.startswith("-")]
    return IDLELAB if words and words[0] in LAB else IDLECTL


class Fake:
    """The daemon of a scenario on a bus."""

    def __init__(self, bus, scenario):
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "fakedaemon.py"), bus.address, scenario],
            stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise AssertionError("the fake daemon does not start")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class TestCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="idlectl-test-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.bus = None

    def start(self, scenario=None):
        """A bus, with the scenario's daemon on it if one is named."""
        self.bus = Bus(self.directory)
        self.bus.start()
        self.addCleanup(self.bus.stop)
        if scenario:
            fake = Fake(self.bus, scenario)
            self.addCleanup(fake.close)

    def run_ctl(self, *arguments, env=None, **more):
        """idlectl, or idlelab if it has the verb, on the private bus if there is one."""
        command = [program(arguments)]
        if self.bus:
            command += ["--bus-address", self.bus.address]
        command += arguments
        more.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT,
                              env=environment(**(env or {})), check=False, **more)

    def run_terminal(self, *arguments, width=80, env=None):
        """What idlectl prints on a terminal so many columns wide."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        command = [program(arguments)]
        if self.bus:
            command += ["--bus-address", self.bus.address]
        command += arguments
        with subprocess.Popen(command, stdin=slave, stdout=slave,
                              env=environment(**dict({"TERM": "xterm"}, **(env or {})))) as process:
            os.close(slave)
            text = b""
            while True:
                try:
                    block = os.read(master, 65536)
                except OSError:
                    break
                if not block:
                    break
                text += block
            os.close(master)
        self.assertEqual(process.returncode, 0)
        return text.decode().replace("\r\n", "\n")

    def assert_refused(self, result, *says, status=1):
        """What run_ctl() returned is a failure that says these on standard error, and nothing else."""
        self.assertEqual((result.returncode, result.stdout), (status, ""), result.args)
        for text in says:
            self.assertIn(text, result.stderr, result.args)

    def assert_golden(self, name, text):
        """A sensor that is added shows in `normal` and changes no other golden file."""
        path = HERE / "golden" / (name + ".txt")
        text = text.replace(self.directory, "DIR").replace(POLICIES, "POLICIES")
        text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DATE TIME", text)
        if measured.ADDED and name == "normal":
            self.assertEqual(text.count("Added       25.0%\n"), 1)
            text = text.replace("Added       25.0%\n", "")
        elif os.environ.get("UPDATE_GOLDEN") and not measured.ADDED:
            path.write_text(text)
            return
        expected = path.read_text() if path.exists() else ""
        if text != expected:
            diff = difflib.unified_diff(expected.splitlines(), text.splitlines(), "expected",
                                        "found", lineterm="")
            self.fail(f"{path.name} differs:\n" + "\n".join(diff))


def page_data(text):
    """The data of a page of idlectl, from which its script draws."""
    return json.loads(text.split('id="data">')[1].split("</script>")[0])


def machine(directory, name):
    """Builds the tree of a machine; its root."""
    machines = os.environ["IDLED_MACHINES"]
    root = os.path.join(directory, "root")
    subprocess.run([os.path.join(machines, "build"),
                    os.path.join(machines, name + ".machine"), root], check=True)
    return root
