# SPDX-License-Identifier: LGPL-2.1-or-later
"""The idle governor teo, which Debian does not build, as a module: how idled chooses it."""

import lab
from kernel import CPU, STATES, KernelTest

C1E, C3, C7 = (STATES.index(name) for name in ("C1E", "C3", "C7"))
GOVERNOR = f"{CPU}/cpuidle/current_governor"
LIMIT_US = 80  # C3 takes 70, C6 150


class TeoTest(KernelTest):
    modules = ("teo",)
    long = True

    def current(self):
        return self.guest.read(f"cat {GOVERNOR}")

    def assert_shallow(self, cpu, deepest=C3):
        """Not one entry of a state that is too slow."""
        entered = self.entered(cpu)
        self.assertEqual(sum(entered[deepest + 1:]), 0, entered)
        self.assertGreater(entered[deepest], 0, entered)

    def wait_deep(self, cpu):
        self.wait_for("sleeping deeply", lambda: self.entered(cpu)[C7])


class Chosen(lab.IdledTest, TeoTest):
    """By IdleGovernor= of cstates; what else idled asks for is kept to under it."""

    def setUp(self):
        self.before = self.dump()

    def tearDown(self):
        self.assert_restored(self.before)
        super().tearDown()

    def begin(self, policies="cstates", options=""):
        self.configure(f"[Daemon]\nPolicies={policies}\n",
                       {"cstates": f"IdleGovernor=teo\n{options}"})
        self.start()
        self.wait_for("the governor", lambda: self.current() == "teo")

    def test_given_back(self):
        self.assertEqual(self.current(), "menu")
        self.begin()
        self.assertEqual(self.property("Degraded"), "a(sss) 0")
        self.assertIn("idle governor teo is requested", self.guest.read("idlectl why 3"))
        self.wait_deep(3)
        self.guest.run("systemctl stop idled")
        self.assertEqual(self.current(), "menu")

    def test_foreign_value_is_restored(self):
        with self.knob(GOVERNOR, "ladder"):
            self.begin()
            self.guest.run("systemctl kill -s KILL idled; systemctl stop idled")
            self.assertEqual(self.current(), "ladder")

    def test_deepest_state(self):
        self.begin(options="DeepestState=C1E\n")
        for cpu in 0, 3:
            self.wait_for(f"CPU {cpu} sleeping as limited", lambda cpu=cpu: (
                lambda e: e[C1E] and not sum(e[C1E + 1:]))(self.entered(cpu)))
        self.assertEqual(self.current(), "teo")

    def test_hold(self):
        self.begin("cstates latency userspace")
        with self.unit("holder", f"idlectl hold --latency {LIMIT_US}us --cpus 3"):
            self.wait_for("its hold", lambda: self.property("Holds").startswith("ao 1"))
            self.assert_shallow(3)
            self.wait_deep(2)
        self.wait_for("its end", lambda: self.property("Holds").startswith("ao 0"))
        self.wait_deep(3)
