#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What was decided: the history on the bus and in idlectl, and LogDecisions= in log and journal."""
import os
import socket
import subprocess
from pathlib import Path

import dbus

from idledtest import PROPERTIES, TestCase, main, needs_root, wait_until

LOG_PATH, LOG = '/org/freedesktop/LogControl1', 'org.freedesktop.LogControl1'


class History(TestCase):
    START = ('--dry-run',)

    def change(self, times):
        for i in range(times):
            self.set_idle_mask('' if i % 2 else '7')
        wait_until(lambda: self.get('Transitions') == times, '%d changes' % times)

    def before(self, number, most):
        return self.call('History', dbus.UInt64(number), dbus.UInt32(most))

    def test_pages(self):
        self.change(70)
        self.assertEqual(len(self.transitions()), 32)
        first = self.before(0, 64)
        self.assertEqual([int(row['number']) for row in first], list(range(70, 6, -1)))
        second = self.before(7, 64)
        self.assertEqual([int(row['number']) for row in second], list(range(6, 0, -1)))
        self.assertEqual(second[-1]['parked'], '7')
        self.assertEqual(self.before(1, 64), [])
        self.assertEqual(len(self.before(2**40, 1)), 1)
        for most in (0, 65):
            self.assert_fails('org.idled1.Error.InvalidValue', 'History', dbus.UInt64(0),
                              dbus.UInt32(most))
        self.assertIn('0-7 never parked', self.idlectl('why', '--history').stdout)


class Log(TestCase):
    CONFIG = '[Daemon]\nPolicies=userspace\nLogDecisions=yes\n'

    def test_lines(self):
        self.start('--dry-run', mask='7')
        self.daemon.wait_log(r'7 parked by userspace: .*IdleMask')
        self.set_idle_mask('')
        self.daemon.wait_log('Nothing parked by userspace')

    def test_on_request(self):
        """Off by default; it can be set while idled runs."""
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace\n')
        self.start('--dry-run', mask='7')
        self.set_option('Daemon', 'LogDecisions', 'yes')
        self.set_idle_mask('6')
        self.daemon.wait_log('6 parked by userspace')
        self.assertEqual(self.daemon.count_log('^7 parked'), 0)


@needs_root
class Journal(TestCase):
    """In a mount namespace of its own, where the test is journald."""
    CONFIG = '[Daemon]\nPolicies=userspace\nLogDecisions=yes\n'

    def setUp(self):
        super().setUp()
        journal = os.path.join(self.directory, 'journal')
        os.mkdir(journal)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.socket.close)
        self.socket.bind(os.path.join(journal, 'socket'))
        self.socket.settimeout(20)
        there = os.path.join(self.root, 'run/systemd/journal')
        os.makedirs(there)
        with open(os.path.join(there, 'socket'), 'wb'):
            pass
        script = ('mount -t tmpfs none /run && mkdir -p /run/systemd/journal && '
                  'mount --bind "$0" /run/systemd/journal && exec "$@"')
        self.PREFIX = ['unshare', '--mount', 'sh', '-c', script, journal]
        if subprocess.run([*self.PREFIX, 'true'], check=False,
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest('no mount namespaces')

    def test_fields(self):
        self.start('--dry-run')
        self.object(LOG_PATH).Set(LOG, 'LogTarget', 'journal', dbus_interface=PROPERTIES,
                                  signature='ssv')
        self.set_idle_mask('6-7')
        fields = dict(line.split('=', 1) for line in
                      self.socket.recv(65536).decode().splitlines())
        self.assertEqual((fields['IDLED_PARKED'], fields['IDLED_POLICY'], fields['IDLED_OPTION'],
                          fields['IDLED_SOURCE'], fields['IDLED_TRANSITION'], fields['PRIORITY'],
                          fields['SYSLOG_IDENTIFIER']),
                         ('6-7', 'userspace', 'IdleMask', 'set over D-Bus', '1', '6', 'idled'))
        self.assertTrue(fields['MESSAGE'].startswith('6-7 parked by userspace: '))
        page = Path(__file__).resolve().parents[2] / 'man/idled.8.scd.in'
        self.assertIn('MESSAGE_ID=' + fields['MESSAGE_ID'], page.read_text(encoding='utf-8'))
        self.assertNotIn('IDLED_INPUTS', fields)
        self.assertIn('(IdleMask 6-7)', fields['IDLED_BECAUSE'])
        self.set_idle_mask('')
        self.assertIn(b'IDLED_PARKED=\n', self.socket.recv(65536))
        self.assertEqual(self.daemon.count_log('parked by'), 0, 'not twice')


main()
