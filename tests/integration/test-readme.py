#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The examples of README.md work while CPUs are parked: on a fake machine, with the bus, the paths and
the systemd of the test."""
import os
import re
import stat
import subprocess
from pathlib import Path

from idledtest import TIMEOUT, TestCase, main, wait_until
from systemdtest import WithSystemd

TOP = Path(__file__).resolve().parents[2]
HEADINGS = 'Configure', 'Ask', 'Profiles and applications'


def examples():
    """Those that a user of an installed idled can run: [(heading, commands)]."""
    text = (TOP / 'README.md').read_text(encoding='utf-8')
    sections = re.split(r'(?m)^## (.*)\n', text)[1:]
    found = [(heading, block) for heading, section in zip(sections[::2], sections[1::2])
             if heading in HEADINGS for block in re.findall(r'(?ms)^```\n(.*?)^```\n', section)]
    assert {heading for heading, _ in found} == set(HEADINGS)
    return found


class Readme(WithSystemd, TestCase):
    CONFIG = '[Park]\nBackend=systemd\n'

    def arguments(self):
        return super().arguments() + ['--vendor-dir', str(TOP / 'conf')]

    def setUp(self):
        super().setUp()
        self.programs = os.path.join(self.directory, 'programs')
        os.mkdir(self.programs)
        unit = (TOP / 'units/idled.service.in').read_text(encoding='utf-8')
        reload = re.search(r'(?m)^ExecReload=@(busctl)@(.*)$', unit)
        self.program('idled', '%s %s "$@"' % (os.environ['IDLED'], ' '.join(self.arguments())))
        self.program('idlectl', '%s --bus-address %s "$@"' % (os.environ['IDLECTL'], self.bus.address))
        self.program('idlelab', '%s --bus-address %s "$@"' % (os.environ['IDLELAB'], self.bus.address))
        self.program('busctl', '/usr/bin/busctl --address=%s "$@"' % self.bus.address)
        self.program('systemctl', 'test "$*" = "reload idled" || exit 1\nexec %s%s' % reload.groups())
        self.program('pw-record', 'exec idlectl holds')
        self.program('make', 'true')
        self.start_systemd()
        self.start()

    def program(self, name, commands):
        path = os.path.join(self.programs, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\n%s\n' % commands)
        os.chmod(path, stat.S_IRWXU)

    def run_example(self, commands):
        """What the commands print."""
        environment = dict(os.environ, PATH=self.programs + ':' + os.environ['PATH'], NO_COLOR='1')
        done = subprocess.run(['sh', '-exc', commands.replace('/etc/idled', self.config)], text=True,
                              env=environment, cwd=self.directory, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=3 * TIMEOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def option(self, policy, key):
        return self.get('Options', '/org/idled1/policy/' + policy, 'org.idled1.Policy')[key]

    def test_examples(self):
        printed = {}
        for heading, commands in examples():
            self.set_idle_mask('6-7')
            wait_until(lambda: '7' in str(self.get('Parked')), 'CPUs 6-7 parked')
            with self.subTest(commands):
                printed[heading] = printed.get(heading, '') + self.run_example(commands)
                self.assertIn('7', str(self.get('Parked')))
        self.assertRegex(printed['Ask'], r'(?m)^Parked .*6-7')
        self.assertRegex(printed['Ask'], r'(?m)^s ".*6-7"$')
        self.assertRegex(printed['Ask'], r'6-7.*userspace')
        self.assertRegex(printed['Profiles and applications'], r'idlectl +50us +0-7.*\n +pw-record')
        self.assertEqual(self.get('Profile'), 'power-saver')
        self.assertEqual(self.option('ondemand', 'MinCores'), '2')
        self.assertEqual(self.option('cpufreq', 'BoostLow'), 'off')
        self.run_example('idlectl profile auto\nidlectl set ondemand Dwell=1s --save --config-dir /etc/idled '
                         '--vendor-dir %s --policy-dir %s' % (TOP / 'conf', os.environ['IDLED_POLICIES']))
        self.assertEqual(self.option('ondemand', 'Dwell'), '1s', 'the drop-in of the example is weaker')


main()
