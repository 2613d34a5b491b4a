# SPDX-License-Identifier: LGPL-2.1-or-later
"""The laboratory itself: what the kernel module gives the guest is what tests take for granted."""

import re
import statistics

from kernel import CPU, PARAMETERS, RAPL, KernelTest

# All in one process: on a busy host the next one may begin much later.
SLEPT = r"""slept() {
        taskset -c $1 true
        awk -v cpu=$1 'BEGIN {
                state = "/sys/devices/system/cpu/cpu" cpu "/cpuidle/state1/"
                getline entered <(state "usage")
                getline asleep <(state "time")
                while ((getline <"/proc/stat") > 0)
                        if ($1 == "cpu" cpu)
                                ticks = $5 + $6
                getline <"/proc/pressure/cpu"
                sub("total=", "", $5)
                print entered, asleep, ticks, $5
        }'
}"""


class Drivers(KernelTest):
    def watts(self, seconds=2):
        a, ta, b, tb = map(float, self.lines(
            f"for i in 1 2; do cat {RAPL}/energy_uj; cut -d' ' -f1 /proc/uptime; "
            f"[ $i = 2 ] || sleep {seconds}; done"))
        return (b - a) / (tb - ta) / 1e6

    def test_offline_cpus_draw_no_more_than_in_the_deepest_state(self):
        self.guest.run("systemctl is-system-running --wait", check=False)
        self.wait_for("a core's sleep", lambda: self.watts() < 35)
        try:
            self.guest.run(f"echo 0 | tee {CPU}/cpu[23]/online")
            self.wait_for("that core's sleep", lambda: self.watts() < 35, 60)
        finally:
            self.guest.run(f"echo 1 | tee {CPU}/cpu[23]/online")


class OtherMachines(KernelTest):
    """What options of the module make of the same guest."""

    def test_leaving_a_state_is_sleep(self):
        """As on hardware, which takes an interrupt when it is awake: a timer is late, the kernel counts
        that time as idle, and whom the interrupt wakes does not wait for a CPU in it."""
        self.load_module("exit_wait=Y state_names=C1 latency_us=5000 residency_us=1 gated_from=1")
        self.guest.run(f"echo 1 >{CPU}/cpu3/cpuidle/state0/disable")
        late = self.delays(3)
        self.assertGreater(statistics.quantiles(late, n=10)[-1], 4000)
        with self.waking(3, 20000):
            # A busy host takes its time while the guest handles an interrupt: that comes on top.
            self.wait_for("two seconds in which all that is sleep",
                          lambda: max(self.costs_of_sleep(3)) < 2500, 60)
        with self.knob(f"{PARAMETERS}/exit_wait", "N"):
            soon = statistics.median(self.delays(3))
        self.assertLess(soon, 4500)
        self.assertGreater(statistics.median(late), soon + 1000)

    def test_work_takes_longer_at_lower_frequencies(self):
        """The clock of CPU time says how much was done, and an idle CPU sleeps as before."""
        self.load_module("slows=Y freqs_khz=3000000,1750000,1000000")
        self.wait_for("three times as long", lambda: 2.3 < self.slower("1000000") < 4, 60)
        self.wait_for("1.7 times as long", lambda: 1.4 < self.slower("1750000") < 2.2, 60)
        self.wait_for("as long", lambda: 0.8 < self.slower("3000000") < 1.2, 60)
        self.wait_for("the same CPU time", lambda: 0.6 < self.slower("1000000", "%U") < 1.5, 60)
        self.assertLess(sum(self.entered(3)), 2000)

    def slower(self, khz, what="%R"):
        """Times as long as at the highest frequency that work takes on CPU 3."""
        return self.computing(khz, what) / self.computing("3000000", what)

    def computing(self, khz, what):
        """Seconds, or those of CPU time, of the same work, the least of three."""
        with self.knob(f"{CPU}/cpu3/cpufreq/scaling_max_freq", khz):
            return min(float(line) for line in self.lines(
                f"TIMEFORMAT={what}; {{ for i in 1 2 3; do time taskset -c 3 "
                "awk 'BEGIN { while (i < 300000) i++ }'; done; } 2>&1"))

    def delays(self, cpu):
        """How late a timer is, 100 times; in microseconds. It is less late if the CPU is awake, or leaving
        its state for the tick."""
        text = self.guest.read(
            f"cyclictest --default-system -q -t 1 -a {cpu} -i 20000 -l 101 -h 100000")
        return [int(usec) for usec, times in re.findall(r"^(\d{6}) (\d{6})$", text, re.MULTILINE)
                for _ in range(int(times))]

    def costs_of_sleep(self, cpu):
        """In two seconds, by times that the CPU slept: for how long of that the kernel took it to be
        busy, and tasks to wait; in microseconds."""
        before, after = (list(map(int, text.split())) for text in self.guest.read(
            f"{SLEPT}; slept {cpu}; sleep 2; echo /; slept {cpu}").split("/"))
        entered, asleep, ticks, waited = (b - a for a, b in zip(before, after))
        self.assertGreater(entered, 10)
        return (asleep - ticks * 10000) / entered, waited / entered


class Boot(KernelTest):
    """With options of the module, be they the usual ones, a machine boots and goes on from no other."""

    module_options = "policy_scope=core"

    def test_first_command(self):
        """It takes 7 s, and up to 34 on a host that has much else to do."""
        self.assertIsNone(self.guest.booted)
        self.assertLess(float(self.guest.read("cut -d' ' -f1 /proc/uptime")), 45)


class TwoPackages(KernelTest):
    shape = "2x2x2"
    long = True

    def test_topology(self):
        self.assertEqual(self.guest.read(f"cat {CPU}/cpu[0-7]/topology/physical_package_id | uniq"),
                         "0\n1")
        self.assertEqual(self.guest.read("ls -d /sys/class/powercap/intel-rapl:? | wc -l"), "2")
