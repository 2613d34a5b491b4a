#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlelab record FILE and export: what is recorded of described machines, and their bad days."""
import csv
import io
import json
import os
import pty
import resource
import signal
import subprocess
import unittest
from pathlib import Path

from ctltest import IDLELAB, TIMEOUT, TestCase, environment, machine


def limit_file_size():
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))


class Recording(TestCase):
    NAME = "synthetic-laptop"

    def setUp(self):
        super().setUp()
        self.root = machine(self.directory, self.NAME)
        self.file = os.path.join(self.directory, "a.rec")

    def record(self, *arguments, **more):
        return self.run_ctl("record", "--root", self.root, *arguments, **more)

    def values(self, file=None):
        """[row of the export] of the recording."""
        result = self.run_ctl("export", file or self.file)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return list(csv.DictReader(io.StringIO(result.stdout)))

    def trace(self):
        result = self.run_ctl("export", "--format", "perfetto", self.file)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)["traceEvents"]


class Contents(Recording):
    def test_samples(self):
        result = self.record(self.file, "--seconds", "0.6", "--interval", "300ms", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        answer = json.loads(result.stdout)
        self.assertGreaterEqual(answer["samples"], 2)
        self.assertEqual((answer["cpus"], answer["file"]), (8, self.file))
        self.assertEqual(answer["file_bytes"], os.path.getsize(self.file))
        self.assertIn("with --root", answer["daemon_error"])
        rows = self.values()
        shares = {}
        for row in rows:
            if row["table"] == "cpu" and row["column"] in ("busy_share", "residency_share"):
                key = row["time_usec"], row["key"]
                shares[key] = shares.get(key, 0) + float(row["value"])
        self.assertEqual(len(shares), answer["samples"] * 8)
        for key, total in shares.items():
            self.assertAlmostEqual(total, 1, 3, key)
        kinds = [r["value"] for r in rows if r["table"] == "event" and r["column"] == "kind"]
        self.assertEqual(kinds, ["start", "end"])
        watts = [float(r["value"]) for r in rows if r["column"] == "power_watts"]
        self.assertEqual(len(watts), 0)  # less than a second is too short to reveal it

    def test_interval(self):
        """A sample that is late does not make the later ones late."""
        self.record(self.file, "--seconds", "2.05", "--interval", "100ms")
        intervals = sorted(float(r["value"]) / 1000 for r in self.values()
                           if r["table"] == "machine" and r["column"] == "interval_usec")
        self.assertAlmostEqual(intervals[len(intervals) // 2], 100, delta=10)

    def test_power(self):
        """After a second, if energy can be read."""
        self.record(self.file, "--seconds", "1.2", "--interval", "300ms")
        domains = {r["of"] for r in self.values() if r["column"] == "power_watts"}
        self.assertIn("package-0", domains)

    def test_command(self):
        for status in 0, 7:
            Path(self.file).unlink(missing_ok=True)
            result = self.record(self.file, "--interval", "100ms", "--", "sh", "-c",
                                 f"sleep 0.3; exit {status}")
            self.assertEqual(result.returncode, status, result.stderr)
            facts = [r["value"] for r in self.values() if r["table"] == "info"]
            self.assertIn(f"sh -c sleep 0.3; exit {status}", facts)

    def test_facts_that_change(self):
        """The export has a later value of a fact as well, and no fact twice in a row."""
        for command in "true", "true", "sleep", "true":
            self.assertIn(self.record(self.file, "--append", "--", command).returncode, (0, 1))
        rows = [r for r in self.values() if r["table"] == "info"]
        facts = {}
        for row in rows:
            facts.setdefault(row["row"], {})[row["column"]] = row["value"]
        commands = [fact["value"] for fact in facts.values() if fact["key"] == "command"]
        self.assertEqual(commands, ["true", "sleep", "true"])
        self.assertEqual([fact["key"] for fact in facts.values()].count("program"), 1)

    def test_short_command(self):
        """A command that is shorter than an interval, and than a reading, has its one sample."""
        for command, status in (("true", 0), ("false", 1), ("/nonexistent/command", 127)):
            Path(self.file).unlink(missing_ok=True)
            result = self.record(self.file, "--json", "--", command)
            self.assertEqual(result.returncode, status, result.stderr)
            self.assertEqual(json.loads(result.stdout)["samples"], 1, command)
            rows = self.values()
            shares = [float(r["value"]) for r in rows if r["column"] == "busy_share"]
            self.assertEqual(len(shares), 8, command)
            self.assertTrue(all(0 <= share <= 1 for share in shares), command)
            self.assertIn("end", [r["value"] for r in rows if r["column"] == "kind"])

    def announced(self, *arguments):
        """What it prints on standard error where that is a terminal."""
        master, slave = pty.openpty()
        with subprocess.Popen([IDLELAB, "record", "--root", self.root, *arguments], stderr=slave,
                              stdout=subprocess.PIPE, env=environment()) as process:
            os.close(slave)
            text = os.read(master, 65536).decode()
            if "Ctrl+C" in text and "for" not in text.split():
                process.send_signal(signal.SIGINT)
            process.communicate(timeout=TIMEOUT)
        os.close(master)
        self.assertEqual(process.returncode, 0, text)
        return text.replace("\r\n", "\n")

    def test_announced(self):
        """On a terminal, in one line, it says that it records and how that ends; elsewhere nothing."""
        for arguments, ends in (((), ["Ctrl+C"]), (("--seconds", "0.2"), ["0.2 s", "Ctrl+C"]),
                                (("--", "sh", "-c", "sleep 0.1"), ["until sh ends"])):
            Path(self.file).unlink(missing_ok=True)
            text = self.announced(self.file, *arguments)
            self.assertRegex(text, "^Recording .*a\\.rec.*\n$", arguments)
            for end in ends:
                self.assertIn(end, text)
            self.assertGreater(len(self.values()), 0)
        Path(self.file).unlink()
        self.assertEqual(self.record(self.file, "--seconds", "0.1").stderr, "")

    def test_terminated(self):
        """SIGTERM ends it with a whole file."""
        for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
            Path(self.file).unlink(missing_ok=True)
            with subprocess.Popen([IDLELAB, "record", "--root", self.root, "--interval", "50ms",
                                   self.file, "--append"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=environment()) as process:
                # It blocks the signals before it samples for the first time.
                status = Path(f"/proc/{process.pid}/status")
                while "\nSigBlk:\t0000000000000000" in status.read_text():
                    pass
                process.send_signal(number)
                out, err = process.communicate(timeout=TIMEOUT)
            self.assertEqual((process.returncode, err), (0, ""))
            self.assertRegex(out, "samples? of 8 CPUs")
            self.assertIn("end", [r["value"] for r in self.values() if r["column"] == "kind"])

    def test_output(self):
        """Standard output takes the recording, a message goes to the other."""
        with subprocess.Popen([IDLELAB, "record", "--root", self.root, "--seconds", "0.2", "-"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment()) as process:
            out, err = process.communicate(timeout=TIMEOUT)
        self.assertIn(b"1 sample of 8 CPUs", err)
        result = subprocess.run([IDLELAB, "export", "-"], input=out, capture_output=True,
                                env=environment(), timeout=TIMEOUT, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertIn(b",topology,", result.stdout)

    def test_hostile_texts(self):
        """In JSON they arrive as they are; in CSV without anything that a terminal obeys."""
        name = "\033[2J\",<script>\\\n=cmd|' /C calc'!A0\u202e"
        self.record(self.file, "--", "sh", "-c", ": " + "'" + name.replace("'", "") + "'")
        rows = [r for r in self.values() if r["table"] == "info"]
        self.assertTrue(any('?[2J",<script>\\?=cmd|' in r["value"] for r in rows), rows)
        self.record(self.file, "--append", "--", name)
        event = [e for e in self.trace() if e["ph"] == "i" and e["name"] == "start"][-1]
        self.assertEqual(event["args"]["text"], name.replace("\033", "?"))
        texts = [r["value"] for r in self.values() if r["column"] == "text"]
        self.assertEqual(texts[-1], name.replace("\033", "?").replace("\n", "?").replace("\u202e", "?"))

    def test_formula(self):
        """A spreadsheet does not compute what a text says."""
        self.record(self.file, "--", "=1+1")
        self.assertIn("'=1+1", [r["value"] for r in self.values() if r["column"] == "text"])

    def test_sleeps(self):
        """Without a ledger the kernel's counters, and why."""
        result = self.record(self.file, "--sleeps", "--seconds", "0.2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(any("--root" in r["value"] for r in self.values() if r["table"] == "info"))
        self.assertRegex(result.stdout, "sleeps was not recorded: .*--root")
        page = os.path.join(self.directory, "p.html")
        report = self.run_ctl("report", self.file, "--output", page, "--json")
        self.assertIn("--root", json.loads(report.stdout)["recordings"][0]["sleeps"])
        self.assertNotIn("sleeps", self.record(self.file, "--append", "--", "true").stdout)

    def test_trace(self):
        self.record(self.file, "--seconds", "0.5", "--interval", "100ms")
        events = self.trace()
        names = {e["args"]["name"] for e in events if e["name"] == "process_name"}
        self.assertEqual(names, {"machine"} | {f"CPU {cpu}" for cpu in range(8)})
        counters = [e for e in events if e["ph"] == "C"]
        self.assertTrue({"busy_share", "residency_share POLL"} <= {e["name"] for e in counters})
        for event in counters:
            self.assertEqual(len(event["args"]), 1)
            self.assertIsInstance(next(iter(event["args"].values())), (int, float))
            self.assertGreater(event["ts"], 1e15)
        # A counter keeps its value until the next one: means stand where their time begins.
        values = {(r["column"], r["time_usec"]): float(r["value"]) for r in self.values()
                  if r["table"] == "machine"}
        for name, begin in (("busy_share", "interval_usec"), ("load", "interval_usec"), ("running", None)):
            self.assertEqual(sorted({e["ts"] for e in counters if e["name"] == name}),
                             sorted(float(time) - values.get((begin, time), 0)
                                    for column, time in values if column == "load"), name)
        # The members that the Trace Event Format demands of each phase.
        demanded = {"M": {"name", "pid", "args"}, "C": {"name", "pid", "ts", "args"},
                    "i": {"name", "pid", "ts", "s"}}
        for event in events:
            self.assertLessEqual(demanded[event["ph"]], set(event))
            self.assertIsInstance(event["pid"], int)
            self.assertIn(event.get("s", "g"), ("g", "p", "t"))
        instants = [e for e in events if e["ph"] == "i"]
        self.assertEqual([e["name"] for e in instants], ["start", "end"])


class Large(Recording):
    NAME = "cwf0"

    def test_576_cpus(self):
        result = self.record(self.file, "--seconds", "1", "--interval", "200ms", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["cpus"], 576)
        keys = {r["key"] for r in self.values() if r["column"] == "busy_share"}
        self.assertEqual(len(keys), 576)


class Diff(Recording):
    def make(self, name, seconds="0.9"):
        file = os.path.join(self.directory, name)
        result = self.record(file, "--seconds", seconds, "--interval", "50ms")
        self.assertEqual(result.returncode, 0, result.stderr)
        return file

    def set_running(self, tasks):
        stat = Path(self.root, "proc/stat")
        stat.write_text("".join(
            f"procs_running {tasks}\n" if line.startswith("procs_running") else line
            for line in stat.read_text(encoding="ascii").splitlines(True)), encoding="ascii")

    def metric(self, answer, name):
        return next(m for m in answer["metrics"] if m["name"] == name and not m["of"])

    def test_difference(self):
        self.set_running(2)
        before = self.make("a.rec")
        self.set_running(7)
        after = self.make("b.rec")
        result = self.run_ctl("diff", before, after, "--json")
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        answer = json.loads(result.stdout)
        self.assertTrue(answer["differs"])
        running = self.metric(answer, "running")
        self.assertEqual((running["a"]["mean"], running["b"]["mean"], running["difference"],
                          running["real"]), (1, 6, 5, True))
        self.assertFalse(self.metric(answer, "pressure_share")["real"])
        self.assertEqual(answer["a"]["facts"]["program"], "idlelab")
        result = self.run_ctl("diff", before, after)
        self.assertRegex(result.stdout, r"running +tasks +1 +0 +6 +0 +5 +5 to 5 +real\n")
        self.assertIn("The recordings differ.", result.stdout)

    def test_the_same(self):
        file = self.make("a.rec")
        result = self.run_ctl("diff", file, file)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("No difference is more than chance.", result.stdout)

    def test_too_few(self):
        """Nothing is claimed of some samples."""
        self.set_running(2)
        before = self.make("a.rec", "0.2")
        self.set_running(7)
        result = self.run_ctl("diff", before, self.make("b.rec", "0.2"), "--json")
        self.assertEqual(result.returncode, 2)
        answer = json.loads(result.stdout)
        self.assertIsNone(self.metric(answer, "running")["real"])
        self.assertEqual((answer["metrics_judged"], answer["differs"]), (0, None))

    def test_no_recording(self):
        file = self.make("a.rec", "0.2")
        other = Path(self.directory, "other")
        other.write_text("a diary", encoding="ascii")
        for arguments, said in (((file, "/nonexistent"), "/nonexistent: No such file"),
                                ((str(other), file), "found no frame of a recording"),
                                ((file,), "expected A B")):
            self.assert_refused(self.run_ctl("diff", *arguments), said, status=2)


class BadDays(Recording):
    def test_existing_file(self):
        self.assertEqual(self.record(self.file, "--seconds", "0.1").returncode, 0)
        before = Path(self.file).read_bytes()
        self.assert_refused(self.record(self.file, "--seconds", "0.1"), "a.rec: the file exists, expected a new one")
        self.assertEqual(Path(self.file).read_bytes(), before)
        self.assertEqual(self.record(self.file, "--seconds", "0.1", "--append").returncode, 0)
        self.assertTrue(Path(self.file).read_bytes().startswith(before))
        kinds = [r["value"] for r in self.values() if r["column"] == "kind"]
        self.assertEqual(kinds, ["start", "end"] * 2)

    def test_something_else(self):
        Path(self.file).write_text("a diary\n", encoding="ascii")
        for option in "--append", "--max-size=1M":
            self.assert_refused(self.record(self.file, option), "found something else, expected a recording")
        self.assertEqual(Path(self.file).read_text(encoding="ascii"), "a diary\n")

    def test_cannot_open(self):
        for file, said in ((self.directory, "Is a directory"),
                           (os.path.join(self.directory, "no", "a.rec"), "No such file")):
            self.assert_refused(self.record(file), said)

    def test_two_writers(self):
        with subprocess.Popen([IDLELAB, "record", "--root", self.root, "--append", self.file],
                              stdout=subprocess.DEVNULL, env=environment()) as process:
            status = Path(f"/proc/{process.pid}/status")
            while "\nSigBlk:\t0000000000000000" in status.read_text():
                pass
            result = self.record(self.file, "--append")
            process.terminate()
            process.wait(TIMEOUT)
        self.assertEqual(result.returncode, 1)
        self.assertIn("another process records into it", result.stderr)

    def test_full_disk(self):
        """It says so and ends; a command goes on."""
        result = self.record("/dev/full", "--seconds", "0.2")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/dev/full: recording ended early: No space left on device", result.stderr)
        self.assert_refused(self.record("/dev/full", "--max-size", "1M"), "expect a regular file")
        marker = os.path.join(self.directory, "marker")
        result = self.record("/dev/full", "--interval", "50ms", "--", "sh", "-c",
                             f"sleep 0.2; touch {marker}; exit 3")
        self.assertEqual(result.returncode, 1)
        self.assertTrue(os.path.exists(marker))

    def test_too_large(self):
        result = self.record(self.file, "--seconds", "0.2", preexec_fn=limit_file_size)
        self.assertEqual(result.returncode, 1)
        self.assertIn("recording ended early: File too large", result.stderr)
        self.assertNotIn("can be read", result.stderr)  # there is nothing
        self.assertIn("0 samples of 8 CPUs", result.stdout)

    def damaged(self, data):
        Path(self.file).write_bytes(data)
        return self.run_ctl("export", self.file)

    def test_damage(self):
        """What is whole is printed, and what is not is said."""
        for _ in range(3):
            self.record(self.file, "--seconds", "0.1", "--append")
        data = Path(self.file).read_bytes()
        magic = data[:8]
        second = data.index(magic, 8)
        third = data.index(magic, second + 8)
        newer = data[:second].replace(b"recording 02 ", b"recording 03 ")
        old = b"\x89idlrec\n" + bytes(100)
        for name, damaged, status, lines, said in (
                ("empty", b"", 1, 0, "the file is empty"),
                ("foreign", b"PNG" * 100, 1, 0, "found no frame of a recording"),
                ("old", old, 1, 0, "idlectl export of commit 46a96ac9"),
                ("cut", data[:third + 50], 0, 2, f"no whole frame follows at byte {third}"),
                ("flipped", data[:second + 80] + bytes([data[second + 80] ^ 1]) +
                 data[second + 81:], 0, 2, "1 damaged frame was left out"),
                ("newer", newer, 1, 0, "1 frames have version 3"),
                ("partly newer", newer + data[second:], 0, 2, "reads versions up to 2")):
            result = self.damaged(damaged)
            self.assertEqual(result.returncode, status, name)
            self.assertIn(said, result.stderr, name)
            self.assertEqual(result.stdout.count(",kind,"), 2 * lines, name)
        self.assert_refused(self.run_ctl("export", "/nonexistent"), "/nonexistent: No such file")

    def test_zstdcat(self):
        """Any zstd shows a recording as text."""
        self.record(self.file, "--seconds", "0.3", "--interval", "100ms")
        text = subprocess.run(["zstdcat", self.file], capture_output=True, check=True).stdout.decode()
        self.assertRegex(text, r"(?m)^table,machine,$")
        self.assertRegex(text, r"(?m)^column,.*\bbusy_share\b")
        self.assertRegex(text, r"(?m)^row,0,\d{16},[01]\.\d{4}")

    def test_closed_output(self):
        self.record(self.file, "--seconds", "0.1")
        with open("/dev/full", "w", encoding="ascii") as full:
            result = subprocess.run([IDLELAB, "export", self.file], stdout=full, text=True,
                                    stderr=subprocess.PIPE, env=environment(), check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("No space left", result.stderr)

    def test_no_machine(self):
        result = self.run_ctl("record", "--root", "/nonexistent", self.file)
        self.assertEqual(result.returncode, 1)
        self.assertFalse(os.path.exists(self.file))
        empty = os.path.join(self.directory, "empty")
        os.mkdir(empty)
        self.assert_refused(self.run_ctl("record", "--root", empty, self.file), "failed to read the CPUs")
        self.assertFalse(os.path.exists(self.file))


if __name__ == "__main__":
    unittest.main(verbosity=2)
