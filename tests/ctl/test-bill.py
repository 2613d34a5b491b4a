#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlectl bill: the table and its JSON, units by name and cgroup, a limit and what it costs, and no daemon or BPF."""
import json
import os
import unittest
from pathlib import Path

from ctltest import TestCase
from shape import matches, number, optional
from shapes import HEAD

UNITS = ("/system.slice/mail.service", "/system.slice/web.service",
         "/user.slice/user-1.slice/user@1.service/app.slice/app-x.scope")
STATES = (("POLL", 0), ("C1", 2), ("C6", 133))
POWER = "[Power]\nDescription=test\n[States]\nC0=100\nPOLL=100\nC1=40\nC6=10\n"

BILL = dict(HEAD, source=str, source_error=optional(str), seconds=number, sampled=optional(int), lost=optional(int),
            unstored=optional(int), limit_us=optional(int), limit_watts_estimate=optional(number),
            power_table=optional(str), states_without_figure=optional(str), units=[{
                "unit": str, "cgroup": str, "process": optional(str), "wakeups": optional(int),
                "per_second": number, "mean_us": number, "p50_us": optional(number), "p99_us": optional(number),
                "longest_us": optional(number), "limited_p99_us_estimate": optional(number),
                "split": optional([{
                    "kind": str, "state": optional(str), "state_index": optional(int), "wakeups": int,
                    "mean_us": number, "p50_us": number, "p99_us": number, "longest_us": number,
                    "share_percent": number}])}])


class Bill(TestCase):
    def setUp(self):
        super().setUp()
        self.tree = Path(self.directory, "tree")
        for pid, cgroup in enumerate(UNITS, 1):
            self.write(f"proc/{pid}/cgroup", f"0::{cgroup}\n")
            self.write(f"proc/{pid}/comm", f"task{pid}\n")
            self.wait(pid, 1000 * pid, 10)
        for cpu in range(2):
            for state, (name, latency) in enumerate(STATES):
                for key, value in (("name", name), ("latency", latency), ("residency", latency), ("usage", 0),
                                   ("time", 0)):
                    self.write(f"sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/{key}", f"{value}\n")
            for key in "core_id", "physical_package_id":
                self.write(f"sys/devices/system/cpu/cpu{cpu}/topology/{key}", "0\n")
        for key in "online", "possible", "present":
            self.write(f"sys/devices/system/cpu/{key}", "0-1\n")
        self.write("proc/stat", "cpu  0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0\n")
        self.write("proc/loadavg", "0 0 0 1/1 1\n")

        self.power = self.directory + "/power.conf"
        Path(self.power).write_text(POWER)
        # What the fake daemon has happen while it counts.
        idle = {"proc/stat": "cpu  0 0 0 20 0 0 0\ncpu0 0 0 0 10 0 0 0\ncpu1 0 0 0 10 0 0 0\n",
                "sys/devices/system/cpu/cpu0/cpuidle/state2/usage": "1\n",
                "sys/devices/system/cpu/cpu0/cpuidle/state2/time": "9000000\n",
                "sys/devices/system/cpu/cpu1/cpuidle/state1/usage": "1\n",
                "sys/devices/system/cpu/cpu1/cpuidle/state1/time": "9000000\n"}
        os.environ["BILL_WRITES"] = json.dumps({str(self.tree / path): text for path, text in idle.items()})
        self.addCleanup(os.environ.pop, "BILL_WRITES")

    def write(self, path, text):
        path = self.tree / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def wait(self, number, ns, slices):
        self.write(f"proc/{number}/task/{number}/schedstat", f"7 {ns} {slices}\n")

    def bill(self, *arguments, **more):
        return self.run_ctl("bill", "--root", str(self.tree), "--seconds", "0.1", *arguments, **more)

    def answer(self, *arguments):
        result = self.bill("--json", *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        answer = json.loads(result.stdout)
        self.assertTrue(matches(BILL, answer), result.stdout)
        return answer

    def test_table(self):
        self.start("billed")
        text = ""
        for arguments in ("--limit", "50us", "--power", self.power, "/system.slice"), (), ("--by", "process"):
            result = self.bill(*arguments)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            text += " ".join(["$ idlectl bill", *arguments]) + "\n" + result.stdout
        self.assert_golden("bill", text)

    def test_numbers(self):
        self.start("billed")
        answer = self.answer()
        self.assertEqual((answer["source"], answer["seconds"], answer["sampled"], answer["lost"], answer["unstored"]),
                         ("idled", 10, 120, 1, 2))
        self.assertEqual([unit["unit"] for unit in answer["units"]], ["web.service", "mail.service", "app-x.scope"])
        web, mail, app = answer["units"]
        self.assertEqual((web["wakeups"], web["per_second"], web["process"]), (2040, 204, None))
        self.assertTrue(16.3 < web["p50_us"] < 18.5 and 2090 < web["p99_us"] < 2400, web)
        self.assertEqual(web["longest_us"], round(4096 * 1024 * 1.1 / 1000, 1))
        self.assertEqual([(part["kind"], part["state"]) for part in web["split"]],
                         [("idle", "C1"), ("waiting", None), ("parked", None)])
        for unit in answer["units"]:
            self.assertAlmostEqual(sum(part["share_percent"] for part in unit["split"]), 100, delta=0.2)
            self.assertIsNone(unit["limited_p99_us_estimate"])
        self.assertGreater(mail["split"][0]["share_percent"], 99)
        self.assertEqual(app["split"][0]["state"], "state9")
        self.assertEqual(self.answer("--by", "process")["units"][0]["process"], "nginx")

    def test_units(self):
        self.start("billed")
        for asked, found in ((["mail.service"], 1), (["/system.slice"], 2), (["/system.slice/"], 2),
                             (["/"], 3), (["/system.slice/mail.service", "app-x.scope"], 2)):
            self.assertEqual(len(self.answer(*asked)["units"]), found, asked)
        for asked, hint in (("mail.servce", "did you mean mail.service?"), ("/system.slic", "no process belongs to it"),
                            ("service", "no process belongs to it")):
            self.assert_refused(self.bill(asked), hint)

    def test_other_user(self):
        """The units of others are not in the answer without --all, and that is said."""
        if os.geteuid():
            self.skipTest("needs root")
        os.chmod(self.directory, 0o755)
        self.start("billed-nothing")
        for arguments, user, hint in (((), 65534, True), (("web.service",), 65534, True), (("--all",), 65534, False),
                                      ((), None, False)):
            text = self.bill(*arguments, user=user).stdout
            self.assertIn("There were no wake-ups", text)
            self.assertEqual("--all" in text, hint, (arguments, text))

    def test_limit(self):
        """Delays of C6 become shorter by 131 us, those of C1 and of waiting stay."""
        self.start("billed")
        answer = self.answer("--limit", "50us", "--power", self.power)
        web, mail, app = answer["units"]
        self.assertEqual(answer["limit_us"], 50)
        self.assertEqual(answer["limit_watts_estimate"], 15)  # 40 instead of 10 W of half the package
        self.assertAlmostEqual(mail["p99_us"] - mail["limited_p99_us_estimate"], 131, delta=5)
        for unit in web, app:
            self.assertAlmostEqual(unit["limited_p99_us_estimate"], unit["p99_us"], delta=unit["p99_us"] / 8)
        self.assertIn("name a table with --power", self.bill("--limit", "50us").stdout)

    def test_refused(self):
        self.start("overbilled")
        self.assert_refused(self.bill(), "No bill of wake-ups")

    def test_without_bpf(self):
        """The kernel's counters, of one task that waits 2 us before each run."""
        os.environ["BILL_WRITES"] = json.dumps({str(self.tree / "proc/2/task/2/schedstat"): "7 102000 60"})
        self.start("unbilled")
        answer = self.answer("--by", "process", "--limit", "50us")
        self.assertEqual(answer["source"], "schedstat")
        self.assertIn("this kernel has no BTF", answer["source_error"])
        web, = answer["units"]
        self.assertEqual((web["unit"], web["mean_us"], web["per_second"]), ("web.service", 2, 500))
        for key in "process", "wakeups", "p50_us", "p99_us", "split", "limited_p99_us_estimate":
            self.assertIsNone(web[key], key)
        self.assertIn("There were no wake-ups.", self.bill("mail.service").stdout)

    def test_without_daemon(self):
        self.start()
        result = self.run_ctl("bill", "--seconds", "0.3")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("No bill of wake-ups: idled is not running", result.stdout)
        self.assertRegex(result.stdout, r"Runs/s +Mean +Unit\n *[0-9.]+ +[0-9.]+ [mu]?s +\S")

    def test_terminal(self):
        self.start("billed")
        text = self.run_terminal("bill", "--root", str(self.tree), "--seconds", "0.1")
        self.assertIn("web.service", text)
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80 + len("\x1b[1m\x1b[0m") * 14, line)


if __name__ == "__main__":
    unittest.main()
