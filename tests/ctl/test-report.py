#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlelab report: its pages are well-formed, safe, bounded, and say what was recorded."""

import base64
import csv
import hashlib
import io
import json
import os
import re
import unittest
from html.parser import HTMLParser
from pathlib import Path

from ctltest import TestCase, page_data
from reports import make_page, make_recording

VOID = {"meta"}
ALLOWED = {"html", "head", "meta", "title", "style", "body", "h1", "p", "div", "noscript", "script"}
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "id", "type", "hidden"}
MOST = 2 << 20


class Reader(HTMLParser):
    """What a browser makes of a page; every element must be closed where it should be."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.elements = [], [], []
        self.scripts, self.styles, self.policy = [], [], None
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        assert tag in ALLOWED, tag
        for key, value in attrs:
            assert key in ATTRIBUTES, (tag, key)
            if key == "id":
                self.ids.append(value)
        if dict(attrs).get("http-equiv") == "Content-Security-Policy":
            assert not self.scripts and not self.styles
            self.policy = dict(attrs)["content"]
        self.elements.append(tag)
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open and self.open[-1][0] == tag, (tag, self.open[-3:])
            self.open.pop()

    def handle_data(self, data):
        tag, attributes = self.open[-1] if self.open else ("", {})
        if tag == "style":
            self.styles.append(data)
        elif tag == "script" and attributes.get("type") == "application/json":
            self.data = json.loads(data)["report"]
        elif tag == "script":
            self.scripts.append(data)


def texts(data):
    """All texts in the data, whatever they are of."""
    if isinstance(data, dict):
        return [text for value in data.values() for text in texts(value)]
    if isinstance(data, list):
        return [text for value in data for text in texts(value)]
    return [data] if isinstance(data, str) else []


class Pages(TestCase):
    def page(self, *recordings):
        return make_page(self, *recordings).read_text()

    def check(self, text):
        """A page that is sound; what a browser makes of it."""
        page = Reader(text)
        page.text = "\n".join(texts(page.data))
        page.charts = [(recording["times"], chart) for recording in page.data["recordings"]
                       for chart in recording["charts"] if chart]
        for times, chart in page.charts:
            self.assertEqual(times, sorted(times))
            for series in chart:
                self.assertEqual({len(series[key]) for key in ("mid", "low", "high") if key in series}, {len(times)})
        self.assertIn("default-src 'none'", page.policy)
        self.assertNotIn("unsafe", page.policy)
        for kind, sources in (("script-src", page.scripts), ("style-src", page.styles)):
            found = re.search(kind + "((?: '[^']*')*)", page.policy)
            hashes = [base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in sources]
            self.assertEqual(found[1].split() if found else [], [f"'sha256-{h}'" for h in hashes])
        return page

    def test_usual(self):
        page = self.check(self.page(("usual", 16, 900)))
        for text in ("nvme0q1", "ondemand: load of", "hold 4 of user 1000", "C10"):
            self.assertIn(text, page.text)
        self.assertGreaterEqual(len(page.charts), 7)

    def test_numbers(self):
        """The summary agrees with the recording's own values."""
        recording = make_recording(self.directory, "usual", 16, 308)
        result = self.run_ctl("report", "--json", "--output", f"{self.directory}/p.html", str(recording))
        answer, = json.loads(result.stdout)["recordings"]
        values = {}
        for row in csv.DictReader(io.StringIO(self.run_ctl("export", str(recording)).stdout)):
            values.setdefault((row["table"], row["column"]), []).append(row)

        def mean(table, column, of=None):
            found = [float(r["value"]) for r in values[table, column] if of is None or r["of"] == of]
            return sum(found) / len(found)

        packages = [mean("machine", "power_watts", f"package-{p}") for p in (0, 1)]
        self.assertAlmostEqual(answer["watts_mean"], sum(packages), delta=0.01)
        self.assertAlmostEqual(answer["joules"], sum(packages) * 308, delta=5)
        self.assertAlmostEqual(answer["busy_percent"], 100 * mean("cpu", "busy_share"), delta=0.01)
        self.assertAlmostEqual(answer["parked_cpus_mean"], 16 * mean("cpu", "parked"), delta=0.01)
        self.assertEqual(answer["transitions"], sum(
            r["value"] == "transition" for r in values["event", "kind"]))
        sleeps = sum(float(r["value"]) for r in values["cpu", "entered"] if r["of"] != "POLL")
        self.assertAlmostEqual(answer["wakeups_per_second"], sleeps / 308, delta=0.01)
        self.assertEqual((answer["cpus"], answer["cores"], answer["packages"]), (16, 8, 2))
        self.assertEqual((answer["samples"], answer["recorded_seconds"]), (308, 308))
        saving, = answer["savings"]
        self.assertEqual((saving["policy"], saving["verdict"]), ("ondemand", "saves"))
        last = [r for r in values["machine", "saved_joules"]][-1]
        self.assertAlmostEqual(saving["saved_joules"], float(last["value"]), delta=0.1)

    def test_quick(self):
        """Power that is read less often than samples are taken is the power of all of them."""
        recording = str(make_recording(self.directory, "quick", 8, 10))
        result = self.run_ctl("report", "--json", "--output", f"{self.directory}/p.html", recording)
        answer, = json.loads(result.stdout)["recordings"]
        self.assertAlmostEqual(answer["watts_mean"], 12, delta=0.001)
        self.assertAlmostEqual(answer["joules"], 120, delta=0.1)
        self.assertAlmostEqual(answer["wakeups_per_second"], 800, delta=0.1)
        compared = json.loads(self.run_ctl("diff", "--json", recording, recording).stdout)
        wakeups, = (m for m in compared["metrics"] if m["name"] == "wakeups")
        self.assertAlmostEqual(wakeups["a"]["mean"], 800, delta=0.1)

    def test_uneven(self):
        """report and diff give the same means, by time, of samples of different lengths."""
        recording = str(make_recording(self.directory, "uneven", 8, 30))
        result = self.run_ctl("report", "--json", "--output", f"{self.directory}/p.html", recording)
        answer, = json.loads(result.stdout)["recordings"]
        compared = json.loads(self.run_ctl("diff", "--json", recording, recording).stdout)
        means = {(m["name"], m["of"]): m["a"]["mean"] for m in compared["metrics"]}
        self.assertAlmostEqual(answer["busy_percent"], 100 * (0.1 * 0.9 + 0.9 * 0.1), delta=0.01)
        self.assertAlmostEqual(100 * means["busy_share", None], answer["busy_percent"], delta=0.01)
        self.assertAlmostEqual(answer["watts_mean"], 0.1 * 40 + 0.9 * 12, delta=0.01)
        self.assertAlmostEqual(means["power_watts", "package-0"], answer["watts_mean"], delta=0.01)
        self.assertAlmostEqual(means["wakeups", None], answer["wakeups_per_second"], delta=0.01)

    def test_slow_power(self):
        """A reading of power is the mean since the one before it: in the summary, in diff and in the plot."""
        recording = str(make_recording(self.directory, "slow", 2, 6))
        result = self.run_ctl("report", "--json", "--output", f"{self.directory}/p.html", recording)
        answer, = json.loads(result.stdout)["recordings"]
        compared = json.loads(self.run_ctl("diff", "--json", recording, recording).stdout)
        watts, = (m["a"]["mean"] for m in compared["metrics"] if m["name"] == "power_watts")
        for mean in answer["watts_mean"], watts:
            self.assertAlmostEqual(mean, (10 + 2 * 20) / 3, delta=0.01)
        page = page_data(Path(self.directory, "p.html").read_text())
        series, = (s for chart in page["report"]["recordings"][0]["charts"] for s in chart or []
                   if s["name"] == "package-0")
        self.assertEqual(series["mid"][:-1], 2 * (5 * [10] + 10 * [20]))
        trace = json.loads(self.run_ctl("export", "--format", "perfetto", recording).stdout)["traceEvents"]
        drawn = [(e["ts"], e["args"]["value"]) for e in trace if e["name"] == "power_watts package-0"]
        self.assertEqual([((ts - drawn[0][0]) / 1e6, watts) for ts, watts in drawn],
                         [(0, 10), (1, 20), (3, 10), (4, 20)])

    def test_counters_across_a_gap(self):
        """What grew while nothing was recorded is not what one sample saw."""
        recording = str(make_recording(self.directory, "gap", 2, 30))
        compared = json.loads(self.run_ctl("diff", "--json", recording, recording).stdout)
        transitions, = (m["a"]["mean"] for m in compared["metrics"] if m["name"] == "transitions")
        self.assertAlmostEqual(transitions, 60)  # a minute

    def test_table(self):
        recording = make_recording(self.directory, "usual", 16, 300)
        result = self.run_ctl("report", "--output", f"{self.directory}/p.html", str(recording))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        title, row, where = result.stdout.splitlines()
        self.assertEqual(title.split()[:3], ["Recording", "Seconds", "CPUs"])
        self.assertEqual(row.split()[1:3], ["300", "16"])
        self.assertIn("p.html", where)

    def test_bare(self):
        """No RAPL, no cpuidle, no idled: said, and no plots of them."""
        page = self.check(self.page(("bare", 4, 60)))
        for text in ("Nothing of idled was recorded: org.idled1 is not on the bus", "No power was recorded",
                     "No idle states were recorded"):
            self.assertIn(text, page.text)
        self.assertNotIn("parked cores", page.text)

    def test_late(self):
        """idled that was started after the recording was recorded."""
        page = self.check(self.page(("late", 4, 60)))
        self.assertNotIn("Nothing of idled", page.text)
        self.assertIsNotNone(page.data["recordings"][0]["parked_cpus_mean"])

    def test_empty(self):
        page = self.check(self.page(("empty", 4, 0)))
        self.assertIn("no samples", page.text)
        self.assertEqual(page.charts, [])

    def test_one_sample(self):
        self.assertGreater(len(self.check(self.page(("usual", 1, 1))).charts), 5)

    def test_wild(self):
        """Gaps, a clock that goes back and rows that make no sense."""
        page = self.check(self.page(("wild", 4, 600)))
        self.assertIn("clock was set back (1 time)", page.text)
        self.assertNotIn("e+", page.text)  # no busy share of a million
        self.assertIn("gaps where nothing was recorded (1 time)", page.text)
        self.assertIn(None, page.charts[0][1][0]["mid"][1:-1])  # a gap is one

    def test_hostile(self):
        text = self.page(("hostile", 4, 300))
        page = self.check(text)
        self.assertNotIn("<script>document", text)
        self.assertNotRegex(text.split("<body>")[1].split("<script>")[0], r"<!--|onerror=\"|<img")
        self.assertIn("document.title='owned'", page.text)  # as text it is there
        self.assertEqual(page.elements.count("script"), 3)  # the data and two scripts

    def test_huge(self):
        """An hour of 576 CPUs is a page of bounded size."""
        recording = make_recording(self.directory, "usual", 576, 3600)
        path = Path(self.directory, "p.html")
        result = self.run_ctl("report", "--json", "--output", str(path), str(recording))
        answer, = json.loads(result.stdout)["recordings"]
        self.assertEqual(answer["samples"], 3600)
        self.assertGreater(answer["samples_per_point"], 4)
        self.assertLess(path.stat().st_size, MOST)
        page = self.check(path.read_text())
        self.assertLess(len(page.charts[0][0]), 1000)

    def test_peaks(self):
        """No peak is lost, however many samples a point unites."""
        recording = make_recording(self.directory, "usual", 2, 20000)
        path = Path(self.directory, "p.html")
        self.run_ctl("report", "--output", str(path), str(recording))
        page = self.check(path.read_text())
        export = self.run_ctl("export", str(recording)).stdout
        pressures = [100 * float(row.split(",")[-1]) for row in export.splitlines()
                     if ",pressure_share," in row]
        self.assertEqual(len(pressures), 20000)
        series, = page.charts[-1][1]
        self.assertEqual(series["name"], "some task waited for a CPU")
        self.assertLess(len(series["mid"]), 1000)
        self.assertAlmostEqual(max(series["high"]), max(pressures), places=4)
        self.assertAlmostEqual(min(series["low"]), min(pressures), places=4)

    def test_order(self):
        """The line of parked CPUs never changes before the transition that changes them."""
        page = self.check(self.page(("usual", 16, 300)))
        times, chart = page.charts[0]
        parked, = [series["mid"] for series in chart if series["name"] == "parked CPUs"]
        changes = [times[i] for i in range(1, len(times)) if parked[i] != parked[i - 1]]
        events = [event["x"] for event in page.data["recordings"][0]["events"] if event["kind"] == "transition"]
        self.assertGreater(len(changes), 2)
        for change in changes:
            self.assertTrue(any(0 <= change - event <= 2 for event in events), (change, events))

    def test_saving_not_known(self):
        """The plot of savings ends where they are not known any more, because the load is another one."""
        page = self.check(self.page(("unmeasured", 8, 600)))
        series, = [series for _, chart in page.charts for series in chart if series["name"] == "ondemand"]
        known = [value is not None for value in series["mid"]]
        self.assertFalse(known[0])
        self.assertTrue(known[len(known) * 2 // 5])
        self.assertFalse(any(known[len(known) // 2 + 1:]))
        self.assertEqual([value is not None for value in series["low"]], known)

    def test_several(self):
        """Eight recordings stand next to each other, on the same axes, and the page stays bounded."""
        kinds = [("usual", 8, 900), ("costly", 16, 600), ("bare", 4, 60), ("empty", 4, 0)] * 2
        text = self.page(*kinds)
        page = self.check(text)
        self.assertLess(len(text), 8 * MOST)
        drawn = {r for r, recording in enumerate(page.data["recordings"]) if any(recording["charts"])}
        self.assertEqual(drawn, set(range(8)) - {3, 7})  # of those without samples there is nothing

    def test_damaged(self):
        """What can be read of a damaged file is shown, with a note."""
        recording = make_recording(self.directory, "usual", 4, 600)
        data = bytearray(recording.read_bytes())
        data[len(data) // 4] ^= 0xff
        recording.write_bytes(data[:-10])
        path = f"{self.directory}/p.html"
        self.assertEqual(self.run_ctl("report", "--output", path, str(recording)).returncode, 0)
        page = self.check(Path(path).read_text())
        self.assertRegex(page.text, "1 damaged frame was left out")
        self.assertRegex(page.text, "no whole frame follows at byte")


class Refusals(TestCase):
    def test_usage(self):
        page = f"{self.directory}/p.html"
        for arguments, says in ((["a.rec"], "expected --output FILE"), (["--output", page], "expected"),
                                (["--output", page] + ["a.rec"] * 9, "expected"),
                                (["--output", "-", "--json", "a.rec"], "standard output")):
            with self.subTest(arguments):
                self.assert_refused(self.run_ctl("report", *arguments), says, status=2)

    def test_no_recording(self):
        """No page is written, and one that is there stays as it is."""
        foreign, nothing, page = (Path(self.directory, name) for name in ("foreign", "nothing", "p.html"))
        foreign.write_text("cpu,time\n1,2\n")
        nothing.write_text("")
        page.write_text("old")
        for path, says in ((foreign, "no frame of a recording"), (nothing, "is empty"),
                           (Path(self.directory), "directory"), (Path("/nonexistent/a.rec"), "No such file")):
            self.assert_refused(self.run_ctl("report", "--output", str(page), str(path)), f"report: {path}: ", says)
            self.assertEqual(page.read_text(), "old")

    def test_unwritable(self):
        recording = str(make_recording(self.directory, "usual", 4, 5))
        for output in ("/nonexistent/p.html", "/dev/full"):
            self.assert_refused(self.run_ctl("report", "--output", output, recording), output)
        self.assertTrue(os.path.exists("/dev/full"))


if __name__ == "__main__":
    unittest.main()
