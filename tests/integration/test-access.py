#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Access: root may call every method, other users the ones that polkit allows; without polkit none. While polkit asks
for a password idlectl waits, and can be interrupted. The bus delivers no descriptor that idled does not expect."""
import os
import pty
import shutil
import signal
import subprocess
from xml.etree import ElementTree

import dbus

from idledtest import (MANAGER, NAME, NOBODY, PATH, TIMEOUT, TestCase, command_as, main, needs_root,
                       wait_until)
from polkittest import CHALLENGE, NO, YES, WithPolkit

INTERACTIVE = ('--allow-interactive-authorization=yes',)
NOT_INTERACTIVE = ('--allow-interactive-authorization=no',)

# Every method that changes something or reveals a secret, its arguments, its action.
GUARDED = (
    (('SetOptions', 'a(sss)', '1', 'userspace', 'IdleMask', '7'), 'set-option'),
    (('Pause', 'st', 'a test', '0'), 'pause'),
    (('Pause', 'st', 'a test', '1'), 'pause'),
    (('StartTrial', 'a{sb}a(sss)s', '1', 'userspace', 'false', '0', 'a test'), 'set-option'),
    (('SetProfile', 's', 'balanced'), 'set-profile'),
    (('Reload',), 'reload'),
    (('Hold', 'a{sv}', '1', 'latency_us', 'u', '50'), 'hold'),
    (('Hold', 'a{sv}', '2', 'latency_us', 'u', '50', 'global', 'b', 'true'), 'hold-global'),
    (('GetEnergy',), 'read-energy'),
    (('WakeupBill', 'a{sv}', '2', 'Seconds', 'd', '0.1', 'All', 'b', 'true'), 'watch-sleeps'),
)

# Every method that changes nothing and reveals no secret. All others must be refused to users without
# the right: a new method is either here, or guarded.
READING = {MANAGER: {'Explain', 'History', 'GetSettings', 'Verify', 'Sample'},
           'org.idled1.Policy': set(), 'org.idled1.Hold': set(), 'org.idled1.Sleeps': set()}

# Arguments of methods that are not guarded by polkit but are for the owner alone.
OWNED = {'ReleaseHold': lambda hold: ('o', hold),
         'Start': lambda hold: ('a{sv}', '0'), 'Read': lambda hold: ('u', '1'),
         'Stop': lambda hold: ('u', '1')}

HOLDS_TOO = '[Daemon]\nPolicies=userspace latency\n'


def set_idle_mask(cpus):
    return 'SetOptions', 'a(sss)', '1', 'userspace', 'IdleMask', cpus


def default_arguments(method):
    """Something of the types that the method takes, as busctl has it; basic types only."""
    signature = ''.join(a.get('type') for a in method.iter('arg') if a.get('direction') == 'in')
    return (signature, *('x' if kind == 's' else '1' for kind in signature)) if signature else ()


@needs_root
class WithoutPolkit(TestCase):
    CONFIG = HOLDS_TOO
    START = ('--dry-run',)

    def test_everyone_may_read(self):
        for method in (('Explain',), ('History', 'tu', '0', '1'), ('GetSettings',), ('Verify',), ('Sample',)):
            result = self.call_as_nobody(*method)
            self.assertEqual(result.returncode, 0, result.stderr)
        result = self.busctl('get-property', NAME, PATH, MANAGER, 'Load', user=NOBODY)
        self.assertEqual(result.returncode, 0, result.stderr)

    def methods(self, path):
        """(interface, method's element) of idled's own interfaces there."""
        text = self.object(path).Introspect(dbus_interface='org.freedesktop.DBus.Introspectable')
        return [(interface.get('name'), method) for interface in ElementTree.fromstring(text)
                if interface.tag == 'interface' and interface.get('name').startswith('org.idled1.')
                for method in interface.iter('method')]

    def test_every_method_that_is_not_for_reading_is_refused(self):
        hold, fd = self.call('Hold', dbus.Dictionary({'latency_us': dbus.UInt32(50)}, 'sv'))
        self.addCleanup(os.close, fd.take())
        known = {arguments[0]: arguments[1:] for arguments, _ in GUARDED}
        seen = set()
        for path in (PATH, PATH + '/policy/userspace', hold):
            for interface, method in self.methods(path):
                name = method.get('name')
                seen.add((interface, name))
                if name in READING[interface]:
                    continue
                arguments = OWNED[name](hold) if name in OWNED else \
                    known.get(name) or default_arguments(method)
                result = self.busctl('call', NAME, path, interface, name, *arguments, user=NOBODY)
                with self.subTest(interface=interface, method=name):
                    self.assertNotEqual(result.returncode, 0)
                    self.assertRegex(result.stderr, 'Permission denied|Access denied')
        self.assertEqual(self.get('Holds'), [hold])
        self.assertLessEqual({(i, name) for i in READING for name in READING[i]}, seen)
        self.assertLessEqual(set(known) | set(OWNED), {name for _, name in seen})

    def test_nobody_does_not_set_the_log_level(self):
        before = self.get('LogLevel', '/org/freedesktop/LogControl1', 'org.freedesktop.LogControl1')
        result = self.busctl('set-property', NAME, '/org/freedesktop/LogControl1',
                             'org.freedesktop.LogControl1', 'LogLevel', 's', 'emerg', user=NOBODY)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(before, self.get('LogLevel', '/org/freedesktop/LogControl1',
                                          'org.freedesktop.LogControl1'))

    def test_root_may(self):
        for arguments, _ in GUARDED:
            result = self.busctl('call', NAME, PATH, MANAGER, *arguments)
            self.assertEqual(result.returncode, 0, result.stderr)


@needs_root
class Asked(WithPolkit, TestCase):
    CONFIG = HOLDS_TOO

    def setUp(self):
        super().setUp()
        self.start('--dry-run')
        self.start_polkit(NO)

    def test_yes(self):
        self.answer(YES)
        for arguments, action in GUARDED:
            result = self.call_as_nobody(*arguments)
            self.assertEqual(result.returncode, 0, result.stderr)
            (kind, details), asked, _, _, _ = self.questions()[-1]
            self.assertEqual(kind, 'system-bus-name')
            self.assertEqual(set(details), {'name'})
            self.assertTrue(details['name'].startswith(':'))
            self.assertEqual(asked, 'org.idled1.' + action)
        self.assertEqual(self.get('IdleMask'), '7')

    def test_yes_is_no_licence_for_nonsense(self):
        self.answer(YES)
        result = self.call_as_nobody(*set_idle_mask('nonsense'))
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(self.get('IdleMask'), '')

    def test_no(self):
        for arguments, _ in GUARDED:
            result = self.call_as_nobody(*arguments)
            self.assertNotEqual(result.returncode, 0)
            self.assertRegex(result.stderr, 'Permission denied|Access denied', arguments)
        self.assertEqual(len(self.questions()), len(GUARDED))
        self.assertEqual(self.get('IdleMask'), '')

    def test_challenge(self):
        self.answer(CHALLENGE)
        result = self.call_as_nobody(*set_idle_mask('7'), more=NOT_INTERACTIVE)
        self.assertIn('nteractive authorization', result.stderr)
        self.assertEqual(self.questions()[-1][3], 0)
        result = self.call_as_nobody(*set_idle_mask('7'), more=INTERACTIVE)
        self.assertRegex(result.stderr, 'Permission denied|Access denied')
        self.assertEqual(self.questions()[-1][3], 1, 'the flag is passed on')
        self.assertEqual(self.get('IdleMask'), '')

    def test_root_is_not_a_question(self):
        self.set_idle_mask('7')
        self.assertEqual(self.questions(), [])

    def test_error(self):
        self.answer('raise dbus.exceptions.DBusException("broken", name="org.example.Broken")')
        result = self.call_as_nobody(*set_idle_mask('7'))
        self.assertRegex(result.stderr, 'Permission denied|Access denied')

    def ask_and_wait(self):
        """A client whose question polkit does not answer."""
        client = self.popen(
            command_as(NOBODY, 'busctl', '--address=' + self.bus.address, 'call', NAME, PATH,
                       MANAGER, *set_idle_mask('7')),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return client

    def ask_in_vain(self, count=1):
        """The clients, and the names of calls that reach a polkit that has stopped."""
        seen = self.watch_polkit()
        self.polkit.send_signal(signal.SIGSTOP)
        clients = [self.ask_and_wait() for _ in range(count)]
        wait_until(lambda: seen.count('CheckAuthorization') == count, 'the questions')
        return *clients, seen

    def test_client_vanishes(self):
        self.answer(YES)
        client, seen = self.ask_in_vain()
        client.kill()
        wait_until(lambda: 'CancelCheckAuthorization' in seen, 'the question taken back')
        self.polkit.send_signal(signal.SIGCONT)
        wait_until(lambda: self.questions('CancelCheckAuthorization'), 'polkit alive')
        self.sync()
        self.assertEqual(len(self.questions()), 1, 'polkit did say yes')
        self.assertEqual(self.get('IdleMask'), '', 'a client that exited has no effect')

    def test_others_are_served_meanwhile(self):
        self.answer(YES)
        client, _ = self.ask_in_vain()
        self.assertEqual(self.get('IdleMask'), '')
        self.set_idle_mask('6')
        self.assertEqual(self.get('IdleMask'), '6')
        self.polkit.send_signal(signal.SIGCONT)
        self.assertEqual(client.wait(), 0)
        self.assertEqual(self.get('IdleMask'), '7')

    def test_polkit_dies_while_it_thinks(self):
        client, _ = self.ask_in_vain()
        self.polkit.kill()
        self.assertNotEqual(client.wait(), 0)
        self.assertEqual(self.get('IdleMask'), '')

    def test_waiting_calls_are_limited(self):
        *_, seen = self.ask_in_vain(16)
        result = self.call_as_nobody(*set_idle_mask('7'))
        self.assertIn('Too many calls', result.stderr)
        self.assertEqual(seen.count('CheckAuthorization'), 16)


@needs_root
class PausesOfOthers(WithPolkit, TestCase):
    def test_limit_is_per_user(self):
        self.start('--dry-run')
        self.start_polkit(YES)
        fds = [self.pause('mine') for _ in range(16)]
        result = self.call_as_nobody('Pause', 'st', 'theirs', '0')
        self.assertEqual(result.returncode, 0, result.stderr)
        for fd in fds:
            os.close(fd)


# As the system's bus: what no service's file allows is denied.
STRICT = '''<policy context="default"><allow user="*"/><deny own="*"/><deny send_type="method_call"/>
<allow send_type="signal"/><allow send_requested_reply="true" send_type="method_return"/>
<allow send_requested_reply="true" send_type="error"/><allow send_destination="org.freedesktop.DBus"/>
<allow receive_sender="*"/></policy>'''
POWER = ('net.hadess.PowerProfiles', 'org.freedesktop.UPower.PowerProfiles')


@needs_root
class Descriptors(TestCase):
    """The installed rules of the bus, in whichever order it reads them."""
    CONFIG = HOLDS_TOO.replace('\n', '\nPowerProfilesNames=yes\n', 1)

    def start_with(self, files):
        units = os.path.join(os.environ['IDLED_SOURCE'], 'units')
        includes = ''.join('<include>%s</include>' % os.path.join(units, file) for file in files)
        with open(self.bus.config, encoding='utf-8') as file:
            start = file.read().split('<policy')[0]
        with open(self.bus.config, 'w', encoding='utf-8') as file:
            file.write(start + STRICT + includes + '</busconfig>')
        self.connection.call_blocking('org.freedesktop.DBus', '/org/freedesktop/DBus',
                                      'org.freedesktop.DBus', 'ReloadConfig', '', ())
        self.start('--dry-run')
        for name in POWER:
            wait_until(lambda name=name: self.connection.name_has_owner(name), name)

    def outcome(self, name, interface, member, signature, *arguments):
        """The name of the error; None: the call was answered."""
        try:
            self.connection.call_blocking(name, PATH, interface, member, signature, arguments)
        except dbus.DBusException as error:
            return error.get_dbus_name()
        return None

    def check(self, files):
        self.start_with(files)
        pidfd = os.pidfd_open(os.getpid())
        self.addCleanup(os.close, pidfd)
        denied = 'org.freedesktop.DBus.Error.AccessDenied'
        descriptor = dbus.types.UnixFd(pidfd)
        request = {'latency_us': dbus.UInt32(50), 'pidfd': descriptor}
        for name in (NAME, *POWER, self.connection.get_name_owner(NAME)):
            with self.subTest(name):
                self.assertIsNone(self.outcome(name, MANAGER, 'Explain', ''))
                self.assertEqual(self.outcome(name, MANAGER, 'Explain', 'h', descriptor), denied)
                self.assertEqual(self.outcome(name, POWER[0], 'ReleaseProfile', 'h', descriptor), denied)
                self.assertIsNone(self.outcome(name, MANAGER, 'Hold', 'a{sv}', request))
                self.assertEqual(self.outcome(name, MANAGER, 'Hold', 'a{sv}', {**request, 'more': descriptor}), denied)

    def test_only_a_hold_takes_one(self):
        self.check(('org.idled1.conf', 'org.idled1.power-profiles.conf'))

    def test_only_a_hold_takes_one_in_the_other_order(self):
        self.check(('org.idled1.power-profiles.conf', 'org.idled1.conf'))

    def test_others_allow_more(self):
        """As the rules of power-profiles-daemon, which stay where it is masked."""
        path = os.path.join(self.directory, 'others.conf')
        rules = ''.join(f'<allow send_destination="{name}"/>' for name in POWER)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(f'<busconfig><policy context="default">{rules}</policy></busconfig>')
        self.check(('org.idled1.conf', 'org.idled1.power-profiles.conf', path))


BUS_TIMEOUT = 5  # what any other answer may take
VERBS = (('hold', '--latency', '50us'), ('run', '--latency', '50us', '--', 'true'))


@needs_root
class Consent(WithPolkit, TestCase):
    CONFIG = '[Daemon]\nPolicies=userspace latency\n'

    def setUp(self):
        super().setUp()
        self.start()
        self.start_polkit(YES)
        self.program = shutil.copy(os.environ['IDLECTL'], self.directory)
        self.seen = self.watch_polkit()

    def ask(self, *verb):
        """A user at a terminal runs this verb, and polkit's question gets no answer."""
        del self.seen[:]
        self.polkit.send_signal(signal.SIGSTOP)
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        client = self.popen(
            command_as(NOBODY, self.program, '--bus-address', self.bus.address, *verb),
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        wait_until(lambda: 'CheckAuthorization' in self.seen, 'the question')
        return client, ours

    def test_interrupted(self):
        for verb in VERBS:
            for number in (signal.SIGINT, signal.SIGTERM):
                client, _ = self.ask(*verb)
                client.send_signal(number)
                self.assertEqual(client.wait(TIMEOUT), -number, verb)
                wait_until(lambda: 'CancelCheckAuthorization' in self.seen, 'no more question')
        self.assertEqual(self.get('Holds'), [])

    def test_patience(self):
        client, terminal = self.ask('hold', '--latency', '50us', '--for', '1ms')
        with self.assertRaises(subprocess.TimeoutExpired):
            client.wait(BUS_TIMEOUT + 1)
        self.polkit.send_signal(signal.SIGCONT)
        status = client.wait(TIMEOUT)
        text = os.read(terminal, 4096).decode()
        self.assertIn('is in effect', text)
        self.assertEqual(status, 0, text)


main()
