#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlectl doctor: a machine in good order, and one with each defect."""
import contextlib
import json
import os
import re
import shlex
import shutil
import struct
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
    ("max_cstate of the other driver",
     {"proc/cmdline": "processor.max_cstate=2", CPUS + "/cpuidle/current_driver": "acpi_idle",
      "proc/cpuinfo": "vendor_id : AuthenticAMD"}, "kernel command line",
     "processor.max_cstate=2", "remove processor.max_cstate=2"),
    ("states_off", {"proc/cmdline": "intel_idle.states_off=8"}, "kernel command line",
     "states_off=8", "remove intel_idle.states_off=8"),
    ("nohz", {"proc/cmdline": "nohz=off"}, "kernel command line", "nohz=off", "remove nohz=off"),
    ("no driver", {CPUS + "/cpuidle/current_driver": "none"}, "idle driver", "no driver",
     "CONFIG_CPU_IDLE"),
    ("acpi_idle", {CPUS + "/cpuidle/current_driver": "acpi_idle"}, "idle driver", "acpi_idle",
     "intel_idle.max_cstate"),
    ("ladder", {CPUS + "/cpuidle/current_governor": "ladder"}, "idle governor", "ladder",
     "echo menu"),
    ("shallow", {CPUS + "/cpuidle/current_governor": "shallow_nopoll"}, "idle governor", "shallow_nopoll",
     "echo menu"),
    ("state off", {CPUS + "/cpu2/cpuidle/state2/disable": "1",
                   CPUS + "/cpu3/cpuidle/state2/disable": "1"}, "idle states",
     "state C6 is switched off on CPUs 2-3 by another program",
     "echo 0 | sudo tee /" + CPUS + "/cpu{2..3}/cpuidle/state2/disable"),
    ("limit", {CPUS + "/cpu1/power/pm_qos_resume_latency_us": "20"}, "latency limits", "CPUs 1",
     "sudo tee /" + CPUS + "/cpu1/power/pm_qos_resume_latency_us"),
    ("limits", {CPUS + f"/cpu{cpu}/power/pm_qos_resume_latency_us": "20" for cpu in (0, 1, 5)},
     "latency limits", "CPUs 0-1,5", "/cpu{{0..1},5}/power"),
    ("cpu_dma_latency", {"proc/77/comm": "player", "proc/77/fd/3": "->/dev/cpu_dma_latency"},
     "cpu_dma_latency", "player (process 77)", "sudo kill 77"),
    ("cpu_dma_latency of a service",
     {"proc/77/comm": "audiod", "proc/77/fd/3": "->/dev/cpu_dma_latency",
      "proc/77/cgroup": "0::/system.slice/audiod.service"}, "cpu_dma_latency", "audiod",
     "systemctl stop audiod.service"),
    ("cpu_dma_latency of a user's service",
     {"proc/77/comm": "pipewire", "proc/77/fd/3": "->/dev/cpu_dma_latency", "proc/77/cgroup":
      "0::/user.slice/user-1000.slice/user@1000.service/session.slice/pipewire.service"},
     "cpu_dma_latency", "pipewire", "systemctl --user -M 1000@ stop pipewire.service"),
    ("cpu_dma_latency of a user's manager",
     {"proc/77/comm": "systemd", "proc/77/fd/3": "->/dev/cpu_dma_latency", "proc/77/cgroup":
      "0::/user.slice/user-1000.slice/user@1000.service/init.scope"},
     "cpu_dma_latency", "systemd", "sudo kill 77"),
    *((name, {"proc/88/comm": comm}, "other power daemons", name + " is running", fix)
      for name, comm, fix in (
          ("tuned", "tuned", "sudo systemctl disable --now tuned"),
          ("tuned-ppd", "tuned-ppd", "sudo systemctl mask --now tuned-ppd"),
          ("power-profiles-daemon", "power-profiles-", "mask --now power-profiles-daemon"),
          ("tlp-pd", "tlp-pd", "sudo systemctl mask --now tlp-pd"),
          ("com.system76.PowerDaemon", "system76-power", "sudo systemctl mask --now com.system76.PowerDaemon"),
          ("gamemoded", "gamemoded", "systemctl --user mask --now gamemoded"))),
    # No process stays; the link leads nowhere.
    ("tlp", {"run/systemd/units/invocation:tlp.service": "->0b9fe57a6ab94b4ba63c2a2a2a4ee56c"},
     "other power daemons", "tlp is running", "TLP_ENABLE=0"),
    ("tuned twice", {"proc/88/comm": "tuned", "proc/89/comm": "tuned",
                     "run/systemd/units/invocation:tuned.service": "->0b9fe57a6ab94b4ba63c2a2a"},
     "other power daemons", "tuned is running", "disable --now tuned"),
    ("sched_ext", {"sys/kernel/sched_ext/state": "enabled",
                   "sys/kernel/sched_ext/root/ops": "lavd"}, "sched_ext", "lavd", "end the program"),
    ("lost by cpusets", {"sys/fs/cgroup/cpuset.cpus.isolated": "1", "sys/fs/cgroup/cpuset.cpus.effective": "0",
                         "sys/fs/cgroup/a.slice/cpuset.cpus.exclusive.effective": "1-2"},
     "cpusets", "lost CPUs 3", "reboot"),
    ("no BTF", {"sys/kernel/btf/vmlinux": ""}, "BTF", "no type information", "BTF=y"),
    ("no PSI", {"proc/pressure/cpu": ""}, "PSI", "no pressure information", "add psi=1"),
    ("PSI off", {"proc/pressure/cpu": "", "proc/cmdline": "psi=0"}, "PSI", "no pressure information",
     "remove psi="),
    ("no PSI at all", {"proc/pressure/cpu": "", "proc/cmdline": "psi=1"}, "PSI",
     "no pressure information", "CONFIG_PSI=y"),
    ("no idled", {"run/systemd/system": "a file will do"}, "idled", "not", "systemctl enable --now idled"),
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

    @contextlib.contextmanager
    def written(self, files):
        """The same for a part of a test."""
        undo = [self.put(self.root / name, text) for name, text in files.items()]
        try:
            yield
        finally:
            for step in reversed(undo):
                step()

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
            with self.subTest(name), self.written(files):
                wrong, _ = self.findings()
                self.assertEqual([f["check"] for f in wrong], [check])
                self.assertIn(found, wrong[0]["found"])
                self.assertIn(fix, wrong[0]["fix"])
                self.assertTrue(wrong[0]["cost"])
                text = self.doctor().stdout
                for part in (wrong[0]["found"], wrong[0]["cost"], wrong[0]["fix"]):
                    self.assertIn(part, text)
                self.assertTrue(text.endswith("1 thing is wrong\n"))

    def test_left_after_a_kill(self):
        """Without the daemon nothing restores what it changed."""
        arguments = self.left("found\tcgroup\t/work\t0-3")
        answer = json.loads(self.doctor("--json", *arguments).stdout)
        wrong = [f for f in answer["findings"] if f["level"] == "wrong"]
        self.assertEqual([f["check"] for f in wrong], ["knobs left changed"])
        self.assertIn("1 knob is", wrong[0]["found"])
        self.assertNotIn("no CPU is parked", {f["cost"] for f in answer["findings"]})
        self.assertIn("idled --restore", wrong[0]["fix"])
        status = self.run_ctl("status", "--root", str(self.root), *arguments)
        self.assertRegex(status.stdout, "1 knob is .*idled --restore")
        Path(arguments[1], "undo").unlink()
        self.assertEqual(self.doctor(*arguments).returncode, 0)
        self.assertNotIn("--restore", self.run_ctl("status", "--root", str(self.root), *arguments).stdout)

    def left(self, *lines):
        """The record of an idled that died on this boot; the option that names its directory."""
        run = Path(self.directory, "run")
        run.mkdir()
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        self.write({"proc/sys/kernel/random/boot_id": boot_id})
        (run / "undo").write_text("".join(line + "\n" for line in (f"idled-undo\t1\t{boot_id}", *lines)),
                                  encoding="ascii")
        return "--run", str(run)

    def test_blame_after_a_kill(self):
        """What idled switched off is not another program's doing, unless that wrote there later."""
        state = "cpu{}/cpuidle/state3/disable"
        limit = "cpu1/power/pm_qos_resume_latency_us"
        self.write({f"{CPUS}/{state.format(n)}": "1" for n in (0, 1)})
        self.write({f"{CPUS}/{state.format(n).replace('disable', 'default_status')}": "enabled" for n in (0, 1)})
        self.write({f"{CPUS}/{limit}": "50"})
        arguments = self.left(f"found\tcpuidle\t{state.format(0)}\t0", f"found\tpmqos\t{limit}\t0",
                              f"write\tpmqos\t{limit}\t50")
        for value in "50", "20":
            self.write({f"{CPUS}/{limit}": value})
            findings = json.loads(self.doctor("--json", *arguments).stdout)["findings"]
            wrong = {(f["check"], f["fix"] == "sudo idled --restore"): f["found"]
                     for f in findings if f["level"] == "wrong"}
            self.assertRegex(wrong["idle states", True], "CPUs 0 by idled")
            self.assertRegex(wrong["idle states", False], "CPUs 1 by another program")
            self.assertIn(("knobs left changed", True), wrong)
            self.assertEqual(("latency limits", False) in wrong, value == "20")

    @unittest.skipIf(os.geteuid(), "needs root")
    def test_blame_without_permission(self):
        """Who switched it off is known to root only."""
        state = "cpu0/cpuidle/state3/"
        self.write({f"{CPUS}/{state}disable": "1", f"{CPUS}/{state}default_status": "enabled"})
        arguments = self.left(f"found\tcpuidle\t{state}disable\t0")
        for path in self.place, self.directory:
            os.chmod(path, 0o755)
        os.chmod(Path(arguments[1], "undo"), 0o600)
        result = self.run_ctl("doctor", "--root", str(self.root), "--json", *arguments, user=65534)
        found = [f for f in json.loads(result.stdout)["findings"] if f["check"] == "idle states"]
        self.assertRegex(found[0]["found"], "another program, or by idled")
        self.assertEqual(found[0]["fix"], "sudo idlectl doctor")

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
        off = {CPUS + f"/cpu{cpu}/cpuidle/state3/disable": "1" for cpu in (2, 3)}
        cases = [("two CPUs", off, 2 * (40 - 8) / 8),
                 ("an E-core", {CPUS + "/cpu4/cpuidle/state2/disable": "1"}, (40 - 10) / 8),
                 ("a limit that C6 and C10 do not meet",
                  {CPUS + "/cpu1/power/pm_qos_resume_latency_us": "20"}, (40 - 8) / 8),
                 ("everything", {"proc/cmdline": "intel_idle.max_cstate=1"}, 40 - 8),
                 ("a cost without watts", {"proc/cmdline": "nohz=off"}, None)]
        with self.asleep(1):
            for name, files, watts in cases:
                with self.subTest(name), self.written(files):
                    answer, found = self.costs("--power", str(table))
                    self.assertEqual(answer["power_table"], str(table))
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
        self.write({CPUS + "/cpu2/cpuidle/state3/disable": "1"})
        answer, found = self.costs()
        self.assertEqual((answer["power_table"], answer["power_table_missing"], found), (None, True, [None]))
        self.assertIn("estimate --fit --output", " ".join(self.doctor().stdout.split()))

    def test_cost_of_an_unknown_state(self):
        table = Path(self.directory, "short.conf")
        table.write_text("[States]\nC0=90\nC6=20\n")
        self.write({CPUS + "/cpu2/cpuidle/state3/disable": "1"})
        with self.asleep(1):
            self.assertEqual(self.costs("--power", str(table))[1], [None])

    def test_bad_table(self):
        self.assert_refused(self.doctor("--power", "nonsuch", "--config-dir", self.directory, "--vendor-dir",
                                        "/nonexistent/usr"),
                            "nonsuch", self.directory + "/power", "/nonexistent/usr/power")

    def test_off_by_default(self):
        """The kernel's driver switches states off itself, and nothing can be gained."""
        for state, deepest in (2, False), (3, True):
            place = CPUS + f"/cpu0/cpuidle/state{state}/"
            with self.subTest(state), self.written({place + "disable": "1", place + "default_status": "disabled"}):
                wrong, notes = self.findings()
                self.assertEqual(wrong, [])
                note = next(f for f in notes if f["check"] == "idle states")
                self.assertIn("by the kernel", note["found"])
                self.assertIsNone(note["fix"])
                self.assertEqual("these CPUs use shallower states" in note["cost"], deepest)

    def test_number_of_a_state(self):
        """A state has another number on the other kind of core; each command has its own."""
        self.write({CPUS + "/cpu4/cpuidle/state2/name": "C10",
                    CPUS + "/cpu4/cpuidle/state2/disable": "1",
                    CPUS + "/cpu1/cpuidle/state3/disable": "1"})
        wrong, _ = self.findings()
        self.assertEqual(sorted(f["fix"].split("cpu/")[1] for f in wrong),
                         ["cpu1/cpuidle/state3/disable", "cpu4/cpuidle/state2/disable"])

    def test_a_state_between(self):
        """Deeper ones are on: the sleeps that it suits are not those that cost most."""
        self.write({CPUS + "/cpu0/cpuidle/state2/disable": "1"})
        wrong, _ = self.findings()
        self.assertIn("the deepest state is on", wrong[0]["cost"])

    def test_polling_off(self):
        self.write({CPUS + "/cpu0/cpuidle/state0/disable": "1"})
        self.assertEqual(self.findings()[0], [])

    def test_limit_without_effect(self):
        """As many states as the driver may have; options of a driver that does not run."""
        for option, level in (("intel_idle.max_cstate=9", None), ("intel_idle.max_cstate=4", "note"),
                              ("processor.max_cstate=1", None), ("intel_idle.max_cstate=x", None),
                              ("intel_idle.max_cstate=1 intel_idle.max_cstate=9", None)):
            with self.subTest(option), self.written({"proc/cmdline": option}):
                wrong, notes = self.findings()
                found = [f["level"] for f in wrong + notes if f["check"] == "kernel command line"]
                self.assertEqual(found, [level] if level else [])

    def test_spellings(self):
        """Options as the kernel reads them: the last one counts, and off has several names."""
        for line, expected in (("nohz=0", ["nohz=0"]), ("nohz=n", ["nohz=n"]), ("nohz=OFF", ["nohz=OFF"]),
                               ("highres=No", ["highres=No"]), ("highres=0", ["highres=0"]),
                               ("nohz=on", []), ("nohz=1", []), ("nohz=off nohz=on", []),
                               ("nohz=on nohz=0", ["nohz=0"]), ("nohz=off nohz=x", ["nohz=off"]),
                               ("nohz=o", []), ("nohz=", []), ("nohz_full=0", []),
                               ("idle=halt idle=nomwait", ["idle=nomwait"]),
                               ("idle=halt idle=nonsense", ["idle=halt"]),
                               # Polling, once requested, is not taken back by another idle=.
                               ("idle=poll idle=halt", ["idle=poll"]),
                               ("idle=poll idle=poll", ["idle=poll"])):
            with self.subTest(line), self.written({"proc/cmdline": line}):
                wrong, _ = self.findings()
                self.assertEqual([f["found"].rpartition(" ")[2] for f in wrong], expected)

    def test_table_of_the_command_line(self):
        """Latencies that intel_idle.table= overrides are those in sysfs, or the kernel refused it. The kernel's
        own copy of the option ends at the first colon."""
        state = CPUS + "/cpu%d/cpuidle/state2/%s"
        self.write({state % (cpu, file): text for cpu in range(8) for file, text in (
            ("latency", "150"), ("residency", "400"))})
        parameter = {"sys/module/intel_idle/parameters/table": "C6"}
        for option, refused in (("C6:150:400", False), ('"C6:150:400,C1E::"', False),
                                ("C6::400", False), ("C6:200:400", True), ("C6:150:500", True), ("C6:x", True),
                                ("C9:150:400", True), ("C6:150:400,C9:1:1", True), (None, False)):
            line = {"proc/cmdline": f"ro intel_idle.table={option}"} if option else {}
            with self.subTest(option), self.written(parameter | line):
                found, = (f for f in sum(self.findings(), []) if "intel_idle.table" in f["found"])
                self.assertEqual((found["level"], found["check"]), ("wrong" if refused else "note", "idle states"))
                self.assertIn("intel_idle.table=" + (option or "C6").strip('"'), found["found"])
        self.write({"proc/cmdline": "ro intel_idle.table=C6:150:400", CPUS + "/cpuidle/current_driver": "acpi_idle"})
        self.assertNotIn("intel_idle.table", json.dumps(self.findings()))

    def test_option_for_another_processor(self):
        self.write({"proc/cpuinfo": "vendor_id : AuthenticAMD", "proc/cmdline": "intel_idle.max_cstate=0",
                    CPUS + "/cpuidle/current_driver": "acpi_idle"})
        self.assertEqual(self.findings()[0], [])

    def test_other_processor(self):
        """The module for RAPL is for x86."""
        self.write({"proc/cpuinfo": "CPU implementer : 0x41", "sys/class/powercap/intel-rapl:0": "",
                    "sys/class/powercap/intel-rapl-mmio:0": ""})
        wrong, notes = self.findings()
        self.assertEqual(wrong, [])
        self.assertIsNone(next(f for f in notes if f["check"] == "RAPL")["fix"])

    def test_no_fit(self):
        """No table can be fitted without RAPL."""
        self.write({"sys/class/powercap/intel-rapl:0": "", "sys/class/powercap/intel-rapl-mmio:0": "",
                    CPUS + "/cpu2/cpuidle/state3/disable": "1"})
        text = self.doctor().stdout
        self.assertNotIn("run sudo idlelab estimate --fit", " ".join(text.split()))
        self.assertIn("--power", text)

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

    def test_fix_for_a_shell(self):
        """A unit's name is one word of the command, whatever a user called its cgroup."""
        self.write({"proc/77/comm": "player", "proc/77/fd/3": "->/dev/cpu_dma_latency"})
        for unit in ("plain@1.service", "a\\x2db.service", "x;reboot.service", "it's $(id) `id`.service"):
            for place, command in (("/system.slice/", ["sudo", "systemctl", "stop"]),
                                   ("/user.slice/user@1000.service/app.slice/",
                                    ["sudo", "systemctl", "--user", "-M", "1000@", "stop"])):
                with self.subTest(unit, place=place):
                    self.write({"proc/77/cgroup": "0::" + place + unit})
                    (found,) = self.findings()[0]
                    self.assertEqual(shlex.split(found["fix"]), [*command, unit])
                    self.assertEqual("'" in found["fix"], unit != "plain@1.service")

    def limit_all(self, us):
        """The limit of all CPUs that is in effect, as the kernel's file says it."""
        path = self.root / "dev/cpu_dma_latency"
        path.parent.mkdir(exist_ok=True)
        self.addCleanup(lambda: path.unlink(missing_ok=True))
        path.write_bytes(struct.pack("=i", us))

    def test_holder_without_a_limit(self):
        """An open file limits nothing until something is written, nor does a limit that is long."""
        self.write({"proc/77/comm": "bash", "proc/77/fd/9": "->/dev/cpu_dma_latency"})
        for us, level in ((2000000000, "note"), (1000000, "note"), (0, "wrong"), (20, "wrong")):
            with self.subTest(us):
                self.limit_all(us)
                wrong, notes = self.findings()
                found = [f for f in wrong + notes if f["check"] == "cpu_dma_latency"]
                self.assertEqual([f["level"] for f in found], [level])
                self.assertIn("bash (process 77)", found[0]["found"])
                if level == "wrong":
                    self.assertIn(f" {us} us", found[0]["cost"])
                    self.assertIn("sudo kill 77", found[0]["fix"])
                else:
                    self.assertIsNone(found[0]["fix"])

    def test_own_descriptor(self):
        """An idlectl that inherited the descriptor does not advise to kill itself."""
        self.write({"proc/77/comm": "idlectl", "proc/77/fd/9": "->/dev/cpu_dma_latency"})
        self.limit_all(0)
        own = self.root / "proc/self"
        own.rename(self.root / "proc/77/saved")
        own.symlink_to("77")

        def undo():
            own.unlink()
            (self.root / "proc/77/saved").rename(own)
        try:
            wrong, _ = self.findings()
        finally:
            undo()
        self.assertEqual([f["check"] for f in wrong], [])

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
        """What is degraded the daemon says; a reload helps only if another program took the knob over."""
        self.start("ailing")
        wrong, _ = self.findings()
        self.assertEqual([(f["check"], f["fix"]) for f in wrong],
                         [("idled", "sudo idlectl reload"), ("idled", None), ("idled", None)])
        for finding, part in zip(wrong, ("/user.slice", "policy0", "idle states")):
            self.assertIn(part, finding["found"])
        self.assertNotIn("knob", wrong[2]["cost"])

    def test_holds(self):
        """Those whose limits are in effect and forbid some state."""
        self.write({"proc/77/comm": "player"})
        self.start("ailing")
        notes = sorted((f for f in self.findings()[1] if f["check"] == "holds"), key=lambda f: f["fix"])
        self.assertEqual([f["fix"] for f in notes], ["idlectl release 2", "idlectl release 3"])
        for finding, parts in zip(notes, (("user 1000", "player", "CPUs 2 to 50 us", "audio"), ("CPUs 0-1 to 0 us",))):
            for part in parts:
                self.assertIn(part, finding["found"])
        self.assertEqual(["never sleep" in f["cost"] for f in notes], [False, True])

    def test_taken_over(self):
        """What another program wrote into a knob of idled is that program's."""
        self.write({CPUS + "/cpu2/power/pm_qos_resume_latency_us": "50",
                    CPUS + "/cpu4/power/pm_qos_resume_latency_us": "20"})
        self.start("ailing")
        finding, = [f for f in self.findings()[0] if f["check"] == "latency limits"]
        self.assertTrue(finding["found"].endswith("of CPUs 4"), finding)

    def test_decisions(self):
        """A pause and a dry run are notes."""
        self.start("paused")
        notes = [f for f in self.findings()[1] if f["check"] in ("pauses", "dry run")]
        self.assertEqual([f["fix"] for f in notes],
                         [None, "idlectl resume", "idlectl resume", "start idled without --dry-run"])
        for finding, part in zip(notes, ("user 1000", "user 0, for 11 min", "user 7, until idlectl resume", "--dry-run")):
            self.assertIn(part, finding["found"])

    def test_cannot_park(self):
        self.start("unparkable")
        wrong, _ = self.findings()
        self.assertEqual([f["check"] for f in wrong], ["idled"])
        self.assertIn("cannot park", wrong[0]["found"])
        self.assertIn("Operation not supported", wrong[0]["found"])

    def test_no_machine(self):
        self.assert_refused(self.run_ctl("doctor", "--root", self.directory), "sys/devices/system/cpu: No such file")


unittest.main()
