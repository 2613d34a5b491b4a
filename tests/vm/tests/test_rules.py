# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rules of applications on a real systemd and kernel, with the service confined as its unit says: what is
asked for is in effect while a unit or a program runs, and not after."""

import lab
from kernel import CPU, STATES, KernelTest

C3, C6 = (STATES.index(name) for name in ("C3", "C6"))
LIMITS = f"cat {CPU}/cpu*/power/pm_qos_resume_latency_us"
LATENCY = "[Ask]\nLatency=80us\nLinger=0\n"  # C3 takes 70, C6 150


class Rules(lab.IdledTest, KernelTest):
    dropins = ("fork-events",)
    policies = "latency userspace"

    def setUp(self):
        self.configure(f"[Daemon]\nPolicies={self.policies}\n")
        self.before = self.dump()
        self.addCleanup(self.guest.run, "rm -rf /usr/local/bin/game")

    def tearDown(self):
        self.assert_restored(self.before)
        super().tearDown()

    def rule(self, match, ask=LATENCY):
        self.write("/etc/idled/apps/render.conf", f"[Match]\n{match}\n{ask}")

    def limits(self):
        return self.guest.read(LIMITS).split("\n")

    def wait_limits(self, *expected):
        self.wait_for(f"limits {expected}", lambda: self.limits() == list(expected))

    def wait_free(self):
        self.wait_limits("0", "0", "0", "0")
        self.assertEqual(self.property("Holds"), "ao 0")


class Units(Rules):
    def test_unit_comes_and_goes(self):
        """Only the CPUs that it may use; seen in the states that they enter."""
        self.rule("Unit=render.service")
        self.start()
        for _ in range(2):
            self.wait_free()
            with self.unit("render", "-p CPUAffinity=2-3 sleep infinity"):
                self.wait_limits("0", "0", "80", "80")
                entered = self.entered(3)
                self.assertEqual(entered[C6:], [0, 0])
                self.assertGreater(entered[C3], 0)
                self.wait_for("CPU 0 sleeping deeply", lambda: sum(self.entered(0)[C6:]))
                self.assertIn("/etc/idled/apps/render.conf", self.guest.read("idlectl holds"))
        self.wait_free()
        self.wait_for("CPU 3 sleeping deeply", lambda: sum(self.entered(3)[C6:]))

    def test_restarted_and_killed(self):
        self.rule("Unit=render.service")
        self.start()
        with self.unit("render", "-p CPUAffinity=1 -p Restart=always sleep infinity"):
            self.wait_limits("0", "80", "0", "0")
            first = self.property("Holds")
            self.guest.run("systemctl kill -s KILL render")
            self.wait_for("a hold of the new process", lambda: self.property("Holds") not in (
                first, "ao 0") and self.limits() == ["0", "80", "0", "0"])
            self.assertTrue(self.property("Holds").startswith("ao 1 "))
        self.wait_free()


class Programs(Rules):
    """The kernel reports programs to a service without the rights of root."""

    def game(self, options="-p CPUAffinity=1"):
        """A program that only the test has, of a user."""
        self.guest.run("install -m 755 /bin/sleep /usr/local/bin/game")
        return self.unit("player", f"-p User=user {options} /usr/local/bin/game infinity")

    def test_executable_of_a_user(self):
        self.rule("Executable=/usr/local/bin/game")
        self.start()
        with self.game():
            self.wait_limits("0", "80", "0", "0")
        self.wait_free()

    def test_affinity_is_followed(self):
        """By reading it now and then: the kernel has no event for that."""
        self.configure("[Daemon]\nPolicies=latency ondemand\n", {"ondemand": "MinCores=2\n"})
        self.rule("Executable=/usr/local/bin/game")
        self.start()
        with self.game():
            self.wait_limits("0", "80", "0", "0")
            self.guest.run("taskset -pc 2-3 $(systemctl show -P MainPID player)")
            self.wait_limits("0", "0", "80", "80")
        self.wait_free()


class Asked(Rules):
    """What else a rule may ask for."""

    policies = "latency userspace cpufreq"

    def test_profile(self):
        self.rule("Unit=render.service", "[Ask]\nProfile=performance\n")
        self.start()
        governors = f"cat {CPU}/cpufreq/policy*/scaling_governor"
        self.assertEqual(self.lines(governors), ["schedutil"] * 2)
        with self.unit("render", "sleep infinity"):
            self.wait_for("the profile", lambda: self.lines(governors) == ["performance"] * 2)
            self.assertEqual(self.string("Profile"), "performance")
            self.assertIn("render", self.string("ProfileReason"))
        self.wait_for("the end of it", lambda: self.lines(governors) == ["schedutil"] * 2)
        self.assertEqual(self.string("Profile"), "balanced")
