# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ten minutes under load: bursts of work, CPUs that come and go, holds, contracts, profiles and reloads. After each
minute all of it ends and idled pauses: then its memory, its descriptors and its files of state are what they were
before. Its record of original values is short at all times, and never longer in the second half, but for some lines.
$SOAK is how many minutes."""

import os
import re

import lab

MINUTES = int(os.environ.get("SOAK", "10"))
CONFIG = "[Daemon]\nPolicies=userspace contract ondemand cstates latency quiet\n[Park]\nBackend=partition\n"
RULE = "[Match]\nUnit=t-soak.service\n[Ask]\nWakeupP99=20ms\n"

# Runs for a minute; what it started ends with it.
CHURN = """
n=0 most=0
while [ $SECONDS -lt 60 ]; do
        n=$((n + 1))
        timeout $((n % 3 + 1)) sh -c 'while :; do :; done' &
        [ $((n % 2)) = 0 ] || timeout 2 sh -c 'while :; do :; done' &
        timeout 5 idlectl run --latency 50us --cores $((n % 4 + 1)) -- sleep 1 &
        idlectl set userspace IdleMask=$((n % 3 + 1)) || echo "set: $?"
        [ $((n % 4)) != 0 ] || idlectl reload || echo "reload: $?"
        [ $((n % 3)) != 0 ] || idlectl profile $([ $((n % 2)) = 0 ] && echo power-saver || echo balanced) || echo "profile: $?"
        [ $((n % 5)) != 0 ] || echo 0 >/sys/devices/system/cpu/cpu3/online
        idlectl why >/dev/null || echo "why: $?"
        size=$(stat -c %s /run/idled/undo 2>/dev/null)
        [ "${size:-0}" -le $most ] || most=$size
        sleep 1
        echo 1 >/sys/devices/system/cpu/cpu3/online
done
wait
idlectl set userspace IdleMask=
echo "$n turns, record at most $most bytes"
"""

# kB of memory of its own, descriptors, bytes of the record, files of state.
MEASURE = """
pid=$(systemctl show -P MainPID idled)
sed -n 's/^RssAnon:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/$pid/status
ls /proc/$pid/fd | wc -l
stat -c %s /run/idled/undo 2>/dev/null || echo 0
find /var/lib/idled -type f | wc -l
"""

# From the second minute to the last, but the record's: its longest, from the first half to the second. A pause leaves
# lines in it that are over, until there are 256 too many. Files of idle states stay open once they were written.
GROWTH = (1024, 16, 4096, 1)
RECORD = 32768


class Soak(lab.IdledTest):
    long = True

    def measure(self):
        self.guest.run("idlectl pause")
        self.wait_for("a pause", lambda: self.string("Parked") == "")
        figures = [int(word) for word in self.guest.read(MEASURE).split()]
        self.guest.run("idlectl resume")
        return figures

    def test_minutes(self):
        self.write("/root/churn", CHURN)
        self.configure(CONFIG, {"cstates": "UtilizationAware=yes\n"})
        self.write("/etc/idled/apps/test.conf", RULE)
        before = self.dump()
        self.start()
        pid, seen, records = self.guest.read("systemctl show -P MainPID idled"), [], []
        for minute in range(MINUTES):
            output = self.guest.run("systemd-run -q --wait --pipe --unit=t-soak bash /root/churn", timeout=1800).output
            seen.append(self.measure())
            records.append(int(re.search(r"record at most (\d+)", output)[1]))
            print(f"minute {minute + 1}: {output.splitlines()[-1]}; {seen[-1][0]} kB, {seen[-1][1]} descriptors, "
                  f"record {seen[-1][2]} bytes, {seen[-1][3]} files of state", flush=True)
            self.assertNotRegex(output, r"(set|reload|profile|why): ")
            self.assertTrue(0 < records[-1] <= RECORD, records)
            self.assertGreater(seen[-1][3], 0, "no file of state")
        self.assertEqual(self.guest.read("systemctl show -P MainPID idled"), pid)
        first, last = seen[min(1, MINUTES - 1)], seen[-1]
        first[2], last[2] = max(records[:(MINUTES + 1) // 2]), max(records[MINUTES // 2:])
        for figure, (early, late, growth) in enumerate(zip(first, last, GROWTH)):
            self.assertLessEqual(late, early + growth, f"figure {figure} of {seen}")
        self.assert_restored(before)
