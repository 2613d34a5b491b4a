#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What wakes parked CPUs, from the policy quiet to the files of a tree and back, and an irqbalance."""
import os
import shutil
import subprocess
import unittest

from idledtest import TestCase, main, needs_root, wait_until

FILES = {
    'proc/irq/default_smp_affinity': 'ff',
    'proc/irq/8/smp_affinity_list': '0-7',
    'proc/irq/24/smp_affinity_list': '4-5',
    'proc/irq/25/smp_affinity_list': '0-7',
    'sys/kernel/irq/8/actions': 'rtc0',
    'sys/kernel/irq/24/actions': 'eth0',
    'sys/kernel/irq/25/actions': '',
    'proc/sys/vm/stat_interval': '1',
    'proc/sys/vm/dirty_writeback_centisecs': '500',
    'sys/devices/system/machinecheck/machinecheck0/check_interval': '300',
    'sys/devices/virtual/workqueue/cpumask': 'ff',
}
QUIET = dict(FILES, **{
    'proc/irq/default_smp_affinity': 'cf',
    'proc/irq/8/smp_affinity_list': '0-3,6-7',
    'proc/irq/24/smp_affinity_list': '0-3,6-7',
    'proc/sys/vm/stat_interval': '60',
    'proc/sys/vm/dirty_writeback_centisecs': '1500',
    'sys/devices/system/machinecheck/machinecheck0/check_interval': '1800',
    'sys/devices/virtual/workqueue/cpumask': 'cf',
})


class QuietTest(TestCase):
    CONFIG = '[Daemon]\nPolicies=userspace quiet\n'

    def setUp(self):
        super().setUp()
        for name, text in FILES.items():
            self.put(name, text + '\n')

    def values(self):
        return {name: self.read(name) for name in FILES}


class Quiet(QuietTest):
    def test_parked_and_active_again(self):
        self.start()
        self.assertEqual(self.values(), FILES)
        self.set_idle_mask('4-5')
        self.assertEqual(self.values(), QUIET)
        self.assertEqual(self.degraded(), [])
        kinds = {str(row[0]) for row in self.get('Knobs')}
        self.assertLessEqual({'irq', 'irq-default', 'sysctl', 'machinecheck', 'workqueue'}, kinds)
        self.set_idle_mask('')
        self.assertEqual(self.values(), FILES)
        self.assertEqual(len(self.get('Knobs')), 0)

    def test_each_part_is_an_option(self):
        self.start(mask='4-5')
        for key, off, part in (('Interrupts', 'no', 'irq/'), ('Workqueues', 'no', 'workqueue'),
                               ('StatInterval', '0', 'stat_interval'),
                               ('WritebackInterval', '0', 'dirty_writeback'),
                               ('MachineCheckInterval', '0', 'check_interval')):
            with self.subTest(key):
                self.set_option('quiet', key, off)
                self.assertEqual(self.values(), {name: (FILES if part in name else QUIET)[name]
                                                 for name in FILES})
                self.set_option('quiet', key, 'yes' if off == 'no' else
                          {'S': '1min', 'W': '15s', 'M': '30min'}[key[0]])
                self.assertEqual(self.values(), QUIET)

    def test_why(self):
        self.start(mask='4-5')
        parked, active = (self.idlectl('why', cpu).stdout for cpu in ('4', '0'))
        for text in 'interrupts are kept off', 'workqueues', 'statistics', 'writeback', 'machine checks':
            self.assertIn(text, parked)
            self.assertNotIn(text, active)

    def test_missing_parts_are_reported_once(self):
        shutil.rmtree(os.path.join(self.root, 'proc/irq'))
        shutil.rmtree(os.path.join(self.root, 'sys/devices/system/machinecheck'))
        self.start(mask='4-5')
        self.set_idle_mask('')
        self.assertEqual(self.daemon.count_log('irq: not available here'), 1)
        self.assertEqual(self.daemon.count_log('does not have: machine checks'), 1)
        self.assertIn('irq', [str(what) for what, why in self.get('Missing')])
        self.assertEqual(self.degraded(), [])


@needs_root
@unittest.skipUnless(shutil.which('irqbalance'), 'there is no irqbalance')
class Irqbalance(QuietTest):
    """The real one, in a mount namespace where interrupts are those of the tree. It looks at them each
    second."""

    SCRIPT = '''mount --make-rprivate / && mount --bind {root}/proc/irq /proc/irq &&
mount -t tmpfs none /run && mkdir /run/irqbalance && mount --bind {root}/run/irqbalance /run/irqbalance &&
exec irqbalance --foreground --interval=1'''

    def begin(self):
        directory = os.path.join(self.root, 'run/irqbalance')
        os.makedirs(directory, exist_ok=True)
        process = self.popen(['unshare', '-m', 'sh', '-c', self.SCRIPT.format(root=self.root)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: process.poll() is not None or os.listdir(directory), 'the socket of irqbalance')
        if process.poll() is not None:
            self.skipTest('irqbalance does not run here')
        os.makedirs(os.path.join(self.root, 'proc/%d' % process.pid))
        return process

    def knobs(self):
        return {str(row[0]) for row in self.get('Knobs')}

    def test_starts_later_and_ends(self):
        self.start(mask='1')
        self.assertIn('irq', self.knobs())
        process = self.begin()
        self.set_idle_mask('1,4')
        self.assertNotIn('irq', self.knobs())
        process.kill()
        process.wait()
        os.rmdir(os.path.join(self.root, 'proc/%d' % process.pid))
        self.set_idle_mask('1')
        self.assertIn('irq', self.knobs())
        self.assertEqual(self.degraded(), [])


main()
