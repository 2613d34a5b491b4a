# SPDX-License-Identifier: LGPL-2.1-or-later
"""How often an idle machine wakes up: with CPUs parked hardly more often than without idled."""

from statistics import mean

import lab
from kernel import CPU

# The same guest differs by two a second from one interval to the next, and by two from one start of a
# process to another, whose timers then coincide with more of the others. So there are several of each.
ROUNDS = 3
SECONDS = 120
# Until idled calls the machine quiet, and some time for the tick that does.
SETTLE = 45
# And before that, for the trial of the evaluator that the load of idled's start may cause.
SETTLE_TRIAL = 90

# A process that wakes up as often as idled does then, and does nothing.
WAKING = "exec 9<> <(:); while :; do read -rt 2.5 <&9; done"

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
    dropins = ("fork-events",)
    long = True
    counted = "on a busy host no guest is quiet"

    def per_second(self, settle=SETTLE, seconds=SECONDS):
        return int(self.guest.read(f"bash -s {settle} {seconds} <<'END'\n{COUNT}END", timeout=600)) / seconds

    def parked_by_userspace(self):
        """idled has parked CPUs and has nothing to decide, so that it does not wake up."""
        self.configure("[Daemon]\nPolicies=userspace\n[Park]\nBackend=partition\n")
        self.start()
        self.park("2-3")
        found = self.per_second()
        self.guest.run("systemctl stop idled; rm -r /etc/idled")
        return found

    def parked_as_shipped(self):
        """The default configuration. Also as long as a PSI trigger polls, at 20 a second."""
        self.start()
        self.wait_for("parking", lambda: self.string("Parked") == "2-3")
        soon = self.per_second(2, 20)
        found = self.per_second(SETTLE_TRIAL)
        self.assertEqual(self.string("Parked"), "2-3")
        print(self.guest.read("idlectl status | grep -E '^(Benefit|Transitions)'"))
        self.guest.run("systemctl stop idled; rm -rf /var/lib/idled")
        return found, soon

    def with_a_process(self):
        self.guest.run(f"systemd-run -q --unit=waking bash -c '{WAKING}'")
        found = self.per_second()
        self.guest.run("systemctl stop waking")
        return found

    def test_parked_by_a_partition(self):
        alone, userspace, parked, soon, process = [], [], [], [], []
        for _ in range(ROUNDS):
            alone.append(self.per_second())
            userspace.append(self.parked_by_userspace())
            for values, value in zip((parked, soon), self.parked_as_shipped()):
                values.append(value)
            process.append(self.with_a_process())
        for what, values in (("without idled", alone), ("parked by userspace", userspace),
                             ("parked as shipped", parked), ("that in the first half minute", soon),
                             ("without idled, a process that wakes each 2.5 s", process)):
            print(f"{what}: {mean(values):.1f} wake-ups a second ({', '.join(f'{v:.1f}' for v in values)})")
        # Parking itself causes no work. What is left is that a process wakes up now and then, which costs
        # more than its own wake-up (idled(8), WAKE-UPS).
        self.assertLess(mean(userspace), mean(alone) + 2)
        self.assertLess(mean(parked), mean(process) + 2)
        self.assertLess(mean(parked), mean(alone) + 4)
        self.assertLess(mean(soon), mean(alone) + 45)

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
