# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frequencies and idle states as idled sets them, on a driver and governors of the kernel's: what CPUs then
do, what idled reports about knobs that this driver lacks, and that it restores all."""

import lab
from kernel import CPU, STATES, KernelTest

HIGHEST, LOWEST = 3600000, 800000
C1E, C3, C6, C7 = (STATES.index(name) for name in ("C1E", "C3", "C6", "C7"))
PLATFORM_FILE = "/sys/firmware/acpi/platform_profile"
PLATFORM_CLASS = "/sys/class/platform-profile"
PLATFORM = f"cat {PLATFORM_FILE}"
GOVERNORS = f"cat {CPU}/cpufreq/policy*/scaling_governor"


class Tuned(lab.IdledTest, KernelTest):
    module = ""

    def setUp(self):
        if self.module:
            self.load_module(self.module)
        self.before = self.dump()

    def tearDown(self):
        self.addCleanup(super().tearDown)  # in any case: the next test has settings of its own
        self.guest.run("systemctl stop idled; rm -rf /var/lib/idled/*")
        self.assertEqual(self.dump(), self.before)

    def begin(self, policy, options):
        self.configure(f"[Daemon]\nPolicies={policy}\n", {policy: options})
        self.start()
        self.wait_for("its deciding", lambda: int(self.string("Ticks")) > 0)

    def khz(self, policy, name="scaling_cur_freq"):
        return int(self.guest.read(f"cat {CPU}/cpufreq/policy{policy}/{name}"))

    def why(self, cpu=0):
        return self.guest.read(f"idlectl why {cpu}")

    def wait_shallow(self, cpu, deepest):
        """Not one entry into a deeper state, from some time on and for longer than by chance."""
        self.wait_for(f"CPU {cpu} sleeping as limited", lambda: (
            lambda entered: entered[deepest] and not sum(entered[deepest + 1:]))(self.entered(cpu)))
        # One that is parked may sleep through all of it.
        entered = self.wait_for("its waking", lambda: (
            lambda entered: sum(entered) and entered)(self.entered(cpu, 3)))
        self.assertEqual(sum(entered[deepest + 1:]), 0, entered)


class Frequencies(Tuned):
    module = "boost=1"

    def test_profiles(self):
        self.configure("[Daemon]\nPolicies=cpufreq\n")
        self.guest.run(f"for p in {CPU}/cpufreq/policy*; do echo ondemand >$p/scaling_governor; done")
        self.before = self.dump()
        self.start()
        for name, governor, boost, platform in (("performance", "performance", "1", "performance"),
                                                ("power-saver", "schedutil", "0", "low-power"),
                                                ("performance", "performance", "1", "performance")):
            with self.subTest(name):
                self.guest.run(f"idlectl profile set {name}")
                self.assertEqual(self.lines(GOVERNORS), [governor] * 2)
                self.assertEqual(self.guest.read(f"cat {CPU}/cpufreq/boost"), boost)
                self.assertEqual(self.guest.read(PLATFORM), platform)
                self.assertEqual(self.property("Degraded"), "a(sss) 0")
        self.assertEqual([self.khz(0), self.khz(2)], [HIGHEST] * 2)
        self.guest.run("systemctl restart idled")
        self.wait_for("the chosen one", lambda: self.lines(GOVERNORS) == ["performance"] * 2)
        self.guest.run("idlectl profile set auto")
        self.assertEqual(self.lines(GOVERNORS), ["ondemand"] * 2)
        self.assertEqual(self.guest.read(PLATFORM), "balanced")

    def test_platform_profile_by_key(self):
        """A choice that a person made meanwhile stays, also when idled ends."""
        self.configure("[Daemon]\nPolicies=cpufreq\n")
        self.start()
        self.guest.run("idlectl profile set power-saver")
        self.assertEqual(self.guest.read(PLATFORM), "low-power")
        self.guest.run(f"echo performance >{PLATFORM_FILE}")
        for command in "idlectl profile set balanced", "idlectl profile set power-saver", "systemctl stop idled":
            self.guest.run(command)
            self.assertEqual(self.guest.read(PLATFORM), "performance", command)
        self.guest.run(f"echo balanced >{PLATFORM_FILE}")

    def test_maxima_after_boost(self):
        """Some kernels forget a maximum when boost is switched, others leave it where boost put it."""
        self.configure("[Daemon]\nPolicies=cpufreq\n")
        self.addCleanup(self.guest.run, f"echo 1 >{CPU}/cpufreq/boost; "
                        f"echo {HIGHEST} | tee {CPU}/cpufreq/policy*/scaling_max_freq")
        for boost, maximum, kill in (0, 3300000, False), (1, 3000000, True):
            with self.subTest(boost=boost, maximum=maximum, kill=kill):
                self.guest.run(f"echo {boost} >{CPU}/cpufreq/boost; "
                               f"echo {maximum} | tee {CPU}/cpufreq/policy*/scaling_max_freq")
                self.before = self.dump()
                self.start()
                for name in "performance", "power-saver":
                    self.guest.run(f"idlectl profile set {name}")
                    self.assertEqual(self.guest.read(f"cat {CPU}/cpufreq/boost"), str(int(name == "performance")))
                if kill:
                    self.kill()
                self.guest.run("systemctl stop idled; rm -rf /var/lib/idled/*")
                self.assertEqual(self.dump(), self.before)

    def test_a_slower_profile_is_slower(self):
        """What a busy CPU gets from power-saver, and what from performance."""
        self.configure("[Daemon]\nPolicies=cpufreq\n")
        self.start()
        with self.burning(3):
            for name, khz in ("power-saver", 3300000), ("performance", HIGHEST):
                self.guest.run(f"idlectl profile set {name}")
                self.wait_for(f"{khz} kHz", lambda: self.khz(2) == khz)

    def test_limits(self):
        """2 GHz are none of the driver's; 1.8 are the next below."""
        self.begin("cpufreq", "MaxFrequency=2GHz\nMinFrequency=1.2GHz\nBoost=on\n")
        self.wait_for("the limits", lambda: (self.khz(0, "scaling_min_freq"),
                                             self.khz(2, "scaling_max_freq")) == (1200000, 1800000))
        self.assertEqual(self.property("Degraded"), "a(sss) 0")
        with self.burning(3):
            self.wait_for("as fast as allowed", lambda: self.khz(2) == 1800000)
        self.wait_for("as slow as allowed", lambda: self.khz(2) == 1200000)

    def test_load_chooses(self):
        """Each policy of the kernel's for itself."""
        self.guest.run("modprobe cpufreq_powersave")
        # The guest's own housekeeping is a load where it is emulated.
        self.begin("cpufreq", "GovernorLow=powersave\nGovernorHigh=performance\nDwell=1s\n"
                   "LowLoad=60%\nHighLoad=90%\n")
        self.wait_for("the slow one", lambda: self.lines(GOVERNORS) == ["powersave"] * 2)
        with self.burning(3):
            self.wait_for("a fast one", lambda: self.lines(GOVERNORS) == ["powersave", "performance"])
        self.wait_for("the slow one", lambda: self.lines(GOVERNORS) == ["powersave"] * 2)


class Platforms(Tuned):
    """Two drivers of platform profiles with different words, which Linux supports from 6.14 on."""

    module = "second_platform=1"

    def setUp(self):
        if self.guest.run(f"ls {PLATFORM_CLASS}", check=False).status != 0:
            self.skipTest("this kernel has room for one driver of platform profiles")
        super().setUp()
        self.configure("[Daemon]\nPolicies=cpufreq\n")
        self.start()

    def profiles(self):
        return self.lines(f"grep -l pmlab {PLATFORM_CLASS}/*/name | sort -V | sed s/name/profile/ | xargs cat")

    def set_profile(self, name, *expected):
        self.guest.run(f"idlectl profile set {name}")
        self.assertEqual(self.profiles(), list(expected))

    def test_words_of_each(self):
        self.assertEqual(self.guest.read(f"cat {PLATFORM_CLASS}/*/name"), "pmlab\npmlab-second")
        self.set_profile("power-saver", "low-power", "quiet")
        self.set_profile("performance", "performance", "balanced-performance")
        self.assertEqual(self.property("Degraded"), "a(sss) 0")
        self.guest.run("systemctl restart idled")
        self.wait_for("the chosen ones", lambda: self.profiles() == ["performance", "balanced-performance"])
        self.kill()
        self.wait_for("the chosen ones", lambda: self.profiles() == ["performance", "balanced-performance"])
        self.set_profile("auto", "balanced", "balanced")

    def test_one_by_key(self):
        """What a person chose of one stays; the other one is idled's."""
        self.set_profile("power-saver", "low-power", "quiet")
        path = self.guest.read(f"grep -lx pmlab-second {PLATFORM_CLASS}/*/name").replace("name", "profile")
        self.guest.run(f"echo balanced-performance >{path}")
        self.set_profile("balanced", "balanced", "balanced-performance")
        self.set_profile("power-saver", "low-power", "balanced-performance")
        self.assertRegex(self.property("Degraded"), r'^a\(sss\) 1 "platform" "[^"]*" "taken over by another program"$')
        self.guest.run("systemctl stop idled")
        self.assertEqual(self.profiles(), ["balanced", "balanced-performance"])
        self.guest.run(f"echo balanced >{path}")


class Preferences(Tuned):
    """EPP, in the words of amd-pstate and with what it refuses."""

    module = "epp=1"
    dynamic_epp = f"{CPU}/amd_pstate/dynamic_epp"

    def preferences(self):
        return self.lines(f"cat {CPU}/cpufreq/policy*/energy_performance_preference")

    def test_set_and_restored(self):
        """Also where the governor that was found refuses every preference but its own."""
        for governor in "schedutil", "performance":
            for word in "power", "dynamic":
                with self.subTest(governor=governor, word=word):
                    self.guest.run(f"echo {governor} | tee {CPU}/cpufreq/policy*/scaling_governor")
                    self.before = self.dump()
                    self.begin("cpufreq", f"Governor=schedutil\nEnergyPreference={word}\n")
                    self.wait_for("the preference", lambda: self.preferences() == [word] * 2)
                    self.assertEqual(self.lines(GOVERNORS), ["schedutil"] * 2)
                    self.assertIn(f"EPP:{word}", self.guest.read("idlectl cpus"))
                    self.assertEqual(self.property("Degraded"), "a(sss) 0")
                    self.assert_restored(self.before)

    def test_profiles(self):
        self.configure("[Daemon]\nPolicies=cpufreq\n")
        self.start()
        for name, word in ("power-saver", "power"), ("performance", "performance"), ("power-saver", "power"):
            with self.subTest(name):
                self.guest.run(f"idlectl profile set {name}")
                self.assertEqual(self.preferences(), [word] * 2)
                self.assertEqual(self.property("Degraded"), "a(sss) 0")
        self.guest.run("idlectl profile set auto")
        self.assertEqual(self.preferences(), ["balance_performance"] * 2)

    def test_dynamic_epp(self):
        """What idled reports helps: once that is done, idled sets what was refused."""
        self.load_module("epp=1 dynamic_epp=1")
        self.begin("cpufreq", "EnergyPreference=power\n")
        degraded = self.wait_for("the report", lambda: (
            lambda text: text.count("resource busy") == 2 and text)(self.property("Degraded")))
        self.assertEqual(degraded.count("write disabled"), 2, degraded)
        self.assertEqual(self.preferences(), ["balance_performance"] * 2)
        self.guest.run(f"echo disabled >{self.dynamic_epp}; systemctl reload idled")
        self.wait_for("the preference", lambda: self.preferences() == ["power"] * 2)
        self.assertEqual(self.property("Degraded"), "a(sss) 0")


class IdleStates(Tuned):
    def test_deepest_state(self):
        for limit, deepest in ("80us", C3), ("C1E", C1E), ("200us", C6):
            with self.subTest(limit):
                self.begin("cstates", f"DeepestState={limit}\n")
                for cpu in 0, 3:
                    self.wait_shallow(cpu, deepest)
                self.assertIn(f"{STATES[deepest]} ", self.why(3))
                self.guest.run("systemctl stop idled")
                self.wait_for("sleeping deeply", lambda: self.entered(3)[C7])

    def test_profile_latency(self):
        self.configure("[Daemon]\nPolicies=cstates cpufreq\n")
        self.start()
        self.guest.run("idlectl profile set latency")
        self.wait_shallow(3, C1E)
        self.assertEqual(self.lines(GOVERNORS), ["performance"] * 2)
        self.guest.run("idlectl profile set auto")
        self.wait_for("sleeping deeply", lambda: self.entered(3)[C7])

    def test_governor(self):
        path = f"{CPU}/cpuidle/current_governor"
        self.assertEqual(self.guest.read(f"cat {path}"), "menu")
        self.begin("cstates", "IdleGovernor=ladder\n")
        self.wait_for("the governor", lambda: self.guest.read(f"cat {path}") == "ladder")
        self.guest.run("systemctl kill -s KILL idled; systemctl stop idled")
        self.assertEqual(self.guest.read(f"cat {path}"), "menu")

    def entered_below_limit(self, cpu):
        """The deepest state that is on and how often each was entered; None if the first changed
        meanwhile, as the mean sleep does."""
        read = f"cat {CPU}/cpu{cpu}/cpuidle/state*/disable"
        before, entered, after = self.lines(read), self.entered(cpu), self.lines(read)
        return (before.index("1") - 1, entered) if before == after and "1" in before else None

    def sleeps_deeply(self, cpus):
        """Whether one of them does, in some seconds without calls to the guest."""
        files = " ".join(f"{CPU}/cpu{cpu}/cpuidle/state{C7}/usage" for cpu in cpus)
        return any(self.grown(files, 10, cpus))

    def test_cpus_in_use_sleep_one_state_shallower(self):
        """Sleeps of less than 0.5 ms are long enough for C3 at most; their CPU is limited to a shallower
        state. The other CPUs are not: they sleep deeply while the test makes no calls, which would count
        as use in an emulator."""
        self.begin("cstates", "UtilizationAware=yes\nUtilizationThreshold=3%\nUtilizationRelease=2%\n"
                   "UtilizationDwell=1s\n")
        with self.waking(3, 500):
            self.wait_for("its being held", lambda: "one idle state shallower" in self.why(3))
            deepest, entered = self.wait_for("a limit that stays", lambda: self.entered_below_limit(3))
            self.assertLessEqual(deepest, C1E)
            self.assertEqual(sum(entered[deepest + 1:]), 0, entered)
            self.assertGreater(entered[deepest], 0, entered)
            self.wait_for("another one's sleeping deeply", lambda: self.sleeps_deeply(range(3)))
        self.wait_for("its being let go", lambda: self.sleeps_deeply([3]))


class ComeAndGo(Tuned):
    """CPUs and their driver do, and what was set is set again."""

    def test_hotplug(self):
        self.begin("cstates", "DeepestState=80us\n")
        self.wait_shallow(3, C3)
        for _ in range(2):
            self.guest.run(f"echo 0 >{CPU}/cpu3/online")
            self.wait_for("its going", lambda: self.string("Online") == "0-2")
            self.guest.run(f"echo 1 >{CPU}/cpu3/online")
            self.wait_for("its coming", lambda: self.string("Online") == "0-3")
            self.wait_shallow(3, C3)
        self.assertEqual(self.property("Degraded"), "a(sss) 0")

    def test_another_driver(self):
        """As after a change of the kernel's driver: other policies, other tables, nothing set."""
        self.begin("cpufreq", "Governor=performance\nMaxFrequency=50%\n")
        self.wait_for("the limit", lambda: self.khz(2, "scaling_max_freq") == 1800000)
        self.change("rmmod pmlab", "rmmod pmlab; insmod /share/pmlab.ko")
        self.assertEqual(self.guest.read("systemctl is-active idled"), "active")
        self.guest.run("insmod /share/pmlab.ko policy_scope=cpu freqs_khz=2000000,1000000")
        self.guest.run("systemctl reload idled")
        self.wait_for("the limit", lambda: self.khz(3, "scaling_max_freq") == 1000000)
        self.assertEqual(self.lines(GOVERNORS), ["performance"] * 4)
        self.guest.run("systemctl stop idled; rmmod pmlab; insmod /share/pmlab.ko")

    def test_suspend(self):
        """Through logind: idled sets knobs again that firmware may reset. The kernel only freezes tasks,
        as in its own test mode, because /share would not survive more."""
        self.configure("[Daemon]\nPolicies=userspace cstates\n", {"cstates": "DeepestState=80us\n"})
        self.start()
        self.park("2")  # not CPU 3, on which the test starts what reads its states
        self.wait_shallow(3, C3)
        hook = "/lib/systemd/system-sleep/test"
        self.write(hook, "#!/bin/sh\n[ $1 = pre ] || "
                   f"echo 0 | tee {CPU}/cpu3/cpuidle/state{C6}/disable {CPU}/cpu3/cpuidle/state{C7}/disable\n")
        self.change(f"chmod +x {hook}", f"rm {hook}")
        self.change("echo freezer >/sys/power/pm_test", "echo none >/sys/power/pm_test")
        self.guest.run("systemctl suspend")
        self.wait_for("its being over", lambda: "was asleep" in self.guest.read(
            "journalctl -b --no-pager -o cat -u idled"))
        self.wait_shallow(3, C3)
        self.assertEqual(self.string("Parked"), "2")
        self.assertEqual(self.property("Degraded"), "a(sss) 0")
