#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlectl top: rows that add up whatever the counters do, on all kinds of output.

Machines are trees of plain files, which the tests change between two samples.
"""
import csv
import fcntl
import io
import json
import os
import pty
import random
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest
from pathlib import Path

from ctltest import IDLECTL, TIMEOUT, TestCase, environment, machine

CPUS = "sys/devices/system/cpu"


class Tree(TestCase):
    @classmethod
    def setUpClass(cls):
        """Building the machine takes longer than most tests."""
        directory = tempfile.mkdtemp(prefix="idlectl-test-")
        cls.addClassCleanup(shutil.rmtree, directory)
        cls.machine = machine(directory, "synthetic-laptop")

    def setUp(self):
        super().setUp()
        self.root = Path(shutil.copytree(self.machine, os.path.join(self.directory, "root"), symlinks=True))

    def top(self, *arguments, **more):
        return self.run_ctl("top", "--root", str(self.root), *arguments, **more)

    def once(self, *arguments, **more):
        """One sample as JSON."""
        return json.loads(self.top("--json", "--count", "1", "--interval", "50ms", *arguments, **more).stdout)

    def write(self, name, value):
        """In one go, so that idlectl never reads an empty file."""
        descriptor = os.open(self.root / name, os.O_WRONLY | os.O_CREAT, 0o644)
        os.truncate(descriptor, os.write(descriptor, f"{value}\n".encode()))
        os.close(descriptor)

    def add(self, name, value):
        """Adds to a counter."""
        self.write(name, int((self.root / name).read_text()) + value)

    def write_stat(self, text):
        """Replaces /proc/stat in one go, as the kernel does: a reader sees all or nothing."""
        path = self.root / "proc/stat"
        missing = path.stat().st_size - len(text) - len("pad \n")
        text += "pad " + "x" * max(missing, 0) + "\n"
        with open(path, "r+b", buffering=0) as file:
            file.write(text.encode())

    def samples(self, *arguments, interval="100ms"):
        """Samples as JSON, one at a time; `next` starts when the one before was read."""
        process = subprocess.Popen(
            [IDLECTL, "top", "--json", "--root", str(self.root), "--interval", interval,
             *arguments], stdout=subprocess.PIPE, text=True, env=environment())
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process, (json.loads(line) for line in process.stdout)


def total(row):
    return row["busy_percent"] + sum(state["percent"] for state in row["states"])


class Rows(Tree):
    def test_add_up(self):
        """Also where counters stand still, run away, go back, or are no numbers."""
        source = random.Random(4711)
        _, samples = self.samples(interval="50ms")
        files = sorted((self.root / CPUS).glob("cpu[0-9]*/cpuidle/state*/[tu][is][ma][eg]*"))
        self.assertGreater(len(files), 30)
        for _ in range(12):
            sample = next(samples)
            self.assertEqual(sample["machine"]["cpus"], 8)
            for row in [sample["machine"], *sample["rows"]]:
                self.assertAlmostEqual(total(row), 100, delta=0.05)
                self.assertTrue(all(s["percent"] >= 0 for s in row["states"]))
            for file in source.sample(files, 10):
                file.write_text(source.choice(["0\n", "x\n", "", "-5\n",
                                               f"{source.randrange(10**9)}\n",
                                               "99999999999999999999999\n"]))
            stat = (self.root / "proc/stat").read_text()
            stat = re.sub(r"(?m)^(cpu\d+ )(\d+)", lambda m: m[1] + str(
                int(m[2]) + source.randrange(20)), stat)
            self.write_stat(stat)

    def test_wakeups(self):
        _, samples = self.samples(interval="200ms")
        next(samples)
        for state, usage in ((1, 30), (2, 10)):
            self.add(f"{CPUS}/cpu2/cpuidle/state{state}/usage", usage)
            self.add(f"{CPUS}/cpu2/cpuidle/state{state}/time", 1000 * usage)
        entered = []
        for sample in (next(samples), next(samples)):
            rows = [row for row in sample["rows"] if row["wakeups_per_second"]]
            self.assertLessEqual({row["cpu"] for row in rows}, {2})
            seconds = sample["interval_usec"] / 1e6
            for row in rows:
                entered.append(sum(s["entered"] for s in row["states"]))
                self.assertAlmostEqual(row["wakeups_per_second"] * seconds, entered[-1], delta=0.1)
                self.assertAlmostEqual(row["mean_sleep_usec"] * entered[-1], seconds * 1e6,
                                       delta=seconds * 1e4)
        self.assertEqual(sum(entered), 40)

    def test_asleep(self):
        """A CPU that never woke has slept at least since it was first seen so."""
        _, samples = self.samples(interval="100ms")
        lengths = [next(samples)["rows"][0]["longest_sleep_at_least_usec"] for _ in range(4)]
        self.assertEqual(lengths, sorted(lengths))
        self.assertGreater(lengths[3], 300000)

    def test_state_that_is_off(self):
        """A CPU that woke up after its deepest state was switched off sleeps in another one."""
        _, samples = self.samples("--cpus", "2", interval="100ms")
        estimated = [s["name"] for s in next(samples)["rows"][0]["states"] if s["estimated"]]
        self.assertEqual(estimated, ["C10"])
        self.write(f"{CPUS}/cpu2/cpuidle/state3/disable", 1)
        self.add(f"{CPUS}/cpu2/cpuidle/state3/time", 20000)
        self.add(f"{CPUS}/cpu2/cpuidle/state3/usage", 1)

        def is_shallower(sample):
            row = sample["rows"][0]
            self.assertAlmostEqual(total(row), 100, delta=0.05)
            return [s["name"] for s in row["states"] if s["estimated"]] == ["C6"]
        self.assertTrue(any(is_shallower(next(samples)) for _ in range(50)))  # some are from before
        self.assertTrue(all(is_shallower(next(samples)) for _ in range(5)))

    def test_groups(self):
        def count(*arguments):
            return [(r["cpu"], r["core"], r["package"], r["cpus"])
                    for r in self.once(*arguments)["rows"]]
        self.assertEqual([row[0] for row in count()], list(range(8)))
        self.assertEqual([row[3] for row in count("--by", "core")], [2, 2, 1, 1, 1, 1])
        self.assertEqual(count("--by", "package"), [(None, None, 0, 8)])
        self.assertEqual([row[0] for row in count("--cpus", "1,6-7")], [1, 6, 7])

    def test_cpus_of_groups(self):
        def lists(*arguments):
            return [row["cpu_list"] for row in self.once(*arguments)["rows"]]
        self.assertEqual(lists("--by", "core"), ["0-1", "2-3", "4", "5", "6", "7"])
        self.assertEqual(lists("--by", "package", "--cpus", "1,6-7"), ["1,6-7"])
        self.assertEqual(lists("--cpus", "6"), [None])
        table = self.top("--by", "core", "--count", "1", "--interval", "50ms").stdout
        self.assertRegex(table, r"(?m)^ *2-3 ")

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_sampling_closes_no_file(self):
        """The kernel wakes another CPU to free a file that was closed. In 2.5 s limits are read three times."""
        for root in ("--root", str(self.root)), ():  # the live machine uses its idle states meanwhile
            trace = os.path.join(self.directory, "trace")
            subprocess.run(["strace", "-f", "-e", "trace=openat,close,write", "-o", trace, IDLECTL, "top",
                            "--json", *root, "--interval", "100ms", "--count", "25"], env=environment(),
                           stdout=subprocess.PIPE, timeout=120, check=True)
            with open(trace, encoding="utf-8") as file:
                lines = [line.split(None, 1)[1] for line in file]
            written = [i for i, line in enumerate(lines) if line.startswith("write(1,")]
            self.assertGreaterEqual(len(written), 25)
            between = [line for line in lines[written[0]:written[-1]] if line.startswith("close(")]
            self.assertEqual(between, [], root)

    def test_limits(self):
        for cpu, text in ((1, "n/a"), (2, "50")):
            self.write(f"{CPUS}/cpu{cpu}/power/pm_qos_resume_latency_us", text)
        rows = self.once()["rows"]
        self.assertEqual([row["latency_limit_us"] for row in rows[:4]], [None, 0, 50, None])

    def test_limit_of_all_cpus(self):
        """/dev/cpu_dma_latency and the CPU's own limit: the stricter one is in effect."""
        self.write(f"{CPUS}/cpu2/power/pm_qos_resume_latency_us", "50")
        device = self.root / "dev/cpu_dma_latency"
        device.parent.mkdir(exist_ok=True)
        for us, expected in ((0, 0), (70, 70), (2000000000, None)):
            device.write_bytes(us.to_bytes(4, "little"))
            rows = self.once()["rows"]
            self.assertEqual([row["latency_limit_us"] for row in rows[1:3]],
                             [expected, min(us, 50)])
        for garbage in b"", b"xy":
            device.write_bytes(garbage)
            rows = self.once()["rows"]
            self.assertEqual([row["latency_limit_us"] for row in rows[1:3]], [None, 50])

    def test_parked(self):
        self.start("normal")
        rows = self.once()["rows"]
        self.assertEqual([row["parked_cpus"] for row in rows], [0, 0, 1, 1, 0, 0, 0, 0])
        self.assertRegex(self.top("--count", "1", "--interval", "50ms", "--columns",
                                  "CPU,Park").stdout, r"(?m)^  2 +yes$")


class Energy(Tree):
    ZONE = "sys/class/powercap/intel-rapl:0"

    def watts(self, change):
        """The watts of the first reading after a change, and how long after the one before."""
        _, samples = self.samples(interval="1s")
        begin = next(samples)
        self.assertEqual(begin["machine"]["package_watts"], 0)
        change()
        for _ in range(5):
            sample = next(samples)
            if sample["machine"]["package_watts"] != 0:
                break
        return (sample["machine"]["package_watts"],
                (sample["time_usec"] - begin["time_usec"]) / 1e6)

    def test_measured(self):
        watts, seconds = self.watts(lambda: self.add(self.ZONE + "/energy_uj", 5000000))
        self.assertAlmostEqual(watts * seconds, 5, delta=0.5)

    def test_wrap(self):
        limit = int((self.root / self.ZONE / "max_energy_range_uj").read_text())
        self.write(self.ZONE + "/energy_uj", limit - 1000000)
        watts, seconds = self.watts(lambda: self.write(self.ZONE + "/energy_uj", 2000000))
        self.assertAlmostEqual(watts * seconds, 3, delta=0.3)

    def test_impossible(self):
        for value in (0, "x", 10**18):
            self.write(self.ZONE + "/energy_uj", 200000000)
            watts, _ = self.watts(lambda value=value: self.write(self.ZONE + "/energy_uj", value))
            self.assertIsNone(watts, value)

    def test_temperature(self):
        self.assertIsNone(self.once()["machine"]["package_celsius"])
        for name, value in (("name", "coretemp"), ("temp1_label", "Package id 0"),
                            ("temp1_input", 41500), ("temp2_label", "Core 0"),
                            ("temp2_input", 99000)):
            (self.root / "sys/class/hwmon/hwmon3").mkdir(parents=True, exist_ok=True)
            self.write("sys/class/hwmon/hwmon3/" + name, value)
        self.assertEqual(self.once()["machine"]["package_celsius"], 41.5)

    def test_estimate(self):
        """Without counters, by a table, and marked."""
        table = Path(self.directory, "t.conf")
        table.write_text("[States]\n" + "".join(f"{n}=10\n" for n in
                                                 ("C0", "POLL", "C1E", "C6", "C10", "C6S")))
        missing = ("--count", "1", "--power", str(table) + "x")
        self.assert_refused(self.top(*missing), "t.confx")
        for zone in (self.root / "sys/class/powercap").iterdir():
            for file in zone.glob("energy_uj"):
                file.unlink()
        self.assert_refused(self.top(*missing), "t.confx")
        arguments = ("--count", "1", "--interval", "50ms", "--power", str(table))
        row = json.loads(self.top("--json", *arguments).stdout)["machine"]
        self.assertEqual((row["package_watts"], row["package_watts_source"]), (10, "estimate"))
        self.assertIn("~10.00", self.top(*arguments).stdout)
        table.write_text("[States]\nC0=10\n")  # CPUs sleep in states that it does not have
        row = json.loads(self.top("--json", *arguments).stdout)["machine"]
        self.assertIsNone(row["package_watts"])
        self.assertNotIn("~0", self.top(*arguments).stdout)

    def test_not_root(self):
        """What root alone may read is absent, and all else is there."""
        if os.geteuid() != 0:
            self.skipTest("needs root, to become another user")
        for file in (self.root / "sys/class/powercap").glob("*/energy_uj"):
            file.chmod(0o400)
        os.chmod(self.directory, 0o755)
        row = self.once(user=65534)["machine"]
        self.assertIsNone(row["package_watts"])
        self.assertAlmostEqual(total(row), 100, delta=0.05)
        result = self.top("--count", "2", "--interval", "50ms", user=65534)
        self.assertEqual(result.stdout.count("only root"), 1)
        self.assertIn("only root", self.top("true", user=65534).stderr)


class Changes(Tree):
    def test_cpu_goes_and_comes(self):
        online, stat = f"{CPUS}/online", (self.root / "proc/stat").read_text()
        _, samples = self.samples(interval="50ms")
        self.assertEqual(len(next(samples)["rows"]), 8)
        self.write_stat(re.sub(r"(?m)^cpu3 .*\n", "", stat))
        self.write(online, "0-2,4-7")
        self.assertTrue(any(len(next(samples)["rows"]) == 7 for _ in range(200)))  # some are from before
        self.write_stat(stat)
        self.write(online, "0-7")
        self.assertTrue(any(len(next(samples)["rows"]) == 8 for _ in range(200)))

    def test_states_vanish(self):
        _, samples = self.samples(interval="50ms")
        next(samples)
        os.rename(self.root / CPUS / "cpu1/cpuidle", self.root / "gone")
        for _ in range(3):
            sample = next(samples)
            self.assertAlmostEqual(total(sample["rows"][1]), 100, delta=0.05)

    def test_stat_vanishes(self):
        process, samples = self.samples("--count", "20", interval="50ms")
        next(samples)
        self.write("proc/stat", "")
        self.assertLess(len(list(samples)), 19)
        self.assertEqual(process.wait(TIMEOUT), 1)


class Output(Tree):
    def test_columns(self):
        result = self.top("--count", "2", "--interval", "50ms", "--columns", "cpu,states,Wake/s")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        tables = result.stdout.split("\n\n")
        self.assertEqual(len(tables), 2)
        self.assertEqual(tables[0].split("\n")[0].split(),
                         ["CPU", "POLL%", "C1E%", "C6%", "C10%", "C6S%", "Wake/s"])
        self.assertEqual([line.split()[0] for line in tables[0].split("\n")[1:]],
                         ["-", *map(str, range(8))])
        for option, found, says in (("--columns", "CPU,Bsy%", "found \"Bsy%\", expected some of states"),
                                    ("--sort", "Bsy%", "found \"Bsy%\", expected one of CPU, Core"),
                                    ("--sort", "states", "found \"states\", expected one of CPU"),
                                    ("--sort", "CPU,Core", "found \"CPU,Core\", expected one of")):
            self.assert_refused(self.top("--count", "1", option, found), says, status=2)

    def test_sort(self):
        self.write(f"{CPUS}/cpu5/power/pm_qos_resume_latency_us", "7")
        result = self.top("--count", "1", "--interval", "50ms", "--columns", "CPU,Limit",
                          "--sort", "limit")
        self.assertEqual([line.split()[0] for line in result.stdout.splitlines()[1:4]],
                         ["-", "5", "0"])

    def test_csv(self):
        result = self.top("--csv", "--count", "2", "--interval", "50ms")
        rows = list(csv.DictReader(io.StringIO(result.stdout)))
        self.assertEqual(len(rows), 18)
        self.assertEqual({len(row) for row in rows}, {len(rows[0])})
        self.assertEqual([row["CPU"] for row in rows[:9]], ["", *map(str, range(8))])
        self.assertIn("C10%", rows[1]["Estimated"].split())
        shares = ("Busy%", "POLL%", "C1E%", "C6%", "C10%", "C6S%")
        for row in rows:
            self.assertAlmostEqual(sum(float(row[name]) for name in shares), 100, delta=0.05)

    def test_widths(self):
        for width in (40, 80, 20):
            text = self.run_terminal("top", "--root", str(self.root), "--count", "1",
                                     "--interval", "50ms", "--no-colour", width=width)
            self.assertLessEqual(max(map(len, text.splitlines())), width)
            self.assertRegex(text, "CPU  (Core  )?Busy%")

    def test_closed_pipe(self):
        with subprocess.Popen([IDLECTL, "top", "--root", str(self.root), "--interval", "10ms"],
                              stdout=subprocess.PIPE, env=environment()) as process:
            process.stdout.readline()
            process.stdout.close()
            self.assertNotEqual(process.wait(TIMEOUT), 0)

    def test_full_disk(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            status = subprocess.run([IDLECTL, "top", "--root", str(self.root), "--interval",
                                     "10ms", "--count", "3"], stdout=full, env=environment(),
                                    stderr=subprocess.DEVNULL, timeout=TIMEOUT,
                                    check=False).returncode
        self.assertEqual(status, 1)

    def test_signal_ends(self):
        process, samples = self.samples(interval="50ms")
        next(samples)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(TIMEOUT), 0)

    def test_no_such_cpus(self):
        """No row of zeros for CPUs that are not there."""
        self.assert_refused(self.top("--cpus", "99", "--count", "1", "--interval", "10ms"), "--cpus")

    def test_no_machine(self):
        self.assert_refused(self.run_ctl("top", "--root", self.directory, "--count", "1"), "failed to read the CPUs")


class Command(Tree):
    def test_measured(self):
        zone = self.root / Energy.ZONE / "energy_uj"
        result = self.top("--json", "sh", "-c",
                          f"echo $(( $(cat {zone}) + 3000000 )) > {zone}.new; sleep 1; "
                          f"cat {zone}.new > {zone}; echo seen; exit 7")
        answer = json.loads(result.stderr)
        self.assertEqual((result.returncode, result.stdout, answer["exit_status"]), (7, "seen\n", 7))
        self.assertAlmostEqual(answer["package_joules"], 3, delta=0.01)
        self.assertEqual(answer["package_joules_source"], "RAPL")
        self.assertGreater(answer["seconds"], 1)
        self.assertAlmostEqual(total(answer["machine"]), 100, delta=0.05)

    def test_between_ticks(self):
        """The kernel has counted nothing: neither busy nor idle is known."""
        answers = (json.loads(self.top("--json", "/bin/true").stderr) for _ in range(200))
        row = next(answer["machine"] for answer in answers if answer["interval_usec"] < 10000)
        self.assertIsNone(row["busy_percent"])
        for state in row["states"]:
            self.assertEqual(state["percent"] is None, state["estimated"])

    def test_people(self):
        result = self.top("sleep", "0.1")
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"(?m)^sleep: 0\.\d+ s, 0\.\d+ s of CPU, exit status 0$")

    def test_output(self):
        """The result has a place of its own, next to both streams of the command."""
        path = Path(self.directory, "result")
        for option, parse in (("--json", json.loads), ("--csv", lambda text: list(csv.DictReader(io.StringIO(text))))):
            result = self.top(option, "--output", str(path), "--", "sh", "-c", "echo out; echo err >&2")
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "out\n", "err\n"))
            self.assertTrue(parse(path.read_text()))
        result = self.top("--count", "1", "--interval", "10ms", "--output", str(path))
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assertIn("Busy%", path.read_text())
        for bad in self.directory, "/nonexistent/result":
            self.assert_refused(self.top("--output", bad, "--", "touch", str(path) + ".ran"), f"--output: {bad}: ")
        self.assertFalse(Path(str(path) + ".ran").exists())
        self.assertEqual(self.top("--output", "/dev/full", "true").returncode, 1)

    def test_limit_of_descriptors(self):
        """top raises its own, and the command has that of the caller."""
        limit = f"{resource.getrlimit(resource.RLIMIT_NOFILE)[0]}\n"
        self.assertEqual(self.top("sh", "-c", "ulimit -Sn").stdout, limit)

    def test_status(self):
        self.assertEqual(self.top("/nonexistent/command").returncode, 127)
        self.assertEqual(self.top(self.directory).returncode, 126)
        self.assertEqual(self.top("sh", "-c", "kill -TERM $$").returncode, 128 + signal.SIGTERM)
        self.assertEqual(self.top("--", "sh", "-c", "exit 3").returncode, 3)

    def test_signal(self):
        """Sent to idlectl alone, it ends the command, and what was measured until then is shown."""
        with subprocess.Popen([IDLECTL, "top", "--root", str(self.root), "--json", "--", "sh", "-c",
                               "echo; exec sleep 1000"], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.PIPE, env=environment()) as process:
            process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            _, answer = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertEqual(json.loads(answer)["exit_status"], 128 + signal.SIGTERM)


class Live(Tree):
    """On a terminal, with a keyboard."""

    def begin(self, width=80, height=12, *arguments):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.before = termios.tcgetattr(slave)
        process = subprocess.Popen(
            [IDLECTL, "top", "--root", str(self.root), "--interval", "50ms", "--no-colour",
             *arguments], stdin=slave, stdout=slave, env=environment(TERM="xterm"),
            process_group=0)  # a job as of a shell: what no shell could continue cannot be stopped
        self.addCleanup(os.close, slave)
        self.addCleanup(os.close, master)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.master, self.slave, self.text = master, slave, ""
        return process

    def frame(self, condition):
        """Waits for a whole frame for which that is true; its lines."""
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            if select.select([self.master], [], [], 0.5)[0]:
                self.text += os.read(self.master, 65536).decode().replace("\r\n", "\n")
            frames = self.text.split("\033[H\033[J")
            if len(frames) > 2:
                self.text = "\033[H\033[J" + frames[-1]
                for frame in frames[1:-1]:
                    if condition(frame.split("\n")):
                        return frame.split("\n")
        raise AssertionError(f"no such frame: {self.text!r}")

    def end(self, process):
        end = time.monotonic() + TIMEOUT
        while process.poll() is None or select.select([self.master], [], [], 0)[0]:
            if select.select([self.master], [], [], 0.2)[0]:
                self.text += os.read(self.master, 65536).decode()
            self.assertLess(time.monotonic(), end)
        self.assertEqual(process.returncode, 0)
        self.assertTrue(self.text.endswith("\033[?25h\033[?1049l"))
        self.assertEqual(termios.tcgetattr(self.slave), self.before)

    def quit(self, process):
        os.write(self.master, b"q")
        self.end(process)

    def press(self, keys, condition):
        """The next frame for which that is true."""
        os.write(self.master, keys)
        return self.frame(condition)

    def test_keys(self):
        process = self.begin(80, 10)
        lines = self.frame(lambda lines: True)
        self.assertIn("8 CPUs", lines[0])
        self.assertTrue(all(len(line) <= 80 for line in lines))
        self.assertLessEqual(len(lines), 10)
        lines = self.press(b"\033[B", lambda lines: lines[3].split()[0] == "1")  # down
        self.assertEqual(lines[2].split()[0], "-")
        self.press(b"k", lambda lines: lines[3].split()[0] == "0")  # and up
        self.press(b"\033[C", lambda lines: "POLL+" in lines[1])  # to the right
        os.write(self.master, b"xyz\033[99~\0")  # keys that mean nothing
        self.quit(process)

    def test_sort(self):
        """s begins with what the first column is not about; behind the last column it is the order of CPUs."""
        self.write(f"{CPUS}/cpu5/power/pm_qos_resume_latency_us", "7")
        process = self.begin(80, 12, "--columns", "CPU,Core,Limit,Wake/s")

        def first(column, cpus):
            return lambda lines: "sort: " + column in lines[-1] and [
                line.split()[0] for line in lines[3:3 + len(cpus)]] == list(cpus)
        self.frame(first("CPU", "012"))
        self.assertIn("Limit", self.press(b"s", first("Limit", "501"))[1])
        self.press(b"s", first("Wake/s", "012"))
        self.press(b"s", first("CPU", "012"))
        self.press(b"r", first("CPU", "765"))
        self.quit(process)

    def test_sort_before_the_first_sample(self):
        process = self.begin()
        self.press(b"sj\033[C", lambda lines: "sort: " in lines[-1])
        self.quit(process)

    def test_sort_column_is_visible(self):
        """Also where there is no room for all columns, and after others scrolled away."""
        process = self.begin(44, 12, "--sort", "corwatt")
        self.assertEqual(self.frame(lambda lines: "sort: CorWatt" in lines[-1])[1].split()[:2],
                         ["CPU", "CorWatt"])
        self.press(b"\033[C", lambda lines: lines[1].split()[:2] == ["CPU", "CorWatt"] and "Busy%" not in lines[1])
        self.quit(process)
        table = self.run_terminal("top", "--root", str(self.root), "--count", "1", "--interval", "50ms",
                                  "--sort", "Longest", "--no-colour", width=70)
        self.assertIn("Longest", table.splitlines()[0])

    def test_rows_that_fit(self):
        """No row scrolls away for which there is room."""
        process = self.begin(80, 12)
        lines = self.frame(lambda lines: True)
        self.assertNotIn("Down", lines[-1])
        lines = self.press(b"\033[B\033[6~s", lambda lines: "sort: Busy%" in lines[-1])
        self.assertEqual([line.split()[0] for line in lines[2:-1]], ["-", *"01234567"])
        self.quit(process)
        process = self.begin(80, 8)
        self.frame(lambda lines: "Down: more rows" in lines[-1])
        lines = self.press(b"\033[6~\033[6~\033[6~", lambda lines: "Down" not in lines[-1])
        self.assertEqual([line.split()[0] for line in lines[2:-1]], ["-", *"4567"])
        self.quit(process)

    def test_columns_that_fit(self):
        """All there is room for are shown, and the last line says which key shows others."""
        process = self.begin(200, 12)
        lines = self.frame(lambda lines: True)
        for title in "Core", "POLL+", "C10-", "Longest":
            self.assertIn(" " + title, lines[1])
        self.assertNotIn("Right", lines[-1])
        lines = self.press(b"\033[Cs", lambda lines: "sort: Busy%" in lines[-1])
        self.assertIn("Core", lines[1])
        self.quit(process)
        process = self.begin(80, 12)
        self.assertNotIn("POLL+", self.frame(lambda lines: "Right: more columns" in lines[-1])[1])
        lines = self.press(b"\033[C" * 40, lambda lines: "Right" not in lines[-1])
        self.assertIn("Left: back", lines[-1])
        self.assertTrue(lines[1].startswith("CPU ") and not lines[1].endswith("…"), lines[1])
        self.press(b"h" * 40, lambda lines: "Right" in lines[-1] and "Left" not in lines[-1])
        self.quit(process)

    def test_stopped(self):
        """Ctrl-Z gives the shell its screen and keyboard back; fg returns to the view."""
        for number in (signal.SIGTSTP, signal.SIGSTOP):
            process = self.begin()
            self.frame(lambda lines: True)
            process.send_signal(number)
            end, stopped = time.monotonic() + TIMEOUT, 0
            while not stopped and time.monotonic() < end:
                self.drain(0.02)
                stopped = os.waitpid(process.pid, os.WUNTRACED | os.WNOHANG)[1]
            self.assertTrue(os.WIFSTOPPED(stopped))
            if number == signal.SIGTSTP:
                self.drain()
                self.assertTrue(self.text.endswith("\033[?25h\033[?1049l"))
                self.assertEqual(termios.tcgetattr(self.slave), self.before)
            termios.tcsetattr(self.slave, termios.TCSANOW, self.before)  # as shells do
            self.text = ""
            process.send_signal(signal.SIGCONT)
            self.frame(lambda lines: "8 CPUs" in lines[0])
            self.assertFalse(termios.tcgetattr(self.slave)[3] & (termios.ICANON | termios.ECHO))
            self.quit(process)

    def drain(self, pause=0.2):
        while select.select([self.master], [], [], pause)[0]:
            self.text += os.read(self.master, 65536).decode()

    def test_quit(self):
        process = self.begin()
        self.frame(lambda lines: True)
        os.write(self.master, b"\034")  # Ctrl-backslash
        process.send_signal(signal.SIGQUIT)
        self.end(process)

    def test_sizes(self):
        process = self.begin(40, 6)
        lines = self.frame(lambda lines: True)
        self.assertTrue(all(len(line) <= 40 for line in lines))
        self.assertLessEqual(len(lines), 6)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 120, 0, 0))  # no signal: as below su
        self.frame(lambda lines: len(lines) == 12 and len(lines[1]) > 80)
        process.send_signal(signal.SIGTERM)
        self.end(process)


class Large(TestCase):
    def test_576_cpus_10_states(self):
        names = ["POLL", "C1", "C1E", "C2", "C3", "C6", "C7", "C8", "C9", "C10"]
        root = Path(self.directory, "large")
        cpus = root / CPUS
        for directory in (cpus, root / "proc", root / "model"):
            directory.mkdir(parents=True)
        for name in ("possible", "present", "online"):
            (cpus / name).write_text("0-575\n")
        (root / "proc/stat").write_text("cpu  1 0 1 1 0 0 0 0 0 0\n" + "".join(
            f"cpu{cpu} 100 0 100 9000 0 0 0 0 0 0\n" for cpu in range(576)) + "ctxt 1\n")
        for i, name in enumerate(names):  # files of all CPUs are the same ones
            state = root / f"model/state{i}"
            state.mkdir()
            for file, text in (("name", name), ("latency", i * 10), ("residency", i * 30),
                               ("usage", 5), ("time", 500)):
                (state / file).write_text(f"{text}\n")
        for cpu in range(576):
            (cpus / f"cpu{cpu}").mkdir()
            (cpus / f"cpu{cpu}/cpuidle").symlink_to(root / "model")
        root = str(root)
        result = self.run_ctl("top", "--root", root, "--json", "--count", "2", "--interval",
                              "50ms")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        sample = json.loads(result.stdout.splitlines()[1])
        self.assertEqual(len(sample["rows"]), 576)
        self.assertEqual([s["name"] for s in sample["rows"][575]["states"]], names)
        for row in sample["rows"]:
            self.assertAlmostEqual(total(row), 100, delta=0.05)


unittest.main()
