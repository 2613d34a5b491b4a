# SPDX-License-Identifier: LGPL-2.1-or-later
"""What applications ask for, seen in what the kernel does: the idle states that CPUs enter and the
frequency that they run at, while the hold lives and not after."""

import lab
from kernel import CPU, STATES, KernelTest

C1E, C3, C6 = (STATES.index(name) for name in ("C1E", "C3", "C6"))


class HeldStates(lab.IdledTest, KernelTest):
    def setUp(self):
        self.configure("[Daemon]\nPolicies=latency userspace\n")
        self.before = self.dump()
        self.start()

    def tearDown(self):
        self.assert_restored(self.before)
        super().tearDown()

    def holding(self, arguments):
        return self.unit("holder", f"idlectl hold {arguments}")

    def wait_held(self, n):
        self.wait_for(f"{n} holds", lambda: self.property("Holds").startswith(f"ao {n}"))

    def assert_shallow(self, cpu):
        entered = self.entered(cpu)
        self.assertEqual(entered[C6:], [0, 0])
        self.assertGreater(entered[C3], 0)

    def wait_deep(self, *cpus):
        for cpu in cpus:
            self.wait_for(f"CPU {cpu} sleeping deeply", lambda: sum(self.entered(cpu)[C6:]))

    def test_latency_of_some_cpus(self):
        with self.holding("--latency 80us --cpus 2-3"):
            self.wait_held(1)
            for cpu in 2, 3:
                self.assert_shallow(cpu)
            self.wait_deep(0)
        self.wait_held(0)
        self.wait_deep(2, 3)

    def test_as_long_as_a_command_runs(self):
        with self.unit("holder", "-p CPUAffinity=3 idlectl run --latency 50us -- sleep infinity"):
            self.wait_held(1)
            entered = self.entered(3)
            self.assertEqual(entered[C3:], [0] * 3)
            self.assertGreater(entered[C1E], 0)
            self.wait_deep(0)
            self.guest.run("pkill -x sleep -P $(systemctl show -P MainPID holder)")
            self.wait_held(0)
        self.wait_deep(3)

    def test_latency_of_all(self):
        with self.holding("--latency 80us --global"):
            self.wait_held(1)
            self.assertEqual(self.guest.read("od -An -td4 -N4 /dev/cpu_dma_latency").strip(), "80")
            for cpu in 0, 3:
                self.assert_shallow(cpu)
        self.wait_held(0)
        self.wait_deep(0, 3)

    def test_frequency(self):
        policy = f"{CPU}/cpufreq/policy2"
        with self.holding("--min-frequency 3GHz --cpus 3"):
            self.wait_held(1)
            self.assertEqual(self.guest.read(f"cat {policy}/scaling_min_freq"), "3000000")
            self.wait_for("its being faster", lambda: int(self.guest.read(
                f"cat {policy}/scaling_cur_freq")) >= 3000000)
        self.wait_held(0)
        self.assertEqual(self.guest.read(f"cat {policy}/scaling_min_freq"), "800000")
