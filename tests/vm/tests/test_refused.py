# SPDX-License-Identifier: LGPL-2.1-or-later
"""A process that pins itself to parked CPUs is refused: idled sees it, the same program succeeds the second
time, and a user who is refused again and again does not switch parking off."""

import json

from parking import OndemandTest, rounds

UNIT = "t-pinned"
TRIES = 5

# For each line in the pipe it does what cron, batch systems and ranks of MPI do.
PINNED = """while read -r cpus </run/pin; do
        taskset -c $cpus true 2>/dev/null
        echo $? >/run/pinned
done
"""

LOOP = """while :; do
        taskset -c 3 true 2>/dev/null
        sleep 1
done
"""


class Refused(OndemandTest):
    backend = "partition"

    def setUp(self):
        super().setUp()
        self.write("/root/pinned.sh", PINNED)
        self.write("/root/loop.sh", LOOP)
        self.change("mkfifo /run/pin /run/pinned", "rm -f /run/pin /run/pinned /var/lib/idled/refused")

    def run_pinned(self, name=UNIT, options=""):
        self.run_unit(name, options, "sh /root/pinned.sh")
        self.wait_parked()

    def pin(self, cpus="3"):
        """The status of taskset in the service."""
        return self.guest.read(f"echo {cpus} >/run/pin; cat /run/pinned")

    def rows(self):
        return json.loads(self.guest.read("idlectl status --json"))["refused"]

    def show_memory(self, when):
        print(f"{when}:", self.guest.read("sleep 12; grep -E '^(Rss|Pss|Private_Dirty):' "
                                          "/proc/$(pidof idled)/smaps_rollup").replace("\n", ", "))

    def test_second_try_of_a_service(self):
        self.start()
        self.run_pinned()
        for n in rounds(TRIES):
            with self.subTest(n=n):
                self.wait_parked()
                self.assertEqual(self.pin(), "1")
                self.wait_for("CPU 3", lambda: self.string("Parked") == "2")
                self.assertEqual(self.pin(), "0")
                self.guest.run(f"systemctl restart {UNIT}")
                self.wait_parked("2")
                self.assertEqual(self.pin(), "0")
                self.guest.run(f"idlectl release {UNIT}.service")

    def test_who_is_named(self):
        self.start()
        self.run_pinned()
        self.assertEqual(self.rows(), [])
        self.assertEqual(self.pin("2,3"), "1")
        self.wait_for("both CPUs", lambda: self.string("Parked") == "")
        (row,) = self.rows()
        self.assertEqual((row["unit"], row["program"], row["cpus"], row["user"]),
                         (f"{UNIT}.service", "taskset", "2-3", 0))
        self.assertRegex(self.guest.read("journalctl -u idled"), rf"taskset .*{UNIT}\.service.* to CPUs 2-3 ")
        self.assertRegex(self.guest.read("idlectl doctor || true"), rf"2-3[^.]*{UNIT}\.service")
        self.assertRegex(self.guest.read("idlectl status"), rf"2-3[^.]*{UNIT}\.service[^.]*taskset")
        self.assertRegex(self.guest.read("idlectl metrics"),
                         rf'(?m)^idled_refused_affinity{{.*unit="{UNIT}\.service".*}} 1$')
        self.assertIn(f"{UNIT}.service", self.guest.read("idlectl why 3"))
        user = json.loads(self.guest.read("runuser -u user -- idlectl status --json"))["refused"]
        self.assertEqual([(row["program"], row["pid"]) for row in user], [(None, None)])

    def test_restart_of_idled(self):
        """It still knows; and when the service is not loaded the CPU is parked."""
        self.start()
        self.run_pinned()
        self.assertEqual(self.pin(), "1")
        self.wait_for("CPU 3", lambda: self.string("Parked") == "2")
        self.guest.run("systemctl restart idled")
        self.wait_parked("2")
        self.guest.run(f"systemctl stop {UNIT}")
        self.wait_parked()
        self.guest.run(f"systemd-run -q --unit={UNIT} sh /root/pinned.sh")
        self.wait_parked("2")
        self.assertEqual(self.pin(), "0")

    def test_cpuset_of_its_own(self):
        """It would be refused without idled, too."""
        self.start()
        self.run_pinned(options="-p AllowedCPUs=0-1")
        self.assertEqual(self.pin(), "1")
        self.guest.run(f"systemctl stop {UNIT}")
        self.run_pinned(f"{UNIT}-2")
        self.assertEqual(self.pin("2"), "1")
        self.wait_for("CPU 2", lambda: self.string("Parked") == "3")
        self.assertEqual([row["unit"] for row in self.rows()], [f"{UNIT}-2.service"])

    def test_loop_of_a_user(self):
        """CPUs are active because of it for a time, and then no longer."""
        self.start()
        self.wait_parked()
        self.guest.run("cp /root/loop.sh /run; systemd-run -q --uid=user --unit=t-loop sh /run/loop.sh")
        self.addCleanup(self.guest.run, "systemctl stop t-loop; rm /run/loop.sh")
        self.wait_for("CPU 3", lambda: self.string("Parked") == "2")
        self.assertEqual([(row["unit"], row["user"]) for row in self.rows()], [(None, 1000)])
        self.guest.run("sleep 200", timeout=600)
        self.wait_parked()
        self.guest.run("sleep 20")
        self.assertEqual(self.string("Parked"), "2-3")
        self.assertEqual(self.rows(), [])
        self.assertEqual(self.guest.read("systemctl is-active t-loop"), "active")

    def test_without_bpf(self):
        self.guest.run("mkdir -p /run/systemd/system/idled.service.d; printf '[Service]\\n"
                       "SystemCallFilter=~bpf\\n' >/run/systemd/system/idled.service.d/bpf.conf; "
                       "systemctl daemon-reload")
        self.addCleanup(self.guest.run, "rm /run/systemd/system/idled.service.d/bpf.conf; "
                        "systemctl daemon-reload")
        self.start()
        self.run_pinned()
        self.assertEqual(self.pin(), "1")
        self.assertEqual(self.string("Parked"), "2-3")
        self.assertRegex(self.guest.read("idlectl doctor || true"), "affinit[^.]*unseen")
        self.show_memory("parked without the program")

    def test_only_while_parked(self):
        """Neither program nor memory stays when idled rests."""
        programs = "ls -l /proc/$(pidof idled)/fd | grep -c bpf-prog || true"
        self.start()
        self.wait_parked()
        self.assertEqual(self.guest.read(programs), "1")
        self.show_memory("with the program")
        self.guest.run("idlectl pause")
        self.wait_for("no program", lambda: self.guest.read(programs) == "0")
        self.show_memory("after it")
        self.guest.run("idlectl resume")
        self.wait_for("the program", lambda: self.guest.read(programs) == "1")
