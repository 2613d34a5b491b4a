#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds: how they begin, what they say, and everything that ends them."""
import os

import dbus
from holdstest import HOLD, OBJECTS, Case, request
from idledtest import MANAGER, NAME, NOBODY, PATH, main, needs_root, wait_until
from polkittest import WithPolkit

INVALID = 'org.idled1.Error.InvalidValue'


class Life(Case):
    START = ()

    def test_what_it_says(self):
        process = self.sleeper()
        path, _ = self.hold(latency_us=50, min_cores=2, min_frequency_khz=800000, cpus='2-3',
                            profile='balanced', pid=process.pid, reason='a\ngame')
        self.assertEqual(path, PATH + '/hold/1')
        self.assertEqual(self.holds(), [path])
        values = self.object(path).GetAll(HOLD, dbus_interface='org.freedesktop.DBus.Properties')
        for name, value in (('Id', 1), ('CPUs', '2-3'), ('Pid', process.pid), ('Bound', True),
                            ('Request', {'latency_us': 50, 'min_cores': 2, 'min_frequency_khz': 800000,
                                         'profile': 'balanced'}),
                            ('Reason', 'a\\x0agame'), ('User', os.geteuid()), ('Obstacle', '')):
            self.assertEqual(values[name], value, name)
        self.assertIn(self.connection.get_unique_name(), values['Owner'])

    def test_descriptor(self):
        path, descriptor = self.hold(latency_us=50)
        self.assertEqual(self.value(path, 'Request'), {'latency_us': 50})
        self.assertEqual(self.value(path, 'Pid'), os.getpid())
        self.assertFalse(self.value(path, 'Bound'))
        copy = os.dup(descriptor)
        self.close(descriptor)
        self.sync()
        self.assertEqual(self.holds(), [path])
        os.close(copy)
        self.wait_holds(0)

    def test_signals(self):
        added = self.signals(PATH, OBJECTS, 'InterfacesAdded')
        removed = self.signals(PATH, OBJECTS, 'InterfacesRemoved')
        changed = self.signals(PATH)
        path, descriptor = self.hold(latency_us=50)
        wait_until(lambda: added, 'InterfacesAdded')
        self.assertEqual(added[0][1], path)
        self.assertEqual(added[0][2][HOLD]['Request'], {'latency_us': 50})
        wait_until(lambda: any('Holds' in c[2] for c in changed), 'a signal of Holds')
        self.close(descriptor)
        wait_until(lambda: removed, 'InterfacesRemoved')
        self.assertEqual(removed[0][1:], (path, [HOLD]))
        objects = self.object().GetManagedObjects(dbus_interface=OBJECTS)
        self.assertNotIn(path, objects)

    def test_release(self):
        path, _ = self.hold(latency_us=50)
        other, _ = self.hold(latency_us=60)
        self.call('ReleaseHold', dbus.ObjectPath(path))
        self.assertEqual(self.holds(), [other])
        self.call('ReleaseHold', dbus.ObjectPath(other))
        self.assertEqual(self.holds(), [])
        self.assert_fails('org.idled1.Error.NoSuchHold', 'ReleaseHold', dbus.ObjectPath(path))

    def test_number_is_never_used_twice(self):
        first, descriptor = self.hold(latency_us=50)
        self.close(descriptor)
        self.wait_holds(0)
        self.assertNotEqual(self.hold(latency_us=50)[0], first)

    def test_process(self):
        by_number, by_descriptor = self.sleeper(), self.sleeper()
        _, kept = self.hold(latency_us=50, pid=by_number.pid)
        pidfd = os.pidfd_open(by_descriptor.pid)
        self.addCleanup(os.close, pidfd)
        path, _ = self.hold(latency_us=60, pidfd=pidfd)
        self.assertEqual(self.value(path, 'Pid'), by_descriptor.pid)
        by_number.kill()
        self.wait_holds(1)
        self.assertEqual(self.holds(), [path])
        by_descriptor.kill()
        self.wait_holds(0)
        os.fstat(kept)  # open until the end

    def test_dead_process(self):
        process = self.sleeper()
        pidfd = os.pidfd_open(process.pid)
        self.addCleanup(os.close, pidfd)
        process.kill()
        process.wait()
        gone = 'org.idled1.Error.NoSuchProcess'
        self.assert_fails(gone, 'Hold', request(latency_us=50, pid=process.pid))
        self.assert_fails(gone, 'Hold', request(latency_us=50, pidfd=pidfd))
        self.assertEqual(self.holds(), [])

    def test_nonsense(self):
        message = self.assert_fails(INVALID, 'Hold', request(latancy_us='50'))
        self.assertEqual(message,
                         'Found an unknown key "latancy_us" (did you mean latency_us?)')
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        self.addCleanup(os.close, write)
        for values, words in (
                ({}, 'expected at least one of'), ({'reason': 'none'}, 'expected at least one of'),
                ({'latency_us': 1000001}, '1000000'), ({'min_cores': 0}, 'expected 1 to'),
                ({'min_cores': 99}, 'number of cores'), ({'min_frequency_khz': 0}, 'kHz'),
                ({'cpus': '1-x'}, 'such as 2-3,8'), ({'cpus': '100'}, 'online'),
                ({'cpus': ''}, 'online'), ({'profile': '../x'}, 'expected a profile: balanced'),
                ({'profile': ''}, 'expected a profile: balanced'),
                ({'profile': ' '}, 'expected a profile: balanced'),
                ({'profile': ' balanced'}, 'expected a profile: balanced'),
                ({'pid': 0, 'latency_us': 5}, 'expected'),
                ({'latency_us': 5, 'reason': 'x' * 257}, '257'),
                ({'global': True, 'min_cores': 1}, 'latency_us'),
                ({'latency_us': 5, 'pidfd': read}, 'pidfd_open'),
                ({'latency_us': 5, 'pidfd': read, 'pid': 1}, 'one of them')):
            message = self.assert_fails(INVALID, 'Hold', request(**values))
            self.assertIn(words, message, values)
        message = self.assert_fails(INVALID, 'Hold', dbus.Dictionary(
            {'latency_us': dbus.Int32(50)}, signature='sv'))
        self.assertIn('found a value of type "i", expected "u"', message)
        self.assertEqual(self.holds(), [])
        for path in ('/hold/0', '/hold/1', '/hold/01', '/hold/x', '/hold/99999999999999999999999'):
            self.assert_fails('org.idled1.Error.NoSuchHold', 'ReleaseHold',
                              dbus.ObjectPath(PATH + path))

    def test_pause_and_reload(self):
        path, _ = self.hold_for(latency_us=50)
        changed = self.signals(path)
        pause = self.pause('a test')
        self.assertIn('pause', self.value(path, 'Obstacle'))
        wait_until(lambda: changed, 'the obstacle')
        self.call('Reload')
        os.close(pause)
        wait_until(lambda: self.value(path, 'Obstacle') == '', 'the end of the pause')
        self.assertEqual(self.holds(), [path])
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace\n')
        self.call('Reload')
        self.assertEqual(self.value(path, 'Obstacle'), 'no active policy serves holds')
        for asked in ({'latency_us': 50}, {'min_cores': 2}, {'min_frequency_khz': 1000000},
                      {'cpus': '1'}, {'latency_us': 50, 'profile': 'balanced'}):
            message = self.assert_fails('org.idled1.Error.NotAvailable', 'Hold', request(**asked))
            self.assertIn('Policies= in idled.conf', message, 'the option to change')
        self.hold(profile='balanced')

    def test_bus_away(self):
        process, lines = self.holder(1)
        self.bus.stop()
        self.daemon.wait_log('is gone')
        self.bus_returns()
        self.assertEqual(self.holds(), lines, 'its descriptor is open')
        process.kill()
        self.wait_holds(0)

    def test_daemon_ends(self):
        _, descriptor = self.hold(latency_us=50)
        self.daemon.kill()
        self.start()
        self.assertEqual(self.holds(), [])
        with self.assertRaises(BrokenPipeError, msg='the holder notices'):
            os.write(descriptor, b'x')

    def test_cpus_followed(self):
        process = self.sleeper()
        self.allow(process, '2-3')
        listed = self.signals(PATH)
        path, _ = self.hold_for(latency_us=50, pid=process.pid)
        self.assertEqual(self.value(path, 'CPUs'), '2-3')
        wait_until(lambda: any('Holds' in c[2] for c in listed), 'a signal of Holds')
        listed.clear()
        changed = self.signals(path)
        self.allow(process, '4')
        self.set_idle_mask('7')  # idled reads affinities when it parks CPUs
        self.assertEqual(self.value(path, 'CPUs'), '4')
        wait_until(lambda: changed, 'a signal of the move')
        self.assertEqual(changed[0][2]['CPUs'], '4')
        wait_until(lambda: any('Parked' in c[2] for c in listed), 'a signal of the change')
        self.assertFalse(any('Holds' in c[2] for c in listed), 'none came or went')


@needs_root
class Users(WithPolkit, Case):
    """A user whom polkit lets hold, and others."""

    def setUp(self):
        super().setUp()
        self.start()
        self.start_polkit('ret = (args[1] == "org.idled1.hold", False, {})')

    def assert_denied(self, result):
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, 'Access denied|can release')

    def test_stranger(self):
        path, _ = self.hold(latency_us=50)
        self.assert_denied(self.busctl('call', NAME, PATH, MANAGER, 'ReleaseHold', 'o', path, user=NOBODY))
        self.assertEqual(self.holds(), [path])
        _, lines = self.holder(1, user=NOBODY)
        self.assert_denied(self.call_as_nobody('ReleaseHold', 'o', lines[0]))
        self.call('ReleaseHold', dbus.ObjectPath(lines[0]))  # root may
        self.assertEqual(self.holds(), [path])

    def test_names_of_another_bus(self):
        _, lines = self.holder(1, user=NOBODY)
        self.bus.stop()
        self.daemon.wait_log('is gone')
        self.bus_returns()
        for _ in range(8):  # among these is the name that the owner had
            self.assert_denied(self.call_as_nobody('ReleaseHold', 'o', lines[0]))

    def test_processes_of_others(self):
        mine = self.sleeper()
        os.symlink('/proc/%d' % mine.pid, os.path.join(self.root, 'proc/%d' % mine.pid))
        result = self.call_as_nobody('Hold', 'a{sv}', '2', 'latency_us', 'u', '50',
                                     'pid', 'u', str(mine.pid))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn('Access denied', result.stderr)
        self.assertEqual(self.holds(), [])

    def test_global_is_another_action(self):
        result = self.call_as_nobody('Hold', 'a{sv}', '2', 'latency_us', 'u', '50',
                                     'global', 'b', 'true')
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, 'Permission denied|Access denied')

    def test_hostile_user(self):
        """A user who asks for 10,000 gets the maximum; other users and polkit are not affected."""
        process, lines = self.holder(10000, user=NOBODY)
        self.assertEqual(len(self.holds()), 256)
        self.assertEqual((len(lines), set(lines[256:])),
                         (10000, {'org.idled1.Error.TooManyHolds'}))
        self.assertEqual(len(self.questions()), 256)
        path, _ = self.hold(latency_us=20)
        self.assertIn(path, self.holds())
        process.kill()
        self.wait_holds(1)
        _, lines = self.holder(1, user=NOBODY)
        self.assertIn(lines[0], self.holds())


main()
