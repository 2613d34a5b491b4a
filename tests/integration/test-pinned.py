#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""No task loses the last CPU of its affinity, however soon the mask changes after it chose that. idled
notices cgroups that come or go while CPUs are parked. On the running kernel's cpuset, in groups that
the test makes; each test checks the kernel's values."""
import os

from cpuset import OwnGroup, main_on_cpusets, make_cpuset
from idledtest import TestCase, wait_until

GROUP = 'idled-pinned-%d' % os.getpid()


class Pinned(OwnGroup, TestCase):
    def setUp(self):
        super().setUp()
        self.make_group(GROUP)
        self.start()
        self.park()
        self.set_idle_mask('')
        self.task = self.popen(['sleep', 'infinity'])
        (self.group / 'cgroup.procs').write_text(str(self.task.pid))

    def pin(self, cpu):
        os.sched_setaffinity(self.task.pid, {cpu})

    def assert_keeps(self, cpu):
        self.assertEqual(os.sched_getaffinity(self.task.pid), {cpu})
        self.assertEqual(self.knob(), self.before)
        self.assertIn('affinity', self.call('Explain')[cpu]['text'])

    def test_pinned_to_what_is_left(self):
        """Its affinity looks like the confinement, until that goes elsewhere."""
        self.pin(0)
        self.set_idle_mask('1')
        self.assertEqual(self.knob(), '0')
        self.set_idle_mask('0')
        self.assert_keeps(0)

    def test_pinned_while_confined(self):
        self.set_idle_mask('1')
        self.pin(0)
        self.set_idle_mask('0')
        self.assert_keeps(0)

    def test_mask_goes_elsewhere(self):
        """Without a pinned task it does."""
        self.park(1)
        self.park(0)
        self.assertEqual(self.knob(), '1')

    def test_pinned_after_the_last_reading(self):
        self.set_idle_mask('1')
        self.set_idle_mask('')
        self.pin(1)
        self.set_idle_mask('1')
        self.assert_keeps(1)


class Groups(OwnGroup, TestCase):
    """With a policy that never ticks."""

    def setUp(self):
        super().setUp()
        self.make_group(GROUP)
        text = (self.conf / 'idled.conf').read_text()
        (self.conf / 'idled.conf').write_text(text.replace(GROUP, GROUP + '*'))
        self.start()
        self.park()

    def make(self, name):
        return make_cpuset(self.group.parent / name)

    def test_newcomer(self):
        group = self.make(GROUP + '-new')
        try:
            self.wait_knob('0', group)
            self.set_idle_mask('')
            self.wait_knob(self.before, group)
        finally:
            group.rmdir()

    def test_a_name_that_comes_back(self):
        """A knob that was taken over goes with its group: idled manages the next group of that name."""
        group = self.make(GROUP + '-again')
        try:
            self.wait_knob('0', group)
            (group / 'cpuset.cpus').write_text('1')
            self.assertEqual(len(self.call('Verify')), 1)
            group.rmdir()
            self.make(group.name)
            self.wait_knob('0', group)
            self.assertEqual(self.call('Verify'), [])
            self.assertEqual(self.get('Degraded'), [])
        finally:
            group.rmdir()

    def test_a_foreign_group_that_goes(self):
        group = self.make(GROUP + '-gone')
        self.wait_knob('0', group)
        (group / 'cpuset.cpus').write_text('1')
        self.assertEqual(len(self.call('Verify')), 1)
        group.rmdir()
        wait_until(lambda: not self.get('Degraded'), 'nothing to be degraded')
        self.assertEqual(self.call('Verify'), [])


if __name__ == '__main__':
    main_on_cpusets()
