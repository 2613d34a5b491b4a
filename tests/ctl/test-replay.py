#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlelab replay: decisions that were thought through, answers of every kind, bad input, flat memory."""
import csv
import gzip
import io
import json
import lzma
import math
import os
import pty
import re
import subprocess
import unittest
from pathlib import Path

import browser
from ctltest import IDLELAB, HERE, TestCase, environment, machine

SMALL = HERE.parent / "traces" / "idle"
GOLDEN = SMALL / "golden"
TABLE = str(SMALL / "client.tbl")
TRACES = sorted(str(path) for path in SMALL.glob("*.csv.xz"))


class Decisions(TestCase):
    def decide(self, table, governor, trace, *more):
        result = self.run_ctl("replay", "--table", str(table), "--governor", governor, "--decisions",
                              str(trace), *more)
        self.assertEqual(result.stderr, "")
        return result.stdout

    def test_golden(self):
        """Files TRACE.TABLE.GOVERNOR: decisions with their reasons."""
        expected = [path for path in GOLDEN.iterdir() if path.suffix != ".csv"]
        self.assertGreater(len(expected), 9)
        for path in expected:
            trace, table, governor = path.name.split(".", 2)
            lines = [line.split("#")[0].strip() for line in path.read_text().splitlines()]
            with self.subTest(path.name):
                found = self.decide(SMALL / f"{table}.tbl", governor, GOLDEN / f"{trace}.csv")
                self.assertEqual(found.splitlines(), [line for line in lines if line])

    def test_history(self):
        """Under history:BASE it takes the states that the policy cstates allows, by check-cstates-replay, as timers
        are so far away that timer-only takes the deepest of them."""
        states = "POLL:0:0 C1E:2:4 C6:170:500 C10:230:700"
        table, trace = Path(self.directory, "t.tbl"), Path(self.directory, "t.csv")
        table.write_text("".join(row.replace(":", " ") + " -\n" for row in states.split()))
        for series in "database", "timers":
            answer = subprocess.run([os.environ["CSTATES_REPLAY"]], check=True, capture_output=True, text=True,
                                    env={**os.environ, "IDLED_REPLAY_ONE": f"{states}|{series}|"})
            allowed = re.search("(?m)^states (.*)$", answer.stdout)[1].split()
            self.assertGreater(len(set(allowed)), 1)
            rows, seconds, found = [], [], {}
            for second, line in enumerate((SMALL.parent / f"sleeps-{series}.txt").read_text().splitlines()):
                for length, count in (map(int, part.split("*")) for part in line.split()):
                    rows += [f"0,{second * 10**9 + len(rows)},{10**15},{length * 1000}\n"] * count
                    seconds += [second] * count
            trace.write_text("".join(rows))
            decided = self.decide(table, "history:timer-only", trace, "--option", "draw=fourth")
            for second, line in zip(seconds, decided.splitlines(), strict=True):
                found.setdefault(second, set()).add(line.split()[2])
            self.assertEqual(found, {second: {state} for second, state in enumerate(allowed)}, series)

    def test_fixed(self):
        trace = GOLDEN / "limits.csv"
        by_name = self.decide(TABLE, "fixed:4", trace)
        self.assertEqual([line.split()[2] for line in by_name.splitlines()], list("44431004"))
        self.assertEqual(self.decide(TABLE, "fixed", trace, "--option", "state=4"), by_name)
        self.assertEqual(self.decide(SMALL / "server.tbl", "fixed:2", trace).split()[2], "1")  # is off

    def test_records_and_cpus(self):
        """Records are counted over all CPUs, comments and the header left out; xz and standard input too."""
        text = "# a\ncpu,t_enter_ns,sleep_len_ns,idle_ns\n575,0,9,3000\n# b\n0,1,9,3000\n575,9,9,3000\n"
        packed, plain = Path(self.directory, "t.csv.xz"), Path(self.directory, "t.csv")
        packed.write_bytes(lzma.compress(text.encode()))
        plain.write_text(text)
        expected = "0 575 1\n1 0 1\n2 575 1\n"
        self.assertEqual(self.decide(TABLE, "omniscient", packed), expected)
        self.assertEqual(self.decide(TABLE, "omniscient", plain), expected)
        result = subprocess.run([IDLELAB, "replay", "--table", TABLE, "--governor", "omniscient",
                                 "--decisions", "-"], input=text, capture_output=True, text=True,
                                env=environment(), check=True)
        self.assertEqual(result.stdout, expected)


class Answers(TestCase):
    def ask(self, *arguments):
        result = self.run_ctl("replay", *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def test_json(self):
        answer = json.loads(self.ask("--table", TABLE, "--governor", "teo-6.18,omniscient", "--json",
                                     *TRACES))
        self.assertEqual([state["name"] for state in answer["table"]["states"]],
                         ["POLL", "C1", "C1E", "C3", "C6", "C7s"])
        self.assertEqual([trace["trace"] for trace in answer["traces"]], TRACES)
        self.assertEqual(answer["options"], {})
        options = json.loads(self.ask("--table", TABLE, "--governor", "weighted:menu-6.12", "--option", "draw=fourth",
                                      "--json", TRACES[0]))["options"]["weighted:menu-6.12"]
        self.assertEqual((options["base"], options["draw"], options["seed"]), ("menu-6.12", "fourth", "1"))
        for trace in answer["traces"]:
            teo, best = trace["governors"]
            self.assertEqual((teo["governor"], best["governor"]), ("teo-6.18", "omniscient"))
            self.assertEqual((best["correct_percent"], best["energy_ratio"]), (100, 1))
            self.assertGreater(teo["energy_ratio"], 1)
            self.assertAlmostEqual(teo["energy_ratio"] * best["energy_joules"], teo["energy_joules"], 4)
            self.assertEqual(sum(teo["entered"]), trace["periods"])
            self.assertAlmostEqual(teo["correct_percent"] + teo["too_deep_percent"] +
                                   teo["too_shallow_percent"], 100, 3)
        mean = answer["means"][0]
        ratios = [trace["governors"][0]["energy_ratio"] for trace in answer["traces"]]
        self.assertAlmostEqual(mean["energy_ratio"], math.prod(ratios) ** (1 / len(ratios)), 4)
        shares = [trace["governors"][0]["correct_percent"] for trace in answer["traces"]]
        self.assertAlmostEqual(mean["correct_percent"], sum(shares) / len(shares), 3)

    def test_documented(self):
        """Help and manual page know every governor."""
        known = self.run_ctl("replay", "--table", TABLE, "--governor", "?", TRACES[0]).stderr
        names = re.findall(r"[\w.-]+", known.rsplit("expected ", 1)[1].split(";")[0])
        self.assertIn("teo-6.18", names)
        pages = {"--help": self.run_ctl("replay", "--help").stdout,
                 "man": (HERE.parents[1] / "man/idlelab.1.scd").read_text()}
        for name in names:
            for where, text in pages.items():
                self.assertRegex(text, rf"[\s*`]{re.escape(name)}\b", where)

    def test_traces_do_not_disturb_each_other(self):
        together = json.loads(self.ask("--table", TABLE, "--json", *TRACES, *TRACES))["traces"]
        for trace in together:
            alone = json.loads(self.ask("--table", TABLE, "--json", trace["trace"]))["traces"]
            self.assertEqual(alone, [trace])

    def test_csv_of_a_hostile_name(self):
        """A path reaches a terminal without what it obeys."""
        path = os.path.join(self.directory, "\033[2J,\".csv.xz")
        os.symlink(TRACES[0], path)
        text = self.ask("--table", TABLE, "--csv", path)
        self.assertNotIn("\033", text)
        self.assertEqual({row["trace"] for row in csv.DictReader(io.StringIO(text))}, {path.replace("\033", "?")})

    def test_csv_and_table(self):
        rows = list(csv.DictReader(io.StringIO(self.ask("--table", TABLE, "--csv", *TRACES))))
        options = {row["governor"]: row["options"] for row in rows}
        self.assertEqual(options["teo-6.12"], "")
        self.assertIn("base=teo-6.1 ", options["weighted"])
        names = list(dict.fromkeys(row["governor"] for row in rows))
        self.assertEqual(len(rows), len(names) * len(TRACES))
        self.assertNotIn("fixed", names)
        self.assertTrue({"ladder", "menu-6.1", "menu-6.12", "teo-6.1", "teo-6.12", "teo-6.18", "teo-util",
                         "omniscient", "timer-only"} <= set(names))
        text = self.ask("--table", TABLE, *TRACES)
        self.assertIn("Mean of 4 traces", text)
        for row in rows[:len(names)]:
            line = next(line for line in text.splitlines() if line.startswith(row["governor"] + " "))
            self.assertIn(f"{float(row['correct_percent']):.1f}", line)

    def test_page(self):
        page = Path(self.directory, "page.html")
        self.ask("--table", TABLE, "--html", str(page), *TRACES)
        shown = browser.read_page(self, page)
        self.assertEqual(shown["outside"], [])
        figures = shown["figures"]
        answer = json.loads(self.ask("--table", TABLE, "--json", *TRACES))
        rows = answer["means"] + [row for trace in answer["traces"] for row in trace["governors"]]
        bars = [cells for figure in figures[::2] for cells in figure]
        self.assertEqual(len(bars), len(rows))
        for (name, *cells), row in zip(bars, rows):
            self.assertEqual(name, row["governor"])
            for cell, key in zip(cells, ("correct_percent", "too_deep_percent", "too_shallow_percent")):
                self.assertAlmostEqual(float(cell), row[key], delta=0.01)
        points = [cells for figure in figures[1::2] for cells in figure]
        self.assertEqual([point[0] for point in points], [row["governor"] for row in rows])

    def test_machine(self):
        """The states of a machine; sysfs does not have their powers."""
        root = machine(self.directory, "hswep0")
        answer = json.loads(self.ask("--root", root, "--table", "this", "--json", TRACES[0]))
        states = answer["table"]["states"]
        expected = sorted(Path(root, "sys/devices/system/cpu/cpu0/cpuidle").glob("state*"))
        self.assertEqual([state["name"] for state in states],
                         [(path / "name").read_text().strip() for path in expected])
        self.assertEqual([state["polling"] for state in states], [True] + [False] * (len(states) - 1))
        self.assertEqual({state["power_mw"] for state in states}, {None})
        for row in answer["means"]:
            self.assertIsNone(row["energy_ratio"])
            self.assertIsNotNone(row["correct_percent"])
        self.assertEqual(json.loads(self.ask("--root", root, "--json", TRACES[0])), answer)
        page = Path(self.directory, "page.html")
        self.ask("--root", root, "--html", str(page), TRACES[0])
        shown = browser.read_page(self, page)
        self.assertIn("no energy", shown["text"])
        self.assertEqual(len(shown["figures"]), 1)

    def test_no_states(self):
        os.makedirs(os.path.join(self.directory, "empty/sys"))
        result = self.run_ctl("replay", "--root", os.path.join(self.directory, "empty"), TRACES[0])
        self.assert_refused(result, "no idle states, expected --table FILE")

    def test_nothing_in_it(self):
        empty = Path(self.directory, "empty.csv")
        empty.touch()
        page = Path(self.directory, "page.html")
        for more in ([], ["--json"], ["--csv"], ["--html", str(page)], [TRACES[0]],
                     ["--decisions", "--governor", "ladder"]):
            self.assert_refused(self.run_ctl("replay", "--table", TABLE, *more, str(empty)),
                                f"{empty}: found no idle periods")
        self.assertFalse(page.exists())

    def test_backwards(self):
        trace = Path(self.directory, "t.csv")
        trace.write_text("0,5000000,1,1\n0,1,1,1\n")
        self.assertIn("1 periods begin before", self.ask("--table", TABLE, str(trace)))


    def test_exits(self):
        """The time to leave a state is a part of the period for the score, not for the governor: C6 pays
        after 400 us, and 300 us with an exit of 133 us are as long."""
        trace = Path(self.directory, "t.csv")
        shares = []
        for header, end in (",exit_ns", ",133000"), ("", ""):
            trace.write_text(f"cpu,t_enter_ns,sleep_len_ns,idle_ns{header}\n0,1,450000,300000{end}\n")
            answer = json.loads(self.ask("--table", TABLE, "--governor", "fixed:4,omniscient", "--json", str(trace)))
            row, best = answer["traces"][0]["governors"]
            shares.append(row["correct_percent"])
            self.assertEqual((best["correct_percent"], best["energy_ratio"]), (100, 1))
        self.assertEqual(shares, [100, 0])


class Errors(TestCase):
    def refuse(self, *arguments, status=1):
        result = self.run_ctl("replay", *arguments)
        self.assertEqual((result.returncode, result.stdout), (status, ""))
        self.assertTrue(all(line.startswith("idlelab: ") for line in result.stderr.splitlines()))
        return result.stderr

    def test_command_line(self):
        good = ["--table", TABLE, TRACES[0]]
        for arguments, status, words in (
                ([], 2, "expected TRACE..."),
                ([*good, "--governor", "teo-6.11"], 2, '"teo-6.11" (did you mean teo-6.1'),
                ([*good, "--governor", ""], 2, 'governor ""'),
                ([*good, "--governor", "teo-6.1:3"], 2, '"teo-6.1:3"'),
                ([*good, "--governor", "fixed:x"], 2, "fixed:x"),
                ([*good, "--governor", "fixed:10"], 2, "9"),
                ([*good, "--governor", "fixed:6"], 2, "fixed:6: state is not a state of the table"),
                ([*good, "--html", "x.svg"], 2, "x.svg"),
                ([*good, "--governor", "fixed", "--option", "state"], 2, "NAME=VALUE"),
                ([*good, "--governor", "fixed", "--option", "stat=1"], 2, '"stat"'),
                ([*good, "--governor", "fixed", "--option", "state=-1"], 2, '"-1"'),
                ([*good, "--decisions"], 2, "expected one"),
                ([*good, "--option", "foo=1"], 2, '"foo"'),
                ([*good, "--option", "rate=200%"], 2, "200%"),
                ([*good, TRACES[1], "--governor", "ladder", "--decisions"], 2, "found 2 traces"),
                ([*good, "--json", "--csv"], 2, "expected one of them"),
                ([*good, "--decisions", "--html", "x"], 2, "--html"),
                ([*good, "--html", "/nonexistent/page"], 1, "/nonexistent/page"),
                (["--table", "/nonexistent/t", TRACES[0]], 1, "/nonexistent/t"),
                (["--table", TRACES[0], TRACES[0]], 1, ":1:"),
                (["--table", TABLE, "/nonexistent/t"], 1, "/nonexistent/t: cannot open"),
                (["--table", TABLE, "/"], 1, "/: cannot read")):
            with self.subTest(arguments):
                self.assertIn(words, self.refuse(*arguments, status=status))

    def test_every_bad_trace_is_named(self):
        cut, wrong = Path(self.directory, "cut.csv.xz"), Path(self.directory, "wrong.csv")
        cut.write_bytes(Path(TRACES[0]).read_bytes()[:5000])
        wrong.write_text("0,1,2,3\n0,1,two,3\n")
        said = self.refuse("--table", TABLE, TRACES[0], str(cut), str(wrong))
        self.assertIn(f"{cut}: the xz data end too early", said)
        self.assertIn(f"{wrong}:2:5: found 'two', expected sleep_len_ns", said)
        packed = Path(self.directory, "t.csv.gz")
        packed.write_bytes(gzip.compress(b"0,1,2,3\n"))
        self.assertIn("gzip", self.refuse("--table", TABLE, str(packed)))

    def test_strange_tables(self):
        """A deeper state that draws more is warned of: then the right state may not need the least energy."""
        table, trace = Path(self.directory, "t.tbl"), Path(self.directory, "t.csv")
        trace.write_text("0,1,9000,9000\n")
        table.write_text("A 0 0 100\nB 5 10 200\n")
        result = self.run_ctl("replay", "--table", str(table), "--governor", "omniscient", str(trace))
        self.assertEqual(result.returncode, 0)
        self.assertIn("B draws more than A", result.stderr)

    def test_decisions_until_the_error(self):
        wrong = Path(self.directory, "wrong.csv")
        wrong.write_text("0,1,2,3\n0,1,two,3\n")
        self.assert_refused(self.run_ctl("replay", "--table", TABLE, "--governor", "ladder", "--decisions", str(wrong)),
                            ":2:5: ")


class Size(TestCase):
    """Traces that are made while they are read. The times in a piece begin again, which is allowed."""

    def replay_pieces(self, n, governor):
        lines = "".join(f"{i % 576},{i * 50000},{i * 977 % 1000000},{i * 611 % 900000},0,{i % 1025},-1,0,1,0\n"
                        for i in range(25000)).encode()
        with subprocess.Popen([IDLELAB, "replay", "--table", TABLE, "--governor", governor, "--json", "-"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as process:
            for _ in range(n):
                process.stdin.write(lines)
            process.stdin.close()
            answer = json.loads(process.stdout.read())
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
        self.assertEqual(status, 0)
        self.assertEqual(answer["traces"][0]["periods"], n * 25000)
        self.assertEqual(answer["traces"][0]["cpus"], 576)
        return n * len(lines), usage.ru_maxrss

    def test_memory_is_flat(self):
        """A gigabyte takes as much memory as a megabyte; sanitizers keep freed memory for a while."""
        _, small = self.replay_pieces(1, "teo-6.18")
        pieces = 40 if "ASAN_OPTIONS" in os.environ else 1000
        size, large = self.replay_pieces(pieces, "teo-6.18")
        if pieces == 1000:
            self.assertGreater(size, 10**9)
            self.assertLess(large, small + 1024)


class Progress(TestCase):
    def test_bar(self):
        """On a terminal, while it reads; then it is gone. What is read has no end that is known."""
        master, slave = pty.openpty()
        with subprocess.Popen([IDLELAB, "replay", "--table", TABLE, "--csv", "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=slave, env=environment()) as process:
            os.close(slave)
            said = b""
            while b"MB read" not in said:
                said += os.read(master, 1000)
            process.stdin.write(b"0,0,9,3000\n")
            process.stdin.close()
            self.assertIn(b"teo-6.18", process.stdout.read())
        while not said.endswith(b"\r\x1b[K"):
            said += os.read(master, 1000)
        os.close(master)
        self.assertEqual(process.returncode, 0)


class Recordings(TestCase):
    """What is known of the full recordings, if they are there: the figures of lab/governors/README.md, to a
    tenth of a percent and a thousandth."""

    def test_scores(self):
        directory = Path(os.environ["IDLED_TRACES"])
        traces = sorted(str(path) for path in directory.glob("*.csv.xz"))
        if not traces:
            self.skipTest(f"no recordings in {directory}")
        answer = json.loads(self.run_ctl("replay", "--table", str(directory / "../tables/hsw.tbl"), "--json",
                                         *traces).stdout)
        found = {row["governor"]: row for row in answer["means"]}
        page = (HERE.parents[1] / "lab/governors/README.md").read_text()
        rows = re.findall(r"^\| `([\w.-]+)` \| ([\d.]+) % \| ([\d.]+) % \| ([\d.]+) \|", page, re.M)
        self.assertGreater(len(rows), 8)
        for name, correct, deep, energy in rows:
            with self.subTest(name):
                self.assertAlmostEqual(found[name]["correct_percent"], float(correct), delta=0.051)
                self.assertAlmostEqual(found[name]["too_deep_percent"], float(deep), delta=0.051)
                self.assertAlmostEqual(found[name]["energy_ratio"], float(energy), delta=0.00051)


if __name__ == "__main__":
    unittest.main()
