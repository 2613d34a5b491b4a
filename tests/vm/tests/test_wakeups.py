# SPDX-License-Identifier: LGPL-2.1-or-later
"""How often an idle machine wakes up: with CPUs parked hardly more often than without idled."""

import unittest

import lab
from kernel import CPU

# The same guest differs by two a second from minute to minute.
SECONDS = 300
# Until idled calls the machine quiet, and some time for the tick that does.
SETTLE = 45

# Idle states entered on all CPUs, $2 s long, $1 s from now. Nothing is forked because that would wake idled.
COUNT = f"""exec 9<> <(:)
pause() {{ read -rt $1 <&9; }}
entered() {{
        local file number
        read -r _ </proc/sys/vm/stat_refresh  # wakes all CPUs, so that they count their last sleep
        count=0
        for file in {CPU}/cpu[0-3]/cpuidle/state*/usage; do
                read -r number <$file
                ((count += number))
        done
}}
pause $1
entered
before=$count
pause $2
entered
echo $((count - before))
"""

# How often idled's process woke up.
LONG = 600
SWITCHES = f"""exec 9<> <(:)
pid=$(systemctl show -P MainPID idled)
pause() {{ read -rt $1 <&9; }}
switches() {{
        while read -r key value; do
                [ "$key" = voluntary_ctxt_switches: ] && count=$value
        done </proc/$pid/status
}}
pause {SETTLE}
switches
before=$count
pause {LONG}
switches
echo $((count - before))
"""


class Wakeups(lab.IdledTest):
    long = True

    @classmethod
    def setUpClass(cls):
        if lab.settings.icount is None:
            raise unittest.SkipTest("on a busy host no guest is quiet, but with --icount")
        super().setUpClass()

    def per_second(self, settle=SETTLE, seconds=SECONDS):
        return int(self.guest.read(f"bash -s {settle} {seconds} <<'END'\n{COUNT}END", timeout=600)) / seconds

    def test_parked_by_a_partition(self):
        alone = self.per_second()
        self.configure("[Daemon]\nPolicies=ondemand\n[Park]\nBackend=partition\n",
                       {"ondemand": "Dwell=1s\nMaxCores=1\n"})
        self.start()
        self.wait_for("parking", lambda: self.string("Parked") == "2-3")
        soon = self.per_second(2, 20)
        parked = self.per_second()
        print(f"{alone:.1f} wake-ups a second without idled, {parked:.1f} while it parks CPUs 2-3, {soon:.1f} "
              "in the first half minute")
        self.assertEqual(self.string("Parked"), "2-3")
        self.assertLess(parked, alone + 2)
        # Until the machine has been quiet for half a minute there is a PSI trigger, which polls at 20 a second.
        self.assertLess(soon, alone + 30)

    def switches_per_second(self, options):
        self.configure(f"[Daemon]\nPolicies=ondemand\n[Park]\nBackend=partition\n{options}",
                       {"ondemand": "Dwell=1s\nMaxCores=1\n"})
        self.start()
        self.wait_for("parking", lambda: self.string("Parked") == "2-3")
        found = int(self.guest.read(f"bash <<'END'\n{SWITCHES}END", timeout=2000)) / LONG
        self.guest.run("systemctl stop idled")
        return found

    def test_windows_cost_nothing(self):
        """The windows for programs that start and for input to terminals wake an idle idled hardly more often."""
        without = self.switches_per_second("StartWindow=0\nTerminalWindow=0\n")
        found = self.switches_per_second("")
        print(f"idled wakes up {found:.3f} times a second, {without:.3f} without windows")
        self.assertLess(found, without + 0.05)
