# SPDX-License-Identifier: LGPL-2.1-or-later
"""The laboratory itself: what the kernel module gives the guest is what tests take for granted."""

import lab

CPU = "/sys/devices/system/cpu"
RAPL = "/sys/class/powercap/intel-rapl:0"
STATES = ["POLL", "C1", "C1E", "C3", "C6", "C7"]


class Drivers(lab.GuestTest):
    def lines(self, script):
        return self.guest.read(script).split("\n")

    def test_systemd_is_usable(self):
        self.assertEqual(self.guest.read("systemctl is-system-running --wait"), "running")
        self.assertEqual(self.guest.read("stat -fc %T /sys/fs/cgroup"), "cgroup2fs")

    def test_topology(self):
        self.assertEqual(self.lines(f"cat {CPU}/cpu[0-3]/topology/thread_siblings_list"),
                         ["0-1", "0-1", "2-3", "2-3"])

    def test_idle_states(self):
        self.assertEqual(self.lines(f"cat {CPU}/cpu3/cpuidle/state*/name"), STATES)
        self.assertEqual(self.lines(f"cat {CPU}/cpu3/cpuidle/state*/latency"),
                         ["0", "2", "10", "70", "150", "400"])

    def test_policies_follow_cores(self):
        self.assertEqual(self.lines(f"cat {CPU}/cpufreq/policy*/affected_cpus"), ["0 1", "2 3"])

    def deepest(self, seconds=2):
        """The state in which CPU 3 spent most of some time. Counters of a CPU move when it wakes."""
        times = f"taskset -c 3 true; cat {CPU}/cpu3/cpuidle/state*/time"
        output = self.lines(f"{times}; sleep {seconds}; {times}")
        before, after = output[:len(STATES)], output[len(STATES):]
        spent = [int(b) - int(a) for a, b in zip(before, after)]
        return STATES[spent.index(max(spent))]

    def test_quality_of_service_limits_the_state(self):
        knob = f"{CPU}/cpu3/power/pm_qos_resume_latency_us"
        self.wait_for("sleeping in C7", lambda: self.deepest() == "C7")
        self.guest.run(f"echo 80 >{knob}")
        try:
            self.wait_for("sleeping in C3", lambda: self.deepest() == "C3")
        finally:
            self.guest.run(f"echo 0 >{knob}")

    def test_governors_follow_the_load(self):
        policy = f"{CPU}/cpufreq/policy2"
        for governor in "schedutil", "ondemand":
            with self.subTest(governor):
                self.guest.run(f"modprobe -q cpufreq_{governor}; "
                               f"echo {governor} >{policy}/scaling_governor")
                self.guest.run("systemd-run -q --unit=burner "
                               "taskset -c 3 sh -c 'while :; do :; done'")
                try:
                    self.wait_for("full speed", lambda: self.guest.read(
                        f"cat {policy}/scaling_cur_freq") == "3600000")
                finally:
                    self.guest.run("systemctl stop burner")
                # A governor looks only when its CPU wakes, and under emulation that alone may be much.
                self.wait_for("less than full speed", lambda: int(self.guest.read(
                    "for i in 1 2 3 4 5 6 7 8; do taskset -c 3 sleep 0.3; "
                    f"cat {policy}/scaling_cur_freq; done | sort -n | head -n 1")) < 3600000)

    def watts(self, seconds=2):
        a, ta, b, tb = map(float, self.lines(
            f"for i in 1 2; do cat {RAPL}/energy_uj; cut -d' ' -f1 /proc/uptime; "
            f"[ $i = 2 ] || sleep {seconds}; done"))
        return (b - a) / (tb - ta) / 1e6

    def test_energy_follows_the_load(self):
        self.guest.run("systemctl is-system-running --wait", check=False)
        idle = self.watts()
        self.guest.run("systemd-run -q --unit=burner taskset -c 3 sh -c 'while :; do :; done'")
        try:
            busy = self.watts()
        finally:
            self.guest.run("systemctl stop burner")
        self.assertGreater(busy, idle + 5)
        self.assertLess(busy, 95)


class OtherMachines(lab.GuestTest):
    """What options of the module make of the same guest."""

    def load(self, options):
        self.guest.run(f"rmmod pmlab; insmod /share/pmlab.ko {options}")
        self.addCleanup(self.guest.run, "rmmod pmlab; insmod /share/pmlab.ko")

    def test_one_policy_for_the_package(self):
        self.load("policy_scope=package freqs_khz=2000000,1000000")
        self.assertEqual(self.guest.read(f"cat {CPU}/cpufreq/policy*/affected_cpus"), "0 1 2 3")
        self.assertEqual(self.guest.read(f"cat {CPU}/cpufreq/policy0/cpuinfo_max_freq"), "2000000")

    def test_big_and_little_cores(self):
        self.load("capacity=1024,1024,512,512")
        self.assertEqual(self.guest.read(f"cat {CPU}/cpu*/cpu_capacity"), "1024\n1024\n512\n512")
        self.assertEqual(self.guest.read(f"cat {CPU}/cpufreq/policy*/cpuinfo_max_freq"),
                         "3600000\n1800000")

    def test_other_states(self):
        self.load("state_names=C1,C3 latency_us=1,50 residency_us=1,90 gated_from=3")
        self.assertEqual(self.guest.read(f"cat {CPU}/cpu0/cpuidle/state*/name"), "POLL\nC1\nC3")

    def test_small_range_of_energy(self):
        self.load("max_energy_uj=20000000 start_energy_uj=19000000")
        self.assertEqual(self.guest.read(f"cat {RAPL}/max_energy_range_uj"), "20000000")
        self.wait_for("a wrap", lambda: int(self.guest.read(f"cat {RAPL}/energy_uj")) < 15000000)

    def test_errors(self):
        parameters = "/sys/module/pmlab/parameters"
        # What the core of powercap makes of any error is part of the interface.
        for parameter, command, error in (
                ("fail_verify", f"echo performance >{CPU}/cpufreq/policy0/scaling_governor",
                 "Input/output error"),
                ("fail_energy", f"cat {RAPL}/energy_uj", "Invalid argument"),
                ("fail_limit", f"echo 50000000 >{RAPL}/constraint_0_power_limit_uw",
                 "No data available")):
            with self.subTest(parameter):
                result = self.guest.run(f"echo 5 >{parameters}/{parameter}; {command}; s=$?; "
                                        f"echo 0 >{parameters}/{parameter}; exit $s", check=False)
                self.assertNotEqual(result.status, 0)
                self.assertIn(error, result.errors)


class TwoPackages(lab.GuestTest):
    shape = "2x2x2"
    long = True

    def test_topology(self):
        self.assertEqual(self.guest.read(f"cat {CPU}/cpu[0-7]/topology/physical_package_id | uniq"),
                         "0\n1")
        self.assertEqual(self.guest.read("ls -d /sys/class/powercap/intel-rapl:? | wc -l"), "2")
