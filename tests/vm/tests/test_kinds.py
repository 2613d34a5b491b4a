# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kinds of cores on a real systemd and kernel: core 0 is fast (CPUs 0-1), core 1 efficient (CPUs 2-3)."""

import lab
from kernel import BURN, KernelTest

RECORD = "cat /run/idled/undo 2>/dev/null"


class Kinds(lab.IdledTest, KernelTest):
    def setUp(self):
        self.load_module("capacity=1024,1024,512,512")
        self.addCleanup(self.guest.run, "rm -rf /etc/systemd/system/idled.service.d; systemctl daemon-reload")

    def allowed(self, unit, group):
        """What systemd has been given, and what the kernel makes of it: all CPUs without a controller."""
        return tuple(self.guest.read(f"systemctl show -P AllowedCPUs {unit}; cd /sys/fs/cgroup; "
                                     f"cat {group}/cpuset.cpus.effective 2>/dev/null || cat cpuset.cpus.effective"
                                     ).split("\n"))

    def wait_allowed(self, unit, group, *expected):
        self.wait_for(f"{unit} on {expected}", lambda: self.allowed(unit, group) == expected)

    def test_unit(self):
        """A rule keeps background.slice to efficient cores until idled stops, or is killed and does not return."""
        group = "background.slice"
        self.configure("[Daemon]\nPolicies=userspace\n")
        self.write("/etc/idled/apps/work.conf", "[Match]\nUnit=background.slice\n[Ask]\nKind=efficient\n")
        with self.unit("work", f"--slice=background.slice {BURN}"):
            before = self.allowed(group, group)
            self.assertEqual(before, ("", "0-3"))
            for end in "systemctl stop idled", "systemctl kill -s KILL idled":
                with self.subTest(end):
                    if "KILL" in end:
                        self.write("/etc/systemd/system/idled.service.d/test.conf", "[Service]\nRestart=no\n")
                        self.guest.run("systemctl daemon-reload")
                    self.start()
                    self.wait_allowed(group, group, "2-3", "2-3")
                    self.assertIn(f"found\tkinds\t{group}\t", self.guest.read(RECORD))
                    self.wait_for("running there", lambda: self.guest.read(
                        "ps -o psr= -p $(systemctl show -P MainPID work)").strip() in ("2", "3"))
                    self.guest.run(end)
                    self.wait_allowed(group, group, *before)
                    self.assertEqual(self.guest.run(RECORD, check=False).output, "")

    def test_run(self):
        """idlectl run --kind keeps a scope to fast cores, not to those of them that are parked."""
        self.configure("[Daemon]\nPolicies=userspace latency\n")
        self.start()
        with self.unit("game", "idlectl run --kind fast -- sleep infinity"):
            scope = self.wait_for("its scope", lambda: self.guest.read(
                "systemctl list-units --plain --no-legend 'idlectl-run-*.scope' | cut -d ' ' -f 1"))
            group = self.guest.read(f"systemctl show -P ControlGroup {scope}").lstrip("/")
            self.wait_allowed(scope, group, "0-1", "0-1")
            self.park("1")
            self.wait_allowed(scope, group, "0", "0")
            self.park("")
            self.wait_allowed(scope, group, "0-1", "0-1")
            self.guest.run("systemctl stop idled")
            self.wait_allowed(scope, group, "", "0-3")

    def test_ondemand(self):
        """Kinds= parks the fast core while the efficient one suffices, and no longer."""
        self.configure("", {"ondemand": "Dwell=1s\nKinds=efficient\n"})
        self.start()
        self.wait_for("parking the fast core", lambda: self.string("Parked") == "0-1")
        for i in range(4):
            self.guest.run(f"systemd-run -q --unit=burner{i} {BURN}")
        try:
            self.wait_for("all cores", lambda: self.string("Parked") == "")
        finally:
            self.guest.run("systemctl stop burner{0..3}")
        self.wait_for("the efficient core again", lambda: self.string("Parked") == "0-1")
