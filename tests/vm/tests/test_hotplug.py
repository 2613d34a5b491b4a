# SPDX-License-Identifier: LGPL-2.1-or-later
"""CPUs that go offline and come back while some are parked: work is where CPUs are left, what is parked is
parked again, and nothing stays behind however idled ends meanwhile."""

import contextlib

from kernel import CPU
from parking import MANAGER, ParkingTest, rounds

TIMES = 250  # of four events

# The mask, the CPUs that go offline, those parked then, and those where work may run.
ROWS = {
    "a parked one": ("2-3", [3], "2", {0, 1}),
    "all that are parked": ("2-3", [2, 3], "", {0, 1}),
    "the only one that is parked": ("3", [3], "", {0, 1, 2}),
    "one in use": ("2-3", [1], "2-3", {0}),
    "all active": ("0-1", [2, 3], "1", {0}),
}

# CPU 3 goes and comes: each time noticed before the next, then as fast as it can. The argument: how often.
OFTEN = f"""switch() {{
        echo $1 >{CPU}/cpu3/online
}}
noticed() {{
        timeout 30 sh -c 'until busctl get-property {MANAGER} Online | grep -q "$1"; do :; done' sh $1
}}
set -e
for i in $(seq $1); do
        switch 0
        noticed 0-2
        switch 1
        noticed 0-3
done
for i in $(seq $1); do
        switch 0
        switch 1
done
"""


def members(text):
    """The numbers of a list of CPUs."""
    found = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def without_tasks(lines):
    return [line for line in lines if not line.startswith("task ")]


class Hotplug(ParkingTest):
    backend = "systemd"

    def setUp(self):
        super().setUp()
        self.run_unit("t-system")
        self.guest.run("systemctl stop idled")
        self.before = self.dump()

    def rows(self):
        return list(ROWS)

    def where(self):
        """The CPUs that work runs on."""
        return members(self.cpus_of("t-system")[0]) & members(
            self.guest.read(f"cat {CPU}/online"))

    def switch(self, cpus, value):
        for cpu in cpus:
            self.guest.run(f"echo {value} >{CPU}/cpu{cpu}/online")

    @contextlib.contextmanager
    def gone(self, row):
        """While the CPUs of a row are offline."""
        mask, cpus, parked, left = ROWS[row]
        self.start()
        self.park(mask)
        self.assertEqual(self.where(), set(range(4)) - members(mask))
        try:
            self.switch(cpus, 0)
            self.wait_for("noticing", lambda: members(self.string("Online")) == set(range(4)) - set(cpus))
            self.wait_for(f"having {parked or 'none'} parked", lambda: self.string("Parked") == parked)
            self.wait_for(f"work on {left}", lambda: self.where() == left)
            yield
        finally:
            self.switch(cpus, 1)

    def test_comes_back(self):
        for row in self.rows():
            mask = ROWS[row][0]
            with self.subTest(row):
                with self.gone(row):
                    self.assertEqual(self.property("Degraded"), "a(sss) 0")
                self.wait_for("parking as before", lambda: self.string("Parked") == mask)
                self.wait_for("work on the other CPUs", lambda: self.where() == set(range(4)) - members(mask))
                self.assertEqual(self.property("Degraded"), "a(sss) 0")
                self.assert_restored(self.before)

    def check_given_back(self):
        """Where tasks may run is the kernel's: those that leave a cpuset while a CPU is offline keep what
        they had there (6.1 if a partition goes while it is valid, as with a service that is killed;
        6.12 always), until it gives them something else. So that is done before they are compared."""
        self.assertEqual(without_tasks(self.dump()), without_tasks(self.before))
        self.guest.run("systemd-run -q --wait -p AllowedCPUs=0-2 true")  # 6.1 then forgets all of it
        self.start()
        self.park("3")
        self.park("")
        self.guest.run("systemctl stop idled; systemctl reset-failed idled || :")
        self.assertEqual(self.dump(), self.before)

    def test_stop_meanwhile(self):
        for row in self.rows():
            with self.subTest(row):
                with self.gone(row):
                    self.guest.run("systemctl stop idled")
                self.check_given_back()

    def test_kill_meanwhile(self):
        for row in self.rows():
            with self.subTest(row):
                with self.gone(row):
                    self.kill()
                    self.assertEqual(self.string("Parked"), "")
                self.wait_for("its coming", lambda: self.string("Online") == "0-3")
                self.guest.run("systemctl stop idled")
                self.check_given_back()


class HotplugBesidePartition(Hotplug):
    backend = "partition"

    def rows(self):
        """A newer kernel keeps the last CPU that is in no isolated partition (EBUSY)."""
        return [row for row in ROWS if row != "all active" or self.kernel() < (6, 2)]

    def descriptors(self):
        return int(self.guest.read("ls /proc/$(pidof idled)/fd | wc -l"))

    def test_often(self):
        """A thousand. Its events show each change: no policy has a period, so idled reads by itself once a minute."""
        self.start()
        self.park("2-3")
        before = self.descriptors()
        self.write("/root/often", OFTEN)
        self.guest.run(f"bash /root/often {len(rounds(TIMES))}", timeout=3600)
        self.wait_for("parking as before", lambda: (self.string("Online"), self.string("Parked")) == ("0-3", "2-3"))
        self.assertEqual(self.property("Degraded"), "a(sss) 0")
        self.assertLessEqual(self.descriptors(), before)
        self.guest.run("systemctl stop idled")
        self.check_given_back()
