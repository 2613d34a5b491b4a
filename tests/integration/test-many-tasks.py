#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idled finds pinned tasks among thousands of threads, and answers clients meanwhile."""

from idledtest import TestCase, main, wait_until

STATUS = ('Name:\t%s\nVmSize:\t1 kB\nThreads:\t1\nCpus_allowed_list:\t%s\n'
          'Mems_allowed_list:\t0\n')
TASKS = 3000


class ManyTasks(TestCase):
    def setUp(self):
        super().setUp()
        for pid in range(1000, 1000 + TASKS):
            self.put('proc/%d/status' % pid, STATUS % ('usual', '0-7'))

    def test_found_in_the_end(self):
        self.put('proc/%d/status' % (1000 + TASKS), STATUS % ('pinned', '7'))
        self.start('--dry-run', mask='6-7')
        self.assertEqual(self.get('IdleMask'), '', 'nothing is parked before all are seen')
        wait_until(lambda: self.get('IdleMask') == '6', 'the plan without the CPU of the task')
        self.assertIn('affinity', self.call('Explain')[7]['text'])

    def test_mind_changed_meanwhile(self):
        self.start('--dry-run')
        for cpus in ('6-7', '', '5', '4-6'):
            self.set_idle_mask(cpus)
        wait_until(lambda: self.get('IdleMask') == '4-6', 'the last mask')
        self.set_idle_mask('')
        self.assertEqual(self.get('IdleMask'), '')

    def test_ends_meanwhile(self):
        self.start('--dry-run', mask='6-7')
        self.daemon.stop()
        self.assertEqual(self.daemon.process.returncode, 0)


main()
