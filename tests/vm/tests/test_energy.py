# SPDX-License-Identifier: LGPL-2.1-or-later
"""Energy as idled reports it, compared with the module's own figures: counters of RAPL that wrap every few
seconds, cannot be read, or mean nothing, and what replaces RAPL."""

import contextlib
import json

import lab
from kernel import CPU, PARAMETERS, RAPL, KernelTest

HUNGRY = "pkg_power_mw=450000,315000,300000,275000,100000,90000 uncore_mw=60000"
CONSTANT = f"pkg_power_mw={','.join(6 * ['400000'])} uncore_mw=0"  # in every idle state
DOMAINS = ["package-0", "package-0-core", "package-0-uncore", "package-0-dram"]
PACKAGE = "/org/idled1/energy/package_2d0", "org.idled1.Energy"

# Rows of the energy drawn by the module, counted by idled, and drawn then, and of the raw counter, until that
# has wrapped three times.
ROWS = f"""
wraps=0 last=0
while [ $wraps -lt 3 ]; do
        cat {PARAMETERS}/drawn
        busctl --json=short call org.idled1 /org/idled1 org.idled1.Manager GetEnergy
        read -r raw <{RAPL}/energy_uj
        cat {PARAMETERS}/drawn
        [ $raw -ge $last ] || wraps=$((wraps + 1))
        last=$raw
        sleep 0.6
done
"""


# Without RAPL: the module's option, the source and the domain, and whether that has no counter.
OTHERS = (("hwmon", "hwmon", "ina228", False),
          ("hwmon-power", "hwmon", "ina228", True),
          ("scmi", "scmi", "package-0", True))

# The module's own figures and the time, twice, and between the two the power that idled reports. No process starts
# between figures and time: on a busy host that takes longer than the comparison allows for.
MEASURE = f"""
figures() {{ read -r drawn <{PARAMETERS}/drawn; read -r uptime idle </proc/uptime; echo "$drawn"; echo $uptime; }}
power() {{ busctl get-property org.idled1 $1 org.idled1.Energy Power; }}
power $1 >/dev/null
figures
sleep 3
power $1
figures
"""


def drawn_by_domain(line):
    cores, uncore, dram = map(int, line.split())
    return {"package-0": cores + uncore, "package-0-core": cores, "package-0-uncore": uncore,
            "package-0-dram": dram}


class Reported(lab.IdledTest, KernelTest):
    def setUp(self):
        self.configure("[Daemon]\nPolicies=userspace\n")

    def begin(self, options=""):
        """With the highest frequency, so that power depends only on which CPUs sleep."""
        self.load_module(options)
        self.guest.run(f"for p in {CPU}/cpufreq/policy*; do echo performance >$p/scaling_governor; done")
        self.start()

    def power(self):
        return float(self.string("Power", *PACKAGE))

    def dropped(self):
        return int(self.string("Dropped", *PACKAGE))

    def joules(self, domain="package-0"):
        rows = json.loads(self.guest.read("busctl --json=short call org.idled1 /org/idled1 "
                                          "org.idled1.Manager GetEnergy"))["data"][0]
        return dict(rows)[domain] / 1e6

    def follow(self):
        """Rows (drawn before, reported, drawn after)."""
        self.write("/root/rows", ROWS)
        lines = self.guest.read("bash /root/rows", timeout=180).split("\n")
        return [(drawn_by_domain(a), dict(json.loads(reported)["data"][0]), drawn_by_domain(b))
                for a, reported, b in zip(*[iter(lines)] * 3)]

    def test_several_wraps(self):
        """At about 300 W half a wrap takes 17 s: time enough even for a guest that is held up."""
        self.begin(f"{HUNGRY} max_energy_uj=10000000000 start_energy_uj=9500000000")
        with self.burning(3):
            self.wait_for("its being known", lambda: self.power() > 100)
            rows = self.follow()
        self.assertEqual(self.dropped(), 0)
        for domain in DOMAINS:
            with self.subTest(domain):
                self.check_against_truth(domain, rows)

    def test_read_in_time(self):
        """No client reads energy, and the counter wraps nearly as fast as idled allows for: half of its
        range in 21 s. More than half between two readings would be dropped."""
        self.begin("pkg_power_mw=490000,470000,470000,470000,470000,470000 uncore_mw=60000 "
                   "max_energy_uj=20000000000")
        with contextlib.ExitStack() as burning:
            for cpu in range(4):
                burning.enter_context(self.burning(cpu))
            self.wait_for("its being known", lambda: self.power() > 400)
            before = self.joules()
            self.guest.run("sleep 50")
            self.assertEqual(self.dropped(), 0)
            self.assertGreater(self.joules() - before, 50 * 400)

    def check_against_truth(self, domain, rows):
        """What idled says changes when it has read: after what was drawn in the row before, and before
        what is in this one. So much and no less lies between any two changes."""
        reported = [row[1][domain] for row in rows]
        self.assertEqual(reported, sorted(reported))
        read = [i for i in range(1, len(rows)) if reported[i] != reported[i - 1]]
        self.assertGreater(len(read), 5)
        first, last = read[0], read[-1]
        least = rows[last - 1][0][domain] - rows[first][2][domain]
        most = rows[last][2][domain] - rows[first - 1][0][domain]
        self.assertGreater(reported[last] - reported[first], least - 1000)
        self.assertLess(reported[last] - reported[first], most + 1000)

    def residency(self, cpu):
        return {row[0]: row[1] for row in json.loads(self.guest.read(
            f"busctl --json=short get-property org.idled1 /org/idled1/cpu/{cpu} org.idled1.Cpu "
            "Residency"))["data"]}

    def test_power_follows_from_residency(self):
        """CPU 3 is busy, so its core draws 39 W and the package itself 12; the other core draws 7
        asleep, and up to 39 in the time that one of its threads is awake."""
        self.begin()
        with self.burning(3):
            self.wait_in_a_row("the power's agreeing with residencies", lambda watts, awake:
                               57 < watts < 59 + 32 * sum(awake[:2]) and awake[3] > 0.9)
        self.wait_in_a_row("the power's falling with the load", lambda watts, awake:
                           17.5 < watts < 18 + 60 * sum(awake))

    def wait_in_a_row(self, what, agree, n=3):
        """Until that is so of so many samples in a row: the power, and of each CPU the share of the time
        that it was not in C7. The first may have begun before."""
        def sample():
            self.residency(0), self.power()
            self.guest.run("sleep 3")
            watts = self.power()
            return watts, [1 - self.residency(cpu)["C7"] for cpu in range(4)]
        self.wait_for(what, lambda: all(agree(*sample()) for _ in range(n)))

    def test_unreadable_for_a_while(self):
        self.begin()
        self.wait_for("its being known", lambda: self.power() > 0)
        before = self.joules()
        with self.knob(f"{PARAMETERS}/fail_energy", 5):
            self.wait_for("dropping a reading", lambda: self.power() < 0 and self.dropped() > 0)
            self.assertEqual(self.guest.read("systemctl is-active idled"), "active")
            during = self.joules()
        self.wait_for("its being known again", lambda: self.power() > 0)
        dropped = self.dropped()
        self.assertGreaterEqual(dropped, 2)  # the reading after it has nothing to be compared with
        self.wait_for("counting again", lambda: self.joules() > during >= before)
        self.assertEqual(self.dropped(), dropped)

    def test_wraps_too_fast_to_be_noticed(self):
        """Rather nothing than what may be wrong by any number of wraps."""
        self.begin("max_energy_uj=20000000")
        self.wait_for("dropping readings", lambda: self.power() < 0 and self.dropped() > 1)
        self.assertEqual(self.joules(), 0)
        wakeups = int(self.string("Wakeups"))
        self.guest.run("sleep 5")
        self.assertLess(int(self.string("Wakeups")) - wakeups, 15)

    def test_standing_still(self):
        """No energy is no error."""
        self.begin()
        with self.knob(f"{PARAMETERS}/freeze_energy", "Y"):
            self.wait_for("no power", lambda: self.power() == 0)
        self.wait_for("power", lambda: self.power() > 0)
        self.assertEqual(self.dropped(), 0)

    def measure(self, path, memory):
        """The power that idled reports, and what was drawn: by the package, and by its memory."""
        def figures(drawn, seconds):
            cores, uncore, dram = map(int, drawn.split())
            return cores + uncore + (dram if memory else 0), float(seconds) * 1e6

        self.write("/root/measure", MEASURE)
        lines = self.guest.read(f"bash /root/measure {path}").split("\n")
        (uj, usec), (last_uj, last_usec) = figures(*lines[:2]), figures(*lines[3:])
        return float(lines[2].split()[1]), (last_uj - uj) / (last_usec - usec)

    def check_other_source(self, source, domain, sampled):
        path = "/org/idled1/energy/" + domain.replace("-", "_2d")
        power = "Power", path, PACKAGE[1]
        self.assertEqual(self.string("Source", path, PACKAGE[1]), source)
        self.assertEqual(self.property("Sampled", path, PACKAGE[1]), f"b {str(sampled).lower()}")

        def close():
            reported, drawn = self.measure(path, source == "hwmon")
            return abs(reported - drawn) < 0.02 * drawn
        self.wait_for("the power that is drawn", close)
        mark = f"{domain} {'~' if sampled else ''}"
        self.assertRegex(self.guest.read("idlectl status"), rf"{mark}[0-9.]+ W \({source}\)")
        with self.knob(f"{PARAMETERS}/fail_energy", 5):
            self.wait_for("dropping a reading", lambda: float(self.string(*power)) < 0)
            self.assertGreater(int(self.string("Dropped", *power[1:])), 0)
        self.wait_for("its being known again", lambda: float(self.string(*power)) > 0)

    def test_other_sources(self):
        """Power, which is read now and then, changes by that of memory alone."""
        for option, *expected in OTHERS:
            with self.subTest(option):
                self.guest.run("systemctl stop idled")
                self.begin(f"energy_source={option} {CONSTANT}")
                self.check_other_source(*expected)
