# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which idle states the kernel enters, and what changes that: its governors, PM QoS, `disable`."""

from kernel import CPU, STATES, KernelTest

C3, C6, C7 = (STATES.index(name) for name in ("C3", "C6", "C7"))
GOVERNOR = f"{CPU}/cpuidle/current_governor"
LIMIT_US = 80  # C3 takes 70, C6 150


class Governors(KernelTest):
    def deep_share(self, cpu):
        """The share of entries into states deeper than C3."""
        entered = self.entered(cpu)
        return sum(entered[C6:]) / max(sum(entered), 1)

    def governors(self):
        return self.guest.read(f"cat {CPU}/cpuidle/available_governors").split()

    def test_every_one_sleeps_deeply_at_last(self):
        self.assertLessEqual({"menu", "ladder"}, set(self.governors()))
        for governor in self.governors():
            with self.subTest(governor), self.knob(GOVERNOR, governor):
                self.assertEqual(self.guest.read(f"cat {GOVERNOR}"), governor)
                self.wait_for("sleeping in C7", lambda: self.spent(3)[C7] > 0.8)

    def test_they_differ_under_a_periodic_load(self):
        """menu knows of a timer in 0.5 ms and stays below C6, worth it from 0.6 ms on; ladder only
        knows how long it slept, and goes on down."""
        with self.waking(3, 500):
            with self.knob(GOVERNOR, "menu"):
                self.wait_for("staying shallow", lambda: self.deep_share(3) < 0.02)
            with self.knob(GOVERNOR, "ladder"):
                self.wait_for("going deep", lambda: self.deep_share(3) > 0.2)

    def test_a_longer_period_is_slept_deeper(self):
        with self.knob(GOVERNOR, "menu"), self.waking(3, 5000):
            self.wait_for("going deep", lambda: self.deep_share(3) > 0.2)

    def test_an_unknown_one_is_refused(self):
        result = self.guest.run(f"echo none >{GOVERNOR}", check=False)
        self.assertNotEqual(result.status, 0)


class Limits(KernelTest):
    """The rule is strict: not one entry of a state that is too slow."""

    def assert_shallow(self, *cpus):
        for cpu in cpus:
            with self.subTest(cpu=cpu):
                entered = self.entered(cpu)
                self.assertEqual(entered[C6:], [0, 0])
                self.assertGreater(entered[C3], 0)

    def wait_deep(self, *cpus):
        for cpu in cpus:
            self.wait_for("sleeping deeply", lambda: sum(self.entered(cpu)[C6:]))

    def test_latency_of_one_cpu(self):
        with self.knob(f"{CPU}/cpu3/power/pm_qos_resume_latency_us", LIMIT_US):
            self.assert_shallow(3)
            self.wait_deep(0, 2)
        self.wait_deep(3)

    def test_no_latency_at_all(self):
        with self.knob(f"{CPU}/cpu3/power/pm_qos_resume_latency_us", "n/a"):
            self.assertEqual(self.entered(3)[1:], [0] * (len(STATES) - 1))
        self.wait_deep(3)

    def effective_latency(self):
        return self.guest.read("od -An -td4 -N4 /dev/cpu_dma_latency").strip()

    def test_latency_of_all_while_it_is_held(self):
        before = self.effective_latency()
        self.write("/root/holder", "exec 3>/dev/cpu_dma_latency; "
                   f"printf '\\x{LIMIT_US:02x}\\0\\0\\0' >&3; exec sleep infinity\n")
        with self.unit("holder", "bash /root/holder"):
            self.wait_for("the request", lambda: self.effective_latency() == str(LIMIT_US))
            self.assert_shallow(0, 1, 2, 3)
            # The holder was killed, and its request ended.
            self.guest.run("systemctl kill -s KILL holder")
            self.wait_for("its end", lambda: self.effective_latency() == before)
        self.wait_deep(0, 1, 2, 3)

    def test_the_stricter_of_both(self):
        with self.knob(f"{CPU}/cpu3/power/pm_qos_resume_latency_us", 5), \
             self.knob(f"{CPU}/cpu2/power/pm_qos_resume_latency_us", LIMIT_US):
            entered = self.entered(3)
            self.assertEqual(entered[2:], [0] * (len(STATES) - 2))
            self.assertGreater(entered[1], 0)
            self.assert_shallow(2)

    def test_disabled_state(self):
        with self.knob(f"{CPU}/cpu3/cpuidle/state{C7}/disable", 1):
            entered = self.entered(3)
            self.assertEqual(entered[C7], 0)
            self.assertGreater(entered[C6], 0)
            self.wait_for("others in C7", lambda: self.entered(2)[C7])
        self.wait_for("C7 again", lambda: self.entered(3)[C7])

    def test_disabled_in_the_middle(self):
        """Deeper ones are still chosen."""
        with self.knob(f"{CPU}/cpu3/cpuidle/state{C6}/disable", 1):
            entered = self.entered(3, 3)
            self.assertEqual(entered[C6], 0)
            self.assertGreater(entered[C7], 0)

    def test_refused_entries(self):
        """They count as `rejected`, not as `usage`."""
        rejected = f"{CPU}/cpu3/cpuidle/state{C7}/rejected"
        with self.knob("/sys/module/pmlab/parameters/reject_state", C7):
            self.wait_for("refusing", lambda: self.grown(rejected, 2, [3])[0] > 0)
        self.assertEqual(self.grown(rejected, 2, [3]), [0])
