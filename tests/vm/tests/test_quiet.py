# SPDX-License-Identifier: LGPL-2.1-or-later
"""The policy quiet on a real kernel: parked CPUs that interrupts and housekeeping wake sleep at least twice as
long as without it, by the ledger; and every value is as it was found afterwards.

Interrupts are those of /share: each access to a file there is one. CPUs are parked in both cases.
"""

import json

import lab
from borrow import borrow

PARKED = "2-3"
PARKING = "[Daemon]\nPolicies={}\n[Park]\nStartWindow=0\nTerminalWindow=0\n"
OFF = {"Interrupts": "no", "Workqueues": "no", "StatInterval": "0", "MachineCheckInterval": "0",
       "WritebackInterval": "0"}
STAT = "/proc/sys/vm/stat_interval"
WRITEBACK = "/proc/sys/vm/dirty_writeback_centisecs"
CHECK = "/sys/devices/system/machinecheck/machinecheck0/check_interval"
WORKQUEUES = "/sys/devices/virtual/workqueue/cpumask"
SECONDS = 40
LOOK = """exec 3<> <(:)
while :; do
        read -rt 0.05 -u 3
        [ -e /share/nothing ]
done
"""
# Each line that comes through a terminal is an item of an unbound workqueue (flush_to_ldisc).
WRITE = """exec 3<> <(:)
while :; do
        read -rt 0.05 -u 3
        echo line
done
"""


class QuietTest(lab.IdledTest):
    dropins = ("quiet",)
    counted = "on a busy host no guest is quiet"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        number = cls.guest.read("grep -lx virtio.-requests /sys/kernel/irq/*/actions").split("/")[4]
        cls.affinity = f"/proc/irq/{number}/smp_affinity_list"

    def setUp(self):
        self.put(self.affinity, PARKED)  # as an administrator or a driver may have set it
        self.put(CHECK, 1)
        self.before = self.dump()

    def put(self, path, value):
        before = self.guest.read(f"cat {path}")
        self.change(f"echo {value} >{path}", f"echo {before} >{path}")

    def values(self, *paths):
        return self.guest.read(f"cat {' '.join(paths)}").split("\n")

    def begin(self, policies="userspace quiet", parking="", **options):
        self.configure(PARKING.format(policies) + parking, {"quiet": "".join(
            f"{key}={value}\n" for key, value in options.items())})
        self.guest.run("systemctl restart idled")
        self.park(PARKED)

    def end(self):
        self.assert_restored(self.before)

    def looking(self):
        """From now on 20 interrupts a second come to the parked CPUs, unless they are moved."""
        self.write("/root/look", LOOK)
        self.guest.run("systemd-run -q --unit=look bash /root/look")
        self.addCleanup(self.guest.run, "systemctl stop look", check=False)


class Sleeps(QuietTest):
    """With the ledger; on what CPUs the programs of the measurement run does not matter to parked ones."""

    def measure(self, what):
        answer = json.loads(self.guest.read(
            f"idlectl sleeps --json --cpus {PARKED} --seconds {SECONDS}", timeout=600))
        self.assertEqual(answer["source"], "bpf", answer["source_error"])
        most = sorted(answer["causes"], key=lambda c: -c["sleeps"])[:6]
        causes = ", ".join(f"{c['cause']} {c['sleeps']}" for c in most)
        print(f"{self.guest.read('uname -r')} {what}: mean sleep {self.mean_ms(answer):.1f} ms ({causes})")
        return answer

    def mean_ms(self, answer):
        """The mean sleep of parked CPUs; of one that slept all the time, this time."""
        sleeps = sum(cpu["sleeps"] for cpu in answer["cpus"])
        return len(answer["cpus"]) * answer["seconds"] * 1000 / max(sleeps, len(answer["cpus"]))

    def measure_both(self, what, parking="", **options):
        """Parked CPUs without quiet, and with it."""
        self.begin("userspace", parking)
        without = self.measure(f"{what}, parked")
        self.begin(parking=parking, **options)
        self.assertEqual(self.property("Degraded"), "a(sss) 0")
        quiet = self.measure(f"{what}, quiet")
        self.guest.run("systemctl stop look", check=False)
        self.end()
        return without, quiet

    def compare(self, what, **options):
        """The mean sleep with quiet against that without; the ratio."""
        without, quiet = (self.mean_ms(answer) for answer in self.measure_both(what, **options))
        print(f"{what}: {quiet / without:.1f} times as long")
        return quiet / without

    def causes(self, answers, matches):
        """How many sleeps such causes ended, in each measurement."""
        counts = [sum(c["sleeps"] for c in answer["causes"] if matches(c)) for answer in answers]
        print(f"{counts[0]} such wake-ups, with quiet {counts[1]}")
        return counts

    def test_interrupts_and_housekeeping(self):
        self.looking()
        self.assertGreaterEqual(self.compare("interrupts and housekeeping"), 2)

    def test_interrupts_alone(self):
        self.put(CHECK, 300)
        self.before = self.dump()
        self.looking()
        self.assertGreaterEqual(self.compare("interrupts", **{**OFF, "Interrupts": "yes"}), 2)

    def test_machine_checks_alone(self):
        """How much longer CPUs sleep also depends on the kernel's other timers: 6.12 has more of them, and does not
        double the sleeps."""
        both = self.measure_both("machine checks", **{**OFF, "MachineCheckInterval": "30min"})
        if self.guest.read("uname -r").startswith("6.1."):
            self.assertGreaterEqual(self.mean_ms(both[1]), 2 * self.mean_ms(both[0]))
        without, quiet = self.causes(both, lambda c: c["function"] == "mce_timer_fn")
        self.assertGreater(without, SECONDS / 2)
        self.assertLessEqual(quiet, without / 20)

    def test_workqueues_alone(self):
        """Items of unbound workqueues come from active CPUs, 20 a second. A partition of Linux 6.8 or later
        does without quiet what it does."""
        self.put(CHECK, 300)
        self.before = self.dump()
        self.write("/root/write", WRITE)
        self.guest.run("systemd-run -q --unit=look -p StandardOutput=null script -qc 'bash /root/write' /dev/null")
        self.addCleanup(self.guest.run, "systemctl stop look", check=False)
        both = self.measure_both("workqueues", "Backend=systemd\n", **{**OFF, "Workqueues": "yes"})
        without, quiet = self.causes(both, lambda c: (c["task"] or "").startswith("kworker/u"))
        self.assertGreater(without, SECONDS)
        self.assertLessEqual(quiet, without / 10)


class Restored(QuietTest):
    def assert_quiet(self):
        affinity, stat, writeback, check, default = self.values(
            self.affinity, STAT, WRITEBACK, CHECK, "/proc/irq/default_smp_affinity")
        self.assertEqual((affinity, stat, writeback, check, int(default, 16)),
                         ("0-1", "60", "1500", "1800", 3))
        self.assertEqual(int(self.values(WORKQUEUES)[0].replace(",", ""), 16) & 0xc, 0)

    def test_after_stop(self):
        self.begin()
        self.assert_quiet()
        self.assertEqual(self.property("Degraded"), "a(sss) 0")
        self.assertEqual(self.guest.run("idlectl verify", check=False).status, 0)
        self.assertIn("cannot be moved", self.guest.read("journalctl -b -o cat -u idled"))
        why = self.guest.read("idlectl why 3")
        for part in "interrupts are kept off", "machine checks", "memory statistics", "writeback", "workqueues":
            self.assertIn(part, why)
        self.end()

    def test_after_kill_and_restore(self):
        self.guest.run("mkdir -p /run/systemd/system/idled.service.d; printf '[Service]\\nRestart=no\\n"
                       "ExecStopPost=\\n' >/run/systemd/system/idled.service.d/t.conf; "
                       "systemctl daemon-reload")
        self.addCleanup(self.guest.run, "rm -r /run/systemd/system/idled.service.d; "
                        "systemctl daemon-reload")
        self.begin()
        self.assert_quiet()
        self.guest.run("systemctl kill -s KILL idled")
        self.wait_for("its end", lambda: self.guest.run("systemctl is-active -q idled",
                                                        check=False).status != 0)
        self.assertEqual(self.values(self.affinity, STAT), ["0-1", "60"])
        self.guest.run("idled --restore")
        self.assertEqual(self.values(self.affinity, STAT, CHECK), [PARKED, "1", "1"])
        self.end()

    def test_another_program_changes_it(self):
        self.begin()
        self.change(f"echo 0 >{self.affinity}; echo 7 >{STAT}", f"echo 1 >{STAT}")
        self.assertEqual(self.guest.run("idlectl verify", check=False).status, 1)
        self.guest.run("systemctl stop idled")
        self.assertEqual(self.values(self.affinity, STAT, CHECK), ["0", "7", "1"])

    def test_hotplug(self):
        self.begin()
        self.change("echo 0 >/sys/devices/system/cpu/cpu3/online", "echo 1 >/sys/devices/system/cpu/cpu3/online")
        self.wait_for("its going", lambda: self.string("Online") == "0-2")
        self.guest.run("echo 1 >/sys/devices/system/cpu/cpu3/online")
        self.wait_for("its coming", lambda: self.string("Online") == "0-3")
        self.wait_for("parking", lambda: self.string("Parked") == PARKED)
        self.assert_quiet()
        self.assertEqual(self.property("Degraded"), "a(sss) 0")


class Irqbalance(QuietTest):
    """The real one, which is borrowed from the host."""

    def test_starts_later(self):
        """idled has moved the interrupts; irqbalance gets them as they were."""
        irqbalance = borrow(self.guest, "irqbalance")
        self.begin()
        self.assertEqual(self.values(self.affinity), ["0-1"])
        self.guest.run(f"systemd-run -q --unit=irqbalance -p RuntimeDirectory=irqbalance {irqbalance} "
                       "--foreground --interval=1")
        self.addCleanup(self.guest.run, "systemctl stop irqbalance; systemctl reset-failed irqbalance",
                        check=False)
        self.wait_for("irqbalance to be found", lambda: '"irq"' not in self.property("Knobs"))
        self.assertEqual(self.guest.read("systemctl is-active irqbalance"), "active")
        self.assertEqual(self.property("Degraded"), "a(sss) 0")
        self.guest.run("systemctl stop idled")
