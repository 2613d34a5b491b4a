#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Calls and holds of the power-profiles names that others than their clients put an end to."""
import os
import subprocess
import sys
import threading

import dbus
import dbus.service
from idledtest import NOBODY, command_as, main, needs_root, wait_until
from polkittest import AUTHORITY, AUTHORITY_PATH, POLKIT
from powertest import NEW, OLD, Case

INVALID = 'org.freedesktop.DBus.Error.InvalidArgs'
HOLD = ('call', *OLD, OLD[0], 'HoldProfile', 'sss', 'performance', 'a reason', 'org.test')
CHOOSE = ('set-property', *NEW, NEW[0], 'ActiveProfile', 's', 'performance')


class Polkit(dbus.service.Object):
    """Answers when the test lets it."""

    def __init__(self, connection):
        super().__init__(connection, AUTHORITY_PATH)
        self.waiting = []
        self.asked = 0
        self.agrees = False  # at once, to everything

    @dbus.service.method(AUTHORITY, in_signature='(sa{sv})sa{ss}us',
                         out_signature='(bba{ss})', async_callbacks=('yes', 'no'))
    def CheckAuthorization(self, _subject, _action, _details, _flags, _cancel, yes, no):
        self.waiting.append(yes)
        self.asked += 1
        if self.agrees:
            self.agree()

    def agree(self):
        self.waiting.pop(0)((True, False, dbus.Dictionary({}, signature='ss')))


# Requests more holds than a user may have, and prints the last answer.
GREEDY = '''
import sys, dbus, dbus.bus
bus = dbus.bus.BusConnection(sys.argv[1])
object = bus.get_object("%s", "%s", introspect=False)
for _ in range(300):
    try:
        answer = object.HoldProfile("performance", "more", "test.app", dbus_interface="%s")
    except dbus.DBusException as error:
        answer = error
print(answer, flush=True)
sys.stdin.read()
''' % (*OLD, OLD[0])


@needs_root
class Questions(Case):
    """What happens while polkit thinks, and requests that never reach it."""

    def setUp(self):
        super().setUp()
        os.environ['MALLOC_PERTURB_'] = '165'  # what is freed is not what it was
        self.addCleanup(os.environ.pop, 'MALLOC_PERTURB_')
        connection = self.bus.connect()
        self.addCleanup(connection.close)
        connection.request_name(POLKIT)
        self.polkit = Polkit(connection)
        self.start()

    def ask(self, arguments):
        client = subprocess.Popen(
            command_as(NOBODY, 'busctl', '--address=' + self.bus.address, *arguments),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(client.stdout.close)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        wait_until(lambda: self.polkit.waiting, 'the question')
        return client

    def switch(self, value):
        self.set_option('Daemon', 'PowerProfilesNames', value)
        wait_until(lambda: self.connection.name_has_owner(OLD[0]) == (value == 'yes'), 'the names')

    def test_names_are_gone(self):
        for arguments in HOLD, CHOOSE:
            with self.subTest(arguments[0]):
                client = self.ask(arguments)
                self.switch('no')
                self.polkit.agree()
                wait_until(lambda c=client: c.poll() is not None, 'the answer')
                self.assertIn('not served any more', client.stdout.read())
                self.assertNotEqual(client.returncode, 0)
                self.assertEqual(self.get('Profile'), 'balanced')
                self.assertEqual(self.get('Holds'), [])
                self.switch('yes')

    def test_names_are_back(self):
        client = self.ask(CHOOSE)
        self.switch('no')
        self.switch('yes')
        self.polkit.agree()
        wait_until(lambda: client.poll() is not None, 'the answer')
        self.assertEqual((client.stdout.read(), client.returncode), ('', 0))
        self.assertEqual(self.get('Profile'), 'performance')

    def test_too_many(self):
        """Who may have no more is refused before polkit is asked."""
        self.polkit.agrees = True
        client = subprocess.Popen(command_as(NOBODY, sys.executable, '-c', GREEDY, self.bus.address),
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        lines = []
        reader = threading.Thread(target=lambda: lines.append(client.stdout.readline()))
        reader.start()
        try:
            wait_until(lambda: lines, 'the last answer')
            self.assertIn('LimitsExceeded', lines[0])
            self.assertIn('has 256 holds already', lines[0])
            self.assertEqual((len(self.get('Holds')), self.polkit.asked), (256, 256))
        finally:
            client.stdin.close()
            client.kill()
            client.wait()
            reader.join()
            client.stdout.close()

    def test_nonsense(self):
        """It is not asked about a request that cannot be met."""
        result = self.busctl('call', *OLD, OLD[0], 'HoldProfile', 'sss', 'balanced', 'a', 'b',
                             user=NOBODY)
        self.assertIn('can be held', result.stderr)
        self.assertEqual(self.polkit.asked, 0)


class Released(Case):
    def setUp(self):
        super().setUp()
        self.start()
        self.seen = []
        for where in OLD, NEW:
            match = self.connection.add_signal_receiver(
                lambda cookie, where=where: self.seen.append((where, cookie)), 'ProfileReleased',
                where[0])
            self.addCleanup(match.remove)

    def test_by_root(self):
        """Through org.idled1: the client gets a signal, and its number is invalid."""
        for where in OLD, NEW:
            kept, cookie = self.hold('performance', OLD), self.hold('power-saver', where)
            self.call('ReleaseHold', self.path(cookie))
            wait_until(lambda: self.seen, 'ProfileReleased')
            self.assertEqual(self.seen, [(where, cookie)])
            self.assert_error(INVALID, self.release, cookie, where)
            self.release(kept)
            self.sync()
            self.assertEqual(self.seen, [(where, cookie)])
            self.seen.clear()

    def test_by_itself(self):
        """A client that releases a hold that is about to end gets one signal."""
        cookie = self.hold('performance')
        self.release(cookie)
        self.call('SetProfile', 'balanced')
        self.sync()
        self.assertEqual(self.seen, [])

    def path(self, cookie):
        """The hold's object: both count the same."""
        path = '/org/idled1/hold/%d' % cookie
        self.assertIn(path, self.get('Holds'))
        return dbus.ObjectPath(path)


main()
