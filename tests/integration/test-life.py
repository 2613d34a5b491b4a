#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The bus comes, goes and returns; the name is taken by another: idled survives all of it."""
import os

import dbus

from idledtest import NAME, PATH, TestCase, main, needs_root, wait_until


class Life(TestCase):
    def test_bus_returns(self):
        self.start('--dry-run', mask='7')
        for count in (1, 2, 3):
            self.bus.stop()
            self.daemon.wait_log(r'bus at .* is gone', count)
            self.bus_returns()
            self.assertEqual(self.get('IdleMask'), '7', 'it went on as before')
            self.assertEqual(self.get('Number', PATH + '/cpu/3', NAME + '.Cpu'), 3)
            self.assertFalse(self.get('Pauses'))
        seen = self.signals(PATH)
        self.set_idle_mask('')
        wait_until(lambda: seen, 'signals on the new connection')

    def assert_works(self):
        self.start(mask='6-7')
        self.assertEqual(self.get('IdleMask'), '6-7')
        _, fd = self.call('Hold', dbus.Dictionary({'profile': 'balanced'}, signature='sv'))
        os.close(fd.take())
        wait_until(lambda: not self.get('Holds'), 'the end of the hold')
        self.assertEqual([row[0] for row in self.call('Verify')], ['park'], 'this tree has no cgroups')

    @needs_root
    def test_without_application_rules(self):
        """As units/no-app-rules.conf has it run."""
        self.PREFIX = ('unshare', '--net', 'setpriv', '--bounding-set=-sys_ptrace,-net_admin')
        self.assert_works()

    @needs_root
    def test_without_identity_of_the_machine(self):
        """As without systemd. A client that asks for it gets an error, and idled stays on the bus."""
        self.PREFIX = ('unshare', '--mount', 'sh', '-c',
                       '[ ! -e /etc/machine-id ] || mount --bind /dev/null /etc/machine-id && exec "$@"', 'sh')
        self.start()
        owner = self.connection.get_name_owner(NAME)
        with self.assertRaises(dbus.DBusException) as caught:
            self.object().GetMachineId(dbus_interface='org.freedesktop.DBus.Peer')
        self.assertIn('identity', caught.exception.get_dbus_message())
        self.assertEqual(self.connection.get_name_owner(NAME), owner)

    def test_clients_do_not_flood_the_log(self):
        self.start('--dry-run', '--log-level', 'info')
        for i in range(50):
            os.close(self.pause('a test'))
            self.call('SetProfile', 'balanced' if i % 2 else 'auto')
            _, fd = self.call('Hold', dbus.Dictionary({'profile': 'balanced'}, signature='sv'))
            os.close(fd.take())
        wait_until(lambda: not self.get('Pauses') and not self.get('Holds'), 'the end of all')
        self.daemon.stop()
        self.assertLess(self.daemon.count_log('Paus|Profile|[Hh]old'), 40)
        self.assertGreater(self.daemon.count_log('Paused by'), 1)

    def test_socket_file_gone_too(self):
        self.start('--dry-run')
        self.bus.stop()
        os.unlink(self.bus.socket)
        self.daemon.wait_log(r'bus at .* is gone')
        self.bus_returns()
        self.assertTrue(self.get('DryRun'))

    def test_peer_defect_4_no_bus_at_the_start(self):
        self.bus.stop()
        os.unlink(self.bus.socket)
        self.start('--dry-run')
        self.daemon.wait_log(r'^No bus at ')
        self.bus_returns()
        self.assertTrue(self.get('DryRun'))
        self.assertEqual(self.daemon.count_log(r'^No bus at '), 1, 'said once')

    def test_pause_outlives_the_bus(self):
        self.start('--dry-run')
        fd = self.pause('a test')
        self.bus.stop()
        self.bus_returns()
        self.assertTrue(self.get('Pauses'))
        os.close(fd)
        wait_until(lambda: not self.get('Pauses'), 'the end of the pause')

    def test_not_asked_for_a_bus(self):
        self.start('--dry-run', '--no-bus', bus=False)
        self.assertEqual(self.daemon.terminate(), 0)

    def test_not_an_address(self):
        daemon = self.spawn('--dry-run', '--bus-address', 'nonsense', bus=False)
        self.assertNotEqual(daemon.wait_exit(), 0)
        self.assertEqual(daemon.count_log('"nonsense" is not the address of a bus'), 1)


class Name(TestCase):
    def test_second_instance(self):
        self.start('--dry-run', mask='7')
        second = self.spawn('--dry-run')
        self.assertNotEqual(second.wait_exit(), 0)
        self.assertEqual(second.count_log(r'owns the name org\.idled1 .* running already'), 1)
        self.assertEqual(self.get('IdleMask'), '7', 'the first is not disturbed')

    def test_peer_defect_6_name_taken_while_the_bus_was_away(self):
        self.start('--dry-run', mask='7')
        thief = self.take_name()
        self.daemon.wait_log(r'Another process owns the name')
        self.daemon.wait_log(r'Paused by idled')
        thief.close()
        self.daemon.wait_log(r'idled owns the name org\.idled1')
        self.connection.close()
        self.connection = self.bus.connect()
        self.wait_name()
        wait_until(lambda: self.get('IdleMask') == '7', 'control again')
        self.assertEqual(self.get('Pauses'), [])


class Session(TestCase):
    def test_session_bus(self):
        os.environ['DBUS_SESSION_BUS_ADDRESS'] = self.bus.address
        self.addCleanup(os.environ.pop, 'DBUS_SESSION_BUS_ADDRESS')
        self.start('--dry-run', '--session-bus', bus=False, mask='7')
        self.assertEqual(self.get('IdleMask'), '7')


main()
