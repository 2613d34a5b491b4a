#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What every verb prints, for people and as JSON, whatever the daemon is doing."""
import datetime
import json
import os
import re
import unittest

from ctltest import POLICIES, TestCase
from shapes import SHAPES, matches

SHOWN = ["status", "cpus", "why", "settings", "verify"]


class Verbs(TestCase):
    def show(self, scenario):
        """All verbs in one golden file; and as JSON in their shapes."""
        self.start(scenario)
        text = ""
        for verb in SHOWN + ["why --history"]:
            result = self.run_ctl(*verb.split())
            self.assertEqual(result.stderr, "")
            text += f"$ idlectl {verb}\n{result.stdout}[{result.returncode}]\n"
        self.assert_golden(scenario, text)
        for verb in SHAPES:
            more = ["--policy-dir", POLICIES] if verb in ("policies", "status --dump") else []
            result = self.run_ctl(*verb.split(), "--json", *more)
            self.assertEqual(result.stderr, "")
            answer = json.loads(result.stdout)
            self.assertTrue(matches(SHAPES[verb], answer), f"{verb}: {result.stdout[:3000]}")
            self.assertEqual(answer["daemon"]["version"], "9.8")
            self.assertIsNone(answer["daemon_error"])

    def test_normal(self):
        self.show("normal")

    def test_unparked(self):
        self.show("unparked")

    def test_paused(self):
        self.show("paused")

    def test_degraded(self):
        self.show("degraded")

    def test_bare_is_status(self):
        self.start("normal")
        self.assertEqual(self.run_ctl().stdout, self.run_ctl("status").stdout)

    def test_large(self):
        self.start("large")
        self.assert_golden("large-status", self.run_ctl("status").stdout)
        lines = self.run_ctl("cpus").stdout.splitlines()
        self.assertEqual(len(lines), 289)
        self.assertEqual(len({len(line) for line in lines}), 1)
        self.assertRegex(lines[288], r"^287 +143 +0 +0 +1 +1 +1024  parked +3 h +0\.0 ")
        why = self.run_ctl("why").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in why], ["0-143", "144-287"])

    def test_absent_is_null(self):
        self.start("absent")
        status = json.loads(self.run_ctl("status", "--json").stdout)
        self.assertIsNone(status["power"]["source"])
        self.assertIsNone(status["power"]["battery_percent"])
        for key in ("pressure_percent", "utilization_percent", "busy_cpus", "interval_usec"):
            self.assertIsNone(status["load"][key], key)
        self.assertIsNone(status["daemon"]["next_tick_usec"])
        self.assertEqual(status["cpus"]["parked"], "")
        self.assertEqual(status["load"]["running_tasks"], 1)

    def test_why_some(self):
        self.start("normal")
        self.assert_golden("why-some", self.run_ctl("why", "1", "3").stdout)
        self.assert_refused(self.run_ctl("why", "0-9"), "only CPUs that are online can be explained: 0-3")

    def test_why_in_use(self):
        self.start("busy")
        self.assert_golden("why-in-use", self.run_ctl("why").stdout)
        row = json.loads(self.run_ctl("why", "3", "--json").stdout)["cpus"][0]
        self.assertEqual((row["option"], row["source"], row["threshold"], row["threshold_unit"]),
                         (None, "no option", 4, "tasks"))
        self.assertEqual((row["effective"], row["effective_because"]), (None, None))
        row = json.loads(self.run_ctl("why", "2", "--json").stdout)["cpus"][0]
        self.assertEqual((row["threshold"], row["effective"], row["effective_because"]),
                         (5, 20, "after 2 reversals"))

    def test_why_of_units(self):
        """What narrows a unit's CPUs, and what decides cores, with the hold that requests it."""
        self.start("held")
        text = " ".join(self.run_ctl("why").stdout.split())
        self.assertIn("nginx.service: 99 % of wake-ups within 5 ms: 2 of 2 cores, idle states up to 10 us, highest "
                      "frequency, p99 3.25 ms of 12000 wake-ups, windows: 58 kept, 2 broken; requested by "
                      "app web (/etc/idled/apps/web.conf)", text)
        self.assertIn("game.scope: AllowedCPUs=0-1, before: all, for cores of kind cache; requested by user 1000 (:1.7) "
                      "(a game); not fully in effect: a client requested a pause", text)
        answer = json.loads(self.run_ctl("why", "--json").stdout)
        self.assertTrue(matches(SHAPES["why"], answer))
        self.assertEqual([(row["hold"], row["cpus"], row["cpus_before"]) for row in answer["kinds"]], [(9, "0-1", None)])

    def test_benefit(self):
        """What was never measured is not shown."""
        self.start("normal")
        for verb in "status", "why":
            self.assertEqual(json.loads(self.run_ctl(verb, "--json").stdout)["benefits"], [])
            self.assertNotIn("saves", self.run_ctl(verb).stdout)

    def test_benefit_measured(self):
        """What a policy saves, with its interval, and the verdict."""
        for scenario, verdict, watts, texts in (
                ("measured", "saves", [3.2, 2.9, 3.5],
                 ["ondemand saves 3.2 W (2.9 to 3.5 W)", "12.3 kJ (11.0 kJ to 13.0 kJ)", "97 %",
                  "16.8 W with it and 20.0 W without it",
                  "10.2 % of the energy per work (9.1 to 11.3 %)", "tasks wait 0.4 % more of the time (-0.1 to 0.9 %)",
                  "24 blocks by rapl, 3 dropped"]),
                ("measured-estimate", "saves", [3.2, 2.9, 3.5],
                 ["ondemand saves ~3.2 W (2.9 to 3.5 W)", ", ~12.3 kJ",
                  "~16.8 W with it and ~20.0 W without it", "blocks by estimate"]),
                ("measured-costs", "costs", [-3.2, -3.5, -2.9],
                 ["ondemand costs 3.2 W (2.9 to 3.5 W)", "-50 J (-60 J to -40 J)"]),
                ("measured-unclear", "unknown", [0.2, -1.1, 1.5],
                 ["not known yet (-1.1 to 1.5 W)", "5 J (-20 J to 30 J)"]),
                ("measured-dropped", "unknown", [None] * 3, ["not known yet;", "3 dropped"])):
            self.start(scenario)
            for verb in "status", "why":
                benefit, = json.loads(self.run_ctl(verb, "--json").stdout)["benefits"]
                self.assertEqual(benefit["verdict"], verdict)
                self.assertEqual([benefit["saved_watts" + end] for end in ("", "_low", "_high")],
                                 watts)
                self.assertEqual((benefit["effective_watts"], benefit["ignored_watts"]),
                                 (None, None) if watts[0] is None else
                                 (round(20 - watts[0], 1), 20))
                shown = " ".join(self.run_ctl(verb).stdout.split())
                for text in texts:
                    self.assertIn(text, shown)

    def test_one_of_each(self):
        self.start("single")
        self.assertRegex(self.run_ctl("status").stdout,
                         r"(?m)^Own cost +12\.3 ms of CPU, 1 wake-up, 1 tick, next in ")
        self.assertIn("(wanted 1 core, tried 1 time, runnable 1 task); MinCores is 1 core (",
                      self.run_ctl("why").stdout)

    def test_why_beside_parking(self):
        self.start("limited")
        self.assert_golden("why-limited", self.run_ctl("why").stdout)
        rows = json.loads(self.run_ctl("why", "0,1", "--json").stdout)["cpus"]
        self.assertEqual([len(row["reasons"]) for row in rows], [1, 2])
        self.assertEqual(rows[0]["reasons"][0]["source"], "/etc/idled/policies/cstates.conf:4")
        self.assertEqual(rows[1]["figures"][1],
                         {"policy": "cstates", "name": "share", "unit": "%", "value": 93.5})

    def test_whole_history(self):
        """It takes several calls to the daemon: each change is listed once, the newest first."""
        self.start("long")
        answer = json.loads(self.run_ctl("why", "--history", "--json").stdout)
        self.assertEqual([row["number"] for row in answer["history"]], list(range(150, 0, -1)))
        self.assertEqual([row["parked_usec"] for row in answer["cpus"]][2:], [12960000000] * 2)
        text = self.run_ctl("why", "--history").stdout
        self.assertEqual(text.count(" ago: "), 150)
        for zone in "UTC0", "EST5":
            text = self.run_ctl("why", "--history", env={"TZ": zone}).stdout
            changed = datetime.datetime.fromtimestamp(answer["history"][0]["time_usec"] // 1000000, datetime.timezone(
                -datetime.timedelta(hours=int(zone[3:]))))
            self.assertTrue(text.startswith(changed.strftime("%Y-%m-%d %H:%M:%S, ")), text[:80])
        self.assertIn("2-3 parked for 3 h in all (72 % of the time)\n", text)

    def test_why_without_change(self):
        self.start("unparked")
        text = self.run_ctl("why", "--history").stdout
        self.assertIn("for 5 h", text)
        self.assertEqual(text.splitlines()[-1], "0-3 never parked")

    def test_holds(self):
        self.start("held")
        self.assert_golden("holds", self.run_ctl("holds").stdout)
        result = self.run_ctl("holds", "--json")
        answer = json.loads(result.stdout)
        self.assertTrue(matches(SHAPES["holds"], answer), result.stdout)
        rows = answer["holds"]
        self.assertEqual([row["hold"] for row in rows], [2, 9, 10])
        self.assertEqual([row["latency_us"] for row in rows], [50, None, 0])
        self.assertEqual([row["min_frequency_khz"] for row in rows], [None, 2400000, None])
        self.assertEqual(rows[0]["pid"], None)
        self.assertRegex(self.run_ctl("status").stdout, r"(?m)^Holds +3 ")
        self.assertEqual(json.loads(self.run_ctl("status", "--json").stdout)["daemon"]["holds"], 3)

    def test_no_holds(self):
        self.start("normal")
        self.assertEqual(self.run_ctl("holds").stdout, "There are no holds.\n")

    def test_settings_section(self):
        self.start("normal")
        self.assert_golden("settings-section", self.run_ctl("settings", "ondemand").stdout)
        self.assert_refused(self.run_ctl("settings", "ondemnd"), "did you mean ondemand?")

    def test_policies(self):
        self.start("normal")
        self.assert_golden("policies", self.run_ctl("policies", "--policy-dir",
                                                    self.directory).stdout)
        broken = os.path.join(self.directory, "broken.so")
        with open(broken, "w", encoding="utf-8") as file:
            file.write("no module")
        rows = json.loads(self.run_ctl("policies", "--policy-dir", self.directory,
                                       "--json").stdout)["policies"]
        self.assertEqual([row["name"] for row in rows], ["userspace", "ondemand", "broken"])
        self.assertIsNone(rows[2]["summary"])
        self.assertIn("broken.so", rows[2]["problem"])


    def test_others_control_nothing(self):
        self.start("paused")
        for text in (self.run_terminal("status"), self.run_ctl("status").stdout):
            self.assertIn("a backup?[31m runs", text)


    def test_strange(self):
        """What a daemon of another version says otherwise is as good as not said."""
        self.start("strange")
        for verb in SHAPES:
            for arguments in (verb.split(), [*verb.split(), "--json"]):
                result = self.run_ctl(*arguments)
                self.assertEqual((result.returncode, result.stderr), (0, ""), arguments)
                self.assertNotIn("(null)", result.stdout)
        status = json.loads(self.run_ctl("status", "--json").stdout)
        self.assertIsNone(status["load"]["pressure_percent"])
        self.assertIsNone(status["load"]["load_average_1min"])

    def test_plan_not_effective(self):
        self.start("dry")
        self.assertEqual(
            [line.split(":")[0] for line in self.run_ctl("why").stdout.splitlines()],
            ["0 should be unparked", "1 active", "2-3 should be parked by ondemand"])


class Set(TestCase):
    def runtime(self):
        settings = json.loads(self.run_ctl("settings", "--json").stdout)["settings"]
        return {s["key"]: s["value"] if s["runtime"] else None for s in settings}

    def setUp(self):
        super().setUp()
        self.start("normal")

    def test_one(self):
        result = self.run_ctl("set", "userspace", "IdleMask=2-3")
        self.assertEqual(result.stdout, "userspace IdleMask is now 2-3\n")
        self.assertEqual(self.runtime()["IdleMask"], "2-3")
        result = self.run_ctl("set", "userspace", "IdleMask=")
        self.assertEqual(result.stdout, "userspace IdleMask is as configured again\n")
        self.assertIsNone(self.runtime()["IdleMask"])

    def test_json(self):
        result = self.run_ctl("set", "userspace", "IdleMask=1", "--json")
        self.assertEqual(json.loads(result.stdout)["set"],
                         [{"section": "userspace", "key": "IdleMask", "value": "1",
                           "not_online": None}])

    def test_not_online(self):
        for mask, absent in (("3-5,9", "4-5,9"), ("8", "8")):
            result = self.run_ctl("set", "userspace", f"IdleMask={mask}")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(result.stdout,
                             f"userspace IdleMask is now {mask}\nnot online: {absent}\n")
            answer = json.loads(self.run_ctl("set", "userspace", f"IdleMask={mask}",
                                             "--json").stdout)
            self.assertEqual(answer["set"][0]["not_online"], absent)
        result = self.run_ctl("set", "ondemand", "MaxCores=9")
        self.assertEqual(result.stdout, "ondemand MaxCores is now 9\n")

    def test_unknown(self):
        self.assert_refused(self.run_ctl("set", "userspace", "IdelMask=2"), "IdelMask: found an unknown key")

    def test_denied(self):
        self.assert_refused(self.run_ctl("set", "Daemon", "LogLevel=debug"), "not authorized")


class Terminal(TestCase):
    ESCAPE = re.compile("\x1b\\[[0-9;]*m")

    def setUp(self):
        super().setUp()
        self.start("normal")

    def test_colours_only_there(self):
        for verb in SHOWN:
            self.assertNotIn("\x1b", self.run_ctl(verb).stdout)
        self.assertRegex(self.run_terminal("cpus"), self.ESCAPE)
        for text in (self.run_terminal("cpus", "--no-colour"),
                     self.run_terminal("cpus", env={"NO_COLOR": "1"}),
                     self.run_terminal("cpus", env={"TERM": "dumb"})):
            self.assertNotIn("\x1b", text)

    def test_width(self):
        for width in (20, 40, 60, 200):
            for verb in ("status", "cpus", "why", "profile", "settings", "settings ondemand",
                         "policies"):
                text = self.ESCAPE.sub("", self.run_terminal(*verb.split(), width=width))
                self.assertLessEqual(max(map(len, text.splitlines())), width, verb)
        for width in range(30, 73):  # columns that are left out leave a mark
            text = self.ESCAPE.sub("", self.run_terminal("cpus", width=width))
            self.assertTrue(text.splitlines()[0].endswith("…"), (width, text))
        self.assertIn("…", self.run_terminal("settings", width=40))
        self.assertNotIn("…", self.run_terminal("settings", width=400))
        self.assertIn("ondemand.conf:12)", self.run_terminal("why", width=40))
        self.assertNotIn("…", self.run_ctl("settings", env={"COLUMNS": "40"}).stdout)

    def test_wraps_notes(self):
        """Between words, and nothing is lost; a word longer than the line is broken."""
        whole = self.ESCAPE.sub("", self.run_terminal("policies", width=400))
        for width in (1, 5, 7, 12, 20, 40):
            text = self.ESCAPE.sub("", self.run_terminal("policies", width=width))
            self.assertLessEqual(max(map(len, text.splitlines())), width)
            said = "".join(text.split())
            for sentence in ("keeps the CPUs idle that are named", "Requests CPUs 0-1."):
                self.assertIn(sentence, whole)
                self.assertIn(sentence.replace(" ", ""), said, width)
        self.assertIn("\n      keeps the CPUs\n      idle that are\n      named\n",
                      self.ESCAPE.sub("", self.run_terminal("policies", width=21)))

    def test_fits_80_columns(self):
        for verb in ("settings", "settings ondemand", "policies"):
            text = self.ESCAPE.sub("", self.run_terminal(*verb.split()))
            self.assertNotIn("…", text)

    def test_long_values(self):
        """At 80 columns one long value, or a long path, costs no other row its source: what is
        shortened follows whole."""
        self.start("long")
        path = "/etc/idled/policies/ondemand.conf.d/zz-idlectl.conf:3"
        value = "userspace ondemand cpufreq cstates latency quiet"
        for arguments in ("settings",), ("settings", "Daemon"), ("settings", "ondemand"):
            text = self.ESCAPE.sub("", self.run_terminal(*arguments))
            self.assertLessEqual(max(map(len, text.splitlines())), 80)
            rows = [line for line in text.splitlines() if re.match(r"(Daemon|ondemand) ", line)]
            self.assertTrue(rows)
            for row in rows:
                self.assertRegex(row, r" (default|set over D-Bus|/etc/idled/\S+)( |$)")
            if "ondemand" not in arguments:
                self.assertIn("\n      " + value + "\n", text)
            if "Daemon" not in arguments:
                self.assertIn(path, "".join(text.split()))

    def test_wraps_between_words(self):
        """At 80 columns why, profile and status lose nothing and break no word."""
        for verb in ("why", "why --history", "profile", "status"):
            whole = self.ESCAPE.sub("", self.run_terminal(*verb.split(), width=400))
            for width in (80, 60):
                text = self.ESCAPE.sub("", self.run_terminal(*verb.split(), width=width))
                self.assertLessEqual(max(map(len, text.splitlines())), width, verb)
                self.assertNotIn("…", text)
                self.assertEqual(text.split(), whole.split(), verb)

    def test_bars(self):
        self.assertIn("█▎", self.run_terminal("cpus", width=200))
        self.assertIn("#", self.run_terminal("cpus", width=200, env={"LC_ALL": "C"}))



if __name__ == "__main__":
    unittest.main()
