#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Profiles: chosen, kept, activated as one step, and what becomes of them in a reload."""
import json
import os
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

import dbus

from idledtest import NAME, PATH, TestCase, main, options, wait_until

ERROR = NAME + '.Error.'
NIGHT = '[Profile]\nSummary=The office is empty\n\n[userspace]\nIdleMask=6-7\n'


class ProfileCase(TestCase):
    CONFIG = '[Daemon]\nPolicies=userspace ondemand\n'

    def setUp(self):
        super().setUp()
        self.write_config('profiles/night.conf', NIGHT)
        self.write_config('profiles/day.conf', '[userspace]\nIdleMask=7\n')
        self.state = os.path.join(self.root, 'var/lib/idled/profile')

    def read_state(self):
        return Path(self.state).read_text(encoding='utf-8')

    def write_state(self, data):
        os.makedirs(os.path.dirname(self.state), exist_ok=True)
        Path(self.state).write_bytes(data)

    def options(self, policy='userspace'):
        return self.get('Options', PATH + '/policy/' + policy, NAME + '.Policy')

    def assert_profile(self, name, reason, mask):
        self.assertEqual(self.get('Profile'), name)
        self.assertRegex(self.get('ProfileReason'), reason)
        self.assertEqual(self.options()['IdleMask'], mask)

    def restart(self):
        self.daemon.stop()
        self.start()


class Choices(ProfileCase):
    def test_no_choice(self):
        self.start()
        self.assert_profile('balanced', '^no other one is chosen$', '')
        self.assertEqual(self.get('ChosenProfile'), '')
        self.assertEqual(self.get('ProfileInhibited'), '')
        rows = self.get('Profiles')
        self.assertEqual([row[0] for row in rows], ['balanced', 'day', 'night'])
        self.assertEqual(rows[2][1], 'The office is empty')
        self.assertEqual(rows[2][2], os.path.join(self.config, 'profiles/night.conf'))
        self.assertEqual(rows[0][2], '')
        self.assertFalse(os.path.exists(os.path.dirname(self.state)), 'nothing to keep')

    def test_choose(self):
        seen = self.signals(PATH)
        self.start()
        wait_until(lambda: any(s[2].get('Profile') == 'balanced' for s in seen), 'the signals of the start')
        self.sync()
        seen.clear()
        self.call('SetProfile', 'night')
        self.assert_profile('night', '^chosen$', '6-7')
        self.assertEqual(self.get('IdleMask'), '6-7')
        where = os.path.join(self.config, 'profiles/night.conf:5')
        self.assertEqual(self.call('Explain')[7]['source'], where)
        row, = [row for row in self.call('GetSettings')
                if (row['section'], row['key']) == ('userspace', 'IdleMask')]
        self.assertEqual((row['value'], row['source'], row['runtime']), ('6-7', where, False))
        wait_until(lambda: seen, 'a signal of Profile')
        self.sync()
        self.assertEqual(len(seen), 1, seen)
        self.assertEqual(seen[0][2]['Profile'], 'night')
        self.assertEqual(seen[0][2]['ChosenProfile'], 'night')
        self.assertEqual(seen[0][2]['IdleMask'], '6-7')
        self.call('SetProfile', 'day')
        self.assert_profile('day', '^chosen$', '7')

    def test_nothing_changes(self):
        """Choosing a profile with the same options changes no knob and reports only its name."""
        self.write_config('profiles/other.conf', '[Profile]\nInclude=night\n')
        self.start()
        seen = self.signals()
        self.call('SetProfile', 'night')
        wait_until(lambda: any(s[2].get('Profile') == 'night' for s in seen), 'a signal of Profile')
        transitions = self.get('Transitions')
        self.sync()
        seen.clear()
        self.call('SetProfile', 'other')
        self.call('SetProfile', 'other')
        wait_until(lambda: any(s[2].get('Profile') == 'other' for s in seen), 'a signal of Profile')
        self.sync()
        self.assertEqual(self.get('Transitions'), transitions)
        for path, _, changed, _ in seen:
            self.assertEqual(path, PATH)
            self.assertLessEqual(set(changed),
                                 {'Profile', 'ProfileReason', 'ProfileInhibited', 'ChosenProfile'})

    def test_kept(self):
        self.start()
        self.call('SetProfile', 'night')
        self.assertEqual(self.read_state(), 'night\n')
        self.assertEqual(os.listdir(os.path.dirname(self.state)), ['profile'])
        self.restart()
        self.assert_profile('night', '^chosen$', '6-7')
        self.call('SetProfile', '')
        self.assert_profile('balanced', '^no other one is chosen', '')
        self.assertFalse(os.path.exists(self.state))
        self.call('SetProfile', 'day')
        self.call('SetProfile', 'auto')
        self.assertEqual(self.get('ChosenProfile'), '')
        self.restart()
        self.assertEqual(self.get('Profile'), 'balanced')

    def test_garbage_kept(self):
        for text in (b'', b'\n', b'night\nday\n', b'../night\n', b'\xff\xfe\0', b'auto\n',
                     b'x' * 100000):
            with self.subTest(text=text[:20]):
                self.write_state(text)
                self.start()
                self.daemon.wait_log('found no name of a profile|Bad message')
                self.assert_profile('balanced', '^no other one is chosen', '')
                self.call('SetProfile', 'night')
                self.assertEqual(self.read_state(), 'night\n')
                self.daemon.stop()

    def test_kept_name_is_gone(self):
        self.write_state(b'evening\n')
        self.start()
        self.assert_profile('balanced', 'there is no profile "evening"', '')
        self.assertEqual(self.get('ChosenProfile'), 'evening')
        self.write_config('profiles/evening.conf', '[userspace]\nIdleMask=5\n')
        self.call('Reload')
        self.assert_profile('evening', '^chosen$', '5')

    def test_cannot_be_kept(self):
        self.write_state(b'day\n')
        self.start('--state', self.state)
        self.call('SetProfile', 'night')
        self.assert_profile('night', '^chosen, until idled exits: .*cannot be saved: ', '6-7')
        self.assertEqual(self.read_state(), 'day\n')

    def test_dry_run_keeps_nothing(self):
        self.start('--dry-run')
        self.call('SetProfile', 'night')
        self.assertEqual(self.get('Profile'), 'night')
        self.assertEqual(self.get('ProfileInhibited'), 'this is a dry run')
        self.assertFalse(os.path.exists(self.state))

    def test_bad_names(self):
        self.start()
        for name in ('nihgt', 'Night', '../night', 'x' * 5000, 'a\nb', '-', ' ', ' night ',
                     ' auto'):
            message = self.assert_fails(ERROR + 'NoSuchProfile', 'SetProfile', name)
            self.assertNotIn('\n', message)
        message = self.assert_fails(ERROR + 'NoSuchProfile', 'SetProfile', 'nihgt')
        for part in '"nihgt"', 'balanced, day, night', 'mean night?':
            self.assertIn(part, message)
        self.assertEqual(self.get('ChosenProfile'), '')

    def test_impossible(self):
        self.write_config('profiles/few.conf',
                          '[ondemand]\nMaxCores=2\n[userspace]\nIdleMask=1\n')
        self.start()
        self.call('SetProfile', 'day')
        self.set_option('ondemand', 'MinCores', '4')
        message = self.assert_fails(ERROR + 'InvalidValue', 'SetProfile', 'few')
        self.assertIn('MinCores: found "4", which is greater than MaxCores (found "2")', message)
        self.assert_profile('day', '^chosen$', '7')
        self.assertEqual(self.options('ondemand')['MaxCores'], '0')
        self.assertEqual(self.read_state(), 'day\n')
        self.set_option('ondemand', 'MinCores', '')
        self.call('SetProfile', 'few')
        self.assert_profile('few', '^chosen$', '1')
        self.assert_fails(ERROR + 'InvalidValue', 'SetOptions', options('ondemand', 'MinCores', '4'))

    def test_run_time_is_stronger(self):
        self.start(mask='5')
        self.call('SetProfile', 'night')
        self.assert_profile('night', '^chosen$', '5')
        self.set_idle_mask('')
        self.assert_profile('night', '^chosen$', '6-7')

    def test_paused(self):
        self.start()
        fd = self.pause('a test')
        self.call('SetProfile', 'night')
        self.assertRegex(self.get('ProfileInhibited'), '^paused by user .*: a test$')
        self.assertEqual(self.get('IdleMask'), '')
        os.close(fd)
        wait_until(lambda: self.get('IdleMask') == '6-7', 'the profile in effect')
        self.assertEqual(self.get('ProfileInhibited'), '')


class Ctl(ProfileCase):
    """idlectl profile, with and without the daemon."""

    def profile(self, *arguments):
        return self.idlectl('profile', *arguments)

    def profile_alone(self, *arguments):
        return subprocess.run([os.environ['IDLECTL'], 'profile', *arguments, '--root', self.root,
                               '--policy-dir', os.environ['IDLED_POLICIES']],
                              capture_output=True, text=True, check=False)

    def test_with_the_daemon(self):
        self.start()
        result = self.profile()
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertEqual(result.stdout.splitlines(), [
            'balanced (no other one is chosen)', '   Profile   Summary', '*  balanced  -',
            '   day       -', '   night     The office is empty'])
        result = self.profile('set', 'night')
        self.assertEqual((result.returncode, result.stdout), (0, 'night (chosen)\n'))
        self.assertEqual(self.profile('get').stdout, 'night\n')
        answer = json.loads(self.profile('list', '--json').stdout)
        self.assertEqual((answer['active'], answer['reason'], answer['chosen'],
                          answer['inhibited']), ('night', 'chosen', 'night', None))
        self.assertEqual([row['name'] for row in answer['profiles'] if row['active']], ['night'])
        self.assert_failed(self.profile('set', 'nihgt'), '(did you mean night?)')
        self.assertEqual(self.profile('set', 'auto').stdout, 'balanced (no other one is chosen)\n')

    def test_without_the_daemon(self):
        result = self.profile_alone('--json')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        answer = json.loads(result.stdout)
        self.assertIsNone(answer['active'])
        self.assertEqual([(row['name'], row['summary']) for row in answer['profiles']],
                         [('balanced', None), ('day', None), ('night', 'The office is empty')])
        self.assertIn('  night     The office is empty\n', self.profile_alone().stdout)
        for arguments in ['get'], ['set', 'night']:
            self.assert_failed(self.profile_alone(*arguments), 'idled is not running')
        self.write_config('profiles/day.conf', '[nonsense]\n')
        self.assert_failed(self.profile_alone(), 'profiles/day.conf:1: found section [nonsense]')


class Holds(ProfileCase):
    def hold(self, name):
        return self.call('Hold', dbus.Dictionary({'profile': name, 'reason': 'a test'}, 'sv'))

    def test_held_then_back(self):
        self.start()
        self.call('SetProfile', 'day')
        _, first = self.hold('night')
        first = first.take()
        self.assert_profile('night', '^held by user .*: a test$', '6-7')
        self.assertEqual(self.get('IdleMask'), '6-7', 'in effect before the answer')
        self.call('SetProfile', 'balanced')
        self.assert_profile('night', '^held by ', '6-7')
        _, second = self.hold('day')
        second = second.take()
        self.assertEqual(self.get('Profile'), 'day', 'the newest')
        os.close(second)
        wait_until(lambda: self.get('Profile') == 'night', 'the older hold\'s profile')
        os.close(first)
        wait_until(lambda: self.get('Profile') == 'balanced', 'the chosen profile')
        self.assertEqual(self.get('IdleMask'), '')

    def test_gone_in_a_reload(self):
        self.start()
        fd = self.hold('night')[1].take()
        os.remove(os.path.join(self.config, 'profiles/night.conf'))
        self.call('Reload')
        self.assert_profile('balanced', 'there is no profile "night"', '')
        os.close(fd)
        wait_until(lambda: self.get('ProfileReason') == 'no other one is chosen', 'no hold')


class Reloads(ProfileCase):
    def setUp(self):
        super().setUp()
        self.start()
        self.call('SetProfile', 'night')

    def reload_with(self, text):
        self.write_config('profiles/night.conf', text)
        self.call('Reload')

    def test_changed(self):
        self.reload_with('[userspace]\nIdleMask=5\n')
        self.assert_profile('night', '^chosen$', '5')
        self.assertEqual(self.get('IdleMask'), '5')

    def test_mistake(self):
        self.write_config('profiles/night.conf', '[userspace]\nIdleMask=5\n[onedemand]\n')
        self.write_config('profiles/day.conf', '[Profile]\nInclude=night dya\n')
        message = self.assert_fails(ERROR + 'ConfigInvalid', 'Reload')
        self.assertRegex(message, r'profiles/night\.conf:3: found section \[onedemand\]')
        self.assertRegex(message, r'profiles/day\.conf:2: Include: found "dya"')
        self.assert_profile('night', '^chosen$', '6-7')

    def test_removed(self):
        seen = self.signals(PATH)
        path = os.path.join(self.config, 'profiles/night.conf')
        os.rename(path, path + '.bak')
        self.call('Reload')
        self.assert_profile('balanced', 'no other one is chosen; there is no profile "night"', '')
        self.assertEqual(self.get('IdleMask'), '')
        wait_until(lambda: any(s[2].get('Profile') == 'balanced' for s in seen), 'a signal of Profile')
        os.rename(path + '.bak', path)
        self.call('Reload')
        self.assert_profile('night', '^chosen$', '6-7')

    def test_what_was_set_stays(self):
        self.set_option('ondemand', 'MinCores', '3')
        self.reload_with(NIGHT + '[ondemand]\nMinCores=2\nMaxCores=2\n')
        self.assertEqual(self.options('ondemand')['MinCores'], '2', 'the other does not fit')
        self.set_option('ondemand', 'MinCores', '1')
        self.reload_with(NIGHT)
        self.assertEqual(self.options('ondemand')['MinCores'], '1')

    def test_policy_leaves(self):
        self.write_config('idled.conf', '[Daemon]\nPolicies=ondemand\n')
        self.call('Reload')
        self.assertEqual(self.get('Profile'), 'night')
        self.assertEqual(self.get('IdleMask'), '')


class Power(TestCase):
    """Defaults on mains and on battery."""
    CONFIG = '[Daemon]\nPolicies=userspace\nProfileAC=ac\nProfileBattery=battery\n'

    def setUp(self):
        super().setUp()
        self.write_config('profiles/ac.conf', '')
        self.write_config('profiles/battery.conf', '[userspace]\nIdleMask=6-7\n')

    def plug(self, online):
        for name, text in ('online', '%d' % online), ('status', 'Charging' if online else 'Discharging'):
            for path in Path(self.root, 'sys/class/power_supply').glob('*/' + name):
                self.put(path, text + '\n')

    def test_mains(self):
        self.plug(True)
        self.start()
        self.assertEqual((self.get('Profile'), self.get('ProfileReason')),
                         ('ac', 'the default on mains power'))

    def test_battery(self):
        self.plug(False)
        self.start()
        self.assertEqual((self.get('Profile'), self.get('ProfileReason')),
                         ('battery', 'the default on battery power'))
        self.assertEqual(self.get('IdleMask'), '6-7')
        self.call('SetProfile', 'balanced')
        self.assertEqual((self.get('Profile'), self.get('IdleMask')), ('balanced', ''))
        self.call('SetProfile', '')
        self.assertEqual(self.get('Profile'), 'battery')

    def test_at_run_time(self):
        self.plug(True)
        self.start()
        self.set_option('Daemon', 'ProfileAC', 'battery')
        self.assertEqual(self.get('Profile'), 'battery')
        message = self.assert_fails(ERROR + 'InvalidValue', 'SetOptions', options('Daemon', 'ProfileAC', 'mains'))
        self.assertIn('expected a profile: balanced, ac, battery', message)

    def test_without_battery(self):
        """A machine without files of power supplies is on mains."""
        shutil.rmtree(os.path.join(self.root, 'sys/class/power_supply'))
        self.start()
        self.assertEqual(self.get('Profile'), 'ac')


@unittest.skipUnless(os.environ['IDLELAB'], 'no idlelab')
class Swept(ProfileCase):
    """idlelab latency --sweep profile: each is in effect while it is measured, and none afterwards."""

    LATENCY = ('latency', '--policy', 'other', '--cpus', str(min(os.sched_getaffinity(0))), '--interval', '1ms',
               '--json', '--sweep')

    def setUp(self):
        super().setUp()
        self.seen = self.signals(PATH)
        self.start()
        self.call('SetProfile', 'day')

    def profiles(self):
        return [str(changed['Profile']) for _, _, changed, *_ in self.seen if 'Profile' in changed]

    def test_each(self):
        result = self.idlelab(*self.LATENCY, 'profile', '--for', '100ms')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        settings = json.loads(result.stdout)['settings']
        self.assertEqual([s['setting'] for s in settings],
                         ['as found', 'profile=balanced', 'profile=day', 'profile=night'])
        self.assertEqual({s['problem'] for s in settings}, {None})
        wait_until(lambda: {'balanced', 'night'} <= set(self.profiles()), 'the profiles')
        self.sync()
        self.assert_profile('day', '^chosen$', '7')

    def test_not_in_effect(self):
        """A pause leaves the profile's name as it is; what is measured then would be called the profile's."""
        self.pause('backup')
        result = self.idlelab(*self.LATENCY, 'profile=night', '--for', '100ms')
        self.assertEqual(result.returncode, 1, result.stderr)
        problems = [s['problem'] for s in json.loads(result.stdout)['settings'] if s['setting'] == 'profile=night']
        self.assertEqual(problems, ['a client requested a pause'])

    def test_interrupted(self):
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGKILL:
            process = subprocess.Popen(
                [os.environ['IDLELAB'], '--bus-address', self.bus.address, *self.LATENCY, 'profile=night',
                 '--for', '2s'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_until(lambda: self.get('Profile') == 'night', 'the profile')
            process.send_signal(number)
            process.wait()
            wait_until(lambda: self.get('Profile') == 'day', 'the profile before')
            self.assert_profile('day', '^chosen$', '7')


main()
