# SPDX-License-Identifier: LGPL-2.1-or-later
"""Parking on the real hierarchy: who runs where before, during and after."""

import lab

HIERARCHY = "/sys/fs/cgroup"

# Everybody that sleeps in some place: unit, options of systemd-run, the CPUs it may use with all CPUs
# in use and with 2-3 parked.
TENANTS = {
    "t-system": ("--slice=system.slice", "0-3", "0-1"),
    "t-user": ("--slice=user.slice --uid=user", "0-3", "0-1"),
    "t-custom": ("--slice=custom.slice", "0-3", "0-1"),
    "t-own": ("-p AllowedCPUs=1-2", "1-2", "1"),
    "t-nested": ("--slice=custom-deep.slice", "0-3", "0-1"),
}


class Parking(lab.IdledTest):
    backend, described = "systemd", "AllowedCPUs"

    def setUp(self):
        self.configure(f"[Daemon]\nPolicies=userspace\n[Park]\nBackend={self.backend}\n")

    def kernel(self):
        return tuple(int(n) for n in self.guest.read("uname -r").split(".")[:2])

    def run_unit(self, name, options, command="sleep infinity"):
        self.guest.run(f"systemd-run -q --unit={name} {options} {command}")
        self.addCleanup(self.guest.run, f"systemctl stop {name}; systemctl reset-failed {name}; "
                        "systemctl stop custom.slice late.slice", check=False)

    def cpus_of(self, *units):
        """Where the main processes of units may run."""
        return self.guest.read(
            f"for pid in $(systemctl show -P MainPID {' '.join(units)}); do "
            "awk '/^Cpus_allowed_list:/ { print $2 }' /proc/$pid/status; done").split("\n")

    def test_who_is_where(self):
        for name, (options, _, _) in TENANTS.items():
            self.run_unit(name, options)
        self.start()
        self.assertIn(self.described, self.string("ParkBackend"))
        everybody, confined = zip(*(where[1:] for where in TENANTS.values()))
        self.assertEqual(self.cpus_of(*TENANTS), list(everybody))
        for _ in range(2):
            self.park("2-3")
            self.assertEqual(self.cpus_of(*TENANTS), list(confined))
            self.park("")
            self.assertEqual(self.cpus_of(*TENANTS), list(everybody))
        self.park("2-3")
        self.guest.run("systemctl stop idled")
        self.assertEqual(self.cpus_of(*TENANTS), list(everybody))

    def test_last_cpu_of_a_service(self):
        """Of the CPUs that an administrator gave to a service one stays in use."""
        self.run_unit("t-own", "-p AllowedCPUs=2-3")
        self.start()
        self.guest.run("busctl -q call org.idled1 /org/idled1 org.idled1.Manager SetIdleMask s 2-3")
        self.wait_for("parking the other", lambda: self.string("Parked") in ("2", "3"))
        self.guest.run("systemctl stop t-own")
        self.park("2-3")

    def test_who_comes_later(self):
        self.start()
        self.park("2-3")
        self.run_unit("t-late", "--slice=late.slice")
        self.wait_for("confining it", lambda: self.cpus_of("t-late") == ["0-1"])
        self.park("")
        self.assertEqual(self.cpus_of("t-late"), ["0-3"])

    def test_container(self):
        """A delegated subtree whose owner has made cpusets in it."""
        self.write("/root/container",
                   f"cd {HIERARCHY}/system.slice/t-container.service && mkdir payload && "
                   "echo $$ >payload/cgroup.procs && echo +cpuset >cgroup.subtree_control && "
                   "echo 1-2 >payload/cpuset.cpus && exec sleep infinity\n")
        self.run_unit("t-container", "-p Delegate=yes", "sh /root/container")
        mine = f"{HIERARCHY}/system.slice/t-container.service/payload/cpuset.cpus"
        self.wait_for("its confining itself", lambda: self.cpus_of("t-container") == ["1-2"])
        self.start()
        self.park("2-3")
        self.assertEqual(self.cpus_of("t-container"), ["1"])
        self.guest.run("systemctl stop idled")
        self.assertEqual(self.cpus_of("t-container"), ["1-2"])
        self.assertEqual(self.guest.read(f"cat {mine}"), "1-2")

    def test_pinned_task(self):
        self.run_unit("t-pinned", "", "taskset -c 2 sleep infinity")
        self.start()
        self.guest.run("busctl -q call org.idled1 /org/idled1 org.idled1.Manager SetIdleMask s 2-3")
        if self.kernel() < (6, 2):
            why = self.guest.read("busctl call org.idled1 /org/idled1 org.idled1.Manager Explain")
            self.assertIn("forget", why)
            self.assertEqual(self.string("Parked"), "")
        else:
            self.wait_for("parking the other", lambda: self.string("Parked") == "3")
        self.assertEqual(self.cpus_of("t-pinned"), ["2"])
        self.guest.run("systemctl stop t-pinned")
        self.park("2-3")
        self.guest.run("systemctl stop idled")

    def test_reload_of_systemd(self):
        self.run_unit("t-system", "")
        self.start()
        self.park("2-3")
        self.guest.run("systemctl daemon-reload; "
                       "systemctl set-property --runtime user.slice CPUWeight=90")
        self.addCleanup(self.guest.run, "systemctl set-property --runtime user.slice CPUWeight=; "
                        "rm -rf /run/systemd/system.control; systemctl daemon-reload")
        self.assertEqual(self.cpus_of("t-system"), ["0-1"])
        self.park("")
        self.assertEqual(self.cpus_of("t-system"), ["0-3"])

    def test_hotplug_while_parked(self):
        self.run_unit("t-system", "")
        self.start()
        self.park("2-3")
        self.guest.run("echo 0 >/sys/devices/system/cpu/cpu3/online")
        try:
            self.wait_for("noticing", lambda: self.string("Online") == "0-2")
            self.wait_for("what is parked", lambda: self.string("Parked") == "2")
            self.assertEqual(self.cpus_of("t-system"), ["0-1"])
        finally:
            self.guest.run("echo 1 >/sys/devices/system/cpu/cpu3/online")
        self.wait_for("parking it again", lambda: self.string("Parked") == "2-3")
        self.assertEqual(self.cpus_of("t-system"), ["0-1"])
        self.guest.run("systemctl stop idled")
        self.assertEqual(self.cpus_of("t-system"), ["0-3"])


class Partition(Parking):
    backend, described = "partition", "idledpark.slice"
