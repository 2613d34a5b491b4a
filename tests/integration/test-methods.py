#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every method with good and bad arguments; what it changes, and that one signal reports it."""
import os

import dbus
from idledtest import MANAGER, NAME, PATH, PROPERTIES, TestCase, main, options, wait_until

ERROR = NAME + '.Error.'
LOG_PATH, LOG = '/org/freedesktop/LogControl1', 'org.freedesktop.LogControl1'


class Methods(TestCase):
    START = ('--dry-run',)

    def test_set_idle_mask(self):
        self.set_idle_mask('6-7')
        self.assertEqual(self.get('IdleMask'), '6-7')
        self.assertEqual(self.get('Parked'), '', 'nothing is in effect in a dry run')
        self.assertEqual(self.get('Transitions'), 1)
        self.assertEqual(self.get('TransitionsLastMinute'), 1)
        self.assertEqual(self.get('WantedCores'), self.get('Cores') - 2)
        self.assertEqual(self.get('Allowed', PATH + '/policy/userspace', NAME + '.Policy'), '0-5')
        self.set_idle_mask('')
        self.assertEqual(self.get('IdleMask'), '')

    def test_bad_idle_masks(self):
        for text in ('x', '1-', '3-1', '9999', '0x1', '1\n2', '0,' * 20000 + '0'):
            message = self.assert_fails(ERROR + 'InvalidValue', 'SetOptions', options('userspace', 'IdleMask', text))
            self.assertNotIn('\n', message)
        self.assertEqual(self.get('IdleMask'), '')

    def test_masks_of_cpus_that_never_come(self):
        for text, absent in ('8', 'CPU 8'), ('6-9,17', 'CPUs 8-9,17'):
            message = self.assert_fails(ERROR + 'InvalidValue', 'SetOptions', options('userspace', 'IdleMask', text))
            for part in 'IdleMask', absent, '0-7':
                self.assertIn(part, message)
        self.assertEqual(self.get('IdleMask'), '')

    def test_mask_of_a_cpu_that_is_offline(self):
        self.take_offline(7)
        self.set_idle_mask('6-7')
        self.assertEqual(self.get('Options', PATH + '/policy/userspace',
                                  NAME + '.Policy')['IdleMask'], '6-7')

    def test_bad_options(self):
        self.assert_fails(ERROR + 'NoSuchPolicy', 'SetOptions', options('ondemand', 'MaxCores', '1'))
        self.assert_fails(ERROR + 'NoSuchPolicy', 'SetOptions', options('../../etc/passwd', 'x', 'y'))
        self.assert_fails(ERROR + 'NoSuchOption', 'SetOptions', options('userspace', 'Nothing', '1'))
        self.assert_fails(ERROR + 'NoSuchOption', 'SetOptions', options('Daemon', 'idlemask', '1'))
        self.assert_fails(ERROR + 'InvalidValue', 'SetOptions', options('userspace', 'IdleMask', 'all'))

    def test_explain(self):
        self.set_idle_mask('7')
        rows = self.call('Explain')
        self.assertEqual([row['cpu'] for row in rows], list(range(8)))
        row = rows[7]
        self.assertEqual(row['policy'], 'userspace')
        self.assertEqual(row['option'], 'IdleMask')
        self.assertEqual(row['source'], 'set over D-Bus')
        self.assertGreater(row['since_usec'], 0)
        self.assertTrue(row['because'])
        self.assertTrue(row['text'].startswith('CPU 7 should be parked by userspace: '),
                        row['text'])
        self.assertTrue(row['text'].endswith('.'), row['text'])
        self.assertEqual(set(row), {'cpu', 'parked', 'since_usec', 'parked_usec', 'cause', 'policy', 'because',
                                    'inputs', 'option', 'threshold', 'threshold_unit', 'effective',
                                    'effective_because', 'source',
                                    'obstacle', 'text', 'reasons', 'figures'})
        self.assertEqual((row['reasons'], row['figures']), ([], []))
        self.assertEqual(row['obstacle'], 'this is a dry run')
        self.assertEqual(rows[0]['obstacle'], '', 'a plan that is in effect has no obstacle')

    def test_get_settings(self):
        self.set_idle_mask('7')
        rows = {(row['section'], row['key']): row for row in self.call('GetSettings')}
        row = rows['userspace', 'IdleMask']
        self.assertEqual((row['value'], row['default'], row['source'], row['runtime']),
                         ('7', '', 'set over D-Bus', True))
        self.assertTrue(row['help'] and row['expects'])
        row = rows['Daemon', 'Policies']
        self.assertEqual(row['value'], 'userspace')
        self.assertRegex(row['source'], r'idled\.conf:2$')
        self.assertFalse(row['runtime'])
        self.assertIn(os.path.join(self.config, 'idled.conf'), self.get('ConfigFiles'))

    def test_userspace_not_loaded(self):
        self.write_config('idled.conf', '[Daemon]\nPolicies=ondemand\n')
        removed = self.signals(PATH, 'org.freedesktop.DBus.ObjectManager', 'InterfacesRemoved')
        added = self.signals(PATH, 'org.freedesktop.DBus.ObjectManager', 'InterfacesAdded')
        path = PATH + '/policy/userspace'
        self.call('Reload')
        wait_until(lambda: removed and added, 'InterfacesRemoved and InterfacesAdded')
        self.assertEqual(added.pop()[1], PATH + '/policy/ondemand')
        self.assertEqual(removed[0][1], path)
        self.assertIn(NAME + '.Policy', removed[0][2])
        self.assert_fails(ERROR + 'NoSuchPolicy', 'SetOptions', options('userspace', 'IdleMask', '7'))
        self.write_config('idled.conf', self.CONFIG)
        self.call('Reload')
        wait_until(lambda: added, 'InterfacesAdded')
        self.assertEqual(added[0][1], path)
        self.assertEqual(added[0][2][NAME + '.Policy']['Name'], 'userspace')

    def test_get_energy(self):
        names = [name for name, _ in self.call('GetEnergy')]
        self.assertIn('package-0', names)
        self.assertEqual(len(names), len(set(names)))
        power = self.get('Power', PATH + '/energy/package_2d0', NAME + '.Energy')
        self.assertEqual(power, round(power, 1))

    def test_log_control(self):
        log = self.object(LOG_PATH)
        log.Set(LOG, 'LogLevel', 'notice', dbus_interface=PROPERTIES, signature='ssv')
        self.assertEqual(self.get('LogLevel', LOG_PATH, LOG), 'notice')
        for name, value in (('LogLevel', 'loud'), ('LogTarget', '/etc/passwd')):
            with self.assertRaises(dbus.DBusException) as caught:
                log.Set(LOG, name, value, dbus_interface=PROPERTIES, signature='ssv')
            self.assertEqual(caught.exception.get_dbus_name(),
                             'org.freedesktop.DBus.Error.InvalidArgs')
        self.assertEqual(self.get('SyslogIdentifier', LOG_PATH, LOG), 'idled')


class Energy(TestCase):
    """A driver that is loaded later, as doctor advises."""

    def setUp(self):
        super().setUp()
        self.zones = os.path.join(self.root, 'sys/class/powercap')

    def load_later(self, *before):
        os.rename(self.zones, self.zones + '.gone')
        self.start()
        self.assertEqual([str(name) for name, _ in self.call('GetEnergy')], list(before))
        missing = [str(what) for what, _ in self.get('Missing')]
        self.assertEqual('energy counters' in missing, not before)
        os.rename(self.zones + '.gone', self.zones)
        self.call('Reload')
        self.assertNotIn('energy counters', [str(what) for what, _ in self.get('Missing')])
        self.assertEqual(self.get('Source', PATH + '/energy/package_2d0', NAME + '.Energy'), 'rapl')

    def test_after_nothing(self):
        """The best source stays, even if it fails."""
        os.rename(os.path.join(self.root, 'sys/class/power_supply'), os.path.join(self.root, 'no-supplies'))
        self.load_later()
        os.rename(self.zones, self.zones + '.gone')
        self.call('Reload')
        self.assertEqual(self.get('Name', PATH + '/energy/package_2d0', NAME + '.Energy'), 'package-0')

    def test_after_a_battery(self):
        self.load_later('battery')
        self.assertNotIn('battery', [str(name) for name, _ in self.call('GetEnergy')])


class LogLevel(TestCase):
    def arguments(self):
        return super().arguments()[:-2]  # not --log-level, which is stronger than all else

    def test_lasts(self):
        """What was set holds until the option says something else than it did."""
        self.start('--dry-run')
        self.object(LOG_PATH).Set(LOG, 'LogLevel', 'debug', dbus_interface=PROPERTIES, signature='ssv')
        self.call('Reload')
        self.set_option('userspace', 'IdleMask', '7')
        self.assertEqual(self.get('LogLevel', LOG_PATH, LOG), 'debug')
        self.set_option('Daemon', 'LogLevel', 'warning')
        self.assertEqual(self.get('LogLevel', LOG_PATH, LOG), 'warning')


class Pauses(TestCase):
    def setUp(self):
        super().setUp()
        self.start('--dry-run', mask='7')

    def test_pause_until_closed(self):
        fd = self.pause('a test\n\x1b[31m')
        wait_until(lambda: self.get('IdleMask') == '', 'the machine restored')
        self.assertTrue(self.get('Pauses'))
        pause, = self.get('Pauses')
        owner, reason = pause['owner'], pause['reason']
        self.assertIn('user %d' % os.geteuid(), owner)
        self.assertTrue(reason.startswith('a test'))
        self.assertNotIn('\n', reason)
        self.assertNotIn('\x1b', reason)
        self.assertEqual(self.call('Explain')[7]['cause'], 'pause')
        os.close(fd)
        wait_until(lambda: self.get('IdleMask') == '7', 'control again')
        self.assertFalse(self.get('Pauses'))

    def test_limit(self):
        fds = [self.pause('number %d' % i) for i in range(16)]
        self.assert_fails(ERROR + 'TooManyPauses', 'Pause', 'one more', dbus.UInt64(0))
        os.close(fds.pop())
        wait_until(lambda: len(self.get('Pauses')) == 15, 'one pause less')
        fds.append(self.pause('one more'))
        for fd in fds:
            os.close(fd)
        wait_until(lambda: not self.get('Pauses'), 'no pause')

    def test_long_reason(self):
        self.assert_fails(ERROR + 'InvalidValue', 'Pause', 'x' * 257, dbus.UInt64(0))
        os.close(self.pause('x' * 256))


class Signals(TestCase):
    def setUp(self):
        """Waits for the signals of the start, which come when it is ready: the tests ignore them."""
        super().setUp()
        seen = self.signals(PATH)
        self.start('--dry-run')
        wait_until(lambda: seen, 'the signals of the start')
        self.sync()

    def test_once_per_change(self):
        seen = self.signals()
        self.set_idle_mask('6-7')
        wait_until(lambda: any(s[0] == PATH for s in seen), 'PropertiesChanged')
        self.sync()
        mine = [s for s in seen if s[0] == PATH]
        self.assertEqual(len(mine), 1, mine)
        self.assertEqual(mine[0][1], MANAGER)
        self.assertEqual(mine[0][2]['IdleMask'], '6-7')
        self.assertEqual(mine[0][2]['Transitions'], 1)
        self.assertEqual(mine[0][3], [], 'values are sent, not invalidated')
        cpus = [s[0] for s in seen if s[1] == NAME + '.Cpu']
        self.assertEqual(sorted(cpus), [PATH + '/cpu/6', PATH + '/cpu/7'])
        policies = [s for s in seen if s[1] == NAME + '.Policy']
        self.assertEqual(len(policies), 1, policies)
        self.assertEqual(policies[0][2]['Allowed'], '0-5')

    def test_hotplug(self):
        seen = self.signals()
        self.take_offline(7)

        def noticed():
            # Any decision shows it, if it is not made by a reading that is still fresh.
            self.set_option('userspace', 'IdleMask', '6')
            return any(s[2].get('Online') == '0-6' for s in seen if s[0] == PATH)
        wait_until(noticed, 'Online without CPU 7')
        self.sync()
        self.assertTrue(any(s[0] == PATH + '/cpu/7' and s[2]['Online'] == 0 for s in seen
                            if 'Online' in s[2]))
        self.assertEqual(self.get('Core', PATH + '/cpu/7', NAME + '.Cpu'), -1)
        self.assertIn('offline', self.get('Reason', PATH + '/cpu/7', NAME + '.Cpu'))
        self.assertEqual([row['cpu'] for row in self.call('Explain')], list(range(7)))


main()
