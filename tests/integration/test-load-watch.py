#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The load watch while a CPU is parked and the kernel refuses the PSI trigger: fork events, or where
these are not available either, the period. On the running kernel's cpuset, in a group that the test
makes; MaxCores=1 parks CPUs under any load of this machine."""
import os
import time

from cpuset import OwnGroup, main_on_cpusets
from idledtest import TestCase, wait_until

PERIOD = 0.25  # of ondemand
REFUSED = ('setpriv', '--bounding-set=-sys_resource', '--inh-caps=-sys_resource')


class LoadWatch(OwnGroup, TestCase):
    PREFIX = REFUSED
    POLICY = 'ondemand'

    def setUp(self):
        super().setUp()
        self.make_group('idled-watch-%d' % os.getpid())
        (self.conf / 'policies').mkdir()
        (self.conf / 'policies/ondemand.conf').write_text('[Policy]\nMaxCores=1\nDwell=0\n')
        self.start()
        self.wait_parked()

    def wait_parked(self):
        """Or skips the test where tasks that others have bound to CPUs forbid it for so long."""
        try:
            wait_until(lambda: self.knob() != self.before, 'a CPU to be parked')
        except AssertionError:
            rows = self.call('Explain')
            if not any(row['cause'] == 'safety' for row in rows):
                raise
            self.skipTest('this machine keeps all CPUs: ' + rows[-1]['text'])

    def missing(self):
        return [str(what) for what, _ in self.get('Missing')]

    def ticks(self):
        return int(self.get('Ticks'))

    def assert_ends_well(self):
        self.assertEqual(self.daemon.terminate(), 0)
        self.assertEqual(self.knob(), self.before)


def fork():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return True


class NewTasks(LoadWatch):
    def setUp(self):
        super().setUp()
        self.daemon.wait_log('PSI trigger.*: using fork events')
        if 'fork events' in self.missing():
            self.skipTest('this kernel has no fork events')

    def test_bring_a_tick_forward(self):
        mine = 'Process %d started a task' % os.getpid()
        wait_until(lambda: fork() and self.daemon.count_log(mine), 'an event of a fork')
        self.assertEqual(self.daemon.count_log('PSI trigger.*: using fork events'), 1)
        self.assert_ends_well()

    def test_storm(self):
        """Thousands of forks cause no more ticks than the period does."""
        ticks, start = self.ticks(), time.monotonic()
        wait_until(lambda: [fork() for _ in range(50)] and self.ticks() >= ticks + 8, 'ticks')
        took = time.monotonic() - start
        self.assertLessEqual(self.ticks() - ticks, (time.monotonic() - start) / PERIOD + 2)
        self.assertGreater(took, 6 * PERIOD)
        self.assert_ends_well()


class NoForkEvents(LoadWatch):
    """In a network namespace of its own the daemon has no connector."""
    PREFIX = REFUSED + ('unshare', '--net')

    def test_ticks_do_not_stretch(self):
        self.daemon.wait_log('Fork events are not available either')
        self.assertEqual(self.missing().count('fork events'), 1)
        self.assertIn('pressure trigger', self.missing())
        ticks = self.ticks()
        wait_until(lambda: self.ticks() >= ticks + 20, 'ticks at the period')
        self.assertEqual(self.daemon.count_log('Fork events are not available'), 1)
        self.assert_ends_well()


if __name__ == '__main__':
    main_on_cpusets()
