# SPDX-License-Identifier: LGPL-2.1-or-later
"""Parking next to a program that owns a part of the hierarchy and makes cpusets in it, as container runtimes
do. Its cpusets take effect as far as their CPUs are active, and idled never writes to them."""

from parking import HIERARCHY, ParkingTest

NAME = "t-container"
SERVICE = f"{HIERARCHY}/system.slice/{NAME}.service"
MINE = f"{SERVICE}/payload/cpuset.cpus"
CONTAINER = (f"cd {SERVICE} && mkdir payload && echo $$ >payload/cgroup.procs && "
             "echo +cpuset >cgroup.subtree_control && echo {} >payload/cpuset.cpus && "
             "exec sleep infinity\n")


class Containers(ParkingTest):
    backend = "systemd"

    def run_container(self, cpus):
        self.write("/root/container", CONTAINER.format(cpus))
        self.run_unit(NAME, "-p Delegate=yes", "sh /root/container")
        self.wait_for("its confining itself", lambda: self.cpus_of(NAME) == [cpus])

    def assert_container(self, now, own):
        self.assertEqual(self.cpus_of(NAME), [now])
        self.assertEqual(self.guest.read(f"cat {MINE}"), own)

    def test_partly_parked(self):
        self.run_container("1-2")
        self.start()
        for _ in range(2):
            self.park("2-3")
            self.assert_container("1", "1-2")
            self.park("")
            self.assert_container("1-2", "1-2")
        self.park("2-3")
        self.guest.run("systemctl stop idled")
        self.assert_container("1-2", "1-2")

    def test_killed_while_parked(self):
        self.run_container("1-2")
        self.start()
        self.park("2-3")
        self.kill()
        self.assertEqual(self.string("Parked"), "")
        self.assert_container("1-2", "1-2")

    def test_last_cpu(self):
        """While a cpuset has tasks and only CPUs that idled would park, one of them stays active."""
        self.run_container("2-3")
        self.start()
        self.set_idle_mask("2-3")
        self.wait_for("parking the other", lambda: self.string("Parked") in ("2", "3"))
        left = "3" if self.string("Parked") == "2" else "2"
        self.assert_container(left, "2-3")
        self.park("")
        self.assert_container("2-3", "2-3")
        self.set_idle_mask("2-3")
        self.wait_for("parking the other", lambda: self.string("Parked") in ("2", "3"))
        self.guest.run(f"systemctl stop {NAME}")
        self.park("2-3")

    def test_rewritten_while_parked(self):
        """What it says last holds; among parked CPUs only, one of them becomes active."""
        self.run_container("1-2")
        self.start()
        self.park("2-3")
        for own, now in (("0,2", "0"), ("0-3", "0-1")):
            with self.subTest(own):
                self.guest.run(f"echo {own} >{MINE}")
                self.assert_container(now, own)
        self.park("")
        self.assert_container("0-3", "0-3")
        self.park("2-3")
        self.guest.run(f"echo 3 >{MINE}")
        self.wait_for("unparking CPU 3", lambda: self.string("Parked") == "2")
        self.assert_container("3", "3")
        self.guest.run("systemctl stop idled")
        self.assert_container("3", "3")


class ContainersBesidePartition(Containers):
    backend = "partition"
