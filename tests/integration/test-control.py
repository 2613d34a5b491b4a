#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The verbs of idlectl that are one call to idled: pause, resume, reload, release, profile."""
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import dbus

from holdstest import HOLD
from idledtest import FOR_EVER, NOBODY, TIMEOUT, TestCase, command_as, main, needs_root, wait_until
from polkittest import NO, YES, WithPolkit


class Control(TestCase):
    def ctl(self, *arguments, status=0):
        done = self.idlectl(*arguments)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def ask(self, *arguments, status=0):
        return json.loads(self.ctl(*arguments, '--json', status=status))

    def as_nobody(self, *arguments):
        program = shutil.copy(os.environ['IDLECTL'], self.directory)
        os.chmod(program, 0o755)
        return subprocess.run(command_as(NOBODY, program, '--bus-address', self.bus.address, *arguments),
                              capture_output=True, text=True, timeout=TIMEOUT, check=False)


class Pause(Control):
    def setUp(self):
        super().setUp()
        self.start('--dry-run', mask='7')

    def test_outlives_idlectl(self):
        self.assertIn('until idlectl resume: a test', self.ctl('pause', '--reason', 'a test'))
        wait_until(lambda: self.get('IdleMask') == '', 'the machine restored')
        (row,) = self.get('Pauses')
        self.assertEqual((row['user'], row['lasting'], row['until_usec'], row['reason']),
                         (os.geteuid(), True, 0, 'a test'))
        self.assertIn('a test', self.ctl('status'))
        self.assertIn('while paused: idled is paused until idlectl resume', self.ctl('why', '7'))
        self.assertEqual(self.ctl('resume'), 'Resumed.\n')
        wait_until(lambda: self.get('IdleMask') == '7', 'control again')
        self.assertEqual(self.ctl('resume'), 'Nothing is paused.\n')

    def test_for_a_time(self):
        pause, = self.ask('pause', '--for', '10min')['pauses']
        self.assertTrue(pause['lasting'])
        self.assertGreater(pause['until_usec'], 0)
        wait_until(lambda: self.get('IdleMask') == '', 'the machine restored')
        end = time.strftime('%H:%M:%S', time.localtime(int(pause['until_usec']) / 1e6))
        self.assertRegex(self.ctl('why', '7'), r'while paused: idled is paused until \S*\s?%s' % end)
        for asked, shown in (('10min', '10 min'), ('90min', '1 h 30 min'), ('2h', '2 h'),
                             ('60s', '60 s')):
            self.assertRegex(self.ctl('pause', '--for', asked), r', for %s more: ' % shown)
        changes = self.signals()
        self.ctl('pause', '--for', '50ms')
        wait_until(lambda: not self.get('Pauses'), 'the end of the time')
        wait_until(lambda: self.get('IdleMask') == '7', 'control again')
        wait_until(lambda: [c for c in changes if c[2].get('Pauses') == []], 'a signal of the end')

    def test_replaces(self):
        """A user's second pause takes the place of the first, and its time."""
        self.ctl('pause', '--for', '10min', '--reason', 'first')
        self.ctl('pause', '--reason', 'second')
        (row,) = self.get('Pauses')
        self.assertEqual((row['reason'], row['until_usec']), ('second', 0))

    def test_reload_keeps_it(self):
        self.ctl('pause')
        self.ctl('reload')
        self.assertTrue(self.get('Pauses'))

    def test_ends_with_the_daemon(self):
        self.ctl('pause')
        self.daemon.stop()
        self.start('--dry-run')
        self.assertFalse(self.get('Pauses'))

    def test_of_a_program(self):
        """It ends with its program; resume says that it is left."""
        fd = self.pause('a backup')
        self.ctl('pause')
        text = self.ctl('resume', status=1)
        self.assertIn('until its program ends it: a backup', text)
        self.assertEqual([p['lasting'] for p in self.ask('resume', status=1)['pauses']], [False])
        os.close(fd)
        wait_until(lambda: not self.get('Pauses'), 'no pause')

    def test_bad(self):
        self.assertIn('expected at most 256', self.ctl('pause', '--reason', 'x' * 257, status=1))
        self.assert_fails('org.idled1.Error.InvalidValue', 'Pause', 'x',
                          dbus.UInt64(367 * 24 * 3600 * 10**6))
        self.assertFalse(self.get('Pauses'))
        self.daemon.stop()
        self.assertIn('idled is not running', self.ctl('pause', status=1))
        self.assertIn('idled is not running', self.ctl('resume', status=1))


@needs_root
class PauseOfOthers(WithPolkit, Control):
    """A user who may pause may end their own pauses; ending other users' is another action."""

    def setUp(self):
        super().setUp()
        self.start('--dry-run')
        self.start_polkit("ret = (args[1] == 'org.idled1.pause', False, {})")

    def actions(self):
        return [str(question[1]) for question in self.questions()]

    def test_resume(self):
        self.assertEqual(self.call_as_nobody('Pause', 'st', 'theirs', str(FOR_EVER)).returncode, 0)
        self.assertEqual(self.call_as_nobody('Resume').stdout, 'u 1\n')
        self.ctl('pause')
        self.assertNotEqual(self.call_as_nobody('Resume').returncode, 0)
        self.assertTrue(self.get('Pauses'))
        self.assertEqual(self.actions(), ['org.idled1.pause', 'org.idled1.pause',
                                          'org.idled1.resume'])
        self.answer(YES)
        self.assertEqual(self.call_as_nobody('Resume').stdout, 'u 1\n')
        self.call_as_nobody('Pause', 'st', 'theirs', str(FOR_EVER))
        self.assertEqual(self.ctl('resume'), 'Resumed.\n')

    def test_refused(self):
        self.answer(NO)
        self.assertNotEqual(self.call_as_nobody('Pause', 'st', 'no', str(FOR_EVER)).returncode, 0)
        self.assertFalse(self.get('Pauses'))


class Reload(Control):
    def test_reload(self):
        self.start('--dry-run')
        self.write_config('policies/userspace.conf.d/10-mask.conf', '[Policy]\nIdleMask=6\n')
        self.assertEqual(self.get('IdleMask'), '')
        self.assertIn('reloaded', self.ctl('reload'))
        wait_until(lambda: self.get('IdleMask') == '6', 'the new mask')
        files = self.ask('reload')['config_files']
        self.assertTrue([f for f in files if f.endswith('10-mask.conf')], files)

    def test_mistakes(self):
        """Each on a line of its own, and the old configuration stays."""
        self.write_config('policies/userspace.conf', '[Policy]\nIdleMask=6\n')
        self.start('--dry-run')
        self.write_config('policies/userspace.conf', '[Policy]\nIdleMask=x\n')
        self.write_config('idled.conf.d/1.conf', '[Daemon]\nLogLevel=loud\n')
        lines = self.ctl('reload', status=1).splitlines()
        self.assertEqual(len(lines), 2, lines)
        self.assertTrue(all(line.startswith('idlectl: /') or line.startswith('idlectl: ' + self.root)
                            for line in lines), lines)
        self.assertTrue([line for line in lines if 'userspace.conf:2: IdleMask: ' in line], lines)
        self.assertEqual(self.get('IdleMask'), '6')


class Set(Control):
    """set, on a machine whose files the daemon really writes."""
    CONFIG = '[Daemon]\nPolicies=cpufreq ondemand\n'

    def value(self, key, section='cpufreq'):
        row, = [s for s in self.call('GetSettings') if (s['section'], s['key']) == (section, key)]
        return str(row['value'])

    def test_all_or_none(self):
        """Nothing is written for the first options when a later one is refused."""
        self.start()
        before = self.cpu_files()
        text = self.ctl('set', 'cpufreq', 'Governor=performance', 'Boost=off', 'MaxFrequency=abc',
                        status=1)
        for part in 'MaxFrequency', 'abc', 'nothing was changed':
            self.assertIn(part, text)
        self.assertEqual(self.cpu_files(), before, 'no file was written')
        self.assertEqual(self.value('Governor'), '')
        self.ctl('set', 'cpufreq', 'Governor=performance', 'Boost=off')
        self.assertEqual((self.value('Governor'), self.value('Boost')), ('performance', 'off'))
        self.assertNotEqual(self.cpu_files(), before)

    def test_any_order(self):
        """Options that only fit together are set together, and one that is wrong keeps the value
        that another had at run time."""
        self.start('--dry-run')
        self.ctl('set', 'ondemand', 'MinCores=1', 'MaxCores=2')
        self.ctl('set', 'ondemand', 'MinCores=3', 'MaxCores=4')
        self.assertEqual((self.value('MinCores', 'ondemand'), self.value('MaxCores', 'ondemand')),
                         ('3', '4'))
        self.ctl('set', 'ondemand', 'MinCores=4', 'MaxCores=1', status=1)
        self.assertEqual((self.value('MinCores', 'ondemand'), self.value('MaxCores', 'ondemand')),
                         ('3', '4'))

    def test_not_offered(self):
        """What --check warns of, set warns of, with what the machine offers; also with --save."""
        self.start('--dry-run')
        for argument, parts in (('MaxFrequency=20GHz', ('highest frequency', 'MHz is in effect')),
                                ('Governor=ondemand', ('does not offer', 'powersave'))):
            key, _, value = argument.partition('=')
            text = ' '.join(self.ctl('set', 'cpufreq', argument).split())
            for part in (key, value, 'is now', *parts):
                self.assertIn(part, text)
            saved = ' '.join(self.ctl('set', 'cpufreq', argument, '--save', '--root', self.root,
                                      '--config-dir', self.config, '--vendor-dir', '/nonexistent',
                                      '--policy-dir', os.environ['IDLED_POLICIES']).split())
            for part in ('saved in', *parts):
                self.assertIn(part, saved)
            self.assertEqual(len(self.ask('set', 'cpufreq', argument)['warnings']), 1)
            self.ctl('set', 'cpufreq', key + '=', '--save', '--root', self.root,
                     '--config-dir', self.config, '--vendor-dir', '/nonexistent',
                     '--policy-dir', os.environ['IDLED_POLICIES'])
        self.assertEqual(self.ask('set', 'cpufreq', 'Governor=', 'MaxFrequency=')['warnings'], [])
        self.assertEqual(self.ask('set', 'cpufreq', 'Governor=powersave')['warnings'], [])

    def test_misspelt_section(self):
        self.start('--dry-run')
        self.assertIn('did you mean Park?', self.ctl('set', 'park', 'Backend=none', status=1))

    def test_method(self):
        self.start('--dry-run')
        self.call('SetOptions', [('cpufreq', 'Governor', 'powersave'), ('ondemand', 'MinCores', '2')])
        self.assertEqual((self.value('Governor'), self.value('MinCores', 'ondemand')),
                         ('powersave', '2'))
        for error, last in ('NoSuchPolicy', ('nobody', 'Key', '1')), \
                           ('NoSuchOption', ('ondemand', 'Key', '1')), \
                           ('InvalidValue', ('ondemand', 'MaxCores', '1')), \
                           ('InvalidValue', ('ondemand', 'Dwell', '7')), \
                           ('InvalidValue', ('ondemand', 'Dwell', '1' * 40000)):
            self.assert_fails('org.idled1.Error.' + error, 'SetOptions',
                              [('ondemand', 'MinCores', '3'), ('cpufreq', 'Boost', 'off'), last])
            self.assertEqual((self.value('Boost'), self.value('MinCores', 'ondemand')), ('keep', '2'),
                             last)
        self.assert_fails('org.idled1.Error.InvalidValue', 'SetOptions',
                          [('ondemand', 'MinCores', '1')] * 65)

    def test_twice(self):
        """Which of two values is meant is not known: none is set, also where both are the same."""
        self.start('--dry-run')
        before = self.value('MinCores', 'ondemand')
        for first, second in ('2', '3'), ('2', '2'), ('2', ''):
            error = self.assert_fails('org.idled1.Error.InvalidValue', 'SetOptions',
                                      [('ondemand', 'MinCores', first), ('cpufreq', 'Boost', 'off'),
                                       ('ondemand', 'MinCores', second)])
            for part in 'ondemand', 'MinCores', 'twice':
                self.assertIn(part, error)
            text = self.ctl('set', 'ondemand', 'MinCores=' + first, 'Dwell=7s', 'MinCores=' + second,
                            status=2)
            for part in 'MinCores', 'twice':
                self.assertIn(part, text)
            self.assertEqual((self.value('Boost'), self.value('MinCores', 'ondemand')),
                             ('keep', before))


class Save(Control):
    """set --save: a drop-in that the daemon has loaded, or nothing at all."""
    CONFIG = '[Daemon]\nPolicies=userspace ondemand\n'

    def ctl(self, *arguments, status=0):
        return super().ctl('--root', self.root, '--config-dir', self.config, '--vendor-dir',
                           '/nonexistent', '--policy-dir', os.environ['IDLED_POLICIES'], *arguments,
                           status=status)

    def drop_in(self, name='policies/ondemand.conf.d'):
        return os.path.join(self.config, name, 'zz-idlectl.conf')

    def files(self):
        return sorted(os.path.join(d, n) for d, _, names in os.walk(self.config) for n in names)

    def text(self, path):
        return Path(path).read_text(encoding='utf-8')

    def value(self, section, key):
        row, = [s for s in self.call('GetSettings') if (s['section'], s['key']) == (section, key)]
        return str(row['value']), str(row['source'])

    def test_save(self):
        self.start('--dry-run')
        self.assertEqual(self.ctl('set', 'ondemand', 'MinCores=2', '--save'),
                         'saved in %s\n' % self.drop_in())
        value, source = self.value('ondemand', 'MinCores')
        self.assertEqual(value, '2')
        self.assertTrue(source.startswith(self.drop_in() + ':'), source)
        with open(self.drop_in(), 'a', encoding='utf-8') as file:
            file.write('# kept\n')
        self.ctl('set', 'ondemand', 'Dwell=7s', 'MinCores=', '--save')
        self.assertIn('# kept\n', self.text(self.drop_in()))
        self.assertEqual((self.value('ondemand', 'MinCores')[1], self.value('ondemand', 'Dwell')[0]),
                         ('default', '7s'))
        self.ctl('set', 'Daemon', 'LogLevel=notice', '--save')
        self.assertIn('[Daemon]\nLogLevel=notice', self.text(self.drop_in('idled.conf.d')))
        self.daemon.stop()
        self.start('--dry-run')
        self.assertEqual(self.value('ondemand', 'Dwell')[0], '7s')

    def test_bad(self):
        """Bad values of every kind: an error, and no file more or other."""
        self.write_config('policies/ondemand.conf', '[Policy]\nDownThreshold=60%\n')
        self.start('--dry-run')
        self.ctl('set', 'ondemand', 'MinCores=2', '--save')
        files, text = self.files(), self.text(self.drop_in())
        for arguments, error in ((('ondemand', 'Dwell=7'), 'Dwell: found "7", expected a duration'),
                                 (('ondemand', 'Dwel=7s'), 'Dwel'),
                                 (('ondemand', 'MinCores=4', 'MaxCores=3'), 'MaxCores is set in %s; ' % self.drop_in()),
                                 (('ondemand', 'TargetUtilization=50%'), 'is set in %s\n' % self.drop_in()),
                                 (('ondemand', 'Dwell=7s\nMinCores=3'), 'control character'),
                                 (('userspace', 'IdleMask=4711'), '4711'),
                                 (('odemand', 'Dwell=7s'), 'found section "odemand"'),
                                 (('Daemon', 'Policies=nobody'), 'nobody')):
            printed = self.ctl('set', *arguments, '--save', status=1)
            self.assertIn(error, printed, arguments)
            self.assertNotRegex(printed, r'zz-idlectl.conf:\d', 'no file has that line')
            self.assertEqual((self.files(), self.text(self.drop_in())), (files, text), arguments)
        self.assertEqual(self.value('ondemand', 'MinCores')[0], '2')

    def test_other_directory(self):
        """One that does not exist is not made; one that idled does not read is named as that."""
        self.start('--dry-run')
        other = os.path.join(self.directory, 'other')
        printed = self.ctl('set', 'ondemand', 'MinCores=2', '--save', '--config-dir', other, status=1)
        self.assertIn(other + ': found no directory', printed)
        self.assertFalse(os.path.exists(other))
        os.mkdir(other)
        printed = self.ctl('set', 'ondemand', 'MinCores=2', '--save', '--config-dir', other, status=1)
        self.assertIn('idled does not read this directory', printed)
        self.assertNotIn('default', printed)

    def test_replaces_what_was_set(self):
        """A value set at run time would hide the saved one."""
        self.start('--dry-run')
        self.ctl('set', 'userspace', 'IdleMask=7')
        self.ctl('set', 'userspace', 'IdleMask=6', '--save')
        self.assertEqual(self.value('userspace', 'IdleMask')[0], '6')

    def test_replaces_all_or_none(self):
        """Each new value contradicts the other's old one: both go, in whatever order they fit."""
        self.start('--dry-run')
        for old, new in (('1', '2'), ('3', '4')), (('3', '4'), ('1', '2')):
            self.ctl('set', 'ondemand', 'MinCores=' + old[0], 'MaxCores=' + old[1])
            text = self.ctl('set', 'ondemand', 'MinCores=' + new[0], 'MaxCores=' + new[1], '--save')
            self.assertEqual(text, 'saved in %s\n' % self.drop_in())
            for key, value in zip(('MinCores', 'MaxCores'), new):
                found, source = self.value('ondemand', key)
                self.assertEqual(found, value)
                self.assertIn('zz-idlectl.conf', source)

    def test_sorts_last(self):
        """What README has administrators write is weaker."""
        for name in '50-mine.conf', 'mine.conf', 'zed.conf':
            self.write_config('policies/ondemand.conf.d/' + name, '[Policy]\nDwell=10s\nMinCores=2\n')
        self.start('--dry-run')
        self.assertEqual(self.ctl('set', 'ondemand', 'Dwell=1s', '--save'), 'saved in %s\n' % self.drop_in())
        self.assertEqual((self.value('ondemand', 'Dwell')[0], self.value('ondemand', 'MinCores')[0]), ('1s', '2'))

    def test_hidden(self):
        """A value that is saved but not in effect is a failure, with the daemon and without."""
        self.write_config('policies/ondemand.conf.d/zzz.conf', '[Policy]\nDwell=9s\n')
        for start in False, True:
            if start:
                self.start('--dry-run')
            text = self.ctl('set', 'ondemand', 'Dwell=7s', 'MinCores=2', '--save', status=1)
            self.assertRegex(text, r'Saved in .*zz-idlectl.conf, but Dwell remains 9s: .*zzz.conf:2 is read later')
            self.assertNotIn('MinCores', text)
            self.assertEqual(self.text(self.drop_in()).count('Dwell=7s'), 1)
        for same in '9s', '9000ms':
            self.assertEqual(self.ctl('set', 'ondemand', 'Dwell=' + same, '--save'), 'saved in %s\n' % self.drop_in())

    def old_drop_in(self, name='policies/ondemand.conf.d'):
        return self.drop_in(name).replace('zz-', '90-')

    def test_old_name(self):
        """What idlectl saved as 90-idlectl.conf is merged, once, into the file that replaces it."""
        self.write_config('policies/ondemand.conf.d/90-idlectl.conf',
                          '# by me\n[Policy]\nDwell=7s\nMinCores=2\nPeriod=300ms\n')
        self.write_config('policies/ondemand.conf.d/mine.conf', '[Policy]\nPeriod=200ms\n')
        self.start('--dry-run')
        text = self.ctl('set', 'ondemand', 'MinCores=3', '--save')
        self.assertRegex(text, r'ondemand Period is no longer 200ms but 300ms, because 90-idlectl')
        self.assertFalse(os.path.exists(self.old_drop_in()))
        self.ctl('set', 'ondemand', 'MaxCores=4', '--save')
        self.assertEqual(sorted(filter(None, self.text(self.drop_in()).splitlines())),
                         ['# by me', 'Dwell=7s', 'MaxCores=4', 'MinCores=3', 'Period=300ms', '[Policy]'])
        self.write_config('policies/ondemand.conf.d/90-idlectl.conf',  # by an idlectl that is not updated
                          '[Policy]\nDwell=8s\nUpThreshold=90%\n')
        self.ctl('set', 'ondemand', 'MaxCores=', 'UpThreshold=', '--save')
        self.assertEqual(sorted(filter(None, self.text(self.drop_in()).splitlines())),
                         ['# by me', 'Dwell=7s', 'MinCores=3', 'Period=300ms', '[Policy]'])
        self.assertEqual(self.value('ondemand', 'UpThreshold')[1], 'default')
        self.assertFalse(os.path.exists(self.old_drop_in()))

    def test_old_name_and_bad_value(self):
        text = '[Policy]\nDwell=7s\nMaxCores=4\n'
        self.write_config('policies/ondemand.conf.d/90-idlectl.conf', text)
        files = self.files()
        self.assertIn('MinCores', self.ctl('set', 'ondemand', 'MinCores=5', '--save', status=1))
        self.assertEqual((self.files(), self.text(self.old_drop_in())), (files, text))
        self.ctl('set', 'ondemand', 'MinCores=5', 'MaxCores=', '--save')

    def test_daemon_refuses(self):
        """It reads other files, and they are wrong: the drop-ins are as they were."""
        self.start('--dry-run')
        self.ctl('set', 'ondemand', 'Dwell=7s', '--save')
        self.write_config('policies/ondemand.conf.d/90-idlectl.conf', '[Policy]\nMinCores=2\n')
        texts = [self.text(path) for path in self.files()]
        self.put('usr/lib/idled/policies/userspace.conf', '[Policy]\nIdleMask=x\n')
        self.assertIn('userspace.conf:2', self.ctl('set', 'ondemand', 'Dwell=8s', '--save', status=1))
        self.assertEqual([self.text(path) for path in self.files()], texts)

    def test_directories_of_another(self):
        """The daemon would not read what is saved where it does not look."""
        self.start('--dry-run')
        files = self.files()
        printed = super().ctl('set', 'ondemand', 'Dwell=7s', '--save', status=1)
        for part in os.path.join(self.config, 'idled.conf'), '--config-dir', '--policy-dir':
            self.assertIn(part, printed)
        self.assertEqual(self.files(), files)

    def test_without_daemon(self):
        text = self.ctl('set', 'ondemand', 'Dwell=7s', '--save')
        self.assertIn('idled is not running', text)
        self.assertIn('saved in', text)

    @needs_root
    def test_needs_root(self):
        files = self.files()
        self.assert_failed(self.as_nobody('set', 'ondemand', 'Dwell=7s', '--save', '--config-dir', self.config,
                                          '--policy-dir', os.environ['IDLED_POLICIES'], '--vendor-dir', '/nonexistent'),
                           'run idlectl as root')
        self.assertEqual(self.files(), files)


class Release(Control):
    CONFIG = '[Daemon]\nPolicies=latency\n'

    def test_release(self):
        self.start()
        holder = self.popen([os.environ['IDLECTL'], '--bus-address', self.bus.address, 'hold',
                             '--latency', '50us'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        holder.stdout.readline()
        path, = self.get('Holds')
        number = str(self.get('Id', path, HOLD))
        self.assertEqual(self.ctl('release', number), 'Hold %s is released.\n' % number)
        _, errors = holder.communicate(timeout=TIMEOUT)
        self.assertEqual(holder.returncode, 1)
        self.assertIn('released', errors)
        self.assertEqual(self.get('Holds'), [])
        self.assertIn('There is no hold', self.ctl('release', number, status=1))
        self.assertIn('There is no hold', self.ctl('release', path, status=1))

    @needs_root
    def test_others_may_not(self):
        self.start()
        path, fd = self.call('Hold', dbus.Dictionary({'latency_us': dbus.UInt32(50)}, signature='sv'))
        fd = fd.take()
        self.addCleanup(os.close, fd)
        self.assert_failed(self.as_nobody('release', path), 'not authorized')
        self.assertEqual(len(self.get('Holds')), 1)


class Refused(Control):
    """Services to which CPUs were refused, as the state directory has them; without systemd all count as
    loaded."""

    LINES = 'mpi.service 6-7 mpirun\nslurmd.service 5 slurm step d\n'

    def setUp(self):
        super().setUp()
        self.state = Path(self.directory, 'state')
        self.state.mkdir()

    def start_with(self, text, *more):
        (self.state / 'refused').write_text(text, encoding='ascii')
        self.start('--state', self.state, *more, mask='4-7')

    def kept(self):
        return (self.state / 'refused').read_text(encoding='ascii')

    def test_stay_active(self):
        self.start_with(self.LINES)
        wait_until(lambda: self.get('IdleMask') == '4', 'the CPUs that were not refused')
        self.assertRegex(self.ctl('why', '7'), r'6-7 was refused to mpi\.service')
        rows = [(str(row['unit']), str(row['cpus']), str(row['program'])) for row in self.get('RefusedAffinities')]
        self.assertEqual(rows, [('mpi.service', '6-7', 'mpirun'), ('slurmd.service', '5', 'slurm step d')])
        status = self.ask('status')['refused']
        self.assertEqual([row['program'] for row in status], ['mpirun', 'slurm step d'])

    def test_release(self):
        self.start_with(self.LINES)
        changes = self.signals()
        self.assertIn('mpi.service', self.ctl('release', 'mpi.service'))
        wait_until(lambda: self.get('IdleMask') == '4,6-7', 'the CPUs of the other service')
        wait_until(lambda: [c for c in changes if 'RefusedAffinities' in c[2]], 'a signal')
        (row,) = [c for c in changes if 'RefusedAffinities' in c[2]][-1][2]['RefusedAffinities']
        self.assertEqual((row['unit'], row['program'], row['pid']), ('slurmd.service', '', 0))
        self.assertIn('idlectl status', self.ctl('release', 'mpi.service', status=1))
        self.assertEqual(self.kept(), 'slurmd.service 5 slurm step d\n')

    def test_dry_run(self):
        self.start_with(self.LINES, '--dry-run')
        self.ctl('release', 'mpi.service')
        wait_until(lambda: self.get('IdleMask') == '4,6-7', 'the CPUs of the other service')
        self.assertEqual(self.kept(), self.LINES)

    def test_damaged(self):
        self.start_with('mpi.service 6 x\n3\n\x01\x02\n')
        wait_until(lambda: self.get('IdleMask') == '4-5,7', 'the line that is whole')
        self.daemon.wait_log('ignored 2 lines')

    def test_no_file(self):
        os.mkfifo(os.path.join(self.state, 'refused'))
        self.start('--state', self.state, '--dry-run', mask='4-7')
        wait_until(lambda: self.get('IdleMask') == '4-7', 'parking')

    @needs_root
    def test_of_another_user(self):
        """Other users see the CPUs, not the program, and release nothing."""
        self.start_with(self.LINES)
        rows = json.loads(self.as_nobody('status', '--json').stdout)['refused']
        self.assertEqual([(row['cpus'], row['program'], row['pid']) for row in rows],
                         [('6-7', None, None), ('5', None, None)])
        self.assertEqual(self.as_nobody('release', 'mpi.service').returncode, 1)
        self.assertEqual(len(self.get('RefusedAffinities')), 2)


class Profile(Control):
    def ctl(self, *arguments, status=0):
        return super().ctl(*arguments, '--config-dir', self.config, '--vendor-dir', '/nonexistent',
                           status=status)

    def test_not_loaded(self):
        """A file that came after the start: the list and the refusal say how to load it."""
        self.start('--dry-run')
        self.write_config('profiles/game.conf', '[Profile]\nSummary=For games\n')
        self.assertEqual(self.ask('profile')['not_loaded'], ['game'])
        for text in (self.ctl('profile'), self.ctl('profile', 'game', status=1)):
            self.assertIn('profiles/game.conf exists but is not loaded: run "idlectl reload"', text)
        self.ctl('reload')
        self.assertEqual(self.ask('profile')['not_loaded'], [])
        self.ctl('profile', 'game')
        self.assertEqual(self.get('Profile'), 'game')


main()
