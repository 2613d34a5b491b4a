# SPDX-License-Identifier: LGPL-2.1-or-later
"""Parking next to a program that owns a part of the hierarchy and makes cpusets in it, as container runtimes
do. Its cpusets take effect as far as their CPUs are active, and idled never writes to them. And containers of
real runtimes, which start while CPUs are parked."""

import json

from parking import HIERARCHY, SHORT_TIMES, TIMES, WHERE, OndemandTest, ParkingTest, emulated

STATE = "/var/lib/kubelet/cpu_manager_state"
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


class Kubelet(ParkingTest):
    """The file that its static CPU manager keeps, in which it gives CPUs to containers alone. Debian has no
    kubelet."""

    backend = "partition"

    def give(self, **containers):
        """As the kubelet does: it replaces the file."""
        self.write(f"{STATE}.new", json.dumps({"policyName": "static", "defaultCpuSet": "0-1",
                                               "entries": {"7f1e": containers}, "checksum": 1}))
        self.guest.run(f"mv {STATE}.new {STATE}")

    def wait_parked(self, cpus):
        self.wait_for(f"parking {cpus}", lambda: self.string("Parked") == cpus)

    def test_exclusive_cpus(self):
        self.addCleanup(self.guest.run, "rm -r /var/lib/kubelet")
        self.give(web="3")
        self.start()
        self.set_idle_mask("1-3")
        self.wait_parked("1-2")
        self.assertIn("the kubelet's container web (exclusive CPUs 3)", self.guest.read("idlectl why 3"))
        self.give(web="3", db="1")
        self.wait_parked("2")
        self.give(db="1")
        self.wait_parked("2-3")
        self.give()
        self.wait_parked("1-3")


SCOPE = "machine.slice:crun:t-runtime"  # in this slice, crun-t-runtime.scope
COUNT = """for n in $(seq $1); do [ $(nproc) = 4 ] && break; sleep 0.1; done; nproc\n"""
ON_CPU_3 = ["Cpus_allowed_list:", "3", "3"]


def bundle(group, cpus, command):
    """The configuration of an OCI container: the guest's own files, read-only, and a cpuset if it has one."""
    return json.dumps({
        "ociVersion": "1.0.2",
        "root": {"path": "rootfs", "readonly": True},
        "process": {"args": command.split(), "cwd": "/", "user": {"uid": 0, "gid": 0},
                    "env": ["PATH=/usr/bin:/bin"]},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                   {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"}],
        "linux": {"cgroupsPath": group, "namespaces": [{"type": t} for t in ("pid", "mount", "ipc", "uts")],
                  "resources": {"cpu": {"cpus": cpus} if cpus else {}}},
    })


class Runtimes(OndemandTest):
    """crun, as engines call it: with a scope of systemd, or with a cgroup of its own ("cgroupfs")."""

    backend = "partition"

    def setUp(self):
        super().setUp()
        self.write("/root/where", WHERE)
        self.write("/root/count", COUNT)
        self.guest.run("mkdir -p /run/bundle/rootfs; mount --bind / /run/bundle/rootfs")
        self.addCleanup(self.guest.run, "umount /run/bundle/rootfs && rm /run/bundle/config.json; "
                        "rmdir /run/bundle/rootfs /run/bundle")

    def each_container(self, manager, group, cpus, command, expected, after="true", times=TIMES):
        self.write("/run/bundle/config.json", bundle(group, cpus, command))
        self.each_time(f"crun --cgroup-manager={manager} run --bundle /run/bundle t-runtime; {after}",
                       self.assert_output(expected), times)

    def test_cpuset_of_a_scope(self):
        """In machine.slice, as podman and libvirt do. The first of them starts the slice."""
        self.each_container("systemd", SCOPE, "3", f"sh /root/where {emulated(*self.patience)}", ON_CPU_3)

    def test_cpuset_of_a_cgroup(self):
        self.each_container("cgroupfs", "/t-docker/t-runtime", "3", f"sh /root/where {emulated(10, 100)}",
                            ON_CPU_3)

    def test_cpuset_of_nspawn(self):
        self.each_time("systemd-nspawn -q --register=no --link-journal=no --read-only --pipe "
                       f"-D /run/bundle/rootfs --property=AllowedCPUs=3 sh /root/where {emulated(*self.patience)}",
                       self.assert_output(ON_CPU_3), SHORT_TIMES)

    def test_affinity_of_nspawn(self):
        """Its pinning, which it asks the kernel for itself."""
        self.each_time("systemd-nspawn -q --register=no --link-journal=no --read-only --pipe "
                       "-D /run/bundle/rootfs --cpu-affinity=3 sh /root/where 0",
                       self.assert_output(ON_CPU_3), SHORT_TIMES)

    def test_count_of_cpus(self):
        """At its start, without a cpuset."""
        self.each_container("systemd", SCOPE, None, f"sh /root/count {emulated(*self.patience)}", ["4"])

    def test_count_of_cpus_in_a_cgroup(self):
        """In a cgroup that systemd knows nothing of, as Slurm's and of engines with their own."""
        self.each_container("cgroupfs", "/t-docker/t-runtime", None, f"sh /root/count {emulated(*self.patience)}",
                            ["4"])

    def test_count_of_cpus_in_a_new_slice(self):
        """One that starts again does not have the CPUs that the last of its name had."""
        self.each_container("systemd", SCOPE, None, f"sh /root/count {emulated(*self.patience)}", ["4"],
                            "systemctl stop machine.slice", SHORT_TIMES)


class RuntimesBesideSystemd(Runtimes):
    """systemd confines a slice again while it starts a unit in it, until it handles idled's call: a container
    that counts CPUs in that moment finds two, in three of ten starts with systemd 252 in counted time. idled(8)
    says so. It has all within a second."""

    backend = "systemd"
    patience = 10, 100

    def test_affinity_of_nspawn(self):
        """One that pins itself in that moment is refused, but in a slice that idled leaves out."""
        self.write("/etc/idled/idled.conf.d/exclude.conf", "[Park]\nExclude=machine.slice\n")
        super().test_affinity_of_nspawn()
