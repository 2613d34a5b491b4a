#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlelab latency: what it counts, and that a sweep restores everything however it ends.

Latencies are measured on the machine of the test; sweeps change a tree of plain files.
"""
import csv
import fcntl
import io
import json
import os
import re
import signal
import subprocess
import time
import unittest
from pathlib import Path

import browser
from ctltest import IDLELAB, TIMEOUT, TestCase, environment, machine, page_data

CPU = str(min(os.sched_getaffinity(0)))
WARM_UPS = 3  # wake-ups of each thread that do not count
QUICK = ["--policy", "other", "--cpus", CPU, "--interval", "1ms", "--for", "100ms"]


class Measured(TestCase):
    def answer(self, *arguments):
        result = self.run_ctl("latency", "--json", *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def table(self):
        """A power table by which this machine draws 7 W in each state."""
        table = Path(self.directory, "t.conf")
        names = [p.read_text().strip() for p in
                 sorted(Path("/sys/devices/system/cpu/cpu0/cpuidle").glob("state*/name"))]
        table.write_text("[States]\nC0=7\nIdle=7\n" + "".join(f"{n}=7\n" for n in names))
        return str(table)

    def test_counts(self):
        answer = self.answer("--policy", "other", "--cpus", CPU, "--interval", "1ms,100us",
                             "--for", "1s")
        self.assertEqual((answer["policy"], answer["priority"]), ("other", 0))
        self.assertFalse(answer["interrupted"])
        (setting,) = answer["settings"]
        self.assertEqual([run["interval_usec"] for run in setting["runs"]], [1000, 100])
        for run in setting["runs"]:
            everything = run["all"]
            self.assertEqual(sum(n for _, n in run["histogram"]) + run["above_histogram"],
                             everything["samples"])
            self.assertGreater(everything["samples"], 0)
            # What was due was measured, or left out.
            due = 1000000 / run["interval_usec"]
            self.assertLess(everything["samples"], due * 1.5)
            # What was due while a thread was late is a part of what was left out.
            self.assertGreaterEqual(run["all_due"]["samples"], everything["samples"])
            self.assertLessEqual(run["all_due"]["samples"],
                                 (everything["samples"] + everything["overruns"]) * 1.01 + 5)
            self.assertEqual(run["all_due"]["max_us"], everything["max_us"])
            self.assertEqual(run["all_due"]["overruns"],
                             max(0, everything["samples"] + everything["overruns"]
                                 - run["all_due"]["samples"]))
            ordered = [everything[k] for k in ("min_us", "p50_us", "p90_us", "p99_us", "p99_9_us",
                                               "max_us")]
            self.assertEqual(ordered, sorted(ordered))
            self.assertAlmostEqual(sum(s["percent"] for s in run["power"]["residency"]), 100,
                                   delta=0.5)

    def test_every_wakeup_counts(self):
        """Also where none of the threads lets another task run: what was due was measured, or left out."""
        for arguments in ["--policy", "other"], []:
            answer = self.answer("--interval", "10us", "--for", "300ms", *arguments)
            (run,) = answer["settings"][0]["runs"]
            for cpu in run["cpus"]:
                self.assertEqual(cpu["samples"] + cpu["overruns"] + WARM_UPS, 30000)

    def test_no_energy(self):
        """Without RAPL and a table there is no power, and the output says why."""
        root = machine(self.directory, "synthetic-bare")
        result = self.run_ctl("latency", "--root", root, *QUICK)
        self.assertEqual(result.returncode, 0)
        self.assertNotIn("PkgWatt", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^Energy: not measured: .*energy counters$")
        self.assertIn("energy counters", self.answer("--root", root, *QUICK)["energy_problem"])

    def test_left_out(self):
        """The kernel does not wake 100000 times a second: an interval of 10us needs a word."""
        result = self.run_ctl("latency", "--interval", "10us", "--for", "300ms")
        share = max(float(cell) for cell in re.findall(r" all +\d+ +(\d+\.\d)", result.stdout))
        if share < 1:
            self.skipTest("this machine wakes so often")
        self.assertIn("Overrun%", result.stdout)
        # The table has the share to a tenth; the sentence is rounded from the share itself.
        rounded = "|".join({f"{share + error:.0f}" for error in (-0.05, 0.05)})
        self.assertRegex(result.stdout, rf"10us.* ({rounded}) %")

    def test_throttle(self):
        """Real-time threads rest before the kernel stops them for 50 ms of each second."""
        tries = []
        for _ in range(3):  # other gaps as long are not in all of them
            answer = self.answer("--interval", "10us", "--for", "2s")
            if answer["policy"] == "other":
                self.skipTest("needs permission for real-time policies")
            tries.append(answer["settings"][0]["runs"][0]["all"]["max_us"])
            if tries[-1] < 40000:
                return
        self.fail(tries)

    def test_csv(self):
        text = self.run_ctl("latency", "--csv", *QUICK, "--for", "1s").stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([row["cpu"] for row in rows], [CPU, "all", "due"])
        self.assertEqual({row["setting"] for row in rows}, {"as found"})
        self.assertGreater(float(rows[0]["max_us"]), 0)

    def test_csv_counts_what_was_due(self):
        """A wake-up was measured, was due while the thread was late, or was left out otherwise."""
        text = self.run_ctl("latency", "--csv", "--policy", "other", "--cpus", CPU, "--interval",
                            "10us", "--for", "300ms").stdout
        rows = {row["cpu"]: row for row in csv.DictReader(io.StringIO(text))}
        measured, due = ({k: int(rows[name][k]) for k in ("samples", "overruns")}
                         for name in ("all", "due"))
        if measured["overruns"] < 100:
            self.skipTest("this machine wakes so often")
        self.assertGreater(due["samples"], measured["samples"])
        self.assertLess(due["overruns"], measured["overruns"])
        self.assertEqual(rows["due"]["max_us"], rows["all"]["max_us"])

    def test_plots(self):
        path = os.path.join(self.directory, "p.html")
        result = self.run_ctl("latency", *QUICK, "--plot", path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        run, *_ = page_data(Path(path).read_text())["latency"]["settings"][0]["runs"]
        shown = browser.read_page(self, path)
        self.assertIn("Samples by latency, waking every", shown["text"])
        drawn = shown["figures"][0]
        self.assertEqual([float(count) for _, _, count in drawn], [count for _, count in run["histogram"]])
        for (name, at, _), (begin, _) in zip(drawn, run["histogram"]):
            self.assertTrue(name.startswith("as found"), name)
            self.assertAlmostEqual(float(at), begin + 0.05, delta=0.001 * begin)
        axis, line = ([float(y) for y in re.findall(r"V([0-9.]+)", path)] for path in shown["paths"])
        self.assertLess(max(line), axis[0] - 1)  # one sample stands above the axis

    def test_plot_of_what_was_due(self):
        """A setting whose threads were late has a second point at the same power."""
        page = Path(self.directory, "p.html")
        answer = self.answer("--policy", "other", "--cpus", CPU, "--interval", "10us", "--for",
                             "300ms", "--power", self.table(), "--plot", str(page))
        run = answer["settings"][0]["runs"][0]
        if run["all_due"]["samples"] == run["all"]["samples"]:
            self.skipTest("no thread was late")
        measured, due = browser.read_page(self, page)["figures"][1]
        self.assertEqual((measured[0], due[0]), ("as found, wake-ups measured", "as found, wake-ups due"))
        self.assertEqual(measured[1], due[1])

    def test_plot_refused(self):
        """Before anything is measured."""
        os.mkdir(os.path.join(self.directory, "d.html"))
        for path, says in (("/nonexistent/p.html", "No such file"),
                           (os.path.join(self.directory, "d.html"), "Is a directory")):
            self.assert_refused(self.run_ctl("latency", "--for", "1h", "--plot", path), says)

    def test_widths(self):
        """What a terminal has no room for goes, but neither the power nor the 99th percentile."""
        arguments = ("latency", *QUICK, "--interval", "1ms,2ms", "--no-colour")
        for width in (80, 40):
            text = self.run_terminal(*arguments, "--power", self.table(), width=width)
            self.assertLessEqual(max(map(len, text.splitlines())), width)
            titles = next(line for line in text.splitlines() if "PkgWatt" in line).split()
            self.assertLessEqual({"Interval", "p99", "PkgWatt"}, set(titles))
            self.assertNotIn("\u2026", text.split("\n", 1)[1])
        self.assertIn("p50", self.run_terminal(*arguments, "--power", self.table()))
        if not list(Path("/sys/class/powercap").glob("intel-rapl:*/energy_uj")):
            self.assertNotIn("PkgWatt", self.run_ctl(*arguments).stdout)

    def test_estimated_power(self):
        (setting,) = self.answer(*QUICK, "--power", self.table(), "--root", "/")["settings"]
        power = setting["runs"][0]["power"]
        if power["source"] == "RAPL":
            self.skipTest("this machine measures power")
        packages = len(set(p.read_text() for p in Path("/sys/devices/system/cpu").glob(
            "cpu*/topology/physical_package_id")))
        self.assertEqual((power["source"], round(power["watts"])), ("estimate", 7 * packages))

    def test_power_not_known(self):
        """States without a figure do not count as 0 W for most of the time."""
        table = Path(self.directory, "t.conf")
        table.write_text("[States]\nC0=7\n")
        root = machine(self.directory, "synthetic-laptop")
        for zone in Path(root, "sys/class/powercap").iterdir():
            for file in zone.glob("energy_uj"):
                file.unlink()
        arguments = *QUICK, "--power", str(table), "--root", root
        (setting,) = self.answer(*arguments)["settings"]
        self.assertIsNone(setting["runs"][0]["power"]["watts"])
        text = self.run_ctl("latency", *arguments).stdout
        self.assertNotIn("PkgWatt", text)
        self.assertRegex(text, "t.conf is of another machine")

    def test_absent_cpu(self):
        self.assert_refused(self.run_ctl("latency", "--cpus", "8000"), "--cpus: 8000: not online")

    def test_interrupted(self):
        """What was measured until then is the answer."""
        with subprocess.Popen([IDLELAB, "latency", "--json", "--policy", "other", "--cpus", CPU,
                               "--interval", "1ms", "--for", "1h"], stdout=subprocess.PIPE,
                              text=True, env=environment()) as process:
            wait_for(lambda: sleepers(process.pid) > 1)
            process.send_signal(signal.SIGINT)
            answer = json.loads(process.communicate(timeout=TIMEOUT)[0])
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        self.assertTrue(answer["interrupted"])


def sleepers(pid):
    """How many threads it has."""
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except FileNotFoundError:
        return 0


def wait_for(condition):
    pause, end = 0.005, time.monotonic() + TIMEOUT
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("nothing happened")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.2)


class Swept(TestCase):
    """A tree of plain files, which holds what was written."""

    def setUp(self):
        super().setUp()
        self.root = machine(self.directory, "synthetic-laptop")
        self.run_dir = os.path.join(self.directory, "run")
        self.places = ["--root", self.root, "--run", self.run_dir]
        self.before = self.contents()

    def contents(self):
        """All files that a sweep may write."""
        base = Path(self.root, "sys/devices/system/cpu")
        names = ("scaling_governor", "energy_performance_preference", "disable",
                 "pm_qos_resume_latency_us")
        return {str(p.relative_to(base)): p.read_text().strip()
                for n in names for p in base.rglob(n)}

    def changed(self):
        now = self.contents()
        return {name: now[name] for name in now if now[name] != self.before[name]}

    def sweep(self, *arguments):
        return self.run_ctl("latency", *QUICK, "--cpus", "0", *self.places, *arguments)

    def test_names_the_machine(self):
        """Settings are those of the tree, latencies are not, and it says so."""
        self.assertIn("those of the running machine", self.sweep().stdout)
        self.assertEqual(json.loads(self.sweep("--json").stdout)["root"], self.root)
        here = self.run_ctl("latency", *QUICK, "--json").stdout
        self.assertIsNone(json.loads(here)["root"])

    def test_all_restored(self):
        result = self.sweep("--json", "--sweep", "governor", "--sweep", "epp", "--sweep",
                            "latency", "--sweep", "states")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        settings = json.loads(result.stdout)["settings"]
        self.assertEqual([s["setting"] for s in settings], [
            "as found", "governor=performance", "governor=powersave", "epp=performance",
            "epp=balance_performance", "epp=balance_power", "epp=power", "latency=0",
            "latency=2us", "latency=170us", "latency=230us", "states=POLL", "states=C1E",
            "states=C6", "states=C10"])
        self.assertEqual({s["problem"] for s in settings}, {None})
        self.assertEqual({len(s["runs"]) for s in settings}, {1})
        self.assertEqual(self.changed(), {})
        self.assertFalse(Path(self.run_dir, "undo").exists())

    def interrupted(self, number, sweep, expected):
        """A sweep that hangs in its second setting, a signal."""
        process = subprocess.Popen(
            [IDLELAB, "latency", "--policy", "other", "--cpus", "0", "--interval", "1ms", "--for",
             "2s", "--json", *self.places, "--sweep", sweep], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=environment())
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        wait_for(self.changed)
        self.assertEqual(self.changed(), expected)
        process.send_signal(number)
        output = process.communicate(timeout=TIMEOUT)[0]
        return process.returncode, output

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            status, output = self.interrupted(number, "latency=0",
                                              {"cpu0/power/pm_qos_resume_latency_us": "n/a"})
            self.assertEqual(status, 128 + number)
            self.assertTrue(json.loads(output)["interrupted"])
            self.assertEqual(self.changed(), {})

    def test_killed(self):
        """SIGKILL leaves the record, which idlectl reports and idled restores."""
        left = {"cpu0/cpuidle/state2/disable": "1", "cpu0/cpuidle/state3/disable": "1"}
        self.assertEqual(self.interrupted(signal.SIGKILL, "states=C1E", left)[0],
                         -signal.SIGKILL)
        self.assertEqual(self.changed(), left)
        verify = self.run_ctl("verify", *self.places)
        self.assertEqual(verify.returncode, 1)
        self.assertIn("idled --restore", verify.stdout)
        self.assert_refused(self.sweep("--sweep", "latency"), 'run "idled --restore" first')
        subprocess.run([os.environ["IDLED"], "--restore", "--no-bus", *self.places], check=True,
                       stderr=subprocess.DEVNULL)
        self.assertEqual(self.changed(), {})
        self.assertEqual(self.sweep("--sweep", "latency=0").returncode, 0)

    def test_daemon_runs(self):
        os.mkdir(self.run_dir)
        lock = os.open(self.run_dir, os.O_RDONLY)
        self.addCleanup(os.close, lock)
        fcntl.flock(lock, fcntl.LOCK_EX)
        self.assert_refused(self.sweep("--sweep", "governor"), "idled is running")
        self.assertEqual(self.sweep().returncode, 0)

    def test_taken_over(self):
        """Another program's value stays, and is reported."""
        file = Path(self.root, "sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us")
        process = subprocess.Popen(
            [IDLELAB, "latency", "--policy", "other", "--cpus", "0", "--interval", "1ms", "--for",
             "1s", *self.places, "--sweep", "latency=0"], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=environment())
        wait_for(self.changed)
        file.write_text("77\n")
        errors = process.communicate(timeout=TIMEOUT)[1]
        self.assertEqual(file.read_text(), "77\n")
        self.assertIn("another program has taken over", errors)

    def test_refused_write(self):
        """One setting fails: the answer says why, the others are measured, all is restored."""
        governor = Path(self.root, "sys/devices/system/cpu/cpufreq/policy7/scaling_governor")
        governor.unlink()
        governor.symlink_to("/dev/full")
        self.before = {k: v for k, v in self.before.items() if "policy7" not in k}
        before = {k: v for k, v in self.before.items() if "cpu7/cpufreq" not in k}
        result = self.sweep("--json", "--sweep", "governor=performance", "--sweep", "latency=0")
        self.assertEqual(result.returncode, 1)
        settings = json.loads(result.stdout)["settings"]
        self.assertIn("policy7/scaling_governor", settings[1]["problem"])
        self.assertEqual((settings[1]["runs"], len(settings[2]["runs"])), ([], 1))
        base = Path(self.root, "sys/devices/system/cpu")
        self.assertEqual({n: (base / n).read_text().strip() for n in before}, before)

    def test_asked_twice(self):
        """Measured once."""
        result = self.sweep("--json", "--sweep", "latency=0", "--sweep", "latency=0", "--sweep",
                            "latency=0,2us")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual([s["setting"] for s in json.loads(result.stdout)["settings"]],
                         ["as found", "latency=0", "latency=2us"])

    def test_not_offered(self):
        for what, says in (("governor=schedutil", "does not offer"), ("epp=fast", "does not offer"),
                           ("states=C99", "expected an idle state of CPU 0"),
                           ("profile", "idled is not running")):
            self.assert_refused(self.sweep("--sweep", what), says)

    def test_nothing_there(self):
        os.rename(self.root, os.path.join(self.directory, "laptop"))
        machine(self.directory, "synthetic-bare")
        for what in ("governor", "epp"):
            self.assert_refused(self.sweep("--sweep", what), "this machine does not have it")

    def test_never_all_cpus_unasked(self):
        """Only --sweep dma-latency opens the limit of all CPUs."""
        device = Path(self.root, "dev/cpu_dma_latency")
        device.parent.mkdir()
        device.write_bytes(b"")
        self.assertEqual(self.sweep("--sweep", "latency", "--sweep", "states").returncode, 0)
        self.assertEqual(device.read_bytes(), b"")
        self.assertEqual(self.sweep("--sweep", "dma-latency=50us").returncode, 0)
        self.assertEqual(device.read_bytes(), (50).to_bytes(4, "little"))


unittest.main()
