# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds under systemd, with the service confined as its unit says: limits of this kernel's CPUs."""

import lab

LIMITS = "cat /sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us"
FREE = "0\n0\n0\n0"


class Holds(lab.IdledTest):
    def setUp(self):
        super().setUp()
        self.configure("[Daemon]\nPolicies=latency\n", {})
        self.start()
        self.assertEqual(self.guest.read(LIMITS), FREE)

    def test_driver_comes_late(self):
        """The module with the driver of frequencies is loaded while a hold waits for it."""
        lowest = "cat /sys/devices/system/cpu/cpufreq/policy*/scaling_min_freq | sort -u"
        self.addCleanup(self.guest.run, "test -d /sys/module/pmlab || insmod /share/pmlab.ko")
        before = self.guest.read(lowest)
        self.guest.run("systemctl stop idled; rmmod pmlab")
        self.start()
        self.guest.run("systemd-run -q --unit=holder idlectl hold --min-frequency 1800MHz")
        hold = ("/org/idled1/hold/1", "org.idled1.Hold")
        self.wait_for("the hold", lambda: "no cpufreq" in self.guest.run(
            f"busctl get-property org.idled1 {hold[0]} {hold[1]} Obstacle", check=False).output)
        self.guest.run("insmod /share/pmlab.ko")
        self.wait_for("the frequency", lambda: self.guest.read(lowest) == "1800000")
        self.assertEqual(self.string("Obstacle", *hold), "")
        self.guest.run("systemctl stop holder")
        self.wait_for("restoring", lambda: self.guest.read(lowest) == before)

    def test_user(self):
        """polkit has no agent to ask for a password: refused, and nothing changed."""
        result = self.guest.run("cd /; runuser -u user -- idlectl run --latency 50us -- true",
                                check=False)
        self.assertEqual(result.status, 125)
        self.assertIn("not authorized", result.errors)
        self.assertEqual(self.guest.read(LIMITS), FREE)
