#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlectl sleeps and record without BPF, on described machines, and their bad days."""
import json
import os
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

from ctltest import IDLECTL, IDLELAB, TestCase, environment, machine, program

STATE = "sys/devices/system/cpu/cpu%d/cpuidle/state%d/%s"
NOWHERE = {"IDLED_LEDGER_DIR": "/nonexistent", "IDLED_BUS_ADDRESS": "unix:path=/nonexistent"}


def run(*arguments, **more):
    return subprocess.run([program(arguments), *arguments], env=environment(**NOWHERE), text=True, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **more)


class OfMachines(TestCase):
    def sleeps(self, name, *arguments):
        root = machine(self.directory, name)
        result = run("sleeps", "--root", root, "--seconds", "0.1", "--json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_a_laptop(self):
        answer = self.sleeps("synthetic-laptop")
        self.assertEqual(answer["source"], "sysfs")
        self.assertIn("--root names another machine", answer["source_error"])
        self.assertIsNone(answer["causes"])
        for cpu in answer["cpus"]:
            self.assertEqual(cpu["sleeps"], 0)
            self.assertIsNone(cpu["mean_us"])
            self.assertIsNone(cpu["p99_us"])

    def test_hundreds_of_cpus_with_all_states_that_there_can_be(self):
        cpus = os.path.join(self.directory, "many/sys/devices/system/cpu")
        os.makedirs(cpus)
        for name in "possible", "online":
            Path(cpus, name).write_text("0-575\n", encoding="ascii")
        for cpu in range(576):
            for state in range(10):
                directory = os.path.join(cpus, f"cpu{cpu}/cpuidle/state{state}")
                os.makedirs(directory)
                for name, value in ("name", f"C{state}"), ("usage", "7"), ("time", "900"):
                    Path(directory, name).write_text(value + "\n", encoding="ascii")
        result = run("sleeps", "--root", os.path.join(self.directory, "many"), "--json", "--", "sh", "-c",
                     f"echo 9 >{cpus}/cpu575/cpuidle/state9/usage")
        found = json.loads(result.stderr)["cpus"]
        self.assertEqual(len(found), 576)
        self.assertEqual([(row["state"], row["sleeps"]) for row in found[575]["states"]], [("C9", 2)])
        self.assertEqual(sum(cpu["sleeps"] for cpu in found), 2)

    def test_no_idle_states(self):
        for cpu in self.sleeps("synthetic-bare")["cpus"]:
            self.assertEqual(cpu["states"], [])

    def test_offline_cpus_are_left_out(self):
        found = [cpu["cpu"] for cpu in self.sleeps("synthetic-offline")["cpus"]]
        online = Path(self.directory, "root/sys/devices/system/cpu/online").read_text(encoding="ascii").strip()
        expected = [cpu for part in online.split(",") for first, _, last in [part.partition("-")]
                    for cpu in range(int(first), int(last or first) + 1)]
        self.assertEqual(found, expected)

    def test_counters_that_grow_and_go_back(self):
        root = machine(self.directory, "synthetic-laptop")
        script = ("cd $0; echo 5000 >" + STATE % (0, 1, "usage") + "; echo 10000000 >" +
                  STATE % (0, 1, "time") + "; echo 0 >" + STATE % (1, 1, "usage") +
                  "; rm -r sys/devices/system/cpu/cpu2/cpuidle")
        for name, value in ("usage", "4000"), ("time", "5000000"):
            for cpu in 0, 1:
                Path(root, STATE % (cpu, 1, name)).write_text(value + "\n", encoding="ascii")
        result = run("sleeps", "--root", root, "--json", "--", "sh", "-c", script, root)
        self.assertEqual(result.returncode, 0, result.stderr)
        cpus = {cpu["cpu"]: cpu for cpu in json.loads(result.stderr)["cpus"]}
        self.assertEqual((cpus[0]["sleeps"], cpus[0]["mean_us"]), (1000, 5000))
        self.assertEqual((cpus[1]["sleeps"], cpus[2]["sleeps"]), (0, 0))


class BadDays(TestCase):
    def test_usage(self):
        for arguments, parts in (
                (("sleeps", "--seconds", "0"), ("--seconds", '"0"', "0.1", "86400")),
                (("sleeps", "--seconds", "1s"), ("--seconds", '"1s"', "number")),
                (("sleeps", "--cpus", "x"), ("--cpus", '"x"', "0-3,8")),
                (("sleeps", "--cpus", ""), ("--cpus", '""', "0-3,8")),
                (("record",), ("record", "FILE", "--idle FILE")),
                (("holds", "--seconds", "1"), ("holds", "--seconds", "--measure")),
                (("holds", "--power", "coreidle"), ("holds", "--power", "--measure"))):
            if not program(arguments):
                continue
            result = run(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            for part in parts:
                self.assertIn(part, result.stderr)

    def test_no_such_cpu(self):
        result = run("sleeps", "--cpus", "8000")
        self.assertEqual(result.returncode, 1)
        self.assertIn("none of the CPUs 8000 is online", result.stderr)

    def test_no_module(self):
        result = run("sleeps", "--seconds", "0.1")
        self.assertEqual(result.returncode, 0)
        self.assertIn("/nonexistent/ledger.so is not installed", result.stdout)
        self.assertIn("IDLED_LEDGER_DIR", result.stdout)
        if not IDLELAB:
            return
        result = run("record", "--idle", "/dev/null", "--seconds", "0.1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/nonexistent/ledger.so is not installed", result.stderr)

    def test_no_such_power_table(self):
        result = run("sleeps", "--seconds", "0.1", "--power", "nonsuch")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn('found no table "nonsuch"', result.stderr)

    def test_the_command(self):
        for command, status in (("sh", "-c", "exit 7"), 7), (("sh", "-c", "kill -TERM $$"), 143), \
                (("/nonexistent",), 127), (("/etc/passwd",), 126):
            result = run("sleeps", "--", *command)
            self.assertEqual((result.returncode, result.stdout), (status, ""), command)
        self.assertEqual(len(result.stderr.splitlines()), 1)  # and no table of nothing

    def test_output(self):
        """A command has standard output for itself."""
        command = ("--", "sh", "-c", "echo out; echo err >&2")
        path = os.path.join(self.directory, "result")
        result = run("sleeps", *command)
        self.assertEqual(result.stdout, "out\n")
        self.assertIn("Samples", result.stderr)
        result = run("sleeps", "--json", "--output", path, *command)
        self.assertEqual((result.stdout, result.stderr), ("out\n", "err\n"))
        self.assertEqual(json.loads(Path(path).read_text(encoding="utf-8"))["source"], "sysfs")

    def test_interrupted(self):
        """What was measured until then is shown. Under nohup, SIGHUP would be ignored."""
        self.addCleanup(signal.signal, signal.SIGHUP, signal.signal(signal.SIGHUP, signal.SIG_DFL))
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            with subprocess.Popen([IDLECTL, "sleeps", "--seconds", "600", "--json", "--", "sh", "-c",
                                   "echo begun; exec sleep 600"], env=environment(**NOWHERE),
                                  text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                self.assertEqual(process.stdout.readline(), "begun\n")
                process.send_signal(number)
                answer = json.loads(process.communicate(timeout=30)[1])
                self.assertEqual(process.returncode, 128 + number)
            self.assertLess(answer["seconds"], 60)

    def test_a_reader_that_leaves(self):
        result = subprocess.run(["sh", "-c", f"'{IDLECTL}' sleeps --seconds 0.1 | true"],
                                env=environment(**NOWHERE), timeout=60, check=False,
                                stderr=subprocess.PIPE)
        self.assertEqual(result.stderr, b"")


@unittest.skipUnless(os.geteuid() == 0 and os.path.exists("/sys/kernel/btf/vmlinux") and shutil.which("bpftool"),
                     "needs root, BTF and bpftool")
class Kernels(TestCase):
    """Kernels whose types are not those that the programs need, by a file over that of the running one."""

    OBJECT = os.path.join(os.environ["IDLED_LEDGER_DIR"], "sleeps.o")

    def setUp(self):
        super().setUp()
        if not os.path.exists(self.OBJECT):
            self.skipTest("built without the sleep ledger")
        self.file = os.path.join(self.directory, "btf")

    def error(self):
        result = subprocess.run(
            ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /sys/kernel/btf/vmlinux || exit 99; exec "$@"',
             self.file, IDLECTL, "sleeps", "--seconds", "0.1", "--json"], text=True, timeout=60, check=False,
            env=environment(**{**NOWHERE, "IDLED_LEDGER_DIR": os.environ["IDLED_LEDGER_DIR"]}),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if result.returncode == 99:
            self.skipTest("mounting is not permitted")
        self.assertEqual(result.returncode, 0, result.stderr)
        answer = json.loads(result.stdout)
        self.assertEqual((answer["source"], answer["causes"]), ("sysfs", None))
        return answer["source_error"]

    def test_without_the_event(self):
        """An old kernel has BTF, but not of this tracepoint."""
        subprocess.run(["bpftool", "gen", "min_core_btf", "/sys/kernel/btf/vmlinux", self.file, self.OBJECT],
                       stderr=subprocess.DEVNULL, check=True)
        self.assertRegex(self.error(), "cpu_idle.*Linux 6.1 or newer")

    def test_damaged(self):
        with open("/sys/kernel/btf/vmlinux", "rb") as file:
            begin = file.read(5000)
        for name, content in ("cut", begin), ("noise", bytes(1000)):
            with self.subTest(name):
                Path(self.file).write_bytes(content)
                self.assertIn("BTF", self.error())


unittest.main()
