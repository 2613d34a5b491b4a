# SPDX-License-Identifier: LGPL-2.1-or-later
"""Parking on the real hierarchy: where processes run before, during and after, by AllowedCPUs of units and
by a partition; and what `auto` chooses."""

import subprocess
import unittest
from pathlib import Path

from borrow import borrow
from parking import HIERARCHY, MANAGER, OWN, SESSION, ParkingTest

# Units with a sleeping process in each place: options of systemd-run, the CPUs that it may use with all
# CPUs active and with 2-3 parked.
TENANTS = {
    "t-system": ("--slice=system.slice", "0-3", "0-1"),
    "t-user": ("--slice=user.slice --uid=user", "0-3", "0-1"),
    "t-login": ("--uid=user -p PAMName=login", "0-3", "0-1"),  # in a session's scope
    "t-custom": ("--slice=custom.slice", "0-3", "0-1"),
    "t-own": ("-p AllowedCPUs=1-2", "1-2", "1"),
    "t-nested": ("--slice=custom-deep.slice", "0-3", "0-1"),
    OWN: ("", "0-3", "0-1"),
}


# Holds the kernel's lock of forks most of the time, as a program does that starts containers.
MOVER = """cd /sys/fs/cgroup/system.slice/t-mover.service && mkdir payload && echo $$ >payload/cgroup.procs
while :; do
        echo +cpuset >cgroup.subtree_control
        echo -cpuset >cgroup.subtree_control
done
"""

SCHEDULER = "cat /sys/kernel/sched_ext/state"


class Parking(ParkingTest):
    backend, described = "systemd", "AllowedCPUs"

    # The share of their sleep that parked CPUs must spend in the deepest state. It is not 1 because
    # overloaded CPUs wake idle ones in their scheduling domain to take tasks. On a busy host one wake-up
    # takes long, so the share is measured up to three times.
    asleep, looks = 0.8, 3

    def test_who_is_where(self):
        self.run_session()
        self.run_tenants({name: options for name, (options, _, _) in TENANTS.items()})
        self.assertRegex(self.guest.read("cat /proc/$(systemctl show -P MainPID t-login)/cgroup"),
                         r"user-1000\.slice/session-.*\.scope")
        who = [SESSION, *TENANTS]
        all_active, confined = zip(("0-3", "0-1"), *[where[1:] for where in TENANTS.values()])
        self.assertEqual(self.cpus_of(*who), list(all_active))
        self.start()
        self.assertIn(self.described, self.string("ParkBackend"))
        self.assertEqual(self.cpus_of(*who), list(all_active))
        refused = self.refusals()
        for _ in range(2):
            self.park("2-3")
            self.assertEqual(self.cpus_of(*who), list(confined))
            self.check_work({2, 3})
            self.park("")
            self.assertEqual(self.cpus_of(*who), list(all_active))
            self.check_work(set())
        self.assertEqual(self.refusals(), refused)
        self.park("2-3")
        self.guest.run("systemctl stop idled")
        self.assertEqual(self.cpus_of(*who), list(all_active))

    def refusals(self):
        """Lists of CPUs that the kernel refused to take from systemd, as its journal says."""
        return int(self.guest.read("journalctl -q -b _PID=1 -g 'cpuset.cpus.*No space left' | wc -l"))

    def check_work(self, parked):
        """There are more tenants than CPUs: they work on all CPUs that are not parked, and the parked ones
        sleep as deeply as they can meanwhile."""
        for _ in range(self.looks):
            ticks, asleep = self.work(*TENANTS)
            if all(asleep[cpu] > self.asleep for cpu in parked):
                break
        for cpu in range(4):
            with self.subTest(cpu=cpu, parked=cpu in parked):
                if cpu in parked:
                    self.assertEqual(ticks[cpu], 0)
                    self.assertGreater(asleep[cpu], self.asleep)
                else:
                    self.assertGreater(ticks[cpu], 5)

    def test_who_comes_later(self):
        self.start()
        self.park("2-3")
        self.run_unit("t-late", "--slice=late.slice")
        self.run_session()
        self.wait_for("confining them", lambda: self.cpus_of("t-late", SESSION) == ["0-1", "0-1"])
        self.park("")
        self.assertEqual(self.cpus_of("t-late", SESSION), ["0-3", "0-3"])

    def test_pinned_task(self):
        self.run_unit("t-pinned", command="taskset -c 2 sleep infinity")
        self.run_unit("t-pair", command="taskset -c 0,3 sleep infinity")
        self.start()
        self.set_idle_mask("2-3")
        self.wait_for("parking the other", lambda: self.string("Parked") == "3")
        if self.kernel() >= (6, 2):  # before, they are as wide as all others: idled(8), LIMITS
            self.assertEqual(self.cpus_of("t-pinned", "t-pair"), ["2", "0"])
            self.park("")
            self.assertEqual(self.cpus_of("t-pinned", "t-pair"), ["2", "0,3"])
        self.guest.run("systemctl stop t-pinned t-pair")
        self.park("2-3")
        self.guest.run("systemctl stop idled")

    def test_reload_of_systemd(self):
        self.run_unit("t-system")
        self.start()
        self.park("2-3")
        self.addCleanup(self.guest.run, "systemctl set-property --runtime user.slice CPUWeight=; "
                        "rm -rf /run/systemd/system.control; systemctl daemon-reload")
        for command in ("daemon-reload", "set-property --runtime user.slice CPUWeight=90",
                        "daemon-reexec"):
            with self.subTest(command):
                self.guest.run(f"systemctl {command}")
                self.assertEqual(self.cpus_of("t-system"), ["0-1"])
        self.park("3")
        self.assertEqual(self.cpus_of("t-system"), ["0-2"])
        self.park("")
        self.assertEqual(self.cpus_of("t-system"), ["0-3"])

    def test_slice_with_cpus(self):
        """It is left alone."""
        self.make_rival("1-2")
        self.start()
        self.park("2-3")
        self.assertEqual(self.cpus_of("t-rival"), ["1-2"])
        self.assertEqual(self.guest.read("systemctl show -P AllowedCPUs rival.slice"), "1-2")
        self.guest.run("systemctl stop idled")
        self.assertEqual(self.cpus_of("t-rival"), ["1-2"])


class PartitionTest(ParkingTest):
    def lists_matter(self):
        """Whether the kernel makes no partition of CPUs that a sibling lists."""
        return self.kernel() < (7, 0)

    def other_partition(self, cpus):
        """One of another program, directly below the root."""
        group = f"{HIERARCHY}/other"
        self.guest.run(f"echo +cpuset >{HIERARCHY}/cgroup.subtree_control; mkdir {group}; "
                       f"echo {cpus} >{group}/cpuset.cpus; echo root >{group}/cpuset.cpus.partition")
        self.addCleanup(self.guest.run, f"rmdir {group}; echo -cpuset >{HIERARCHY}/cgroup.subtree_control",
                        check=False)


class Partition(Parking, PartitionTest):
    backend, described = "partition", "idledpark.slice"
    asleep = 0.95  # they are in no domain

    def type(self):
        return self.guest.read(f"cat {HIERARCHY}/idledpark.slice/cpuset.cpus.partition")

    def test_who_comes_later(self):
        """There is nothing to wait for."""
        self.start()
        self.park("2-3")
        self.run_unit("t-late", "--slice=late.slice")
        self.assertEqual(self.cpus_of("t-late"), ["0-1"])

    def test_slice_with_cpus(self):
        self.make_rival("1-2")
        self.run_unit("t-system")
        self.start()
        self.park("3")
        self.assertEqual(self.cpus_of("t-rival", "t-system"), ["1-2", "0-2"])
        if not self.lists_matter():
            self.park("2-3")
            self.assertEqual(self.cpus_of("t-rival", "t-system"), ["1", "0-1"])
            self.park("")
            self.assertEqual(self.cpus_of("t-rival", "t-system"), ["1-2", "0-3"])
            return
        self.set_idle_mask("2-3")
        self.wait_for("saying why not", lambda: "rival.slice has CPUs 1-2 of its own" in
                      self.property("Degraded"))
        self.assertEqual(self.string("Parked"), "")
        self.assertIn("rival.slice", self.guest.read(f"busctl call {MANAGER} Explain"))
        self.assertEqual(self.cpus_of("t-rival", "t-system"), ["1-2", "0-3"])
        self.park("3")
        self.assertEqual(self.property("Degraded"), "a(sss) 0")
        self.guest.run("systemctl set-property --runtime rival.slice AllowedCPUs=1-3")
        self.addCleanup(self.guest.run, "rm -rf /run/systemd/system.control")
        self.wait_for("giving up", lambda: self.string("Parked") == "", 20)
        self.assertIn("rival.slice has CPUs 1-3 of its own", self.property("Degraded"))
        self.assertEqual(self.cpus_of("t-rival", "t-system"), ["1-3", "0-3"])

    def test_partition_of_others(self):
        """It keeps its CPUs, and idled says why it parks none of them."""
        self.start()
        self.other_partition("1-2")
        self.set_idle_mask("2-3")
        self.wait_for("saying why not", lambda: "other has CPUs 1-2 of its own" in self.property("Degraded"))
        self.assertEqual(self.string("Parked"), "")
        self.assertEqual(self.guest.read(f"cat {HIERARCHY}/other/cpuset.cpus.effective"), "1-2")

    def test_all_work_is_spread_again(self):
        """CPUs that come back by another mask belong to scheduling domains again."""
        self.start()
        self.park("1-3")
        self.park("3")
        domains = self.guest.read("awk '/^cpu/ { cpu = $1 } /^domain0/ { print cpu }' /proc/schedstat")
        self.assertEqual(domains.split("\n"), ["cpu0", "cpu1", "cpu2"])
        self.assertEqual(self.type(), "isolated")

    def test_tasks_move_meanwhile(self):
        """A kernel that must create threads while the partition changes stands still for ever (from 6.8 on)."""
        workqueues = "/sys/devices/virtual/workqueue/cpumask"
        follows = self.guest.run(f"test -e {workqueues}_isolated", check=False).status == 0
        before = self.guest.read(f"cat {workqueues}")
        self.write("/root/mover", MOVER)
        self.run_unit("t-mover", "-p Delegate=yes", "bash /root/mover")
        self.start()
        for _ in range(10):
            self.park("2-3")
            self.assertEqual(self.guest.read(f"cat {workqueues}*"), "3\nc\n3" if follows else before)
            self.park("")
        self.assertEqual(self.guest.read(f"cat {workqueues}"), before)

    def test_kill_without_restore(self):
        """Only systemd is left to unpark the CPUs."""
        self.write("/etc/systemd/system/idled.service.d/test.conf",
                   "[Service]\nRestart=no\nExecStopPost=\n")
        self.guest.run("systemctl daemon-reload")
        self.addCleanup(self.guest.run, "rm -r /etc/systemd/system/idled.service.d; "
                        "systemctl daemon-reload")
        self.run_unit("t-system")
        self.start()
        self.park("2-3")
        self.guest.run("systemctl kill -s KILL idled")
        self.wait_for("the end of the slice", lambda: self.guest.run(
            f"ls -d {HIERARCHY}/idledpark.slice", check=False).status != 0)
        self.assertEqual(self.cpus_of("t-system"), ["0-3"])
        self.assertEqual(self.guest.read(f"cat {HIERARCHY}/cgroup.subtree_control").count("cpuset"), 0)
        self.assertEqual(self.guest.read("idled --restore; ls /run/idled"), "")


class Automatic(PartitionTest):
    """Begins with a partition, and uses units when another slice has CPUs of its own."""

    backend = "auto"

    def setUp(self):
        super().setUp()
        if self.kernel() < (6, 2):
            self.skipTest("this kernel resets affinities: test_affinities.py")

    def test_slice_with_cpus(self):
        self.run_unit("t-system")
        self.start()
        self.park("3")
        self.assertRegex(self.string("ParkBackend"), "^isolated partition idledpark.slice")
        self.make_rival("1-2")
        self.park("2-3")
        self.assertEqual(self.property("Degraded"), "a(sss) 0")
        if self.lists_matter():
            self.assertRegex(self.string("ParkBackend"), "^AllowedCPUs of .* units, not isolated "
                             "partition idledpark.slice.*: rival.slice has CPUs 1-2 of its own$")
            rest = "1-2"
        else:
            self.assertRegex(self.string("ParkBackend"), "^isolated partition idledpark.slice")
            rest = "1"
        self.assertEqual(self.cpus_of("t-rival", "t-system"), [rest, "0-1"])
        self.run_unit("t-late", "--slice=late.slice")
        self.wait_for("confining it", lambda: self.cpus_of("t-late") == ["0-1"])
        self.guest.run("systemctl stop idled")
        self.assertEqual(self.cpus_of("t-rival", "t-system", "t-late"), ["1-2", "0-3", "0-3"])

    def test_scheduler(self):
        """One of sched_ext that is loaded while CPUs are parked, and one that was loaded before."""
        if not self.guest.read("ls -d /sys/kernel/sched_ext || :"):
            self.skipTest("this kernel has no sched_ext")
        register, unregister = self.make_scheduler()
        self.start()
        self.park("3")
        self.assertRegex(self.string("ParkBackend"), "^isolated partition ")
        self.assertRegex(self.guest.read("idlectl doctor || :"), "kernels .* load no scheduler of sched_ext")
        self.addCleanup(self.guest.run, unregister, check=False)
        if self.guest.run(register, check=False).status:  # kernels of 7.0 and later without a fix that 7.3.4 has
            self.park("")
            self.guest.run(register)
        self.assertEqual(self.guest.read(SCHEDULER), "enabled")
        self.set_idle_mask("2-3")
        self.wait_for("saying why not", lambda: "the scheduler plain is loaded" in self.guest.read("idlectl why 3"))
        self.wait_for("all CPUs", lambda: self.string("Parked") == "")
        self.assertEqual(self.property("Degraded"), "a(sss) 0")
        self.assertRegex(self.guest.read("idlectl doctor || :"), "the scheduler plain is loaded")
        self.assertEqual(self.guest.read(SCHEDULER), "enabled")  # no partition made the kernel end it

        self.guest.run(unregister)
        self.assertEqual(self.guest.read(SCHEDULER), "disabled")
        self.park("3")

    def make_scheduler(self):
        """What loads one, and what ends it."""
        bpftool = borrow(self.guest, "bpftool")
        try:
            subprocess.run(["clang", "-O2", "-g", "-target", "bpf", "-I/usr/include/x86_64-linux-gnu", "-c",
                            Path(__file__).parent.parent / "plain.bpf.c", "-o", self.guest.share / "plain.o"], check=True)
        except FileNotFoundError as error:
            raise unittest.SkipTest("the host has no clang") from error
        return f"{bpftool} struct_ops register /share/plain.o", f"{bpftool} struct_ops unregister name plain"

    def test_exceptions(self):
        self.configure("[Daemon]\nPolicies=userspace\n[Park]\nExclude=custom.slice\n")
        self.run_unit("t-custom", "--slice=custom.slice")
        self.run_unit("t-system")
        self.start()
        self.assertRegex(self.string("ParkBackend"), "^AllowedCPUs of .* units$")
        self.park("2-3")
        self.assertEqual(self.cpus_of("t-custom", "t-system"), ["0-3", "0-1"])
