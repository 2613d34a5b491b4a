#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The power-profiles names: by the real powerprofilesctl, by introspection, and by plain calls; and calls and holds
that others than their clients put an end to."""
import os
import shutil
import subprocess
import sys
import threading
import unittest
import xml.etree.ElementTree as xml

import dbus
import dbus.service
from idledtest import (MOCK, NOBODY, PATH, PROPERTIES, TIMEOUT, TestCase, command_as, main, needs_root,
                       wait_until)
from polkittest import AUTHORITY, AUTHORITY_PATH, POLKIT
from systemdtest import SYSTEMD

OLD = ('net.hadess.PowerProfiles', '/net/hadess/PowerProfiles')
NEW = ('org.freedesktop.UPower.PowerProfiles', '/org/freedesktop/UPower/PowerProfiles')

CLIENT = shutil.which('powerprofilesctl')
INVALID = 'org.freedesktop.DBus.Error.InvalidArgs'

COMMON = {
    'ActiveProfile': ('s', 'readwrite'), 'PerformanceInhibited': ('s', 'read'),
    'PerformanceDegraded': ('s', 'read'), 'Profiles': ('aa{sv}', 'read'),
    'Actions': ('as', 'read'), 'ActiveProfileHolds': ('aa{sv}', 'read'),
}
METHODS = {'HoldProfile': ('sss', 'u'), 'ReleaseProfile': ('u', '')}

# Holds until its input ends, then prints the signals that it got.
HOLDER = '''
import sys, dbus, dbus.bus
bus = dbus.bus.BusConnection(sys.argv[1])
object = bus.get_object("%s", "%s", introspect=False)
print(object.HoldProfile("performance", "held by a test", "test.app",
                         dbus_interface="%s"), flush=True)
sys.stdin.read()
''' % (OLD[0], OLD[1], OLD[0])


class Case(TestCase):
    CONFIG = '[Daemon]\nPolicies=userspace\nPowerProfilesNames=yes\n'
    FILES = {'profiles/%s.conf' % name: '[userspace]\nIdleMask=%s\n' % mask
             for name, mask in (('power-saver', '4-7'), ('performance', '7'), ('night', '6-7'))}

    def start(self, *more, bus=True):
        super().start(*more, bus=bus)
        for name, _ in OLD, NEW:
            wait_until(lambda name=name: self.connection.name_has_owner(name), name)

    def power(self, where=OLD, connection=None):
        return (connection or self.connection).get_object(*where, introspect=False)

    def value(self, name, where=OLD):
        return self.power(where).Get(where[0], name, dbus_interface=PROPERTIES)

    def choose(self, name, where=OLD):
        self.power(where).Set(where[0], 'ActiveProfile', name, dbus_interface=PROPERTIES,
                              signature='ssv')

    def hold(self, profile, where=OLD, connection=None):
        return self.power(where, connection).HoldProfile(profile, 'a test', 'org.test',
                                                         dbus_interface=where[0])

    def release(self, cookie, where=OLD, connection=None):
        self.power(where, connection).ReleaseProfile(dbus.UInt32(cookie), dbus_interface=where[0])

    def assert_error(self, name, function, *arguments, **more):
        with self.assertRaises(dbus.DBusException) as caught:
            function(*arguments, **more)
        self.assertEqual(caught.exception.get_dbus_name(), name)


class Properties(Case):
    START = ()

    def test_introspection(self):
        for where, more, methods in (
                (OLD, {}, {}),
                (NEW, {'ActionsInfo': ('aa{sv}', 'read'), 'Version': ('s', 'read'),
                       'BatteryAware': ('b', 'readwrite')}, {'SetActionEnabled': ('sb', '')})):
            text = self.power(where).Introspect(
                dbus_interface='org.freedesktop.DBus.Introspectable')
            interface, = [i for i in xml.fromstring(text).findall('interface')
                          if i.get('name') == where[0]]
            self.assertEqual({p.get('name'): (p.get('type'), p.get('access'))
                              for p in interface.findall('property')}, {**COMMON, **more})
            self.assertEqual({m.get('name'): tuple(
                ''.join(a.get('type') for a in m.findall('arg') if a.get('direction') == way)
                for way in ('in', 'out')) for m in interface.findall('method')},
                {**METHODS, **methods})
            self.assertEqual([s.get('name') for s in interface.findall('signal')],
                             ['ProfileReleased'])

    def test_values(self):
        for where in OLD, NEW:
            self.assertEqual(self.value('ActiveProfile', where), 'balanced')
            rows = self.value('Profiles', where)
            self.assertEqual([row['Profile'] for row in rows],
                             ['power-saver', 'balanced', 'performance'])
            for row in rows:
                self.assertTrue(row['Driver'] and row['CpuDriver'])
            for name in 'Actions', 'ActiveProfileHolds':
                self.assertEqual(self.value(name, where), [])
            for name in 'PerformanceInhibited', 'PerformanceDegraded':
                self.assertEqual(self.value(name, where), '')
        self.assertEqual(self.value('ActionsInfo', NEW), [])
        self.assertFalse(self.value('BatteryAware', NEW))
        self.assertEqual(self.value('Version', NEW), self.get('Version'))

    def test_choose(self):
        seen = [self.signals_of(where) for where in (OLD, NEW)]
        self.choose('power-saver')
        self.assertEqual((self.get('Profile'), self.get('ChosenProfile'), self.get('IdleMask')),
                         ('power-saver', 'power-saver', '4-7'))
        for where, list_ in zip((OLD, NEW), seen):
            wait_until(lambda list_=list_: list_, 'PropertiesChanged of ' + where[0])
            self.assertEqual(list_, [(where[0], {'ActiveProfile': 'power-saver'})])
        self.choose('balanced', NEW)
        self.assertEqual(self.get('IdleMask'), '')

    def signals_of(self, where):
        seen = []
        match = self.connection.add_signal_receiver(
            lambda interface, changed, invalid: seen.append((interface, changed)),
            'PropertiesChanged', PROPERTIES, None, where[1])
        self.addCleanup(match.remove)
        return seen

    def test_bad_choices(self):
        for name in 'night', '', 'Balanced', 'x' * 1000, dbus.UInt32(1), dbus.Array(['a']):
            self.assert_error(INVALID, self.choose, name)
        for name in 'Version', 'Profiles', 'Nothing':
            with self.assertRaises(dbus.DBusException):
                self.power(NEW).Set(NEW[0], name, 'x', dbus_interface=PROPERTIES, signature='ssv')
        self.assert_error('org.freedesktop.DBus.Error.NotSupported', lambda: self.power(NEW).Set(
            NEW[0], 'BatteryAware', True, dbus_interface=PROPERTIES, signature='ssv'))
        self.power(NEW).Set(NEW[0], 'BatteryAware', False, dbus_interface=PROPERTIES,
                            signature='ssv')
        self.assert_error(INVALID, lambda: self.power(NEW).SetActionEnabled(
            'x', True, dbus_interface=NEW[0]))
        self.assertEqual(self.get('Profile'), 'balanced')

    def test_by_another_interface(self):
        """ActiveProfile is that of the object's own interface."""
        for where, interface in ((OLD, NEW[0]), (NEW, OLD[0]), (OLD, 'org.example.Other')):
            with self.assertRaises(dbus.DBusException) as caught:
                self.power(where).Set(interface, 'ActiveProfile', 'performance',
                                      dbus_interface=PROPERTIES, signature='ssv')
            self.assertIn('Unknown', caught.exception.get_dbus_name(), interface)
        self.assertEqual(self.get('Profile'), 'balanced')

    def test_battery_aware(self):
        """A signal reports when the configuration changes it, on the interface that has it."""
        old, new = self.signals_of(OLD), self.signals_of(NEW)
        for profile, aware in ('night', True), ('', False):
            self.set_option('Daemon', 'ProfileBattery', profile)
            wait_until(lambda aware=aware: (NEW[0], {'BatteryAware': aware}) in new,
                       'BatteryAware %s' % aware)
            self.assertEqual(self.value('BatteryAware', NEW), aware)
        self.sync()
        self.assertEqual(old, [])

    def test_profile_that_clients_do_not_know(self):
        self.call('SetProfile', 'night')
        self.assertEqual(self.value('ActiveProfile'), 'balanced')
        self.write_config('profiles/night.conf', '[Profile]\nInclude=performance\n')
        self.call('Reload')
        self.assertEqual(self.value('ActiveProfile'), 'performance')

    def test_degraded(self):
        self.choose('performance')
        descriptor = self.pause('a test')
        self.assertIn('paused by', self.value('PerformanceDegraded'))
        os.close(descriptor)
        wait_until(lambda: self.value('PerformanceDegraded') == '', 'the end of the pause')

    @needs_root
    def test_nobody_is_refused(self):
        for arguments in (['set-property', *OLD, OLD[0], 'ActiveProfile', 's', 'performance'],
                          ['call', *OLD, OLD[0], 'HoldProfile', 'sss', 'performance', 'a', 'b']):
            result = self.busctl(*arguments, user=NOBODY)
            self.assertNotEqual(result.returncode, 0)
            self.assertRegex(result.stderr, 'Permission denied|Access denied')
        self.assertEqual(self.get('Profile'), 'balanced')
        result = self.busctl('get-property', *OLD, OLD[0], 'ActiveProfile', user=NOBODY)
        self.assertEqual(result.stdout, 's "balanced"\n')


class Holds(Case):
    START = ()

    def test_hold(self):
        self.choose('balanced')
        cookie = self.hold('performance')
        self.assertEqual((self.get('Profile'), self.get('IdleMask')), ('performance', '7'))
        self.assertEqual(self.get('ProfileReason'), 'held by org.test: a test')
        for where in OLD, NEW:
            self.assertEqual(self.value('ActiveProfile', where), 'performance')
            row, = self.value('ActiveProfileHolds', where)
            self.assertEqual(row, {'ApplicationId': 'org.test', 'Profile': 'performance',
                                   'Reason': 'a test'})
        saver = self.hold('power-saver', NEW)
        self.assertEqual(self.get('Profile'), 'power-saver', 'it is stronger')
        self.release(saver, NEW)
        self.assertEqual(self.get('Profile'), 'performance')
        self.release(cookie)
        self.assertEqual(self.get('Profile'), 'balanced')
        self.assertEqual(self.value('ActiveProfileHolds'), [])
        self.assert_error(INVALID, self.release, cookie)

    def test_choice_ends_them_at_one_stroke(self):
        """No profile of a hold that is still there comes into force while the others are ended."""
        for name in ('power-saver', 'power-saver', 'performance', 'performance'):
            self.hold(name)
        before = self.daemon.count_log('Profile performance')
        self.choose('balanced')
        self.assertEqual(self.get('Profile'), 'balanced')
        self.assertEqual(self.value('ActiveProfileHolds'), [])
        self.daemon.wait_log('balanced is chosen: ending the holds')
        self.assertEqual(self.daemon.count_log('Profile performance'), before)
        self.assertEqual(self.daemon.count_log('Profile balanced: chosen'), 1)
        self.assertEqual(self.daemon.count_log('balanced is chosen: ending the holds'), 1)

    def test_peer_defect_10(self):
        """A number can be guessed, but only its owner can use it."""
        cookie = self.hold('performance')
        other = self.bus.connect()
        self.addCleanup(other.close)
        for guess in [cookie, *range(20), 2**32 - 1]:
            self.assert_error(INVALID, self.release, guess, connection=other)
        self.assertEqual(self.get('Profile'), 'performance')

    def test_bad_holds(self):
        for name in 'balanced', 'night', '', 'x' * 10000:
            self.assert_error(INVALID, self.hold, name)
        power = self.power()
        for reason, application in (('x' * 257, 'a'), ('a', 'x' * 257)):
            self.assert_error(INVALID, lambda r=reason, a=application: power.HoldProfile(
                'performance', r, a, dbus_interface=OLD[0]))
        power.HoldProfile('performance', 'a\nb\x1b[2J', 'c\nd', dbus_interface=OLD[0])
        row, = self.value('ActiveProfileHolds')
        self.assertFalse({'\n', '\x1b'} & set(row['Reason'] + row['ApplicationId']))

    def holder(self):
        process = self.popen([sys.executable, '-c', HOLDER, self.bus.address],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return process, int(process.stdout.readline())

    def test_holder_dies(self):
        process, _ = self.holder()
        self.assertEqual(self.get('Profile'), 'performance')
        process.kill()
        wait_until(lambda: self.get('Profile') == 'balanced', 'the hold gone')
        self.assertEqual(self.value('ActiveProfileHolds'), [])

    def test_stopped(self):
        """The daemon ends well while clients hold profiles."""
        self.hold('performance')
        self.holder()
        self.call('Hold', dbus.Dictionary({'profile': 'night'}, 'sv'))
        self.assertEqual(self.daemon.terminate(), 0)

    def test_released_by_choice(self):
        """Choosing a profile manually ends all holds, and their owners alone get a signal."""
        self.holder()
        mine, theirs = [], []
        other = self.bus.connect()
        self.addCleanup(other.close)
        for connection, list_ in (self.connection, mine), (other, theirs):
            match = connection.add_signal_receiver(
                lambda cookie, list_=list_: list_.append(cookie), 'ProfileReleased', OLD[0])
            self.addCleanup(match.remove)
        cookie = self.hold('performance')
        self.choose('power-saver')
        wait_until(lambda: mine, 'ProfileReleased')
        self.assertEqual(self.get('Profile'), 'power-saver')
        self.assertEqual(self.value('ActiveProfileHolds'), [])
        self.sync()
        self.assertEqual((mine, theirs), ([cookie], []))

    def test_other_holds(self):
        _, descriptor = self.call('Hold', dbus.Dictionary({'profile': 'night'}, 'sv'))
        row, = self.value('ActiveProfileHolds')
        self.assertEqual(row['Profile'], 'balanced')
        self.choose('performance')
        self.assertEqual(self.get('Profile'), 'night', 'it was not asked for by these names')
        os.close(descriptor.take())
        wait_until(lambda: self.get('Profile') == 'performance', 'the chosen one')


# What systemd answers, for dbusmock.
RUNNING = '''ret = [
    (name, '', 'loaded', state, '', '', '/a', 0, '', '/') for name, state in
    (('tuned-ppd.service', 'inactive'), ('tuned.service', 'active'), ('tlp.service', 'activating'))]'''


class Names(Case):
    def test_off_by_default(self):
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace\n')
        TestCase.start(self)
        self.sync()
        for name, _ in OLD, NEW:
            self.assertFalse(self.connection.name_has_owner(name))

    def test_switched_by_a_reload(self):
        self.start()
        self.hold('performance')
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace\n')
        self.call('Reload')
        for name, _ in OLD, NEW:
            wait_until(lambda name=name: not self.connection.name_has_owner(name), 'names given up')
        self.assertEqual(self.get('Profile'), 'balanced', 'no client could release it')
        self.set_option('Daemon', 'PowerProfilesNames', 'yes')
        wait_until(lambda: self.connection.name_has_owner(OLD[0]), 'names back')
        wait_until(lambda: self.connection.name_has_owner(NEW[0]), 'names back')
        self.assertEqual(self.value('ActiveProfile', NEW), 'balanced')

    def test_taken_by_another(self):
        other = self.bus.connect()
        self.addCleanup(other.close)
        other.request_name(OLD[0])
        TestCase.start(self)
        self.daemon.wait_log('owns the name net.hadess.PowerProfiles')
        wait_until(lambda: self.connection.name_has_owner(NEW[0]), 'the other name')
        self.assertEqual(self.connection.get_name_owner(OLD[0]), other.get_unique_name())
        for _ in range(3):
            self.call('SetProfile', 'night')
            self.call('Reload')
        self.sync()
        self.assertEqual(self.daemon.count_log('such as .* owns the name'), 1, 'said once')
        self.assertEqual(self.degraded(),
                         [('power-profiles', OLD[0], 'another process owns the name')])

    def test_others_that_run(self):
        """What has no name and writes to the same knobs, and runs nevertheless."""
        path = '/org/freedesktop/systemd1'
        _, systemd = self.mock(SYSTEMD, path, SYSTEMD + '.Manager')
        systemd.AddMethod(SYSTEMD + '.Manager', 'ListUnitsByNames', 'as', 'a(ssssssouso)', RUNNING,
                          dbus_interface=MOCK)
        self.start()
        for name in 'tuned', 'tlp':
            self.daemon.wait_log(name + r'.service is running and writes')
        wait_until(lambda: len(self.get('Degraded')) == 2, 'both rows')
        self.assertEqual(self.get('Degraded')[0], ('power-profiles', 'tuned.service',
                                                   'it is running and writes to the same knobs as idled'))
        self.assertEqual(self.daemon.count_log('service is running and writes'), 2)
        self.assertIn('tlp.service', self.idlectl('status').stdout)
        changed = self.signals(PATH)
        self.set_option('Daemon', 'PowerProfilesNames', 'no')
        wait_until(lambda: any(row[2].get('Degraded') == [] for row in changed), 'no degraded knob')
        self.assertEqual(self.get('Degraded'), [])

    def test_bus_away(self):
        self.start()
        self.hold('performance')
        self.bus.stop()
        self.daemon.wait_log('is gone')
        self.bus_returns()
        for name, _ in OLD, NEW:
            wait_until(lambda name=name: self.connection.name_has_owner(name), name)
        self.assertEqual(self.get('Profile'), 'balanced', 'its owner cannot be known')


@unittest.skipUnless(CLIENT, 'needs powerprofilesctl')
class Client(Case):
    """Debian's powerprofilesctl."""
    START = ()

    def client(self, *arguments, more=()):
        environment = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=self.bus.address)
        return subprocess.run([CLIENT, *arguments], env=environment, capture_output=True, text=True,
                              timeout=TIMEOUT, check=False, **dict(more))

    def assert_says(self, expected, *arguments):
        result = self.client(*arguments)
        self.assertEqual((result.stderr, result.returncode), ('', 0))
        self.assertEqual(result.stdout, expected)

    def test_get_and_set(self):
        self.assert_says('balanced\n', 'get')
        for name in 'power-saver', 'performance', 'balanced':
            self.assert_says('', 'set', name)
            self.assert_says(name + '\n', 'get')
            self.assertEqual(self.get('Profile'), name)
        self.assertNotEqual(self.client('set', 'night').returncode, 0)
        self.assertEqual(self.get('Profile'), 'balanced')

    def test_list(self):
        result = self.client('list')
        self.assertEqual((result.stderr, result.returncode), ('', 0))
        self.assertEqual([line.strip(' *:') for line in result.stdout.splitlines()
                          if line.endswith(':')], ['performance', 'balanced', 'power-saver'])
        self.assertIn('* balanced:', result.stdout)
        self.assertIn('Degraded:   no', result.stdout)
        self.assertEqual(result.stdout.count('idled'), 3)

    def test_launch_and_list_holds(self):
        script = '%s get; %s list-holds; exit 7' % (CLIENT, CLIENT)
        result = self.client('launch', '--profile', 'power-saver', '--reason', 'a build',
                             '--appid', 'org.test.Build', 'sh', '-c', script)
        self.assertEqual(result.stderr, '')
        lines = result.stdout.split('\n', 1)
        self.assertEqual(lines[0], 'power-saver')
        for text in 'org.test.Build', 'power-saver', 'a build':
            self.assertIn(text, lines[1])
        wait_until(lambda: self.get('Profile') == 'balanced', 'the hold gone')
        self.assert_says('', 'list-holds')


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
        client = self.popen(command_as(NOBODY, 'busctl', '--address=' + self.bus.address, *arguments),
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
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
        client = self.popen(command_as(NOBODY, sys.executable, '-c', GREEDY, self.bus.address),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        lines = []
        reader = threading.Thread(target=lambda: lines.append(client.stdout.readline()))
        reader.start()
        self.addCleanup(reader.join)
        self.addCleanup(client.kill)
        wait_until(lambda: lines, 'the last answer')
        self.assertIn('LimitsExceeded', lines[0])
        self.assertIn('has 256 holds already', lines[0])
        self.assertEqual((len(self.get('Holds')), self.polkit.asked), (256, 256))

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
