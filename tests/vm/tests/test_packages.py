# SPDX-License-Identifier: LGPL-2.1-or-later
"""Debian packages of this tree: installed, upgraded and removed while CPUs are parked, and purged. The
machine is then as it was, no file is left, and of users only one that Debian's policy has stay."""

import os
import re
import subprocess
import unittest

import image
import lab

TOP = lab.HERE.parents[1]
TESTS = TOP / "packaging" / "debian" / "tests"
OTHERS = "idled-lab", "idled-cockpit", "idled-dev", "idled-power-profiles"
PARKED = "[Daemon]\nPolicies=userspace\n[Park]\nBackend=partition\n"

# What any package changes, and what goes on without one.
FILES = """find / -xdev \\( -path /var/lib/dpkg -o -path /var/log -o -path /var/cache -o -path /tmp -o -path /var/tmp \\
        -o -path '/var/lib/systemd/deb-systemd-*' -o -path /root/dump -o -path '/etc/*-' -o -path /etc/.pwd.lock \\) -prune \\
        -o -print | sort; find /run/idled /run/systemd/system.control -print"""
USERS = "cut -d: -f1 /etc/passwd /etc/group"


def build(directory):
    """The packages of the guest's suite, without the tests that they run while they are built."""
    suite = "trixie" if lab.settings.suite == "backports" else lab.settings.suite
    status = subprocess.run([TOP / "tools" / "package", "--suite", suite, "deb", directory],
                            env={**os.environ, "DEB_BUILD_OPTIONS": "nocheck"}, check=False).returncode
    if status == 77:
        raise unittest.SkipTest("packages that this needs are not available")
    if status != 0:
        raise image.MakingError("tools/package failed")


def make_older(package, older):
    """The same package with a lower version."""
    tree = older.with_suffix("")
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = tree / "DEBIAN" / "control"
    control.write_text(re.sub(r"(?m)^Version: .*", "Version: 0~older", control.read_text()))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, older], check=True, stdout=subprocess.DEVNULL)


class Packages(lab.IdledTest):
    @classmethod
    def setUpClass(cls):
        lab.GuestTest.setUpClass.__func__(cls)
        share = cls.guest.share / "packages"
        share.mkdir()
        build(share)
        make_older(next(share.glob("idled_*.deb")), share / "older.deb")
        subprocess.run(["cp", "-r", TESTS, share / "tests"], check=True)

    def setUp(self):
        self.addCleanup(self.guest.run, f"dpkg -P {' '.join(OTHERS)} idled", check=False)

    def version(self):
        return self.guest.read("dpkg-query -W -f '${Version}' idled")

    def test_life(self):
        files, knobs, users = self.guest.read(FILES, check=False), self.dump(), set(self.guest.read(USERS).split())
        self.guest.run("dpkg -i /share/packages/older.deb")
        self.assertEqual(self.version(), "0~older")
        self.assertEqual(self.guest.run("systemctl is-enabled idled idled-metrics.socket; "
                                        "systemctl is-active idled idled-metrics.socket", check=False).output,
                         "disabled\ndisabled\ninactive\ninactive\n")
        self.assertEqual(self.dump(), knobs)

        self.configure(PARKED, {"userspace": "IdleMask=3\n"})
        self.guest.run("systemctl enable --now idled")
        self.wait_for("parking", lambda: self.string("Parked") == "3")
        first = self.guest.read("systemctl show -P MainPID idled")
        self.guest.run("dpkg -i /share/packages/idled_*.deb")
        self.assertNotEqual(self.version(), "0~older")
        self.wait_for("parking by the new version", lambda: self.string("Parked") == "3")
        self.assertNotEqual(self.guest.read("systemctl show -P MainPID idled"), first)
        self.assertEqual(self.guest.read("systemctl is-enabled idled"), "enabled")

        self.guest.run("dpkg -r idled")
        self.assertEqual(self.dump(), knobs)
        self.assertFalse(self.guest.run("pgrep -x idled", check=False).output)
        self.guest.run("test -e /etc/idled/idled.conf.d/test.conf && dpkg -P idled")
        self.assertEqual(self.dump(), knobs)
        self.assertEqual(self.guest.read(FILES, check=False), files)
        self.assertLessEqual(set(self.guest.read(USERS).split()) - users, {"idled-metrics"})

    def test_life_of_others(self):
        """They start nothing and leave no file. cockpit-bridge, on which one of them depends, is not here."""
        self.guest.run("dpkg -i /share/packages/idled_*.deb")
        files, knobs = self.guest.read(FILES, check=False), self.dump()
        for name in OTHERS:
            with self.subTest(name):
                self.guest.run(f"dpkg --force-depends -i /share/packages/{name}_*.deb")
                self.assertNotEqual(self.guest.read(FILES, check=False), files)
                self.guest.run("systemctl enable idled-advise; " * (name == "idled-lab") + f"dpkg -r {name}")
                self.guest.run(f"dpkg -P {name}")
                self.assertEqual(self.guest.read(FILES, check=False), files)
        self.assertEqual(self.dump(), knobs)

    def test_autopkgtests(self):
        """Those of packaging/debian/tests that need no compiler."""
        self.guest.run("dpkg -i /share/packages/idled_*.deb")
        for name in "check", "bus", "park":
            with self.subTest(name):
                self.guest.run(f"cd / && /share/packages/tests/{name}")

    def test_power_profiles(self):
        """A running idled takes the names with the package, and leaves them with it."""
        self.guest.run("dpkg -i /share/packages/idled_*.deb && systemctl start idled")
        self.assertNotIn("PowerProfiles", self.guest.read("busctl list --acquired"))
        self.guest.run("dpkg -i /share/packages/idled-power-profiles_*.deb")
        self.assertEqual(self.guest.read("busctl get-property net.hadess.PowerProfiles "
                                         "/net/hadess/PowerProfiles net.hadess.PowerProfiles ActiveProfile"),
                         's "balanced"')
        self.guest.run("dpkg -r idled-power-profiles")
        self.assertNotIn("PowerProfiles", self.guest.read("busctl list --acquired"))
