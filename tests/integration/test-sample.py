#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sample(): totals that add up and never shrink, and no more of energy than any user may know."""
import re
import time
import unittest
from pathlib import Path

from idledtest import TestCase, main

CPU = 'sys/devices/system/cpu/'


class Sample(TestCase):
    CONFIG = '[Daemon]\nPolicies=userspace\n[Park]\nBackend=none\n'

    def sample(self):
        return self.call('Sample')

    def path(self, name):
        return Path(self.root, name)

    def add(self, name, number):
        path = self.path(name)
        path.write_text('%d\n' % (int(path.read_text()) + number))

    def pass_time(self, cpu, busy_usec, idle_usec):
        """Adds to the times of a CPU in /proc/stat."""
        def line(match):
            fields = match[0].split()
            fields[1] = str(int(fields[1]) + busy_usec // 10000)
            fields[4] = str(int(fields[4]) + idle_usec // 10000)
            return ' '.join(fields)
        stat = self.path('proc/stat')
        stat.write_text(re.sub(r'^cpu%d .*$' % cpu, line, stat.read_text(), flags=re.MULTILINE))

    def totals(self, sample, cpu):
        """(busy, {state: time}) in microseconds."""
        busy = {int(row[0]): int(row[1]) for row in sample['Cpus']}
        return busy[cpu], {str(row[1]): int(row[2]) for row in sample['IdleStates']
                           if int(row[0]) == cpu}

    def test_times(self):
        """What a CPU does between two samples is in the second, and the rows of a CPU add up to the
        time that passed: the shares of a reading are of that."""
        self.start()
        time.sleep(0.15)  # a reading is given again for 100 ms
        began = time.monotonic()
        first = self.sample()
        read = time.monotonic()
        time.sleep(0.3)
        idle = int((time.monotonic() - read) * 200) * 10000 // 3
        self.pass_time(0, idle // 2, idle)
        self.add(CPU + 'cpu0/cpuidle/state2/usage', 7)
        self.add(CPU + 'cpu0/cpuidle/state2/time', idle)
        least = time.monotonic() - read
        second = self.sample()
        # On a busy machine each call takes its time: the daemon's interval lies between these.
        least, most = least * 1e6 - 20000, (time.monotonic() - began) * 1e6 + 20000
        (busy, states), (busy2, states2) = self.totals(first, 0), self.totals(second, 0)
        self.assertTrue(least - idle <= busy2 - busy <= most - idle, (least, busy2 - busy, most))
        slept = sum(states2.values()) - sum(states.values())
        self.assertTrue(least <= slept + busy2 - busy <= most, (least, slept, busy2 - busy, most))
        entered = {(int(r[0]), str(r[1])): int(r[3]) for r in second['IdleStates']}
        self.assertEqual(entered[0, 'C6'], 7)
        self.assertEqual(entered[1, 'C6'], 0)
        for cpu in range(8):
            for name, usec in self.totals(first, cpu)[1].items():
                self.assertGreaterEqual(self.totals(second, cpu)[1][name], usec)

    def test_energy(self):
        """Whole joules, of readings at least a second apart."""
        zones = {p.resolve() for p in self.path('sys').glob('**/intel-rapl:0/energy_uj')}
        self.start()
        time.sleep(1.1)
        self.sample()
        for zone in zones:
            self.add(zone, 3600000)
        self.assertEqual({int(row[2]) for row in self.sample()['Energy']}, {0})
        time.sleep(1.1)
        energy = {str(row[0]): (str(row[1]), int(row[2])) for row in self.sample()['Energy']}
        self.assertEqual(energy['package-0'], ('', 3))

    def test_limits_and_causes(self):
        self.start('--dry-run')
        self.assertEqual((list(self.sample()['Limits']), list(self.sample()['DisabledStates'])),
                         ([], []))
        self.set_idle_mask('4-7')
        self.set_idle_mask('')
        self.assertEqual([(str(a or c), int(b)) for c, a, b in self.sample()['Transitions']],
                         [('userspace', 2)])


if __name__ == '__main__':
    unittest.TestCase.maxDiff = None
    main()
