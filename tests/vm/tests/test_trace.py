# SPDX-License-Identifier: LGPL-2.1-or-later
"""idled restores every setting, with any feature in effect and however it ends."""

import contextlib

import lab
from kernel import CPU, STATES, KernelTest

ONLY_USERSPACE = "[Daemon]\nPolicies=userspace\n"


class Dump(lab.IdledTest, KernelTest):
    def test_threads(self):
        """One that may run elsewhere than its process."""
        def moved():
            self.guest.run("pid=$(systemctl show -P MainPID waker3); cd /proc/$pid/task; "
                           "for t in *; do [ $t = $pid ] || taskset -pc 2 $t; done")
            return "task cyclictest cyclictest 2" in self.dump()

        with self.waking(3, 20000):
            self.wait_for("another affinity", moved)
            self.assertIn("task cyclictest cyclictest 3", self.dump())


class NoTrace(lab.IdledTest):
    backend, described = "partition", "idledpark.slice"

    def setUp(self):
        self.configure(f"{ONLY_USERSPACE}[Park]\nBackend={self.backend}\n")
        self.guest.run("systemctl stop idled")
        self.before = self.dump()

    def test_stop(self):
        self.start()
        self.park("2-3")
        self.assertNotEqual(self.dump(), self.before)
        self.assert_restored(self.before)
        self.assertFalse(self.guest.run("ls /run/idled/undo", check=False).output)

    def test_kill(self):
        self.start()
        self.park("3")
        self.kill()
        self.assertEqual(self.string("Parked"), "")
        self.assertIn(self.described, self.string("ParkBackend"))
        self.assertEqual(self.dump(), self.before)
        self.assert_restored(self.before)


class NoTraceOfUnits(NoTrace):
    backend, described = "systemd", "AllowedCPUs"
    long = True

    def test_limits_of_the_administrator(self):
        """AllowedCPUs= that was there before, in a file and at run time, is left alone, as idled.conf(5) says; others
        are confined meanwhile."""
        self.write("/etc/systemd/system/user.slice.d/test.conf", "[Slice]\nAllowedCPUs=0-2\n")
        self.guest.run("systemctl daemon-reload; "
                       "systemctl set-property --runtime system.slice AllowedCPUs=1-3")
        try:
            before = self.dump()
            self.start()
            self.park("2-3")
            self.assertEqual(self.guest.read("cat /sys/fs/cgroup/{user,system,lab}.slice/cpuset.cpus"),
                             "0-2\n1-3\n0-1")
            self.guest.run("systemctl stop idled")
            self.assertEqual(without_full_lists(self.dump()), without_full_lists(before))
        finally:
            self.guest.run("rm -r /etc/systemd/system/user.slice.d; "
                           "systemctl set-property --runtime system.slice AllowedCPUs=0-3; "
                           "systemctl set-property --runtime system.slice AllowedCPUs=; "
                           "rm -r /run/systemd/system.control; systemctl daemon-reload")


def without_full_lists(lines):
    """While the controller stays on, the kernel takes no empty list for a group with tasks; one of all
    CPUs is the same."""
    return [line for line in lines if not line.endswith("cpuset.cpus:0-3")]


class NoTraceOfEverything(lab.IdledTest, KernelTest):
    """Every kind of knob that this machine has is turned: by policies, a profile, holds, and parking."""

    # What is in effect, as `dump` has it.
    TURNED = [
        "cpufreq/policy0/scaling_governor:performance",
        "cpufreq/policy2/scaling_governor:performance",
        "cpufreq/policy0/scaling_max_freq:1800000",
        "cpufreq/policy0/scaling_min_freq:1200000",
        "cpufreq/boost:1",
        f"cpu2/cpuidle/state{STATES.index('C6')}/disable:1",
        f"cpu3/cpuidle/state{STATES.index('C7')}/disable:1",
        "cpu1/power/pm_qos_resume_latency_us:50",
        "cpu_dma_latency 30",
    ]
    LASTING = TURNED[:3] + TURNED[4:7]
    PARKED = ["./idledpark.slice/cpuset.cpus:2-3", "./idledpark.slice/cpuset.cpus.exclusive:2-3"]
    OVERRIDES = "/etc/systemd/system/idled.service.d"

    def setUp(self):
        self.load_module("boost=1")
        self.configure("[Daemon]\nPolicies=userspace latency cpufreq cstates\n",
                       {"cpufreq": "MaxFrequency=1.8GHz\n", "cstates": "DeepestState=80us\n"})
        self.guest.run(f"systemctl stop idled; echo 0 >{CPU}/cpufreq/boost; rm -rf /var/lib/idled/*")
        self.addCleanup(self.guest.run, "systemctl stop idled; rm -rf /var/lib/idled/*")
        self.before, self.left = self.dump(), []

    @contextlib.contextmanager
    def everything(self):
        """While all of it is in effect, except what the test sets."""
        self.start()
        self.guest.run("idlectl profile set performance")
        # CPUs with a hold are neither parked nor limited.
        with self.unit("holder", "idlectl hold --latency 50us --min-frequency 1.2GHz --cpus 1"), \
             self.unit("other", "idlectl hold --latency 30us --global --cpus 0"):
            self.wait_for("both holds", lambda: self.property("Holds").startswith("ao 2"))
            self.park("2-3")
            exclusive = [int(n) for n in self.guest.read("uname -r").split(".")[:2]] >= [6, 8]
            self.wait_for("all knobs", lambda: self.left_out([*self.TURNED, self.PARKED[exclusive]]) == [])
            self.assertEqual(self.property("Degraded"), "a(sss) 0")
            yield

    def left_out(self, expected):
        now = self.dump()
        self.left = [line for line in expected if line not in now or line in self.before]
        return self.left

    def describe(self):
        return f"not turned at last: {self.left}\n{super().describe()}"

    def test_stop(self):
        with self.everything():
            self.guest.run("systemctl stop idled")
        self.assertEqual(self.dump(), self.before)
        self.assertFalse(self.guest.run("ls /run/idled/undo", check=False).output)

    def test_stop_after_holds(self):
        """Policies' requests take effect again on CPUs without a hold."""
        with self.everything():
            pass
        self.wait_for("no holds", lambda: self.property("Holds") == "ao 0")
        self.park("")
        self.assertEqual(self.property("Degraded"), "a(sss) 0")
        self.assertEqual(self.guest.read(
            "journalctl -b --no-pager -o cat -p warning _SYSTEMD_INVOCATION_ID=$("
            "systemctl show -P InvocationID idled)"), "")
        self.assertEqual(self.left_out(self.LASTING), [])
        self.assert_restored(self.before)

    def test_kill(self):
        """No other instance starts: systemd restores."""
        self.write(f"{self.OVERRIDES}/test.conf", "[Service]\nRestart=no\n")
        self.change("systemctl daemon-reload", f"rm -r {self.OVERRIDES}; systemctl daemon-reload")
        with self.everything():
            self.guest.run("systemctl kill -s KILL idled")
            self.wait_for("its end", lambda: self.guest.read(
                "systemctl show -P ActiveState idled") == "failed")
        self.assertEqual(self.dump(), self.before)

    def test_kill_and_come_back(self):
        """The next instance does what files ask for, and knows what was there before the first one."""
        with self.everything():
            self.kill()
        self.wait_for("what files ask for", lambda: self.left_out(self.LASTING) == [])
        self.assertEqual(self.left_out(self.PARKED), self.PARKED)
        self.assert_restored(self.before)
