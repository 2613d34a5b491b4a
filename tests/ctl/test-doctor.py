#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlectl doctor: a machine in good order, and one with each defect."""
import contextlib
import json
import os
import re
import shutil
import tempfile
import threading
import time
import unittest
from pathlib import Path

from ctltest import TestCase, machine

CPUS = "sys/devices/system/cpu"

# Name, files to write ("" removes), the check that must find it, what it must say and advise.
DEFECTS = [
    ("idle=poll", {"proc/cmdline": "quiet idle=poll ro"}, "kernel command line", "idle=poll",
     "remove idle=poll"),
    ("max_cstate", {"proc/cmdline": "intel_idle.max_cstate=1"}, "kernel command line",
     "intel_idle.max_cstate=1", "remove intel_idle.max_cstate=1"),
    ("nohz", {"proc/cmdline": "nohz=off"}, "kernel command line", "nohz=off", "remove nohz=off"),
    ("no driver", {CPUS + "/cpuidle/current_driver": "none"}, "idle driver", "no driver",
     "CONFIG_CPU_IDLE"),
    ("acpi_idle", {CPUS + "/cpuidle/current_driver": "acpi_idle"}, "idle driver", "acpi_idle",
     "intel_idle.max_cstate"),
    ("ladder", {CPUS + "/cpuidle/current_governor": "ladder"}, "idle governor", "ladder",
     "echo menu"),
    ("state off", {CPUS + "/cpu2/cpuidle/state2/disable": "1",
                   CPUS + "/cpu3/cpuidle/state2/disable": "1"}, "idle states",
     "state C6 is switched off on CPUs 2-3 by another program", "state2/disable"),
    ("limit", {CPUS + "/cpu1/power/pm_qos_resume_latency_us": "20"}, "latency limits", "CPUs 1",
     "pm_qos_resume_latency_us"),
    ("cpu_dma_latency", {"proc/77/comm": "player", "proc/77/fd/3": "->/dev/cpu_dma_latency"},
     "cpu_dma_latency", "player (process 77)", "sudo kill 77"),
    ("cpu_dma_latency of a service",
     {"proc/77/comm": "audiod", "proc/77/fd/3": "->/dev/cpu_dma_latency",
      "proc/77/cgroup": "0::/system.slice/audiod.service"}, "cpu_dma_latency", "audiod",
     "systemctl stop audiod.service"),
    ("tuned", {"proc/88/comm": "tuned"}, "other power daemons", "tuned is running",
     "systemctl disable --now tuned"),
    ("power-profiles-daemon", {"proc/88/comm": "power-profiles-"}, "other power daemons",
     "power-profiles-daemon", "disable --now power-profiles-daemon"),
    ("sched_ext", {"sys/kernel/sched_ext/state": "enabled",
                   "sys/kernel/sched_ext/root/ops": "lavd"}, "sched_ext", "lavd", "stop scx"),
    ("no BTF", {"sys/kernel/btf/vmlinux": ""}, "BTF", "no type information", "BTF=y"),
    ("no PSI", {"proc/pressure/cpu": ""}, "PSI", "no pressure information", "psi=1"),
    ("no RAPL", {"sys/class/powercap/intel-rapl:0": "", "sys/class/powercap/intel-rapl-mmio:0": ""},
     "RAPL", "not measured", "modprobe intel_rapl_msr"),
    ("no CAP_BPF", {"proc/self/status": "Name:\tx\nCapBnd:\t0000007fffffffff\n"}, "capabilities",
     "CAP_BPF", "container"),
]


def write_over(path, text):
    """In one step, and into the same file, which is open for reading elsewhere; it never gets shorter."""
    with open(path, "r+b", buffering=0) as file:
        file.write(text.encode())


class Doctor(TestCase):
    @classmethod
    def setUpClass(cls):
        """One machine for all tests, which take back what they write."""
        cls.place = tempfile.mkdtemp(prefix="idlectl-test-")
        cls.addClassCleanup(shutil.rmtree, cls.place)
        cls.root = Path(machine(cls.place, "synthetic-laptop"))

    def setUp(self):
        super().setUp()
        self.write({"proc/cmdline": "ro quiet", "proc/cpuinfo": "vendor_id : GenuineIntel",
                    "sys/kernel/btf/vmlinux": "x", "proc/pressure/cpu": "some avg10=0.00",
                    "proc/self/status": "Name:\tx\nCapBnd:\t000001ffffffffff\n",
                    "proc/1/comm": "systemd", "proc/1/fd/0": "->/dev/null"})

    def write(self, files):
        for name, text in files.items():
            self.addCleanup(self.put(self.root / name, text))

    def put(self, path, text):
        """Writes a file, makes a link, or removes what is there; how to undo that."""
        saved = Path(tempfile.mkdtemp(dir=self.place)) / "saved"
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() or path.is_symlink():
            path.rename(saved)
        if text.startswith("->"):
            path.symlink_to(text[2:])
        elif text:
            path.write_text(text + "\n")

        def undo():
            if path.exists() or path.is_symlink():
                if saved.exists() and path.is_dir():
                    return
                path.unlink()
            if saved.exists() or saved.is_symlink():
                saved.rename(path)
        return undo

    def doctor(self, *arguments):
        return self.run_ctl("doctor", "--root", str(self.root), *arguments)

    def findings(self):
        result = self.doctor("--json")
        answer = json.loads(result.stdout)
        wrong = [f for f in answer["findings"] if f["level"] == "wrong"]
        self.assertEqual(answer["wrong"], len(wrong))
        self.assertEqual((result.returncode, result.stderr), (int(bool(wrong)), ""))
        return wrong, [f for f in answer["findings"] if f["level"] == "note"]

    def test_nothing_wrong(self):
        wrong, notes = self.findings()
        self.assertEqual(wrong, [])
        self.assertEqual([f["check"] for f in notes], ["idled"])
        result = self.doctor()
        self.assertEqual(result.returncode, 0)
        self.assertTrue(result.stdout.endswith("Nothing is wrong\n"))

    def test_each_defect(self):
        for name, files, check, found, fix in DEFECTS:
            with self.subTest(name):
                undo = [self.put(self.root / file, text) for file, text in files.items()]
                wrong, _ = self.findings()
                self.assertEqual([f["check"] for f in wrong], [check])
                self.assertIn(found, wrong[0]["found"])
                self.assertIn(fix, wrong[0]["fix"])
                self.assertTrue(wrong[0]["cost"])
                text = self.doctor().stdout
                for part in (wrong[0]["found"], wrong[0]["cost"], wrong[0]["fix"]):
                    self.assertIn(part, text)
                self.assertTrue(text.endswith("1 thing is wrong\n"))
                for step in reversed(undo):
                    step()

    @contextlib.contextmanager
    def asleep(self, state):
        """All CPUs pass the time in this state; with None in sleeps that do not end."""
        stop = threading.Event()
        stat = self.root / "proc/stat"
        times = list(self.root.glob(f"{CPUS}/cpu*/cpuidle/state{state}/time"))
        usages = [path.with_name("usage") for path in times]
        self.write({str(path.relative_to(self.root)): path.read_text().strip()
                    for path in [stat, *times, *usages]})

        def live():
            begin, ticks = time.monotonic(), 0
            while not stop.wait(0.05):
                passed = int((time.monotonic() - begin) * 100) - ticks
                ticks += passed
                text = re.sub(r"(?m)^(cpu\d+(?: \d+){3}) (\d+)",
                              lambda m, passed=passed: f"{m[1]} {int(m[2]) + passed}", stat.read_text())
                for paths, more in (times, passed * 10000), (usages, passed):
                    for path in paths:
                        write_over(path, f"{int(path.read_text()) + more}\n")
                write_over(stat, text)
        thread = threading.Thread(target=live)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def costs(self, *arguments):
        answer = json.loads(self.doctor("--json", *arguments).stdout)
        return answer, [f["cost_watts_at_most_estimate"] for f in answer["findings"] if f["level"] == "wrong"]

    def assert_about(self, found, expected):
        """On a busy machine the writer of the counters is late, and CPUs then seem busy."""
        self.assertTrue(0.6 * expected < found < 1.02 * expected, f"{found} W, expected {expected} W")

    def test_cost_in_watts(self):
        """8 CPUs share one package, so each has an eighth of its power. All sleep in C1E."""
        table = Path(self.directory, "mine.conf")
        table.write_text("[States]\nC0=90\nC1E=40\nC6=20\nC10=8\nC6S=10\n")
        off = {CPUS + f"/cpu{cpu}/cpuidle/state2/disable": "1" for cpu in (2, 3)}
        cases = [("two CPUs", off, 2 * (40 - 8) / 8),
                 ("an E-core", {CPUS + "/cpu4/cpuidle/state2/disable": "1"}, (40 - 10) / 8),
                 ("a limit that C6 and C10 do not meet",
                  {CPUS + "/cpu1/power/pm_qos_resume_latency_us": "20"}, (40 - 8) / 8),
                 ("everything", {"proc/cmdline": "intel_idle.max_cstate=1"}, 40 - 8),
                 ("a cost without watts", {"proc/cmdline": "nohz=off"}, None)]
        with self.asleep(1):
            for name, files, watts in cases:
                with self.subTest(name):
                    undo = [self.put(self.root / file, text) for file, text in files.items()]
                    answer, found = self.costs("--power", str(table))
                    self.assertEqual(answer["power_table"], str(table))
                    for step in undo:
                        step()
                    if watts is None:
                        self.assertEqual(found, [None])
                    else:
                        self.assert_about(found[0], watts)

    def test_cost_of_a_sleep_that_goes_on(self):
        """The counters do not say in which state it is; one that is switched off it cannot be."""
        table = Path(self.directory, "mine.conf")
        table.write_text("[States]\nC0=90\nC1E=40\nC6=20\nC10=8\nC6S=10\n")
        self.write({CPUS + f"/cpu2/cpuidle/state{state}/disable": "1" for state in (2, 3)})
        with self.asleep(None):
            found = self.costs("--power", str(table))[1]
        self.assertEqual(len(found), 2)  # states
        for watts in found:
            self.assert_about(watts, (40 - 8) / 8)

    def test_cost_without_a_table(self):
        self.write({CPUS + "/cpu2/cpuidle/state2/disable": "1"})
        answer, found = self.costs()
        self.assertEqual((answer["power_table"], answer["power_table_missing"], found), (None, True, [None]))
        self.assertIn("estimate --fit", self.doctor().stdout)

    def test_cost_of_an_unknown_state(self):
        table = Path(self.directory, "short.conf")
        table.write_text("[States]\nC0=90\nC6=20\n")
        self.write({CPUS + "/cpu2/cpuidle/state2/disable": "1"})
        with self.asleep(1):
            self.assertEqual(self.costs("--power", str(table))[1], [None])

    def test_bad_table(self):
        result = self.doctor("--power", "nonsuch")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("nonsuch", result.stderr)

    def test_virtual_machine(self):
        """The host decides: that is nothing wrong."""
        self.write({"proc/cpuinfo": "flags : fpu hypervisor", "sys/class/powercap/intel-rapl:0": "",
                    "sys/class/powercap/intel-rapl-mmio:0": "",
                    CPUS + "/cpuidle/current_driver": "none"})
        wrong, notes = self.findings()
        self.assertEqual(wrong, [])
        self.assertEqual([f["check"] for f in notes],
                         ["hypervisor", "idle driver", "RAPL", "idled"])

    def test_who_reads_holds_nothing(self):
        """idlectl top reads the limit of all CPUs: a limit is what is written."""
        self.write({"proc/77/comm": "idlectl", "proc/77/fd/3": "->/dev/cpu_dma_latency",
                    "proc/77/fdinfo/3": "pos:\t0\nflags:\t02100000\n"})
        self.assertEqual(self.findings()[0], [])
        self.write({"proc/77/fdinfo/3": "pos:\t0\nflags:\t02100001\n"})
        self.assertEqual([f["check"] for f in self.findings()[0]], ["cpu_dma_latency"])

    def test_odd_files(self):
        """Whatever stands in them, it ends with an answer."""
        self.write({"proc/77/comm": "a\x1b[2Jb", "proc/77/fd/3": "->/dev/cpu_dma_latency",
                    "proc/self/status": "CapBnd", "proc/x/comm": "tuned",
                    "sys/kernel/sched_ext/state": "x" * 500})
        wrong, _ = self.findings()
        self.assertEqual([f["check"] for f in wrong], ["cpu_dma_latency"])
        self.assertNotIn("\x1b", self.doctor().stdout)

    def test_machines(self):
        for name in ("synthetic-bare", "synthetic-1cpu", "synthetic-offline"):
            with self.subTest(name):
                other = os.path.join(self.directory, name)
                os.mkdir(other)
                self.assertIn(self.run_ctl("doctor", "--root", machine(other, name)).returncode,
                              (0, 1))

    def test_daemon(self):
        """What is degraded the daemon says, and what it switched off is not another program's."""
        self.start("degraded")
        wrong, _ = self.findings()
        self.assertIn("idled", {f["check"] for f in wrong})
        self.assertIn("idlectl verify", {f["fix"] for f in wrong})

    def test_cannot_park(self):
        self.start("unparkable")
        wrong, _ = self.findings()
        self.assertEqual([f["check"] for f in wrong], ["idled"])
        self.assertIn("cannot park", wrong[0]["found"])
        self.assertIn("Operation not supported", wrong[0]["found"])

    def test_no_machine(self):
        result = self.run_ctl("doctor", "--root", self.directory)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("failed to read the CPUs", result.stderr)


unittest.main()
