# SPDX-License-Identifier: LGPL-2.1-or-later
"""The kernel's frequency governors on the module's driver: up under load, down without, for all CPUs of
a policy and no others."""

from kernel import CPU, PARAMETERS, KernelTest

HIGHEST, LOWEST = 3600000, 800000
SECONDS = 2


class Follow(KernelTest):
    """One policy per core: CPU 3 shares one with CPU 2."""

    loaded, others = 2, [0]

    def mean_khz(self, policy):
        """Over some time."""
        directory = f"{CPU}/cpufreq/policy{policy}/stats/time_in_state"
        table = [int(line.split()[0]) for line in self.lines(f"cat {directory}")]
        times = self.grown(f"{directory} | cut -d' ' -f2", SECONDS)
        return sum(f * t for f, t in zip(table, times)) / max(sum(times), 1)

    def follow(self, governor):
        self.guest.run(f"modprobe -q cpufreq_{governor}; cd {CPU}/cpufreq; "
                       f"for p in policy*; do echo {governor} >$p/scaling_governor; done")
        self.addCleanup(self.guest.run, f"cd {CPU}/cpufreq; "
                        "for p in policy*; do echo schedutil >$p/scaling_governor; done")
        # The CPU needs wake-ups because a governor does not check a CPU that sleeps.
        with self.waking(3, 20000):
            self.wait_for("slowing down", lambda: self.mean_khz(self.loaded) < HIGHEST / 2)
            with self.burning(3):
                self.wait_for("speeding up", lambda: self.mean_khz(self.loaded) > 0.95 * HIGHEST)
                for other in self.others:
                    self.wait_for("the others' not following",
                                  lambda: self.mean_khz(other) < 0.8 * HIGHEST)
            self.wait_for("slowing down", lambda: self.mean_khz(self.loaded) < HIGHEST / 2)

    def test_schedutil(self):
        self.follow("schedutil")

    def test_ondemand(self):
        self.follow("ondemand")


class FollowCpu(Follow):
    loaded, others = 3, [2, 0]

    def setUp(self):
        self.load_module("policy_scope=cpu")


class FollowPackage(Follow):
    """Who shares a policy with a busy CPU is as fast, however idle."""

    loaded, others = 0, []

    def setUp(self):
        self.load_module("policy_scope=package")


class FollowSlowly(Follow):
    """schedutil on a driver that may sleep, so that a thread of its own does the switching."""

    def setUp(self):
        self.load_module("fast_switch=0")

    test_ondemand = None  # it never uses a driver that may sleep

    def test_schedutil(self):
        super().test_schedutil()
        self.assertIn("sugov", self.guest.read("cat /proc/[0-9]*/comm 2>/dev/null | sort -u"))


class Bounds(KernelTest):
    policy = f"{CPU}/cpufreq/policy2"

    def frequency(self):
        return int(self.guest.read(f"cat {self.policy}/scaling_cur_freq"))

    def test_highest_allowed(self):
        with self.burning(3):
            self.wait_for("full speed", lambda: self.frequency() == HIGHEST)
            with self.knob(f"{self.policy}/scaling_max_freq", 1500000):
                self.wait_for("less", lambda: self.frequency() == 1500000)
            self.wait_for("full speed", lambda: self.frequency() == HIGHEST)

    def test_lowest_allowed(self):
        # Waking now and then: a CPU that sleeps keeps its frequency, which may be high enough.
        with self.waking(3, 20000):
            self.wait_for("less", lambda: self.frequency() < 3300000)
            with self.knob(f"{self.policy}/scaling_min_freq", 3300000):
                self.wait_for("more", lambda: self.frequency() >= 3300000)

    def test_powersave_and_performance(self):
        self.guest.run("modprobe -q cpufreq_powersave")
        for governor, khz in (("powersave", LOWEST), ("performance", HIGHEST)):
            with self.subTest(governor), \
                 self.knob(f"{self.policy}/scaling_governor", governor):
                self.assertEqual(self.frequency(), khz)

    def test_boost(self):
        self.load_module("boost=1")
        available = f"{self.policy}/scaling_available_frequencies"
        self.assertNotIn(str(HIGHEST), self.guest.read(f"cat {available}"))
        self.assertIn(str(HIGHEST), self.guest.read(
            f"cat {self.policy}/scaling_boost_frequencies"))
        # Linux 7 leaves the maximum where boost put it.
        ended = 3300000 if int(self.guest.read("uname -r").split(".")[0]) < 7 else HIGHEST
        for value, highest in ((1, HIGHEST), (0, ended), (1, HIGHEST)):
            with self.subTest(boost=value):
                self.guest.run(f"echo {value} >{CPU}/cpufreq/boost")
                self.assertEqual(int(self.guest.read(f"cat {self.policy}/scaling_max_freq")),
                                 highest)

    def test_failing_switch(self):
        """The file takes what the driver then does not do."""
        self.guest.run("modprobe -q cpufreq_userspace")
        with self.knob(f"{self.policy}/scaling_governor", "userspace"):
            self.guest.run(f"echo {LOWEST} >{self.policy}/scaling_setspeed")
            with self.knob(f"{PARAMETERS}/fail_target", 5):
                self.guest.run(f"echo {HIGHEST} >{self.policy}/scaling_setspeed", check=False)
                self.assertEqual(self.frequency(), LOWEST)
            self.guest.run(f"echo {HIGHEST} >{self.policy}/scaling_setspeed")
            self.assertEqual(self.frequency(), HIGHEST)
