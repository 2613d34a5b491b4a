#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlelab advise: advice keeps to the bound, is the best candidate, and can be applied."""
import json
import os
import random
import signal
import subprocess
import unittest
from pathlib import Path

from ctltest import IDLELAB, TIMEOUT, TestCase, environment

TRACES = Path(__file__).resolve().parent.parent / "traces" / "idle"
CLIENT = str(TRACES / "client.tbl")
LOADS = ["idle", "database", "messages", "timers"]


class Advise(TestCase):

    def setUp(self):
        super().setUp()
        self.root = os.path.join(self.directory, "root")
        self.machine("6.12.9", "menu", "menu teo")

    def machine(self, release, current, available):
        cpuidle = Path(self.root, "sys/devices/system/cpu/cpuidle")
        kernel = Path(self.root, "proc/sys/kernel")
        for directory in cpuidle, kernel:
            directory.mkdir(parents=True, exist_ok=True)
        (kernel / "osrelease").write_text(release + "\n")
        (cpuidle / "current_governor").write_text(current + "\n")
        (cpuidle / "available_governors").write_text(available + "\n")

    def advise(self, *arguments):
        result = self.run_ctl("advise", "--root", self.root, "--json", *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_keeps_to_the_bound(self):
        for bound, slowest in (None, 166), ("133us", 133), ("50us", 33), ("2us", 2):
            more = ["--latency", bound] if bound else []
            answer = self.advise("--table", CLIENT, *more, str(TRACES / "idle.csv.xz"))
            worst = [row["worst_exit_latency_us"] for row in answer["candidates"]]
            self.assertEqual(max(worst), slowest)
            self.assertLessEqual(answer["best"]["worst_exit_latency_us"], slowest)
            limit = answer["settings"].get("DeepestState")
            self.assertEqual(limit is None, answer["best"]["worst_exit_latency_us"] == 166)
            self.assertEqual(answer["change"], bound is not None, "what is in effect is above the bound")

    def test_best_of_all(self):
        for load in LOADS:
            answer = self.advise("--table", CLIENT, str(TRACES / f"{load}.csv.xz"))
            least = min(row["energy_joules"] for row in answer["candidates"])
            near = [row for row in answer["candidates"]
                    if row["energy_joules"] <= 1.01 * least]
            if answer["change"]:
                self.assertEqual(answer["best"]["mean_exit_latency_us"],
                                 min(row["mean_exit_latency_us"] for row in near), load)
                self.assertGreaterEqual(answer["saved_percent"], 5)
            else:
                self.assertEqual(answer["best"], answer["now"])
                self.assertLess(0.94 * answer["now"]["energy_joules"], least)
            self.assertGreaterEqual(answer["above_ideal_percent"], 0)
            self.assertAlmostEqual(
                answer["saved_percent"],
                100 * (1 - answer["best"]["energy_joules"] / answer["now"]["energy_joules"]),
                places=2)

    def test_agrees_with_replay(self):
        trace = str(TRACES / "database.csv.xz")
        answer = self.advise("--table", CLIENT, trace)
        replayed = json.loads(self.run_ctl("replay", "--json", "--table", CLIENT, "--governor",
                                           "menu-6.12,teo-6.12", trace).stdout)
        energies = {row["governor"]: row["energy_joules"]
                    for row in replayed["traces"][0]["governors"]}
        for row in answer["candidates"]:
            if row["deepest_state"] == "C7s" and row["model"] in energies:
                self.assertAlmostEqual(row["energy_joules"], energies[row["model"]], places=6)

    def test_history(self):
        """It is replayed with the options that advice then sets."""
        rand = random.Random(1)
        trace = os.path.join(self.directory, "random.csv")
        Path(trace).write_text("".join(f"0,{i * 4000000},20000000,{rand.choice([20000, 150000, 300000, 3000000])}\n"
                                       for i in range(5000)))
        answer = self.advise("--table", CLIENT, trace)
        replayed = json.loads(self.run_ctl(
            "replay", "--json", "--table", CLIENT, "--governor", "menu-6.12,history:menu-6.12",
            "--option", "draw=fourth", trace).stdout)["traces"][0]["governors"]
        self.assertNotEqual(replayed[0]["energy_joules"], replayed[1]["energy_joules"])
        row, = [row for row in answer["candidates"]
                if row["model"] == "history:menu-6.12" and row["deepest_state"] == "C7s"]
        self.assertTrue(row["history"])
        self.assertAlmostEqual(row["energy_joules"], replayed[1]["energy_joules"], places=6)
        settings = answer["settings"]
        self.assertEqual(answer["change"] and answer["best"]["history"], settings.get("History") == "yes")

    def test_few_periods(self):
        """They choose as well as they can, and the answer says how many a reliable choice needs."""
        trace = os.path.join(self.directory, "short.csv")
        for periods in 1, 143, 1999, 2000:
            Path(trace).write_text("".join(f"0,{i * 4000000},20000000,{20000 + i % 7 * 100000}\n"
                                           for i in range(periods)))
            answer = self.advise("--table", CLIENT, trace)
            self.assertEqual((answer["periods"], answer["periods_needed"]), (periods, 2000))
            result = self.run_ctl("advise", "--root", self.root, "--table", CLIENT, trace)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            lines = [line for line in result.stdout.splitlines() if line.startswith(f"{periods} idle period")]
            self.assertEqual(len(lines), periods < 2000, result.stdout)
            self.assertTrue(all("few" in line and "2000" in line for line in lines), lines)

    def test_a_limit_saves_something(self):
        """Where no deeper state is used, all limits need the same, and none is advised."""
        self.machine("6.12.9", "haltpoll", "menu teo")  # no present choice that stays
        trace = os.path.join(self.directory, "short.csv")
        Path(trace).write_text("".join(f"0,{i * 4000},5000,5000\n" for i in range(2000)))
        answer = self.advise("--table", CLIENT, trace)
        rows = [row for row in answer["candidates"] if row["model"] == answer["best"]["model"]]
        self.assertEqual(len({(row["energy_joules"], row["mean_exit_latency_us"]) for row in rows}), 1)
        self.assertEqual((answer["change"], answer["best"]["deepest_state"]), (True, "C7s"))
        self.assertNotIn("DeepestState", answer["settings"])

    def test_models_of_the_kernel(self):
        trace = str(TRACES / "timers.csv.xz")
        for release, expected in (("6.1.0-56-amd64", "menu-6.1 teo-6.1"),
                                  ("6.12.9", "menu-6.12 teo-6.12"),
                                  ("6.18.2-rt", "menu-6.12 teo-6.18"), ("7.2", "menu-7.3 teo-7.3"),
                                  ("strange", "menu-7.3 teo-7.3")):
            self.machine(release, "menu", "menu")
            answer = self.advise("--table", CLIENT, trace)
            models = {row["model"] for row in answer["candidates"]}
            below = {model.partition(":")[2] for model in models if model.startswith("history:")}
            self.assertEqual(below, set(expected.split()), release)
            self.assertEqual({model for model in models if ":" not in model} - {"ladder", "teo-util"},
                             set(expected.split()), release)

    def states(self, *rows):
        for i, (name, latency, residency) in enumerate(rows):
            state = Path(self.root, f"sys/devices/system/cpu/cpu0/cpuidle/state{i}")
            state.mkdir(parents=True, exist_ok=True)
            for key, value in ("name", name), ("latency", latency), ("residency", residency), ("disable", 0):
                (state / key).write_text(f"{value}\n")

    def test_table_in_effect(self):
        """The same processor with other latencies (intel_idle.table=) gets other advice."""
        Path(self.root, "proc/cpuinfo").write_text("model name : Intel(R) Core(TM)\n")
        for latency, residency, deepest in (133, 400, {"C1", "C6"}), (400, 2000, {"C1"}):
            self.states(("C1", 2, 2), ("C6", latency, residency))
            answer = self.advise("--latency", "200us", str(TRACES / "idle.csv.xz"))
            self.assertEqual({row["deepest_state"] for row in answer["candidates"]}, deepest)
            free = self.advise(str(TRACES / "idle.csv.xz"))["candidates"]
            self.assertEqual({row["worst_exit_latency_us"] for row in free}, {2, latency})

    def test_only_what_the_machine_has(self):
        self.states(("C1", 2, 2), ("C6", 133, 400))
        self.machine("6.18.0", "haltpoll", "menu haltpoll")
        answer = self.advise(str(TRACES / "idle.csv.xz"))
        self.assertEqual({row["governor"] for row in answer["candidates"]}, {"menu"})
        self.assertTrue(answer["powers_assumed"])
        self.assertIsNone(answer["best"]["energy_joules"])
        self.assertIsNone(answer["now"])
        self.assertIsNone(answer["saved_percent"])
        self.assertFalse(answer["change"])
        self.assertIn("no model of haltpoll", answer["obstacle"])
        self.assertEqual((answer["settings"], answer["commands"]), ({}, []))
        self.assertTrue(self.advise("--table", CLIENT, str(TRACES / "idle.csv.xz"))["change"], "another machine's")
        self.machine("6.18.0", "haltpoll", "haltpoll")
        self.assert_refused(self.run_ctl("advise", "--root", self.root, str(TRACES / "idle.csv.xz")), "haltpoll")

    def test_for_people(self):
        result = self.run_ctl("advise", "--root", self.root, "--table", CLIENT, "--latency",
                              "50us", str(TRACES / "idle.csv.xz"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("DeepestState=33us", result.stdout)
        self.assertIn("idlectl set cstates IdleGovernor=", result.stdout)
        self.assertIn(" --save", result.stdout)

    def test_small_savings_do_not_count(self):
        """menu of 6.12 needs 2 % more than the best here: it stays in effect."""
        result = self.run_ctl("advise", "--root", self.root, "--table", CLIENT, str(TRACES / "timers.csv.xz"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("Nothing to change: menu", result.stdout)
        self.assertNotIn("idlectl set", result.stdout)
        self.machine("6.12.9", "ladder", "menu teo ladder")
        answer = self.advise("--table", CLIENT, str(TRACES / "database.csv.xz"))
        self.assertTrue(answer["change"])
        self.assertGreater(answer["saved_percent"], 5)

    def test_powers_of_a_table(self):
        """Where a figure is missing, powers are assumed."""
        trace = str(TRACES / "idle.csv.xz")
        cpu = Path(self.root, "sys/devices/system/cpu/cpu0")
        for state, name in enumerate(("C1", "C7")):
            directory = cpu / f"cpuidle/state{state}"
            directory.mkdir(parents=True)
            for key, value in (("name", name), ("latency", 2 + 100 * state), ("residency", 2 + 400 * state),
                               ("disable", 0)):
                (directory / key).write_text(f"{value}\n")
        (cpu / "topology").mkdir()
        for key in "physical_package_id", "core_id":
            (cpu / "topology" / key).write_text("0\n")
        for name in "online", "possible", "present":
            Path(self.root, "sys/devices/system/cpu", name).write_text("0\n")
        power = Path(self.directory, "power.conf")
        power.write_text("[Power]\nDescription=x\n\n[States]\nC0=90\nC1=63\nC7=20\n")
        answer = json.loads(self.run_ctl("replay", "--root", self.root, "--power", str(power), "--json",
                                         trace).stdout)
        self.assertEqual([state["power_mw"] for state in answer["table"]["states"]], [63000, 20000])
        self.assertFalse(self.advise("--power", str(power), trace)["powers_assumed"])
        self.assertTrue(self.advise(trace)["powers_assumed"])
        power.write_text("[Power]\nDescription=x\n\n[States]\nC0=90\nC1=63\n")
        for verb in "advise", "replay":
            result = self.run_ctl(verb, "--root", self.root, "--json", "--power", str(power), trace)
            self.assertEqual(result.returncode, 0)
            self.assertIn(f"{power} has no figure for C7,", result.stderr)
            self.assertEqual(json.loads(result.stdout).get("powers_assumed", True), True)
            self.assert_refused(self.run_ctl(verb, "--table", CLIENT, "--power", str(power), trace),
                                "expected no --power", status=2)
        result = self.run_ctl("replay", "--root", self.root, "--power", "/nonexistent/x", trace)
        self.assertEqual((result.returncode, result.stdout), (1, ""))

    def test_least_possible(self):
        """It is that of all states, also where the present choice leaves some unused."""
        self.states(("C1", 2, 2), ("C6", 133, 400))
        Path(self.root, "sys/devices/system/cpu/cpu0/cpuidle/state1/disable").write_text("1\n")
        table = Path(self.directory, "near.tbl")
        table.write_text("POLL 0 0 4000 poll\nC1 2 2 1000\nC6 133 400 960\n")
        answer = self.advise("--table", str(table), str(TRACES / "idle.csv.xz"))
        self.assertEqual((answer["change"], answer["now"]["deepest_state"]), (False, "C1"))
        self.assertGreater(answer["now"]["energy_ratio"], 1.02)
        self.assertGreater(answer["above_ideal_percent"], 100 * (answer["now"]["energy_ratio"] - 1) - 0.1)

    def test_hybrid(self):
        """The states are those of the first CPU, and advice says so."""
        for cpu, name in enumerate(("C6", "C6", "C6S")):
            directory = Path(self.root, f"sys/devices/system/cpu/cpu{cpu}/cpuidle/state0")
            directory.mkdir(parents=True)
            for key, value in ("name", name), ("latency", 100), ("residency", 300), ("disable", 0):
                (directory / key).write_text(f"{value}\n")
        result = self.run_ctl("advise", "--root", self.root, str(TRACES / "idle.csv.xz"))
        self.assertEqual(result.returncode, 0)
        self.assertIn("those of CPU 0; CPU 2", result.stderr)

    def test_record(self):
        """What is recorded here is what is replayed, and nothing is left of it."""
        ledger = {"IDLED_LEDGER_DIR": os.environ["IDLED_LEDGER_DIR"], "TMPDIR": self.directory}
        trial = self.run_ctl("record", "--idle", os.path.join(self.directory, "trial"), "--seconds",
                             "0.1", env=ledger)
        if trial.returncode != 0:
            self.skipTest(trial.stderr)
        os.unlink(os.path.join(self.directory, "trial"))
        for _ in range(5):
            result = self.run_ctl("advise", "--table", CLIENT, "--json", "--record", "1", env=ledger)
            if "no idle periods" not in result.stderr:
                break
        else:
            self.skipTest("no CPU of this machine was idle for any moment of five seconds")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        answer = json.loads(result.stdout)
        self.assertGreater(answer["periods"], 0)
        self.assertTrue(all(row["idle_power_mw"] > 0 for row in answer["candidates"]))
        self.assertEqual(answer["change"], "IdleGovernor" in answer["settings"])
        self.assertEqual(os.listdir(self.directory), ["root"])

    def test_record_interrupted(self):
        """Nothing is left then, either."""
        with subprocess.Popen([IDLELAB, "advise", "--table", CLIENT, "--record", "600"],
                              start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment(IDLED_LEDGER_DIR=os.environ["IDLED_LEDGER_DIR"],
                                              TMPDIR=self.directory)) as process:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
            while process.poll() is None and not children.read_text():
                pass
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=TIMEOUT)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(os.listdir(self.directory), ["root"])

    def test_record_refused(self):
        result = self.run_ctl("advise", "--table", CLIENT, "--record", "1",
                              env={"IDLED_LEDGER_DIR": "/nonexistent"})
        self.assert_refused(result, "/nonexistent/ledger.so")

    def test_wrong_input(self):
        trace = str(TRACES / "idle.csv.xz")
        empty = os.path.join(self.directory, "empty.csv")
        Path(empty).write_text("cpu,t_enter_ns,sleep_len_ns,idle_ns\n")
        broken = os.path.join(self.directory, "broken.csv")
        Path(broken).write_text("0,1,2,x\n")
        for status, arguments in ((2, []), (2, ["-"]), (2, ["--latency", "0", trace]),
                                  (2, ["--latency", "soon", trace]), (2, ["--record", "5", trace]),
                                  (2, ["--record", "0"]), (2, ["--record", "soon"]), (1, ["/nonexistent"]),
                                  (1, [empty]), (1, [broken]),
                                  (1, ["--table", "/nonexistent", trace])):
            table = [] if "--table" in arguments else ["--table", CLIENT]
            result = self.run_ctl("advise", *table, *arguments)
            self.assertEqual((result.returncode, result.stdout), (status, ""), arguments)
            self.assertTrue(result.stderr.startswith("idlelab: "), arguments)


if __name__ == "__main__":
    unittest.main()
