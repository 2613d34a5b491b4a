# SPDX-License-Identifier: LGPL-2.1-or-later
"""idled-metrics.socket as systemd serves it: one process for each scrape, of a user of its own."""

import re

import lab

CONNECT = "exec 3<>/dev/tcp/127.0.0.1/10980"
SCRAPE = f"bash -c '{CONNECT}; printf \"GET /metrics HTTP/1.1\\r\\n\\r\\n\" >&3; cat <&3'"
RUNNING = "systemctl list-units --plain --no-legend 'idled-metrics@*' | grep -c running"


class Metrics(lab.IdledTest):
    def setUp(self):
        super().setUp()
        self.guest.run("systemd-sysusers idled-metrics.conf; systemctl start idled-metrics.socket")
        self.addCleanup(self.guest.run, "systemctl stop idled-metrics.socket; "
                                        "systemctl stop 'idled-metrics@*'")

    def scrape(self):
        """The body, with the head checked."""
        answer = self.guest.read(SCRAPE).replace("\r", "")
        head, _, body = answer.partition("\n\n")
        self.assertRegex(head, r"\AHTTP/1.1 200 OK\n")
        return body

    def running(self):
        return int(self.guest.run(RUNNING, check=False).output)

    def processes(self):
        """The user and the capabilities of each scrape. A unit runs before its process is idlectl."""
        return self.guest.run("for pid in $(pgrep -x idlectl); do awk '/^Uid:/ { user = $3 } "
                              "/^CapEff:/ { print user, $2 }' /proc/$pid/status; done 2>/dev/null",
                              check=False).output.splitlines()

    def wait_for_end(self):
        self.wait_for("the end of all scrapes", lambda: self.running() == 0)
        self.assertEqual(self.guest.run("systemctl list-units --failed --plain --no-legend "
                                        "'idled-metrics*'", check=False).output, "")

    def test_scrape(self):
        """What idled says arrives, whether it runs or not; asking does not start it."""
        self.assertEqual(re.findall(r"^idled_\S+ \S+", self.scrape(), re.MULTILINE), ["idled_up 0"])
        self.assertNotEqual(self.guest.run("systemctl is-active idled", check=False).status, 0)
        self.start()
        self.park("2-3")
        body = self.scrape()
        for line in ("idled_up 1", 'idled_cpu_parked{cpu="0"} 0', 'idled_cpu_parked{cpu="3"} 1'):
            self.assertIn(line + "\n", body + "\n")
        for pattern in (r'idled_energy_joules_total\{zone="package-0"\} \d+$',
                        r'idled_energy_source_info\{zone="package-0",source="rapl"\} 1$',
                        r'idled_cpu_idle_seconds_total\{cpu="3",state="\w+"\} [\d.]+$',
                        r'idled_transitions_total\{cause="userspace"\} 1$'):
            self.assertRegex(body, "(?m)^" + pattern)
        self.wait_for_end()

    def test_processes(self):
        """Unprivileged, limited in number, gone after the time that a client has."""
        self.start()
        self.guest.run(f"for i in $(seq 20); do bash -c '{CONNECT}; cat <&3' >/dev/null 2>&1 & done")
        processes = self.wait_for("scrapes", self.processes)
        self.assertLessEqual(len(processes), 16)
        user = self.guest.read("id -u idled-metrics")
        self.assertEqual({row for row in processes}, {f"{user} {'0' * 16}"})
        self.assertLessEqual(self.running(), 16)
        self.wait_for_end()
        self.assertIn("idled_up 1", self.scrape())
