#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The example of idled-policy(7) does what its comments say; and when policies are called."""
import os
import re
import shlex
import shutil
import struct
import subprocess
import time
from pathlib import Path

from idledtest import NAME, PATH, TestCase, main, wait_until

PERIOD = 'wish->period_usec = 10000000;'
DAY = 86400


def write_zone(path, offset):
    """A compiled time zone, tzfile(5), without transitions: local time is UTC + offset seconds."""
    with open(path, 'wb') as file:
        file.write(struct.pack('>4sc15x6L', b'TZif', b'\0', 0, 0, 0, 0, 1, 4) +
                   struct.pack('>lBB4s', offset, 0, 0, b'TST\0'))


class Example(TestCase):
    CONFIG = '[Daemon]\nPolicies=halfsies\n'

    def build(self, change=lambda code: code):
        """Compiles the example, changed, and has the daemon load it."""
        source = os.environ['IDLED_SOURCE']
        with open(os.path.join(source, 'man/idled-policy.7.scd'), encoding='utf-8') as page:
            code = change(re.search(r'^```\n(#include.*?)^```', page.read(), re.M | re.S)[1])
        self.policies = os.path.join(self.directory, 'policies')
        os.mkdir(self.policies, 0o755)
        file = os.path.join(self.directory, 'halfsies.c')
        with open(file, 'w', encoding='utf-8') as example:
            example.write(code)
        subprocess.run([*shlex.split(os.environ.get('CC', 'cc')), '-Wall', '-Wextra', '-Werror',
                        '-shared', '-fPIC', '-I', os.path.join(source, 'policies'), '-I',
                        os.path.join(source, 'lib'), '-o',
                        os.path.join(self.policies, 'halfsies.so'), file], check=True)

    def arguments(self):
        arguments = super().arguments()
        arguments[arguments.index('--policy-dir') + 1] = self.policies
        return arguments

    def start_changed(self, *changes):
        def change(code):
            for old, new in changes:
                self.assertIn(old, code)
                code = code.replace(old, new)
            return code
        self.build(change)
        self.start('--dry-run')

    def wait_ticks(self, count):
        ticks = self.get('Ticks')
        wait_until(lambda: self.get('Ticks') >= ticks + count, '%d ticks' % count)

    def set_battery(self, status):
        for file in Path(self.root, 'sys/class/power_supply').glob('*/status'):
            self.put(file, status + '\n')

    def test_parks_on_battery(self):
        self.start_changed()
        self.assertEqual(self.get('IdleMask'), '4-7')
        self.assertIn('battery', self.call('Explain')[7]['text'])
        self.assertEqual(self.get('PeriodUSec'), 10000000)

    def test_wakes_again(self):
        """With a shorter period, for the sake of the test, which must not stretch."""
        self.start_changed((PERIOD, 'wish->period_usec = 60000;'))
        self.wait_ticks(6)
        self.assertEqual(self.get('PeriodUSec'), 60000)
        self.set_battery('Full')
        wait_until(lambda: self.get('IdleMask') == '', 'the plan without a battery')

    def test_settled_period_stretches(self):
        self.start_changed((PERIOD, 'wish->period_usec = 60000;'),
                           ('wish->settled = false;', 'wish->settled = true;'))
        wait_until(lambda: self.get('PeriodUSec') >= 240000, 'a longer period')

    def test_exact_time(self):
        """However the period stretches: the time that was asked for is kept."""
        self.start_changed(
            (PERIOD, 'wish->wake_at_usec = input->snapshot->time_usec + 300000;'
                     'wish->period_usec = 200000;'),
            ('wish->settled = false;', 'wish->settled = true;'))
        self.wait_ticks(5)
        self.assertLessEqual(self.get('PeriodUSec'), 300000)
        self.assertGreater(self.get('PeriodUSec'), 200000)

    def test_max_cores(self):
        """The daemon chooses which cores: whole ones, and of those that are offered."""
        self.start_changed(('for (int cpu = input->topology->n_cpus / 2; '
                            'cpu < input->topology->n_cpus; cpu++)\n'
                            '\t\tcpuset_remove(&wish->allowed, cpu);', 'wish->max_cores = 2;'))
        self.assertEqual(self.get('WantedCores'), 2)
        self.assertEqual(self.get('Allowed', PATH + '/policy/halfsies', NAME + '.Policy'), '4-5')
        self.assertEqual(self.get('IdleMask'), '0-3,6-7')
        self.assertIn('battery', self.call('Explain')[0]['text'])

    def test_max_cores_of_what_is_left(self):
        self.start_changed(('for (int cpu = input->topology->n_cpus / 2; '
                            'cpu < input->topology->n_cpus; cpu++)\n'
                            '\t\tcpuset_remove(&wish->allowed, cpu);',
                            'cpuset_remove(&wish->allowed, 4); wish->max_cores = 3;'))
        self.assertEqual(self.get('WantedCores'), 3)
        self.assertIn('4', self.get('IdleMask'))

    def start_at(self, offset):
        """With a policy that parks CPUs within 10 minutes of the time of day in that zone."""
        now = (int(time.time()) + offset) % DAY
        self.start_changed((PERIOD, ''), ('if (!input->snapshot->on_battery)',
                            'int off = snapshot_time_of_day(input->snapshot) - %d;'
                            'if ((off + %d) %% %d > 1200)' % (now, DAY + 600, DAY)))

    def test_time_of_day(self):
        """It is local time."""
        for zone, offset, mask in (('EAST-5:30', 19800, '4-7'), ('WEST8', -28800, '4-7'),
                                   ('UTC', 0, '4-7'), ('EAST-5:30', 0, ''), ('UTC', -28800, '')):
            with self.subTest(zone=zone, offset=offset):
                self.PREFIX = ('env', 'TZ=' + zone)
                self.start_at(offset)
                self.assertEqual(self.get('IdleMask'), mask)
                self.daemon.stop()
                shutil.rmtree(self.policies)

    def test_time_zone_is_set(self):
        """It is in effect at once, although nothing else wakes the daemon."""
        etc = os.path.join(self.root, 'etc')
        for name, offset in (('before', 3600), ('after', 7200)):
            write_zone(os.path.join(etc, name), offset)
        os.symlink('before', os.path.join(etc, 'localtime'))
        self.PREFIX = ('unshare', '--mount', 'env', '-u', 'TZ', 'sh', '-c',
                       'mount --bind "$0" /etc && exec "$@"', etc)
        if subprocess.run([*self.PREFIX, 'true'], check=False,
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest('no mount namespaces')
        self.start_at(7200)
        self.assertEqual(self.get('IdleMask'), '')
        os.symlink('after', os.path.join(etc, 'new'))
        os.rename(os.path.join(etc, 'new'), os.path.join(etc, 'localtime'))
        wait_until(lambda: self.get('IdleMask') == '4-7', 'the plan of the new time zone')


main()
