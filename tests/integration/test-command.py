#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line, the signals, systemd's notifications, and a place without room or rights."""
import os
import re
import shutil
import signal
import socket
import subprocess
import unittest
from unittest import mock
from pathlib import Path

from idledtest import TIMEOUT, TestCase, main, needs_root

UNSHARE = ['unshare', '-m', 'sh', '-c']


# Messages of --restore about a line that it cannot read, and about one that it does not know.
UNREADABLE = '(?m)^1 line .*record'
UNKNOWN = '(?m)^1 knob .*version'


def traceable():
    """An environment without the leak sanitizer, which does not work under strace."""
    return {**os.environ, 'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'}


class Command(TestCase):
    def idled(self, *more, before=(), **options):
        done = subprocess.run([*before, os.environ['IDLED'], *self.arguments(), *more],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=TIMEOUT, check=False, env=traceable() if 'strace' in before else None,
                              **options)
        return done.returncode, done.stdout, done.stderr

    def undo_path(self):
        return os.path.join(self.directory, 'run', 'undo')


@needs_root
class Probe(Command):
    PROTOCOL = 38  # SO_PROTOCOL
    UEVENTS, CONNECTOR = 15, 11

    def stored(self):
        """Messages to a service manager, and the protocols of the sockets that came with them."""
        path = os.path.join(self.directory, 'manager')
        messages, protocols = [], []
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(TIMEOUT)
            with subprocess.Popen([os.environ['IDLED'], *self.arguments(), '--probe'], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env={**os.environ, 'NOTIFY_SOCKET': path}) as probe:
                while not messages or messages[-1] != b'BARRIER=1':
                    message, descriptors, _, _ = socket.recv_fds(manager, 4096, 8)
                    messages.append(message)
                    for descriptor in descriptors:
                        if message.startswith(b'FDSTORE=1'):
                            with socket.socket(fileno=os.dup(descriptor)) as netlink:
                                protocols.append(netlink.getsockopt(socket.SOL_SOCKET, self.PROTOCOL))
                        os.close(descriptor)  # of the barrier, too, whose end the probe waits for
                self.assertEqual(probe.wait(TIMEOUT), 0)
        return messages, protocols

    def test_gives_sockets_to_the_service_manager(self):
        messages, protocols = self.stored()
        self.assertEqual([message.split(b'\n')[0] for message in messages],
                         [b'FDSTOREREMOVE=1', b'FDSTORE=1', b'BARRIER=1'])
        self.assertEqual(protocols, [self.UEVENTS] + 3 * [self.CONNECTOR])


class Agreement(Command):
    def assert_accepted(self, *patterns):
        """Check and daemon accept the configuration, with these warnings."""
        for way in ['--check'], ['--once', '--dry-run']:
            status, _, err = self.idled(*way)
            self.assertEqual(status, 0, err)
            for pattern in patterns:
                self.assertRegex(err, pattern, way)
            if not patterns:
                self.assertNotIn('/etc/idled/', err, way)

    def assert_refused(self, *patterns):
        """Check and daemon refuse it, with these errors."""
        for way, expected in ((['--check'], 1), (['--once', '--dry-run'], os.EX_CONFIG)):
            status, _, err = self.idled(*way)
            self.assertEqual(status, expected, err)
            for pattern in patterns:
                self.assertRegex(err, pattern, way)

class Check(Agreement):
    def test_good(self):
        self.assertEqual(self.idled('--check')[:2], (0, 'The configuration is valid.\n'))
        self.assertFalse(os.path.exists(os.path.join(self.directory, 'run')), 'nothing is made')

    def test_nothing_there_is_good(self):
        os.unlink(os.path.join(self.config, 'idled.conf'))
        self.assertEqual(self.idled('--check')[0], 0)

    def test_every_mistake_with_file_and_line(self):
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace ondemand\nLogLevl=info\n')
        self.write_config('policies/ondemand.conf.d/me.conf',
                          '# mine\n[Policy]\nUpThreshold=1o0%\nDwell=5\n\n[Polcy]\nA=1\n')
        status, out, err = self.idled('--check')
        self.assertEqual((status, out), (1, ''))
        for mistake in (r'/etc/idled/idled\.conf:3: .*LogLevl.*did you mean LogLevel',
                        r'/etc/idled/policies/ondemand\.conf\.d/me\.conf:3: UpThreshold.*"1o0%"',
                        r'/etc/idled/policies/ondemand\.conf\.d/me\.conf:4: Dwell.*"5"',
                        r'/etc/idled/policies/ondemand\.conf\.d/me\.conf:6: .*Polcy'):
            self.assertRegex(err, mistake)

    def test_peer_defect_9_misspelt_option(self):
        """Nothing takes it for fine: neither the check, nor a start."""
        self.write_config('idled.conf', '[Daemon]\nPolicies=cpufreq\n')
        self.write_config('policies/cpufreq.conf', '[Policy]\nGovenor=performance\n')
        for way, expected in ((['--check'], 1), (['--once', '--dry-run'], os.EX_CONFIG),
                              (['--no-bus'], os.EX_CONFIG)):
            status, out, err = self.idled(*way)
            self.assertEqual((status, out), (expected, ''), way)
            self.assertRegex(err, r'cpufreq\.conf:2: .*Govenor.*did you mean Governor', way)

    def test_peer_defect_8_shipped_configuration_is_accepted(self):
        """And a number with a letter in it is not."""
        conf = os.path.join(os.environ['IDLED_MACHINES'], '../../conf')
        self.assertEqual(self.idled('--check', '--vendor-dir', conf)[0], 0)
        for value, good in ('100%', True), ('1o0%', False), ('100', False), ('', True):
            self.write_config('policies/ondemand.conf', '[Policy]\nUpThreshold=%s\n' % value)
            self.write_config('idled.conf', '[Daemon]\nPolicies=ondemand\n')
            self.assertEqual(self.idled('--check')[0], 0 if good else 1, value)

    def test_what_is_never_read(self):
        """A file that is never read does no harm: idlectl and idled warn."""
        self.write_config('policies/onedemand.conf', '[Policy]\nDwell=nonsense\n')
        self.write_config('profile/mine.conf', '[Profile]\n')
        self.assert_accepted(
            r'/etc/idled/policies/onedemand\.conf: .*did you mean ondemand\.conf',
            r'/etc/idled/profile: is never read, .*did you mean profiles\?')
        for option in '--config-dir', '--vendor-dir':
            status, _, err = self.idled('--check', option, '/nonexistent/etc')
            self.assertEqual(status, 1, option)
            self.assertIn('/nonexistent/etc: found no directory', err)

    def test_control_characters_reach_no_terminal(self):
        self.write_config('idled.conf', '[Daemon]\nPolicies=cstates\n')
        self.write_config('policies/cstates.conf', '[Policy]\nDeepestState=\x1b[31mred\n')
        status, _, err = self.idled('--check')
        self.assertEqual(status, 1)
        self.assertRegex(err, r'cstates\.conf:2: DeepestState: found "\\x1b\[31mred"')

    def errors_on_a_terminal(self, **environment):
        """What --check prints there of a mistake."""
        ours, theirs = os.openpty()
        self.addCleanup(os.close, ours)
        self.write_config('idled.conf', '[Daemon]\nPolicies=nonsuch\n')
        plain = {name: value for name, value in os.environ.items() if name not in ('NO_COLOR', 'TERM')}
        subprocess.run([os.environ['IDLED'], *self.arguments(), '--check'], stdout=theirs, stderr=theirs,
                       timeout=TIMEOUT, check=False, env=dict(plain, **environment))
        os.close(theirs)
        return os.read(ours, 4096).decode()

    def test_priorities_are_for_the_journal(self):
        """A program that a service starts inherits the variable, but not always standard error."""
        self.write_config('idled.conf', '[Daemon]\nPolicies=nonsuch\n')
        for same in True, False:
            with open(os.path.join(self.directory, 'log'), 'w+', encoding='utf-8') as file:
                st = os.fstat(file.fileno())
                stream = '%d:%d' % (st.st_dev, st.st_ino + (not same))
                subprocess.run([os.environ['IDLED'], *self.arguments(), '--check'], stderr=file, timeout=TIMEOUT,
                               check=False, env=dict(os.environ, JOURNAL_STREAM=stream))
                file.seek(0)
                text = file.read()
            self.assertIn('nonsuch', text)
            self.assertEqual(text.startswith('<3>'), same, text)

    def test_colours(self):
        self.assertIn('\x1b[31m', self.errors_on_a_terminal(TERM='xterm'))
        self.assertIn('\x1b[31m', self.errors_on_a_terminal(TERM='xterm', NO_COLOR=''))
        for setting in {'NO_COLOR': '1', 'TERM': 'xterm'}, {'TERM': 'dumb'}:
            text = self.errors_on_a_terminal(**setting)
            self.assertIn('nonsuch', text)
            self.assertNotIn('\x1b', text, setting)

    def test_cpus_that_this_machine_has_not(self):
        """A file may be for many machines: what is too much for this one is said, no more."""
        self.write_config('policies/userspace.conf', '[Policy]\n\nIdleMask=6-9,17\n')
        warning = r'/etc/idled/policies/userspace\.conf:3: IdleMask: found CPUs 8-9,17, ' \
                  r'which this machine does not have, expected some of 0-7'
        status, out, err = self.idled('--check')
        self.assertEqual((status, out), (0, 'The configuration is valid.\n'))
        self.assertRegex(err, warning)
        status, out, err = self.idled('--once', '--dry-run')
        self.assertEqual(status, 0)
        self.assertRegex(err, warning)
        self.assertIn('planned 6-7', out)

    def test_not_started_for_lack_of_descriptors(self):
        """However many there are: a restart may find more, so the status is another one."""
        statuses = []
        while not statuses or statuses[-1]:
            limit = ['prlimit', '--nofile=%d' % (4 + len(statuses))]
            statuses.append(self.idled('--once', '--dry-run', before=limit)[0])
            self.assertLess(len(statuses), 100)
        self.assertGreater(len(statuses), 4)
        self.assertEqual(set(statuses), {0, 1}, statuses)

    @unittest.skipUnless(shutil.which('strace'), 'needs strace')
    def test_not_started_by_errors_of_the_system(self):
        """They are no errors of the configuration, wherever they happen. An access that is refused is one."""
        plain = self.idled('--once', '--dry-run')[0]
        self.assertEqual(plain, 0)
        for file in 'idled.conf', 'profiles', 'apps':
            path = os.path.join(self.config, file)
            if not os.path.exists(path):
                os.mkdir(path)
            for call, error, expected in (('openat', 'EMFILE', 1), ('openat', 'ENFILE', 1), ('openat', 'EIO', 1),
                                          ('openat', 'ENOMEM', 1), ('openat', 'EACCES', os.EX_CONFIG),
                                          ('getdents64' if os.path.isdir(path) else 'read', 'EIO', 1)):
                with self.subTest(file, call=call, error=error):
                    strace = ['strace', '-o', '/dev/null', '-P', path, '-P', 'etc/idled/' + file, '-e', 'trace=' + call,
                              '-e', 'inject=%s:error=%s' % (call, error)]
                    status, _, err = self.idled('--once', '--dry-run', before=strace)
                    self.assertEqual(status, expected, err)
                    self.assertIn('cannot be read', err)

    def test_wrong_usage(self):
        for words in ['--nonsense'], ['extra'], ['--log-level', 'loud'], ['--check', '--once']:
            status, out, err = self.idled(*words)
            self.assertEqual((status, out), (2, ''), words)
            self.assertTrue(err, words)
        self.assertEqual(self.idled('--help')[0], 0)
        levels = 'emerg, alert, crit, err, warning, notice, info or debug\n'
        self.assertIn('--log-level: found "loud", expected ' + levels,
                      self.idled('--log-level', 'loud')[2])
        self.assertIn(' ' + levels, self.idled('--help')[1])
        for level in levels.replace(' or', ',').split(', '):
            self.assertEqual(self.idled('--check', '--log-level', level.strip())[0], 0, level)
        self.assertRegex(self.idled('--version')[1], r'\d')

    def test_a_root_that_is_not_there(self):
        status, _, err = self.idled('--once', '--dry-run', '--root', '/nonexistent')
        self.assertEqual(status, 1)
        self.assertIn('/nonexistent', err)

    @needs_root
    def test_peer_defect_8_configuration_that_cannot_be_read(self):
        """A file that is a directory is an error of that file, not a default."""
        os.unlink(os.path.join(self.config, 'idled.conf'))
        os.mkdir(os.path.join(self.config, 'idled.conf'))
        status, _, err = self.idled('--check')
        self.assertEqual(status, 1)
        self.assertIn('/etc/idled/idled.conf', err)


class CheckAndDaemon(Agreement):
    """What the daemon would not do as it says, the check says too, and the daemon what the check does."""

    def test_notes_among_drop_ins(self):
        self.write_config('policies/ondemand.conf.d/readme.txt', 'Do not touch.')
        self.assert_accepted()

    def test_partition_with_exceptions(self):
        for option in 'Units=user.slice', 'Exclude=sshd.service':
            self.write_config('idled.conf', '[Daemon]\nPolicies=userspace\n[Park]\nBackend=partition\n%s\n'
                              % option)
            self.assert_refused(r'idled\.conf:4: Backend: found "partition", which .*Units= or Exclude=')
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace\n[Park]\nBackend=partition\n')
        self.assert_accepted()

    def write_rule(self, match):
        self.write_config('apps/a.conf', '[Match]\n%s\n[Ask]\nCores=2\n' % match)

    def test_names_that_no_process_has(self):
        for name, good in (('firefox', True), ('exactly-15-byte', True), ('exactly-16-bytes', False),
                           ('a-long-name-with-a-*', False), ('*-and-*-and-*', True),
                           ('sixteen-chars-??', False), ('good [a-z]*', True)):
            self.write_rule('Comm=' + name)
            if good:
                self.assert_accepted()
            else:
                self.assert_refused(r'apps/a\.conf:2: Comm: found "%s", of \d+ bytes, expected at most 15'
                                    % re.escape(name))

    def test_cores(self):
        """All of them, or a number; what stands in [Ask] is listed."""
        for line, problem in (('Cores=all', None), ('Cores=8', None),
                              ('Cores=most', 'Cores: found "most", expected all or a whole number from 0 to 8192'),
                              ('Cores=8193', 'Cores: found "8193", expected all or '),
                              ('Threads=2', 'Threads: found an unknown key, expected one of .Ask.: '
                                            'Latency, WakeupP99, Profile, Cores, Kind, Linger')):
            self.write_config('apps/a.conf', '[Match]\nComm=make\n[Ask]\n%s\n' % line)
            if problem:
                self.assert_refused(r'apps/a\.conf:4: ' + problem)
            else:
                self.assert_accepted()

    def test_unknown_user(self):
        self.put('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\n')
        self.write_rule('User=alice 4711 b*')
        self.assert_accepted()
        self.write_rule('User=alice bob')
        self.assert_accepted(r'apps/a\.conf:2: User: found "bob", .*/etc/passwd')

    def test_many_warnings(self):
        """Some words of one list are enough, and the number of the others, for each rule."""
        self.put('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\n')
        self.write_rule('User=' + ' '.join('nonsuch%d' % i for i in range(2000)))
        self.write_config('apps/b.conf', '[Match]\nUser=bob\n[Ask]\nCores=2\n')
        for way in ['--check'], ['--once', '--dry-run']:
            err = self.idled(*way)[2]
            self.assertEqual(err.count('User: found "nonsuch'), 20, way)
            self.assertRegex(err, r'apps/a\.conf:2: User: found 1980 more', way)
            self.assertRegex(err, r'apps/b\.conf:2: User: found "bob"', way)
            self.assertNotRegex(err, r'apps/b\.conf:.*more')

    def test_script_as_executable(self):
        self.put('usr/bin/script', '#! /usr/bin/python3 -B\nprint()\n')
        self.put('usr/bin/program', '\x7fELF')
        self.write_rule('Executable=/usr/bin/program /usr/bin/absent /usr/bin/scr*')
        self.assert_accepted()
        self.write_rule('Executable=' + ' '.join(['/usr/bin/script'] * 21))
        self.assert_accepted(r'apps/a\.conf:2: Executable: found 1 more')
        self.write_rule('Executable=/usr/bin/script')
        self.assert_accepted(r'apps/a\.conf:2: Executable: found "/usr/bin/script", a script.*'
                             r'/usr/bin/python3.*; expected Comm=, Unit= or Cgroup=')

    def test_power_table_without_a_state(self):
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace\n[Evaluate]\nPowerTable=mine\n')
        figures = '[States]\nC0=40\nC1E=30\nC6=9\nC10=7\nC6S=8\n'
        self.write_config('power/mine.conf', figures)
        self.assert_accepted()
        self.write_config('power/mine.conf', figures.replace('C6=9\n', '').replace('C6S=8\n', ''))
        self.assert_accepted(r'idled\.conf:4: PowerTable: .* mine has no figure for C6, C6S of this machine')
        self.write_config('power/mine.conf', figures.replace('C0=40\n', ''))
        self.assert_accepted(r'idled\.conf:4: PowerTable: .* no figure for C0, POLL of this machine')

    def test_what_drivers_do_not_offer(self):
        self.write_config('idled.conf', '[Daemon]\nPolicies=cpufreq\n')
        self.write_config('policies/cpufreq.conf', '[Policy]\nGovernor=nonsuch powersave\nMaxFrequency=2GHz\n'
                          'MinFrequencyHigh=50%\n')
        self.assert_accepted()
        self.write_config('policies/cpufreq.conf', '[Policy]\nGovernorLow=ondemand nonsuch\n'
                          'MaxFrequency=20GHz\nMinFrequencyHigh=1MHz\n')
        self.assert_accepted(
            r'cpufreq\.conf:2: GovernorLow: found "ondemand nonsuch", which this machine does not '
            r'offer, expected one of performance, powersave',
            r'cpufreq\.conf:3: MaxFrequency: found "20GHz", which is above the highest frequency of '
            r'this machine; \d+ MHz is in effect',
            r'cpufreq\.conf:4: MinFrequencyHigh: found "1MHz", which is below the lowest')
        self.write_config('policies/cpufreq.conf', '[Policy]\nMaxFrequency=1%\n')
        self.assert_accepted(r'cpufreq\.conf:2: MaxFrequency: found "1%", which is below the lowest frequency')

    def test_cores_that_the_machine_lacks(self):
        self.write_config('idled.conf', '[Daemon]\nPolicies=ondemand\n')
        self.write_config('policies/ondemand.conf', '[Policy]\nMinCores=2\nMaxCores=6\n')
        self.assert_accepted()
        self.write_config('policies/ondemand.conf', '[Policy]\nMinCores=99\nMaxCores=999\n')
        self.assert_accepted(r'ondemand\.conf:2: MinCores: found "99", which is more .* all .* active',
                             r'ondemand\.conf:3: MaxCores: found "999", which is more .* no limit')

    def test_what_drivers_do_not_offer_to_a_profile(self):
        """Whether it is active or not; shipped profiles list what other machines offer, too."""
        self.write_config('profiles/mine.conf', '[cpufreq]\nGovernor=nonsuch\nMaxFrequency=20GHz\n')
        self.write_config('profiles/also.conf', '[Profile]\nInclude=mine\n[cpufreq]\nMinFrequency=1GHz\n')
        self.write_config('policies/cpufreq.conf', '[Policy]\nMaxFrequency=30GHz\n')
        conf = os.path.join(os.environ['IDLED_MACHINES'], '../../conf')
        for active in '', 'ProfileAC=mine\nProfileBattery=mine\n':
            self.write_config('idled.conf', '[Daemon]\nPolicies=cpufreq\n' + active)
            self.assert_accepted(
                r'profiles/mine\.conf:2: Governor: found "nonsuch", which this machine does not offer, '
                r'expected one of performance, powersave',
                r'profiles/mine\.conf:3: MaxFrequency: found "20GHz", which is above the highest',
                r'policies/cpufreq\.conf:2: MaxFrequency: found "30GHz", which is above the highest')
            err = self.idled('--check', '--vendor-dir', conf)[2]
            self.assertEqual(err.count('which'), 3, err)
        self.write_config('profiles/balanced.conf', '[cpufreq]\nGovernor=\nMaxFrequency=2GHz\n')
        self.assertNotIn('balanced', self.idled('--check')[2])

    def test_idle_state_that_no_cpu_has(self):
        self.write_config('idled.conf', '[Daemon]\nPolicies=cstates\n')
        for good in 'C6', 'c1e', 'C5', '10us', '0':
            self.write_config('policies/cstates.conf', '[Policy]\nDeepestState=%s\n' % good)
            self.assert_accepted()
        self.write_config('policies/cstates.conf', '[Policy]\nDeepestState=FOO\n')
        self.write_config('profiles/mine.conf', '[cstates]\nDeepestState=FOOT\n')
        self.assert_accepted(r'cstates\.conf:2: DeepestState: found "FOO", which .* no limit; expected a time',
                             r'mine\.conf:2: DeepestState: found "FOOT", which .* no limit')

    def test_without_idle_states(self):
        for cpu in range(8):
            shutil.rmtree(os.path.join(self.root, 'sys/devices/system/cpu/cpu%d/cpuidle' % cpu))
        self.write_config('idled.conf', '[Daemon]\nPolicies=cstates\n')
        self.write_config('policies/cstates.conf', '[Policy]\nDeepestState=10us\n')
        self.assert_accepted(r'cstates\.conf:2: DeepestState: .* no idle states')

    def test_without_cpufreq(self):
        """Whatever is configured has no effect, and every option is named."""
        directory = os.path.join(self.root, 'sys/devices/system/cpu/cpufreq')
        shutil.rmtree(directory)
        os.mkdir(directory)
        self.write_config('idled.conf', '[Daemon]\nPolicies=cpufreq\n')
        self.write_config('policies/cpufreq.conf', '[Policy]\nGovernor=powersave\nBoostLow=off\n')
        self.assert_accepted(r'cpufreq\.conf:2: Governor: .* no cpufreq',
                             r'cpufreq\.conf:3: BoostLow: .* no cpufreq')
        self.assertIn('cpufreq: not available here', self.idled('--once', '--dry-run')[2])

    def test_no_error_that_is_none(self):
        """What contradicts only the default of an option whose own value is wrong does not count."""
        self.write_config('idled.conf', '[Daemon]\nPolicies=ondemand\n')
        self.write_config('policies/ondemand.conf', '[Policy]\nUpThreshold=1o0%\nTargetUtilization=95%\n')
        _, _, err = self.idled('--check')
        self.assertIn('UpThreshold: found "1o0%"', err)
        self.assertNotIn('TargetUtilization: ', err)


class Once(Command):
    def test_prints_the_decision(self):
        self.write_config('policies/userspace.conf', '[Policy]\nIdleMask=6-7\n')
        status, out, _ = self.idled('--once', '--dry-run')
        self.assertEqual(status, 0)
        self.assertRegex(out, r'(?m)^online 0-7, load [\d.]+, parked none, planned 6-7: this is a dry run$')

    def test_says_that_nothing_was_parked(self):
        self.write_config('policies/userspace.conf', '[Policy]\nIdleMask=6-7\n')
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace\n[Park]\nBackend=none\n')
        status, out, _ = self.idled('--once')
        self.assertEqual(status, 0)
        self.assertRegex(out, r'(?m)^online 0-7, load [\d.]+, parked none, planned 6-7: .*Backend=none')

    def test_waits_until_it_has_decided(self):
        """Idle CPUs are parked by ondemand only after a while, and it is said by what."""
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace ondemand\n')
        self.write_config('policies/ondemand.conf', '[Policy]\nPeriod=100ms\nDwell=1s\n')
        status, out, _ = self.idled('--once', '--dry-run')
        self.assertEqual(status, 0)
        self.assertRegex(out, r'(?m)^userspace: Requests all CPUs\.$')
        self.assertRegex(out, r'(?m)^ondemand: Requests .*CPUs.*: .*\(.*load .*\)')
        self.assertRegex(out, r'(?m)^online 0-7, load [\d.]+, parked none, planned \d')

    def test_leaves_nothing(self):
        before = self.tree()
        self.assertEqual(self.idled('--once')[0], 0)
        self.assertEqual(self.idled('--restore')[0], 0)
        self.assertEqual(self.tree(), before)
        self.assertFalse(os.path.exists(self.undo_path()))

    def tree(self):
        """Names, sizes and times of all files of the machine."""
        return sorted((os.path.join(place, name),
                       os.lstat(os.path.join(place, name)).st_mtime_ns,
                       os.lstat(os.path.join(place, name)).st_size)
                      for place, _, names in os.walk(self.root) for name in names)

    def test_peer_defect_5_nothing_is_written_before_the_configuration_is_read(self):
        self.write_config('idled.conf', '[Daemon]\nNonsense=1\n')
        before = self.tree()
        self.assertEqual(self.idled('--once')[0], os.EX_CONFIG)
        self.assertEqual(self.tree(), before)


@unittest.skipUnless(shutil.which('strace'), 'needs strace')
class NotRestored(Command):
    """idled is refused writes of knobs from one on, when it restores at the latest."""

    CONFIG = '[Daemon]\nPolicies=cpufreq\n'

    def test_status(self):
        """It is 1 if and only if something stays changed or was not changed; --restore then restores it."""
        self.write_config('policies/cpufreq.conf', '[Policy]\nMaxFrequency=2GHz\n')
        found = self.cpu_values()
        trace = os.path.join(self.directory, 'trace')
        self.assertEqual(self.idled('--once', before=['strace', '-o', trace, '-e', 'trace=pwrite64'])[0], 0)
        writes = self.read(trace).count('pwrite64(')
        self.assertGreaterEqual(writes, 16)
        for first in range(1, writes + 1):
            refuse = ['strace', '-o', '/dev/null', '-e', 'trace=pwrite64',
                      '-e', 'inject=pwrite64:error=EIO:when=%d+' % first]
            with self.subTest(first=first):
                self.assertEqual(self.idled('--once', before=refuse)[0], 1)
                self.assertEqual(self.cpu_values() != found, first > 1)
                self.assertEqual(self.idled('--restore')[0], 0)
                self.assertEqual(self.cpu_values(), found)

    def test_status_of_the_service(self):
        self.write_config('policies/cpufreq.conf', '[Policy]\nMaxFrequency=2GHz\n')
        found = self.cpu_values()
        with mock.patch.dict(os.environ, traceable()):
            daemon = self.start(bus=False)
        self.assertNotEqual(self.cpu_values(), found)
        strace = subprocess.Popen(['strace', '-p', str(daemon.process.pid), '-e', 'inject=pwrite64:error=EIO'],
                                  stderr=subprocess.PIPE)
        strace.stderr.readline()  # it has attached itself
        daemon.send(signal.SIGTERM)
        strace.communicate()
        self.assertEqual(daemon.wait_exit(), 1)
        self.assertEqual(self.idled('--restore')[0], 0)
        self.assertEqual(self.cpu_values(), found)


class Restore(Command):
    def test_nothing_to_do(self):
        self.assertEqual(self.idled('--restore')[0], 0)
        self.assertEqual(self.idled('--restore')[0], 0)

    def test_nonsense_in_the_record(self):
        self.put(self.undo_path(), '\x7fnonsense\nmore\n')
        status, out, err = self.idled('--restore')
        self.assertEqual((status, out), (1, ''))
        self.assertRegex(err, '^2 lines .*record.*\\n.*undo.damaged.*\\n$')
        self.assertEqual(Path(self.undo_path() + '.damaged').read_text(encoding='ascii'), '\x7fnonsense\nmore\n')
        self.assertEqual(self.idled('--restore'), (0, '', ''))
        status, out, err = self.idled('--once')
        self.assertEqual(status, 0, err)
        self.assertIn('online 0-7', out)

    def test_nonsense_and_once(self):
        """It decides all the same, and says at the end that something may stay changed."""
        self.write_config('idled.conf', '[Daemon]\nPolicies=ondemand\n')
        self.write_config('policies/ondemand.conf', '[Policy]\nPeriod=100ms\nDwell=1s\n')
        self.put(self.undo_path(), 'nonsense\n')
        status, out, err = self.idled('--once')
        self.assertEqual(status, 1, err)
        self.assertRegex(err, UNREADABLE)
        self.assertRegex(out, r'(?m)^online 0-7, load [\d.]+, parked none, planned \d')

    def test_nonsense_at_the_start(self):
        """Idled goes on, and what it could not read is kept."""
        self.put(self.undo_path(), 'nonsense\n')
        self.start('--no-bus', bus=False)
        self.daemon.wait_log('restored')
        self.assertEqual(self.daemon.count_log(UNREADABLE), 1)
        self.assertEqual(self.daemon.terminate(), 0)
        self.assertEqual(os.listdir(os.path.dirname(self.undo_path())).count('undo.damaged'), 1)

    def write_record(self, *lines):
        """A record of this boot, which has no id here; returns its text."""
        text = ''.join(line + '\n' for line in ('idled-undo\t1\tunknown', *lines))
        self.put(self.undo_path(), text)
        return text

    def test_of_an_earlier_version(self):
        """--probe restores what the daemon has no right to, and leaves all else on record."""
        self.put('proc/101/stat', '101 (a) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 11 0 0\n')
        self.put('proc/101/timerslack_ns', '90000\n')
        self.write_record('found\ttimerslack\t101:11\t50000', 'write\ttimerslack\t101:11\t90000',
                          'found\tlater\ta\t1')
        self.assertEqual(self.idled('--probe', '--dry-run')[0], 0)
        self.assertEqual(self.read('proc/101/timerslack_ns'), '90000')
        self.assertEqual(self.idled('--probe')[0], 0)
        self.assertEqual(self.read('proc/101/timerslack_ns'), '50000')
        self.assertRegex(Path(self.undo_path()).read_text(encoding='ascii'),
                         'found\tlater\ta\t1\n(.*\n)*done\ttimerslack\t101:11\n')

    def test_of_a_later_version(self):
        """What an older idled does not know stays as it is, and on record for the one that does."""
        text = self.write_record('found\tlater\ta\t1', 'found\tlater\tb\t2')
        for _ in range(2):
            status, out, err = self.idled('--restore')
            self.assertEqual((status, out), (1, ''))
            self.assertRegex(err, '^2 knobs .*version.*\\n$')
            self.assertEqual(Path(self.undo_path()).read_text(encoding='ascii'), text)
        self.write_record('found\tlater\ta\t1')
        status, out, err = self.idled('--once')
        self.assertEqual(status, 1)
        self.assertIn('online 0-7', out)
        self.assertRegex(err, UNKNOWN)
        self.assertNotRegex(err, UNREADABLE)
        self.assertFalse(os.path.exists(self.undo_path() + '.damaged'))

    def test_of_a_later_version_and_nonsense(self):
        """Each of the two lines has its own message."""
        self.write_record('found\tlater\ta\t1', 'nonsense')
        status, _, err = self.idled('--restore')
        self.assertEqual(status, 1)
        self.assertRegex(err, UNREADABLE)
        self.assertRegex(err, UNKNOWN)
        status, out, err = self.idled('--restore')
        self.assertEqual((status, out, err.count('\n')), (1, '', 1))
        self.assertRegex(err, UNKNOWN)

    def test_two_instances(self):
        self.start('--no-bus', bus=False)
        for mode in ('--restore',), ('--once',), ('--no-bus',):
            status, _, err = self.idled(*mode)
            self.assertEqual(status, 1, mode)
            self.assertIn('another idled', err)
        self.assertEqual(self.daemon.terminate(), 0)
        self.assertEqual(self.idled('--restore')[0], 0)


class Notify(Command):
    def receive(self, wanted):
        """All messages up to the one that contains `wanted`, as text."""
        seen = []
        while not seen or wanted not in seen[-1]:
            seen.append(self.daemon.notify.recv(4096).decode())
        return seen

    def start_quietly(self):
        self.start('--no-bus', bus=False)

    def test_ready_reloading_stopping(self):
        self.start_quietly()
        self.daemon.send(signal.SIGHUP)
        reloading = self.receive('RELOADING=1')[-1]
        self.assertRegex(reloading, r'(?m)^MONOTONIC_USEC=\d+$')
        self.receive('READY=1')
        self.daemon.send(signal.SIGTERM)
        self.receive('STOPPING=1')
        self.assertEqual(self.daemon.wait_exit(), 0)

    def test_interrupt_is_an_end_too(self):
        self.start_quietly()
        self.daemon.send(signal.SIGINT)
        self.receive('STOPPING=1')
        self.assertEqual(self.daemon.wait_exit(), 0)

    def test_watchdog(self):
        os.environ['WATCHDOG_USEC'] = '200000'
        self.addCleanup(os.environ.pop, 'WATCHDOG_USEC')
        self.start_quietly()
        for _ in range(3):
            self.receive('WATCHDOG=1')

    def test_no_watchdog_unasked(self):
        self.start_quietly()
        self.daemon.send(signal.SIGTERM)
        self.assertNotIn('WATCHDOG', ''.join(self.receive('STOPPING=1')))

    def test_bad_reload_keeps_the_old(self):
        self.write_config('policies/userspace.conf', '[Policy]\nIdleMask=7\n')
        self.start('--dry-run')
        self.assertEqual(self.get('IdleMask'), '7')
        self.write_config('policies/userspace.conf', '[Policy]\nIdleMask=6\nNonsense=1\n')
        self.daemon.send(signal.SIGHUP)
        self.receive('READY=1')
        self.daemon.wait_log(r'/etc/idled/policies/userspace\.conf:3: .*Nonsense')
        self.daemon.wait_log('running configuration')
        self.assertEqual(self.get('IdleMask'), '7')
        self.write_config('policies/userspace.conf', '[Policy]\nIdleMask=6\n')
        self.daemon.send(signal.SIGHUP)
        self.receive('READY=1')
        self.assertEqual(self.get('IdleMask'), '6')


class Surroundings(Command):
    def test_log_that_is_full(self):
        with open('/dev/full', 'wb') as full:
            status = subprocess.run([os.environ['IDLED'], *self.arguments(), '--once', '--dry-run'],
                                    stdout=subprocess.DEVNULL, stderr=full, timeout=TIMEOUT,
                                    check=False).returncode
        self.assertEqual(status, 0)

    def test_log_without_a_reader(self):
        """A closed pipe must not kill the daemon before it has restored everything."""
        ours, theirs = os.pipe()
        os.close(ours)
        done = subprocess.run([os.environ['IDLED'], *self.arguments(), '--once', '--dry-run'],
                              stdout=subprocess.PIPE, stderr=theirs, timeout=TIMEOUT, text=True,
                              check=False)
        os.close(theirs)
        self.assertEqual(done.returncode, 0)
        self.assertIn('online 0-7', done.stdout)

    def test_standard_descriptors_closed(self):
        status, _, _ = self.idled('--once', '--dry-run',
                                  before=['sh', '-c', 'exec "$@" <&- >&- 2>&-', 'sh'])
        self.assertEqual(status, 0)

    @needs_root
    def test_read_only_run(self):
        """Nothing can be put on record, so nothing is begun, and it is said where."""
        run = os.path.join(self.directory, 'run')
        os.mkdir(run)
        script = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'
        status, _, err = self.idled('--once', before=[*UNSHARE, script, 'sh', run])
        self.assertEqual(status, 0, err)
        self.assertEqual(os.listdir(run), [])
        inner = os.path.join(run, 'idled')
        status, _, err = self.idled('--once', '--run', inner,
                                    before=[*UNSHARE, script, 'sh', run])
        self.assertEqual(status, 1)
        self.assertTrue(re.search(re.escape(inner) + '.*Read-only file system', err), err)

    def test_peer_defect_4_no_service_is_needed(self):
        """A bus without systemd, polkit, logind, UPower: it starts and answers root."""
        self.start('--dry-run')
        self.assertEqual(sorted(str(name) for name in self.connection.list_names()
                                if not name.startswith(':')),
                         ['org.freedesktop.DBus', 'org.idled1'])
        if os.geteuid() == 0:
            self.set_idle_mask('7')
        self.assertTrue(self.call('Explain'))


main()
