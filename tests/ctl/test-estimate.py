#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlelab estimate: the coreidle paper's watts, own tables, fits, bad files."""
import json
import os
import random
import unittest
from pathlib import Path

from ctltest import TestCase, machine

CONF = os.environ["CONF"]
TABLES = os.environ["TURBOSTAT"]

# The paper's measurements: file, watts, MB/s, MB/W.
PAPER = [
    ("cyclictest-default", 62.79, None, None),
    ("cyclictest-sched_mc", 64.02, None, None),
    ("cyclictest-coreidle", 43.79, None, None),
    ("tbench-default", 54.68, "225.55", 4.12),
    ("tbench-sched_mc", 53.94, "224.27", 4.16),
    ("tbench-coreidle", 51.43, "275.24", 5.35),
]


class EstimateCase(TestCase):
    def estimate(self, *arguments, vendor=CONF, **more):
        return self.run_ctl("estimate", "--vendor-dir", vendor, "--config-dir", self.directory,
                            *arguments, **more)

    def answer(self, *arguments):
        result = self.estimate("--json", *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def write(self, name, text):
        path = Path(self.directory, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(path)


class Paper(EstimateCase):
    def test_figures(self):
        for name, watts, work, per_watt in PAPER:
            with self.subTest(name):
                arguments = ["--power", "coreidle", "--turbostat", f"{TABLES}/{name}.txt"]
                arguments += ["--work", work] if work else []
                text = self.estimate(*arguments).stdout
                self.assertIn(f"~{watts:.2f} W", text)
                if work:
                    self.assertIn(f"{per_watt:.2f} MB/W", text)
                answer = self.answer(*arguments)
                self.assertEqual((answer["watts"], answer["work_mb_per_watt"]),
                                 (watts, per_watt))
                self.assertIsNone(answer["measured_watts"])
                self.assertAlmostEqual(sum(s["watts"] for s in answer["packages"][0]["states"]),
                                       watts, delta=0.01)

    def test_no_figure_counts_as_nothing(self):
        arguments = ("--power", "coreidle", "--turbostat", f"{TABLES}/tbench-default.txt")
        self.assertIn("0.21 % of the time", self.estimate(*arguments).stdout)
        states = {s["state"]: s for s in self.answer(*arguments)["packages"][0]["states"]}
        self.assertEqual((states["C6"]["table_watts"], states["C6"]["watts"]), (None, 0))

    def test_another_machine(self):
        """Where most of the time has no figure, there is no power."""
        path = self.write("amd.txt", "CPU\tBusy%\tCPU%c1\tCPU%c2\n-\t2.33\t10.00\t87.67\n")
        for json_too in [], ["--json"]:
            result = self.estimate("--power", "coreidle", "--turbostat", path, "--work", "10", *json_too)
            self.assertEqual((result.returncode, result.stderr), (1, ""))
            if json_too:
                answer = json.loads(result.stdout)
                self.assertEqual((answer["watts"], answer["work_mb_per_watt"],
                                  answer["packages"][0]["watts"]), (None,) * 3)
                self.assertEqual(answer["without_figure_percent"], 87.67)
            else:
                self.assertIn("87.67 % of the time", result.stdout)
                self.assertNotIn("~", result.stdout)


class Tables(EstimateCase):
    def test_own(self):
        """A table of this machine is found without --power; drop-ins change it."""
        file = ["--turbostat", f"{TABLES}/tbench-default.txt"]
        self.assert_refused(self.estimate(*file), "has no power table of its own", "coreidle")
        self.write("power/machine.conf", "[States]\nC0=10\nC1=10\nC3=10\nC6=10\nC7=10\n")
        self.assertEqual(self.answer(*file)["watts"], 10)
        self.write("power/machine.conf.d/half.conf", "[States]\nC0=0\n")
        self.assertAlmostEqual(self.answer(*file)["watts"], 10 - 3.678, delta=0.01)

    def test_refused(self):
        file = ["--turbostat", f"{TABLES}/tbench-default.txt"]
        wrong = self.write("power/wrong.conf", "[States]\nC0=much\nC1=1\n[Sates]\n")
        cases = [(["--power", "coreidel"], "found no table \"coreidel\""),
                 (["--power", "wrong"], f"{wrong}:2: C0: found \"much\""),
                 (["--power", "wrong"], f"{wrong}:4: found the section [Sates]"),
                 (["--power", wrong], ":2: C0: found \"much\""),
                 (["--power", self.directory + "/none"], "No such file or directory"),
                 (["--power", self.directory + "/"], "directory")]
        for arguments, text in cases:
            with self.subTest(arguments):
                self.assert_refused(self.estimate(*file, *arguments), text)


class Files(EstimateCase):
    def test_refused(self):
        whole = Path(TABLES, "cyclictest-default.txt").read_text()
        cases = [("empty", "", "found no header"),
                 ("picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "found a NUL byte"),
                 ("binary", bytes(range(1, 256)) * 4, "found no header"),
                 ("foreign", "total 4\n-rw-r--r-- 1 root root 5 x\n", "found no header"),
                 ("cut in a line", whole[:-30], "in the middle of a line"),
                 ("cut behind a line", "\n".join(whole.split("\n")[:3]) + "\n",
                  "the file is cut off")]
        for name, text, says in cases:
            with self.subTest(name):
                path = self.write("t.txt", text)
                result = self.estimate("--power", "coreidle", "--turbostat", path)
                self.assertEqual((result.returncode, result.stdout), (1, ""))
                self.assertEqual(result.stderr.count("\n"), 1)
                self.assertIn(path, result.stderr)
                self.assertIn(says, result.stderr)
        self.assert_refused(self.estimate("--power", "coreidle", "--turbostat", self.directory), "Is a directory")

    def test_time_in_no_column(self):
        """What turbostat does not account for is reported, and refused where it is much."""
        header = "CPU\tBusy%\tCPU%c1\tCPU%c7\tPkgWatt\n"
        arguments = ("--power", "coreidle", "--turbostat")
        path = self.write("t.txt", header + "-\t10.00\t20.00\t67.00\t30.00\n")
        self.assertIn("3.00 % of the time", self.estimate(*arguments, path).stdout)
        self.assertEqual(self.answer(*arguments, path)["in_no_column_percent"], 3)
        for row, says in (("1.00\t3.00\t4.00", "8.00 %"), ("90.00\t120.00\t140.00", "350.00 %")):
            path = self.write("t.txt", header + f"-\t{row}\t30.00\n")
            for how in [arguments, ("--fit", "--turbostat")]:
                self.assert_refused(self.estimate(*how, path), says)

    def test_packages_not_known(self):
        """The number of packages is not in a summary."""
        whole = "-\t5.00\t10.00\t85.00\t200.00\n"
        for rows, known in (("", False), ("0\t5.00\t10.00\t85.00\t200.00\n", True)):
            path = self.write("t.txt", "CPU\tBusy%\tCPU%c1\tCPU%c7\tPkgWatt\n" + whole + rows)
            arguments = ("--power", "coreidle", "--turbostat", path)
            self.assertIs(self.answer(*arguments)["packages_known"], known)
            self.assertEqual("each package" not in self.estimate(*arguments).stdout, known)

    def test_pipe(self):
        """Standard input, and a pipe with a name."""
        path = f"{TABLES}/cyclictest-default.txt"
        with open(path) as file:
            result = self.estimate("--power", "coreidle", "--turbostat", "-", stdin=file)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("~62.79 W", result.stdout)
        with open("/dev/null") as file:
            result = self.estimate("--power", "coreidle", "--turbostat", "-", stdin=file)
        self.assert_refused(result, "standard input: found no header")

    def test_no_end(self):
        result = self.estimate("--power", "coreidle", "--turbostat", "/dev/zero")
        self.assert_refused(result, "/dev/zero: found more than 16 MB")


class Fit(EstimateCase):
    TRUTH = {"C0": 90, "C1": 63, "C3": 55, "C7": 20}

    def samples(self, n, noise, states=("C0", "C1", "C3", "C7"), truth=None):
        """What turbostat would print on such a machine."""
        source = random.Random(1)
        lines = ["CPU\tBusy%\tCPU%c1\tCPU%c3\tCPU%c6\tCPU%c7\tPkgWatt"]
        for _ in range(n):
            share = [source.random() if s in states else 0 for s in self.TRUTH]
            share = [s / sum(share) for s in share]
            watts = sum(s * w for s, w in zip(share, (truth or self.TRUTH).values()))
            c0, c1, c3, c7 = (f"{s * 100:.2f}" for s in share)
            lines.append(f"-\t{c0}\t{c1}\t{c3}\t0.00\t{c7}\t{watts + source.gauss(0, noise):.2f}")
        return self.write("samples.txt", "\n".join(lines) + "\n")

    def test_found(self):
        path, table = self.samples(100, 0.5), self.directory + "/power/machine.conf"
        os.mkdir(self.directory + "/power")
        answer = self.answer("--fit", "--turbostat", path, "--output", table)
        found = {s["state"]: s for s in answer["table"]["states"]}
        self.assertEqual(set(found), set(self.TRUTH))
        for state, watts in self.TRUTH.items():
            error = found[state]["error_watts"]
            self.assertLess(abs(found[state]["watts"] - watts), 4 * error)
            self.assertLess(error, 0.5)
        self.assertEqual(answer["fit"]["undetermined"], ["C6"])
        self.assertAlmostEqual(answer["fit"]["residual_watts"], 0.5, delta=0.1)
        self.assertAlmostEqual(answer["watts"], answer["measured_watts"], delta=0.1)
        # What was saved is this machine's table now.
        again = self.answer("--turbostat", path)
        self.assertEqual(again["table"]["name"], "machine")
        self.assertAlmostEqual(again["watts"], again["measured_watts"], delta=0.1)
        text = self.estimate("--fit", "--turbostat", path).stdout
        self.assertRegex(text, r"(?m)^C6 +- +-$")

    def test_not_determined(self):
        path = self.samples(3, 0.5)
        self.assert_refused(self.estimate("--fit", "--turbostat", path), "found 3 samples with watts")
        self.assert_refused(self.estimate("--fit", "--turbostat", f"{TABLES}/tbench-default.txt"),
                            "found 0 samples with watts")

    def test_same_shares(self):
        """Samples that are all alike do not say which state draws the power."""
        header = "Package\tCore\tCPU\tBusy%\tCPU%c1\tCPU%c6\tPkgWatt\n"
        whole = "-\t-\t-\t5.00\t10.00\t85.00\t200.00\n"
        rows = "".join(f"{p}\t0\t{p}\t5.00\t10.00\t85.00\t100.00\n" for p in (0, 1))
        for samples, says in ((1, "found 2 samples with watts"), (4, "the same shares")):
            with self.subTest(samples):
                path, table = self.write("s.txt", (header + whole + rows) * samples), \
                    self.directory + "/t.conf"
                self.assert_refused(self.estimate("--fit", "--turbostat", path, "--output", table), says)
                self.assertFalse(os.path.exists(table))

    def test_no_negative_watts(self):
        """No state draws less than nothing: what is written can be read again."""
        path = self.samples(30, 0.3, truth=self.TRUTH | {"C3": -5})
        table = self.directory + "/t.conf"
        answer = self.answer("--fit", "--turbostat", path, "--output", table)
        found = {s["state"]: s for s in answer["table"]["states"]}
        self.assertNotIn("C3", found)
        self.assertEqual(answer["fit"]["undetermined"], ["C3", "C6"])
        self.assertTrue(all(state["watts"] >= 0 for state in found.values()))
        self.assertEqual([s["state"] for s in answer["fit"]["negative"]], ["C3"])
        self.assertAlmostEqual(answer["fit"]["negative"][0]["watts"], -5, delta=1)
        self.assertIn("C7=", Path(table).read_text())
        self.assertNotIn("C3=", Path(table).read_text())
        text = self.estimate("--fit", "--turbostat", path).stdout
        self.assertRegex(text, r"(?m)^C3 +- +-$")
        self.assertIn("C3", text.split("R^2")[1])

    def test_ends_without_figures(self):
        """A table without C0 or the deepest state prices nothing: none is written, and what was there stays."""
        table = self.directory + "/t.conf"
        deep = self.TRUTH | {"C3": 10, "C7": 30}
        for name, count, noise, states, truth, missing in (
                ("too much noise", 10, 8, ("C0", "C1", "C3", "C7"), None, {"C7": "too uncertain"}),
                ("the deepest was not entered", 25, 0.1, ("C0", "C1", "C3"), None, {}),
                ("CPUs did not run", 25, 0.1, ("C1", "C3", "C7"), None, {}),
                ("the deepest draws more", 25, 0.1, ("C0", "C1", "C3", "C7"), deep,
                 {"C7": "above a shallower state"})):
            with self.subTest(name):
                Path(table).write_text("[States]\nC0=1\n")
                path = self.samples(count, noise, states, truth)
                result = self.estimate("--json", "--fit", "--turbostat", path, "--output", table)
                answer = json.loads(result.stdout)
                self.assertEqual((result.returncode, answer["saved"], answer["fit"]["complete"]), (1, None, False))
                self.assertEqual({s["state"]: s["reason"] for s in answer["fit"]["rejected"]}, missing)
                self.assertIn("no table is written", " ".join(result.stderr.split()))
                self.assertEqual(Path(table).read_text(), "[States]\nC0=1\n")
                text = self.estimate("--fit", "--turbostat", path, "--output", table).stdout
                self.assertNotIn("Written", text)
                for state in missing:
                    self.assertRegex(" ".join(text.split()), rf"State {state} .* measure for about \d+ samples")

    def test_how_long(self):
        """With as many samples as it says, each state that was too uncertain has a figure."""
        table = self.directory + "/t.conf"
        result = self.estimate("--json", "--fit", "--turbostat", self.samples(10, 8), "--output", table)
        self.assertFalse(os.path.exists(table), "no table that could be recommended")
        answer = json.loads(result.stdout)
        times = max(s["times_needed"] for s in answer["fit"]["rejected"])
        self.assertGreater(times, 1)
        answer = self.answer("--fit", "--turbostat", self.samples(int(10 * times * 1.5), 8))
        self.assertTrue(answer["fit"]["complete"])
        self.assertEqual(answer["fit"]["undetermined"], ["C6"])

    def test_one_count(self):
        """Each package of a file's sample is a sample of the fit, and counted as such."""
        lines = Path(self.samples(20, 0.5)).read_text().splitlines()
        rows = ["Package\t" + lines[0]]
        for first, second in zip(lines[1::2], lines[2::2]):
            a, b = float(first.split("\t")[1]), float(second.split("\t")[1])
            rest = "\t".join(first.split("\t")[2:])
            rows += [f"-\t-\t{(a + b) / 2:.2f}\t{rest}", "0\t0" + first[1:], "1\t1" + second[1:]]
        path = self.write("two.txt", "\n".join(rows) + "\n")
        answer = self.answer("--fit", "--turbostat", path)
        self.assertEqual((answer["samples"], answer["fit"]["samples"]), (10, 20))
        self.assertIn("to 20 samples", answer["table"]["description"])
        self.assertIn("Fit of 20 samples", self.estimate("--fit", "--turbostat", path).stdout)

    def test_not_saved(self):
        path = self.samples(20, 0.5)
        result = self.estimate("--fit", "--turbostat", path, "--output", "/nonexistent/t.conf")
        self.assertEqual(result.returncode, 1)
        self.assertIn("--output: ", result.stderr)


class Here(EstimateCase):
    def test_machines(self):
        """Residencies of trees: all of the time is somewhere, in every package."""
        for name, packages in (("synthetic-laptop", 1), ("synthetic-2x4-numa", 2),
                               ("synthetic-bare", 1)):
            with self.subTest(name):
                root = machine(self.directory, name)
                result = self.estimate("--json", "--root", root, "--power", "coreidle", "--interval", "50ms")
                answer = json.loads(result.stdout)
                self.assertEqual(result.returncode, 1 if answer["watts"] is None else 0)
                self.assertEqual(len(answer["packages"]), packages)
                for package in answer["packages"]:
                    self.assertAlmostEqual(sum(s["percent"] for s in package["states"]), 100,
                                           delta=0.1)
                os.rename(root, os.path.join(self.directory, name))

    def test_fit_without_energy(self):
        root = machine(self.directory, "synthetic-bare")
        self.assert_refused(self.estimate("--root", root, "--fit"), "expected energy counters (RAPL)")


unittest.main()
