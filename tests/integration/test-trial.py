#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""StartTrial: policies are ignored and options set for as long as the descriptor is open."""
import os
import select

import dbus

from idledtest import PATH, TestCase, main, wait_until


class Trial(TestCase):
    CONFIG = '[Daemon]\nPolicies=userspace latency\n'
    START = ('--dry-run',)

    def trial(self, ignored=(), options=(), reason='a test', connection=None):
        """The descriptor, which the test closes."""
        rows = dbus.Array([dbus.Struct(row) for row in options], signature='(sss)')
        names = dbus.Dictionary({name: False for name in ignored}, signature='sb')
        return self.call('StartTrial', names, rows, reason, connection=connection).take()

    def refused(self, name, ignored=(), options=(), connection=None):
        with self.assertRaises(dbus.DBusException) as caught:
            os.close(self.trial(ignored, options, connection=connection))
        self.assertEqual(caught.exception.get_dbus_name(), 'org.idled1.Error.' + name)
        return caught.exception.get_dbus_message()

    def ended(self, fd):
        """True if idled has closed its end."""
        poll = select.poll()
        poll.register(fd, 0)
        return bool(poll.poll(0))

    def test_ignores_a_policy(self):
        self.set_idle_mask('7')
        self.assertEqual(self.get('IdleMask'), '7')
        changes = self.signals(PATH)
        fd = self.trial(['userspace'], reason='a comparison')
        self.assertEqual(self.get('IdleMask'), '', 'in effect when the answer comes')
        trial = self.get('Trial')
        self.assertEqual((trial['reason'], trial['policies'], trial['options']),
                         ('a comparison', {'userspace': False}, []))
        self.assertIn("a client's trial ignores its requests", self.idlectl('why', '7').stdout)
        self.assertRegex(self.idlectl('status').stdout, r'Trial +user \d+ \(.*\): a comparison')
        os.close(fd)
        wait_until(lambda: self.get('IdleMask') == '7', 'the policy honoured again')
        self.assertEqual(self.get('Trial'), {})
        self.assertNotIn('Trial', self.idlectl('status').stdout)
        self.sync()
        self.assertTrue([c for c in changes if 'Trial' in c[2]], 'it is signalled')

    def test_restores_options(self):
        """What was set at run time before, and what the file says."""
        self.set_idle_mask('6')
        fd = self.trial(options=[('userspace', 'IdleMask', '5'), ('Park', 'Exclude', '1')])
        self.assertEqual((self.get('IdleMask'), self.option('Park', 'Exclude')), ('5', '1'))
        os.close(fd)
        wait_until(lambda: self.get('IdleMask') == '6', 'the former value')
        self.assertEqual(self.option('Park', 'Exclude'), '')
        self.assertFalse(self.runtime('Park', 'Exclude'))

    def row(self, section, key):
        return next(r for r in self.call('GetSettings')
                    if (r['section'], r['key']) == (section, key))

    def option(self, section, key):
        return self.row(section, key)['value']

    def runtime(self, section, key):
        return bool(self.row(section, key)['runtime'])

    def test_replaced_in_one_step(self):
        first = self.trial(options=[('userspace', 'IdleMask', '5')])
        second = self.trial(options=[('userspace', 'IdleMask', '4')])
        self.assertTrue(self.ended(first))
        self.assertFalse(self.ended(second))
        self.assertEqual(self.get('IdleMask'), '4')
        os.close(first)
        os.close(second)
        wait_until(lambda: self.get('IdleMask') == '', 'the value of the file')

    def test_one_at_a_time(self):
        other = self.bus.connect()
        self.addCleanup(other.close)
        fd = self.trial(reason='mine')
        self.assertIn('mine', self.refused('TrialRuns', ['latency'], connection=other))
        self.assertFalse(self.ended(fd))
        os.close(fd)
        wait_until(lambda: not self.get('Trial'), 'no trial')
        os.close(self.trial(['latency'], connection=other))

    def test_all_or_nothing(self):
        for name, ignored, options, says in (
                ('NoSuchPolicy', ['ondemnd'], [], 'ondemnd'),
                ('NoSuchPolicy', ['userspace', ''], [], 'expected one of Policies='),
                ('NoSuchOption', [], [('userspace', 'IdleMsk', '1')], 'IdleMask'),
                ('NoSuchOption', [], [('x\n', 'IdleMask', '1')], 'section'),
                ('InvalidValue', [], [('userspace', 'IdleMask', 'x')], 'IdleMask'),
                ('InvalidValue', ['latency'], [('userspace', 'IdleMask', '3'),
                                               ('Park', 'Backend', 'x')], 'Backend'),
                ('InvalidValue', [], [('userspace', 'IdleMask', '3')] * 65, 'at most 64')):
            with self.subTest(name=name, says=says):
                self.assertIn(says, self.refused(name, ignored, options))
                self.assertEqual((self.get('IdleMask'), self.get('Trial')), ('', {}))
                self.assertFalse(self.runtime('userspace', 'IdleMask'))
        with self.assertRaises(dbus.DBusException):
            self.trial(['userspace'], reason='x' * 257)

    def test_set_by_another(self):
        """Who sets the same option keeps what was set; the trial is over."""
        fd = self.trial(['latency'], [('userspace', 'IdleMask', '5')])
        self.set_idle_mask('3')
        self.assertTrue(self.ended(fd))
        self.assertEqual((self.get('IdleMask'), self.get('Trial')), ('3', {}))
        os.close(fd)
        self.sync()
        self.assertEqual(self.get('IdleMask'), '3')

    def test_reload_ends_it(self):
        fd = self.trial(options=[('userspace', 'IdleMask', '5')])
        self.write_config('idled.conf', self.CONFIG + 'Nonsense=1\n')
        with self.assertRaises(dbus.DBusException):
            self.call('Reload')
        self.assertFalse(self.ended(fd), 'a reload that failed changes nothing')
        self.write_config('idled.conf', self.CONFIG)
        self.call('Reload')
        self.assertTrue(self.ended(fd))
        self.assertEqual(self.get('IdleMask'), '')
        self.assertFalse(self.runtime('userspace', 'IdleMask'))
        os.close(fd)

    def test_the_daemon_ends_first(self):
        fd = self.trial(['userspace'])
        self.daemon.stop()
        self.assertTrue(self.ended(fd))
        os.close(fd)

    def test_the_bus_goes_away(self):
        """A new connection is another client; the descriptor still ends the trial."""
        fd = self.trial(options=[('userspace', 'IdleMask', '5')])
        self.bus.stop()
        self.bus_returns()
        self.assertEqual(self.get('IdleMask'), '5')
        self.refused('TrialRuns', ['userspace'])
        os.close(fd)
        wait_until(lambda: self.get('IdleMask') == '', 'what was before')


main()
