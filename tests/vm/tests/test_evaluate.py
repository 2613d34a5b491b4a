# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the daemon's trials find about ondemand, compared with what the module knows was drawn.

A guest that counts its time (--icount) is needed: otherwise the host decides how much a load draws. Each
run of the evaluator begins without what was measured before and has a seed of its own.
"""

import json
import statistics
from pathlib import Path

import lab
from kernel import CPU, PARAMETERS, KernelTest

COREIDLE = Path(lab.HERE).parent / "bench" / "coreidle"
POLICY = "/org/idled1/policy/ondemand", "org.idled1.Policy"
STATE = "/var/lib/idled/evaluate-ondemand"

BLOCK, WASH_OUT, PAIRS = 2, 1, 4  # what the evaluator does in one go with a load that is new to it
ROUNDS, RUNS = 3, 2  # of measuring the truth, and of the evaluator
TRIALS = "[Evaluate]\nTrials="

# A deep state that a load which is spread over all CPUs keeps them from, and one that it reaches
# (tests/bench/README.md).
LONG = "exit_wait=Y latency_us=2,10,80,400,400 residency_us=2,20,200,5000,5000"
FLAT = ("exit_wait=Y state_names=C1,C6 latency_us=1,30 residency_us=1,60 "
        "pkg_power_mw=90000,63000,20000 gated_from=2")
CYCLICTEST = "bash /root/cyclictests /root/histograms 20000"
TBENCH = "tbench -R 10 -t 100000 1 127.0.0.1"

# Joules of cores and uncore, and seconds, of a time in which nothing else is asked.
DRAWN = f"""
now() {{
        awk '{{ uj += $1 + $2 }} END {{ printf "%.6f ", uj / 1e6 }}' {PARAMETERS}/drawn
        cut -d' ' -f1 /proc/uptime
}}
sleep {WASH_OUT + 2}
now
sleep 12
now
"""


class Evaluate(lab.IdledTest, KernelTest):
    long = True
    counted = "the host decides how much a load draws"

    def configure_trials(self, trials):
        self.configure(f"[Daemon]\nPolicies=ondemand\n{TRIALS}{trials}\n",
                       {"ondemand": "Dwell=1s\nMaxTransitions=60\n"})

    def prepare(self, options, load):
        """The load runs until the end of the test. That it pins its threads would forbid to park them."""
        self.load_module(options)
        self.guest.run(f"for p in {CPU}/cpufreq/policy*; do echo performance >$p/scaling_governor; done; "
                       "mkdir -p /root/histograms")
        self.write("/root/cyclictests", (COREIDLE / "cyclictests").read_text())
        self.addCleanup(self.guest.run, "systemctl stop load tbench_srv; systemctl reset-failed load; "
                                        f"rm -rf /root/histograms {STATE}*", check=False)
        if load.startswith("tbench"):
            self.guest.run("systemd-run -q --collect --unit=tbench_srv tbench_srv")
        self.guest.run("systemd-run -q --unit=load -p SystemCallFilter=~sched_setaffinity "
                       f"-p SystemCallErrorNumber=EPERM {load}")

    def parked(self):
        return self.string("Parked")

    def drawn(self):
        """Watts."""
        before, after = ([float(n) for n in row.split()] for row in self.lines(DRAWN))
        return (after[0] - before[0]) / (after[1] - before[1])

    def truth(self):
        """What parking saves in watts, measured without trials, and the standard error of that."""
        saved = []
        self.configure_trials("no")
        for _ in range(ROUNDS):
            self.guest.run("systemctl stop idled")
            without = self.drawn()
            self.start()
            self.wait_for("parking", self.parked)
            saved.append(without - self.drawn())
            self.assertNotEqual(self.parked(), "")
            self.guest.run("systemctl stop idled")
        mean, error = statistics.mean(saved), statistics.stdev(saved) / ROUNDS ** 0.5
        lab.settings.say(f"drawn: {mean:.2f} W less, standard error {error:.2f} W")
        return mean, error

    def found(self):
        path, interface = POLICY
        rows = json.loads(self.guest.read(f"busctl --json=short call org.idled1 {path} "
                                          f"org.freedesktop.DBus.Properties GetAll s {interface}"))
        return {name: value["data"] for name, value in rows["data"][0].items()}

    def run_trials(self):
        """What the evaluator finds with its first pairs."""
        self.guest.run(f"systemctl stop idled; rm -f {STATE}*")
        self.configure_trials("yes")
        self.start()
        self.wait_for("parking", self.parked)
        for _ in range(40):
            # Asking is a load as well.
            self.guest.run(f"sleep {2 * (BLOCK + WASH_OUT)}")
            found = self.found()
            if found["Blocks"] >= 2 * PAIRS:
                break
        lab.settings.say(f"{found['SavedWatts'][1]} to {found['SavedWatts'][2]} W, {found['Verdict']}, "
                         f"{found['Blocks']} blocks, {found['BlocksDropped']} dropped")
        self.assertGreaterEqual(found["Blocks"], 2 * PAIRS, found)
        self.assertEqual(found["EnergySource"], "rapl")
        return found

    def check_interval(self, found, truth, error):
        """Both are uncertain, and what idled says is rounded."""
        self.assertGreater(truth + 2 * error, found["SavedWatts"][1] - 0.05)
        self.assertLess(truth - 2 * error, found["SavedWatts"][2] + 0.05)

    def test_saves(self):
        """What parking saves is found within what is drawn, and known after a restart and a reboot."""
        self.prepare(LONG, CYCLICTEST)
        truth, error = self.truth()
        self.assertGreater(truth, 1)
        for _ in range(RUNS):
            found = self.run_trials()
            # The odds that a verdict needs may take more pairs than the first four.
            self.assertIn(found["Verdict"], ("saves", "unknown"))
            self.assertGreater(found["SavedWatts"][1], 0)
            self.check_interval(found, truth, error)
            # Little is known about the time before the first pairs: the interval of joules is wide.
            self.assertGreater(found["SavedJoules"][0], 0)
            self.assertLess(found["SavedJoules"][1], found["SavedJoules"][0])
            self.assertGreater(found["SavedJoules"][2], found["SavedJoules"][0])
        self.guest.run("systemctl restart idled")
        again = self.found()
        self.assertGreaterEqual(again["Blocks"], found["Blocks"])
        self.assertGreaterEqual(again["SavedJoules"][0], found["SavedJoules"][0])
        self.wait_for("the verdict", lambda: self.found()["Verdict"] in ("saves", found["Verdict"]))
        self.change("systemctl enable idled", "systemctl disable idled")
        self.guest.reboot()
        again = self.found()
        self.assertGreaterEqual(again["Blocks"], found["Blocks"])
        self.assertGreaterEqual(again["SavedJoules"][0], found["SavedJoules"][0])

    def test_cannot_pay(self):
        """Where a load sleeps as deep without parking, "saves" is never the verdict."""
        self.prepare(FLAT, TBENCH)
        truth, error = self.truth()
        for _ in range(RUNS):
            found = self.run_trials()
            self.assertNotEqual(found["Verdict"], "saves")
            self.check_interval(found, truth, error)
