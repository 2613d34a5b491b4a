#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The calls of one user do not delay those of another."""
import contextlib
import os
import shutil
import signal
import subprocess
import unittest

import dbus
import dbus.lowlevel

from idledtest import MANAGER, NAME, NOBODY, PATH, TestCase, main, needs_root, wait_until

OBJECTS = 'org.freedesktop.DBus.ObjectManager'
PEER = 'org.freedesktop.DBus.Peer'
LIMITS = 'org.freedesktop.DBus.Error.LimitsExceeded'
DENY = '<deny send_interface="org.freedesktop.DBus" send_member="GetConnectionCredentials"/>'


@needs_root
class Turns(TestCase):
    CONFIG = '[Daemon]\nPolicies=latency\n'

    def setUp(self):
        super().setUp()
        self.start('--dry-run')
        self.answers = []

    def connect_as(self, user):
        """A connection of that user, as the bus sees it."""
        os.seteuid(user)
        try:
            connection = self.bus.connect()
        finally:
            os.seteuid(0)
        self.addCleanup(connection.close)
        return connection

    def ask(self, connection, what, member, interface, path=PATH, arguments=()):
        """Sends a call; `what` is in self.answers when its answer is there."""
        self.object(path, connection).get_dbus_method(member, interface)(
            *arguments, reply_handler=lambda *_: self.answers.append(what),
            error_handler=lambda error: self.answers.append((what, error.get_dbus_name())))
        connection.flush()

    def flood(self, connections, calls, member, interface, **more):
        for connection in connections:
            for _ in range(calls):
                self.ask(connection, 'flood', member, interface, **more)

    def position_of_victim(self, victim, interface_of_victim, **flood):
        """How many calls of the flood, which came first, are answered before the victim's."""
        connections = [self.connect_as(NOBODY) for _ in range(4)]
        for connection in connections:
            connection.get_name_owner(NAME)
        self.sync()
        self.daemon.send(signal.SIGSTOP)
        self.flood(connections, 100, **flood)
        for connection in connections:
            connection.get_name_owner(NAME)  # the bus daemon has passed on what came before
        self.ask(self.connection, 'victim', victim, interface_of_victim)
        self.connection.get_name_owner(NAME)
        self.daemon.send(signal.SIGCONT)
        wait_until(lambda: 'victim' in self.answers, 'the answer')
        return self.answers.index('victim')

    def test_call_overtakes_large_answers(self):
        position = self.position_of_victim('Ping', PEER, member='GetManagedObjects',
                                           interface=OBJECTS)
        self.assertLess(position, 100)

    def test_large_answer_takes_its_turn(self):
        position = self.position_of_victim('Explain', MANAGER, member='GetManagedObjects',
                                           interface=OBJECTS)
        self.assertLess(position, 100)

    def test_all_users_are_answered(self):
        self.position_of_victim('Ping', PEER, member='Explain', interface=MANAGER)
        wait_until(lambda: len(self.answers) == 401, 'all answers')
        self.assertEqual(self.answers.count('flood'), 400)

    def test_calls_of_a_user_stay_in_order(self):
        connection = self.connect_as(NOBODY)
        for i in range(50):
            self.ask(connection, 2 * i, 'Explain', MANAGER)
            self.ask(connection, 2 * i + 1, 'Ping', PEER)
        wait_until(lambda: len(self.answers) == 100, 'all answers')
        self.assertEqual(self.answers, list(range(100)))

    def test_long_arguments_do_not_pile_up(self):
        connection = self.connect_as(NOBODY)
        self.sync()
        self.daemon.send(signal.SIGSTOP)
        self.ask(connection, 'first', 'GetManagedObjects', OBJECTS)
        for _ in range(20):
            self.ask(connection, 'long', 'GetAll', 'org.freedesktop.DBus.Properties',
                     arguments=('x.' * 100000 + 'y',))
        connection.get_name_owner(NAME)
        self.daemon.send(signal.SIGCONT)
        wait_until(lambda: len(self.answers) == 21, 'all answers')
        self.assertGreaterEqual(self.answers.count(('long', LIMITS)), 10)

    def test_long_paths_do_not_pile_up(self):
        """They count as arguments do, here in the first call of a connection, which waits for its user's name."""
        for length, expected in (60000, 'ping'), (65000, ('ping', LIMITS)):
            self.answers = []
            self.ask(self.connect_as(NOBODY), 'ping', 'Ping', PEER, path='/' + 'x' * length)
            wait_until(lambda: self.answers, 'the answer')
            self.assertEqual(self.answers, [expected])

    def test_calls_of_normal_size_wait(self):
        """Each has its own mistake reported: none is refused because others wait."""
        connection = self.connect_as(NOBODY)
        self.daemon.send(signal.SIGSTOP)
        self.flood([connection], 20, 'GetManagedObjects', OBJECTS)
        self.flood([connection], 100, 'Hold', MANAGER,
                   arguments=(dbus.Dictionary({'mistake': dbus.UInt32(50)}, signature='sv'),))
        connection.get_name_owner(NAME)
        self.daemon.send(signal.SIGCONT)
        wait_until(lambda: len(self.answers) == 120, 'all answers')
        self.assertEqual(set(self.answers), {'flood', ('flood', NAME + '.Error.InvalidValue')})

    def test_refusals_take_their_turn(self):
        connection = self.connect_as(NOBODY)
        expected = []
        self.daemon.send(signal.SIGSTOP)
        for i in range(60):
            self.ask(connection, i, 'GetManagedObjects', OBJECTS)
            self.ask(connection, i, 'GetAll', 'org.freedesktop.DBus.Properties',
                     arguments=('x.' * 50000 + 'y',))
            expected += [i, (i, LIMITS)]
        connection.get_name_owner(NAME)
        self.daemon.send(signal.SIGCONT)
        wait_until(lambda: len(self.answers) == 120, 'all answers')
        self.assertEqual(self.answers[-20:], expected[-20:])

    def silent(self, connection, member, signature='', *arguments, times=1):
        """Sends calls that want no reply."""
        for _ in range(times):
            call = dbus.lowlevel.MethodCallMessage(NAME, PATH, MANAGER, member)
            call.set_no_reply(True)
            call.append(*arguments, signature=signature)
            connection.send_message(call)
        connection.flush()

    def test_query_without_reply_costs_nothing(self):
        connection = self.connect_as(NOBODY)
        ping = (NAME, PATH, PEER, 'Ping', '', ())
        connection.call_blocking(*ping)
        start = self.get('CpuUSec')
        self.silent(connection, 'GetSettings', times=1000)
        connection.call_blocking(*ping)
        dropped = self.get('CpuUSec')
        for _ in range(100):
            connection.call_blocking(NAME, PATH, MANAGER, 'GetSettings', '', ())
        self.assertLess(dropped - start, self.get('CpuUSec') - dropped)

    @contextlib.contextmanager
    def counted(self, prefix):
        """A list that has, afterwards, how often the daemon made system calls that begin so."""
        counts = []
        command = ['strace', '-c', '-p', str(self.daemon.process.pid)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
            if 'attached' not in strace.stderr.readline():
                self.skipTest('strace may not attach')
            try:
                yield counts
            finally:
                strace.send_signal(signal.SIGINT)
            lines = [line.split() for line in strace.stderr]
        counts += [int(words[3]) for words in lines if words and words[-1].startswith(prefix)]

    @unittest.skipUnless(shutil.which('strace'), 'needs strace')
    def test_flood_of_effects_without_reply(self):
        """Those that are too many are dropped many at a time, not one in each turn of the loop: else the bus daemon's
        queue for idled, which all users share, grows until the bus daemon closes the connection."""
        connection = self.connect_as(NOBODY)
        connection.get_name_owner(NAME)
        self.sync()
        self.daemon.send(signal.SIGSTOP)
        self.silent(connection, 'Reload', times=20000)
        connection.get_name_owner(NAME)
        self.ask(self.connection, 'victim', 'Ping', PEER)
        self.connection.get_name_owner(NAME)
        with self.counted('epoll_') as turns:
            self.daemon.send(signal.SIGCONT)
            wait_until(lambda: self.answers, 'the answer')
        self.assertEqual(self.answers, ['victim'])
        self.assertGreater(sum(turns), 0)
        self.assertLess(sum(turns), 15000)

    def test_effect_without_reply(self):
        request = dbus.Dictionary({'latency_us': dbus.UInt32(50)}, signature='sv')
        path, _descriptor = self.call('Hold', request)
        self.silent(self.connection, 'ReleaseHold', 'o', path)
        self.silent(self.connection, 'SetOptions', 'a(sss)', [('latency', 'Floor', '7us')])
        self.assertEqual(self.get('Holds'), [])
        self.assertEqual([str(o['value']) for o in self.call('GetSettings') if o['key'] == 'Floor'], ['7us'])

    def limit_lookups(self, denied):
        """Whether the bus daemon refuses to say whose a name is."""
        with open(self.bus.config, encoding='utf-8') as file:
            text = file.read().replace(DENY, '')
        with open(self.bus.config, 'w', encoding='utf-8') as file:
            file.write(text.replace('</policy>', DENY * denied + '</policy>'))
        self.connection.call_blocking('org.freedesktop.DBus', '/org/freedesktop/DBus',
                                      'org.freedesktop.DBus', 'ReloadConfig', '', ())

    def test_failed_lookup_is_repeated(self):
        connection = self.connect_as(NOBODY)
        self.limit_lookups(True)
        self.ask(connection, 'ping', 'Ping', PEER)
        self.daemon.wait_log('does not report the user')
        self.limit_lookups(False)
        wait_until(lambda: self.answers, 'the answer')
        self.assertEqual(self.answers, ['ping'])

    def test_lookups_fail(self):
        """The client may try again, and then has its answer."""
        connection = self.connect_as(NOBODY)
        self.limit_lookups(True)
        self.ask(connection, 'ping', 'Ping', PEER)
        wait_until(lambda: self.answers, 'the answer')
        self.limit_lookups(False)
        self.ask(connection, 'ping', 'Ping', PEER)
        wait_until(lambda: len(self.answers) == 2, 'the second answer')
        self.assertEqual(self.answers, [('ping', LIMITS), 'ping'])

    def test_client_that_leaves(self):
        connection = self.connect_as(NOBODY)
        self.daemon.send(signal.SIGSTOP)
        self.flood([connection], 100, 'GetManagedObjects', OBJECTS)
        connection.close()
        self.daemon.send(signal.SIGCONT)
        self.sync()
        self.assertEqual(self.get('Parked'), '')

    def test_bus_goes_while_calls_wait(self):
        connection = self.connect_as(NOBODY)
        self.daemon.send(signal.SIGSTOP)
        self.flood([connection], 100, 'GetManagedObjects', OBJECTS)
        self.daemon.send(signal.SIGCONT)
        self.bus.stop()
        self.bus_returns()
        self.assertEqual(self.get('Parked'), '')


main()
