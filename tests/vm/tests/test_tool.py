# SPDX-License-Identifier: LGPL-2.1-or-later
"""tools/vm as people use it: a shell on a terminal, a command with its exit status and files."""

import os
import pty
import re
import select
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import lab

TOOL = lab.HERE.parents[1] / "tools/vm"


class ToolTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if lab.settings.short:
            raise unittest.SkipTest("takes long")
        lab.supplies()
        lab.shut_down()  # one guest at a time is enough for any host

    def arguments(self, *words):
        return [str(TOOL), "--suite", lab.settings.suite, *words]


class Tool(ToolTest):
    def run_tool(self, *words):
        return subprocess.run(self.arguments(*words), text=True, check=False, timeout=900,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)

    def test_exit_status_output_and_files(self):
        with tempfile.TemporaryDirectory() as directory:
            share = Path(directory) / "share"
            share.mkdir()
            (share / "in").write_text("carried over\n")
            (share / "script").write_text("cat in >out; nproc; echo complaint >&2; exit 7\n")
            result = self.run_tool("--smp", "1x2", "run", "--share", str(share),
                                   "cd /share/files && bash script")
            self.assertEqual((result.returncode, result.stdout), (7, "2\n"))
            self.assertIn("complaint", result.stderr)
            self.assertEqual((share / "out").read_text(), "carried over\n")

    def test_options_of_module_and_kernel(self):
        result = self.run_tool("--smp", "1x1", "--module", "freqs_khz=2000000,1000000",
                               "--append", "lab.mark", "run",
                               "cat /sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq; "
                               "grep -o lab.mark /proc/cmdline")
        self.assertEqual((result.returncode, result.stdout), (0, "2000000\nlab.mark\n"))

    def test_tests_end_with_it(self):
        with subprocess.Popen(self.arguments("test", "lab.OtherMachines"), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            line = process.stdout.readline()
            while line and not line.startswith("test_"):
                line = process.stdout.readline()
            process.terminate()
            rest = process.communicate(timeout=300)[0]
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, rest)
        self.assertNotIn("test_small_range", rest)

    def test_counted_time(self):
        result = self.run_tool("--smp", "1x1", "--icount", "1", "run", "true")
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)

    def test_boots_once(self):
        """Later runs resume there, with the present time and without files of earlier runs."""
        script = "cat /proc/sys/kernel/random/boot_id; date +%s; ls /root; touch /root/mark"
        which, marks = [], []
        for words in ([], [], ["--boot"]):
            result = self.run_tool(*words, "run", script)
            self.assertEqual(result.returncode, 0, result.stderr)
            boot_id, now, *files = result.stdout.split()
            self.assertLess(abs(int(now) - time.time()), 60)
            which.append(boot_id)
            marks += files
        self.assertEqual(which[0], which[1])
        self.assertNotEqual(which[0], which[2])
        self.assertEqual(marks, [])


class Shell(ToolTest):
    def setUp(self):
        build = ["--build", lab.settings.build] if lab.settings.build else []
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execv(TOOL, self.arguments("--smp", "1x2", "shell", *build))
        self.seen = b""
        self.addCleanup(self.clean_up)

    def clean_up(self):
        os.close(self.terminal)
        if self.pid:
            os.kill(self.pid, signal.SIGTERM)
            os.waitpid(self.pid, 0)

    def expect(self, pattern, seconds=900):
        """Reads until this was printed."""
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.seen):
            left = deadline - time.monotonic()
            self.assertGreater(left, 0, f"no {pattern!r} in {self.seen!r}")
            if not select.select([self.terminal], [], [], left)[0]:
                continue
            try:
                data = os.read(self.terminal, 4096)
            except OSError:  # the program has closed the terminal
                data = b""
            self.assertTrue(data, f"the end instead of {pattern!r} after {self.seen!r}")
            self.seen += data
        self.seen = re.split(pattern, self.seen, maxsplit=1)[1]

    def say(self, text):
        os.write(self.terminal, text.encode() + b"\n")

    def wait(self):
        """Waits for its end. It must read the output, or the program blocks."""
        while True:
            try:
                if not os.read(self.terminal, 4096):
                    break
            except OSError:
                break
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.pid = 0
        return status

    def test_prompt_commands_and_end(self):
        self.expect(rb"root@lab:~# ")
        self.say("echo it is $((6 * 7))")
        self.expect(rb"it is 42\r")
        self.say("test -t 0 && systemctl is-system-running --wait")
        self.expect(rb"[\r\n]running\r")
        if lab.settings.build:
            self.say("systemctl start idled && busctl get-property org.idled1 /org/idled1 "
                     "org.idled1.Manager Online")
            self.expect(rb's "0-1"\r')
        self.say("sleep 1000")
        self.expect(rb"sleep 1000[\r\n]")
        os.write(self.terminal, b"\x03")  # goes to the guest, not to the emulator
        self.expect(rb"root@lab:~# ")
        self.say("exit 3")
        self.assertEqual(self.wait(), 3)
