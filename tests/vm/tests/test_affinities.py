# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that pin themselves while CPUs are parked keep their affinity, whatever the kernel does: where it resets
affinities, `auto` parks nothing. And whether it does is tried in the guest, and leaves nothing there."""

import re
import shutil

import lab
from borrow import borrow
from parking import HIERARCHY, OndemandTest, ParkingTest, rounds

UNIT = "t-pinned"
TIMES = 5

# Starts a pinned command for each line that it reads.
SERVICE = """while read line </run/orders; do
        taskset -c 1 sleep infinity &
        echo $! >/run/pinned.new
        mv /run/pinned.new /run/pinned
done
"""
OF_PROGRAM = "2\n2\n1"  # of pinned.c


class Kept(OndemandTest):
    """With Backend=auto, no affinity is ever lost, parked or not."""

    backend = "auto"

    def setUp(self):
        super().setUp()
        self.addCleanup(self.guest.run, f"systemctl stop {UNIT}; systemctl reset-failed", check=False)
        self.parks = self.kernel() >= (6, 2)

    def wait_confined(self):
        """Until CPUs 2-3 are parked, or idled has said why not."""
        if self.parks:
            self.wait_parked()
        else:
            self.wait_for("saying why not", lambda: "resets affinities" in self.explained())
            self.assertEqual(self.string("Parked"), "")

    def park_and_unpark(self):
        """What is parked changes to nothing and back."""
        self.guest.run("idlectl set ondemand MaxCores=4; idlectl set ondemand MinCores=4")
        self.wait_for("unparking", lambda: self.string("Parked") == "")
        self.guest.run("idlectl set ondemand MinCores=1; idlectl set ondemand MaxCores=1")
        self.wait_confined()

    def affinity(self, pids):
        return self.guest.read(f"for pid in {pids}; do awk '/^Cpus_allowed_list/ {{ print $2 }}' /proc/$pid/status; done")

    def test_service_with_an_affinity(self):
        """It starts while its CPU is parked, and has it ever after."""
        self.write(f"/etc/systemd/system/{UNIT}.service", "[Service]\nExecStart=sleep infinity\nCPUAffinity=3\n")
        self.addCleanup(self.guest.run, f"rm /etc/systemd/system/{UNIT}.service; systemctl daemon-reload")
        self.guest.run("systemctl daemon-reload")
        self.start()
        for n in rounds(TIMES):
            with self.subTest(n=n):
                self.wait_confined()
                self.guest.run(f"systemctl start {UNIT}; sleep 4")
                self.assertEqual(self.affinity(f"$(systemctl show -P MainPID {UNIT})"), "3")
                self.guest.run(f"systemctl stop {UNIT}")

    def test_command_of_a_running_service(self):
        self.start()
        self.wait_confined()
        self.write("/root/service", SERVICE)
        self.guest.run("mkfifo /run/orders")
        self.run_unit(UNIT, command="sh /root/service")
        self.addCleanup(self.guest.run, "rm -f /run/orders /run/pinned")
        for n in rounds(TIMES):
            with self.subTest(n=n):
                self.wait_confined()
                self.guest.run("rm -f /run/pinned; echo go >/run/orders; until [ -e /run/pinned ]; do sleep 0.1; done; "
                               "until grep -q 'list:.1$' /proc/$(cat /run/pinned)/status; do sleep 0.1; done")
                self.park_and_unpark()
                self.assertEqual(self.affinity("$(cat /run/pinned)"), "1")
                self.guest.run("kill $(cat /run/pinned)")

    def test_program_that_pins_itself(self):
        """Its thread, its child, and itself twice: also over the end of idled."""
        self.addCleanup(self.guest.run, "rm -f /run/pinned /run/answer")
        program = lab.settings.build + "/tests/vm/pinned"
        shutil.copy(program, self.guest.share / "pinned")
        self.start()
        for n in rounds(TIMES):
            with self.subTest(n=n):
                self.wait_confined()
                self.guest.run(f"rm -f /run/pinned; systemd-run -q --unit={UNIT} -p StandardOutput=file:/run/answer "
                               "/share/pinned /run/pinned")
                self.wait_confined()
                self.guest.run(f"systemctl kill -s USR1 {UNIT}; until [ -e /run/pinned ]; do sleep 0.1; done")
                self.park_and_unpark()
                self.end(n)
                self.guest.run(f"systemctl kill -s USR1 {UNIT}; "
                               f"while systemctl is-active -q {UNIT}; do sleep 0.1; done")
                self.assertEqual(self.guest.read("cat /run/answer"), OF_PROGRAM)

    def end(self, n):
        """In turn idled stops, and is killed and restores."""
        if n % 2:
            self.kill()
        else:
            self.guest.run("systemctl restart idled")


class Named(ParkingTest):
    """A back end that is named parks, whatever that costs; idled(8) says what."""

    backend = "partition"

    def test_parks(self):
        self.run_unit(UNIT, command="taskset -c 1 sleep infinity")
        self.start()
        self.park("2-3")
        self.park("")
        kept = self.kernel() >= (6, 2)
        self.assertEqual(self.cpus_of(UNIT), ["1" if kept else "0-3"])
        self.assertEqual("resets affinities" in self.guest.run("idlectl doctor", check=False).output, not kept)


class Trial(ParkingTest):
    """Whether affinities are kept is tried where a cgroup has a cpuset, and no controller is enabled for that."""

    backend = "auto"

    def setUp(self):
        super().setUp()
        self.kept = self.kernel() >= (6, 2)

    def controllers(self):
        return self.guest.read(f"cat {HIERARCHY}/cgroup.subtree_control").split()

    def groups(self):
        return self.guest.read(f"find {HIERARCHY} -maxdepth 1 -type d | sort")

    def give_cpusets(self):
        self.run_unit("t-cpuset", "-p AllowedCPUs=0-2")
        self.wait_for("cpusets", lambda: "cpuset" in self.controllers())

    def answer(self):
        kept, about = re.fullmatch(r'\(bs\) (true|false) "(.*)"', self.property("KeepsAffinities")).groups()
        return kept == "true", about

    def test_is_tried(self):
        self.give_cpusets()
        groups = self.groups()
        self.start()
        kept, about = self.answer()
        self.assertEqual((kept, about.split(", ")[1:]), (self.kept, ["tried"]))
        self.assertEqual(self.groups(), groups)
        self.assertEqual(self.guest.read("ls /run/idled"), "")
        self.assertRegex(self.guest.read("journalctl -q -b -u idled -o cat"),
                         "kernel (keeps|resets) affinities when CPUs are parked")

    def test_is_not_tried(self):
        """No controller is enabled; the version decides."""
        if "cpuset" in self.controllers():
            self.skipTest("cgroups of this guest have cpusets already")
        before = self.controllers()
        self.start()
        kept, about = self.answer()
        self.assertEqual((kept, about.split(": ")[1:]), (self.kept, ["no cgroup has a cpuset yet"]))
        self.assertEqual(self.controllers(), before)

    def test_takes_no_time(self):
        """20 ms at most, of the guest's time; a busy host may take longer."""
        self.give_cpusets()
        self.guest.run("idled --probe")  # what is not in memory is read
        took = [int(self.guest.read("t=$(date +%s%N); idled --probe >/dev/null; echo $((($(date +%s%N) - t) / 1000000))"))
                for _ in range(5)]
        self.guest.run("rm -f /run/idled/affinities")
        if lab.settings.icount is not None:
            self.assertLessEqual(min(took), 20, took)

    def test_killed_meanwhile(self):
        """At whatever system call: the child dies, too, and --restore or the next start removes the cgroup."""
        strace = borrow(self.guest, "strace")
        self.give_cpusets()
        groups = self.groups()
        left = 0
        for call in "mkdirat", "clone3", "waitid", "unlinkat:when=2", "poll":
            name, _, when = call.partition(":")
            with self.subTest(call):
                self.guest.run(f"{strace} -qq -o /dev/null -e trace={name} -e inject={name}:signal=KILL"
                               f"{':' + when if when else ''} idled --probe", check=False)
                left += self.groups() != groups
                self.guest.run("idled --restore")
                self.assertEqual(self.groups(), groups)
        self.assertGreater(left, 0)
        self.guest.run(f"mkdir {HIERARCHY}/idled.probe")
        self.start()
        self.assertEqual(self.groups(), groups)
