# SPDX-License-Identifier: LGPL-2.1-or-later
"""CPUs that the administrator set aside for realtime tasks, by options of the kernel."""

import unittest

import lab
from parking import ParkingTest

ASIDE = "isolcpus=3 nohz_full=3"  # as in meson.build


class Isolated(ParkingTest):
    backend = "partition"

    @classmethod
    def setUpClass(cls):
        if lab.settings.kernel_options != ASIDE:
            raise unittest.SkipTest(f"needs --append '{ASIDE}'")
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.run_unit("t-realtime", "", "chrt -f 50 taskset -c 3 sleep infinity")
        self.run_unit("t-kept", "-p CPUAffinity='0 1 2'")

    def realtime(self):
        """Its affinity and its scheduling."""
        return self.guest.read("pid=$(systemctl show -P MainPID t-realtime); grep Cpus_allowed_list /proc/$pid/status; "
                               "chrt -p $pid").split("\n")

    def test_auto_parks_nothing(self):
        """To park would let all tasks run on these CPUs, too: what keeps them off is an affinity."""
        self.configure("[Daemon]\nPolicies=userspace\n")
        before = self.dump()
        self.start()
        self.set_idle_mask("1-2")
        self.wait_for("saying why not", lambda: "isolcpus=3" in self.guest.read("idlectl why 2"))
        self.assertEqual(self.string("Parked"), "")
        self.assert_restored(before)

    def test_named_way(self):
        """It neither parks them nor takes one for what ordinary tasks need. Affinities of their own are kept."""
        before = self.realtime()
        self.start()
        self.set_idle_mask("0-3")
        parked = self.wait_for("parking", lambda: self.string("Parked"))
        active = {"1-2": "0", "0,2": "1", "0-1": "2"}
        self.assertIn(parked, active)
        self.assertIn("isolated by the administrator", self.guest.read("idlectl why 3"))
        self.assertEqual(self.realtime(), before)
        self.assertEqual(self.cpus_of("t-kept"), [active[parked]])
        self.park("")
        self.assertEqual(self.cpus_of("t-kept"), ["0-2"])
        self.assertEqual(self.realtime(), before)
