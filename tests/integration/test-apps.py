#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Application rules on the running kernel: real processes, which the daemon notices by events.
Programs are copies of sleep below the test's directory, so that rules match no other process."""
import os
import shutil
import signal
import subprocess
import sys
import unittest

import dbus

from appstest import ASK, Apps, say
from cpuset import cpuset_root, make_cpuset
from idledtest import MANAGER, NAME, NOBODY, PATH, command_as, main, needs_root

# Changes its name to each line of its input; exits when that ends.
RENAMED = '''
import ctypes, sys
for line in sys.stdin:
    ctypes.CDLL(None).prctl(15, line.strip().encode())
    print("done", flush=True)
'''


class Executable(Apps):
    RULES = {'game': '[Match]\nExecutable=BIN/game\n' + ASK}

    def test_comes_and_goes(self):
        self.start()
        game = self.run_game()
        game.kill()
        self.wait_over('game')

    def test_is_shown(self):
        """As a hold of the rule's, with the process and its name."""
        self.start()
        game = self.run_game()
        self.assertRegex(self.idlectl('holds').stdout, r'/apps/game\.conf, process %d, game' % game.pid)

    @needs_root
    def test_is_private(self):
        """The process that a rule matched is shown to its user and to root, and to no one else."""
        (self.conf / 'idled.conf').write_text('[Daemon]\nPolicies=latency\n')
        self.use_fence(rule='[Match]\nExecutable=BIN/other\n' + ASK + 'Profile=balanced\n')
        self.start()
        other = self.run_program(*command_as(NOBODY, self.bin / 'other', '1000'))
        self.wait_hold('rule', other.pid)
        for path, *call in (('', 'org.freedesktop.DBus.ObjectManager', 'GetManagedObjects'),
                            ('', MANAGER, 'Explain'), ('', MANAGER, 'ProfileReason'),
                            ('/hold/1', NAME + '.Hold', 'Reason'), ('/hold/1', NAME + '.Hold', 'Pid')):
            verb = 'get-property' if len(path) > 1 or call[1].startswith('Profile') else 'call'
            for user, known in ((None, True), (NOBODY, True), (1, False)):
                text = self.busctl(verb, NAME, PATH + path, *call, user=user, check=True).stdout
                self.assertEqual(str(other.pid) in text, known, (call, user))
                if call[1] != 'Pid':
                    self.assertEqual('process %d, other' % other.pid in text, known, (call, user))
                    self.assertIn('/apps/rule.conf', text)

    def test_runs_at_start(self):
        game = self.run_program(self.bin / 'game', '1000')
        self.wait_exec(game.pid, 'game')
        self.start()
        self.wait_hold('game', game.pid)

    def test_is_replaced(self):
        """By an upgrade: the running process keeps its hold, but gets no new one."""
        shutil.copy(os.path.realpath(sys.executable), self.bin / 'game')
        self.use_fence(game='[Match]\nExecutable=BIN/game\nComm=*\n' + ASK)
        self.start()
        game = self.run_program(self.bin / 'game', '-c', RENAMED)
        self.wait_hold('game', game.pid)
        shutil.copy(self.bin / 'game', self.bin / 'game.new')
        os.rename(self.bin / 'game.new', self.bin / 'game')
        self.assertTrue(os.readlink('/proc/%d/exe' % game.pid).endswith(' (deleted)'))
        say(game, 'another')
        game.stdout.readline()
        self.assert_no_hold(0)
        self.assertEqual(self.daemon.count_log('app game is released'), 0)
        self.daemon.stop()
        self.start()
        self.assert_no_hold(game.pid)

    def test_becomes_another(self):
        self.start()
        self.run_game()
        script = 'read x; exec %s/game 1000' % self.bin
        shell = self.run_program('sh', '-c', script)
        say(shell)
        self.wait_hold('game', shell.pid)
        self.assertEqual(self.daemon.count_log('is released'), 0)

    def test_stops_being_meant(self):
        shutil.copy('/bin/sh', self.bin / 'game')
        self.start()
        game = self.run_program(self.bin / 'game', '-c', 'read x; exec sleep 1000')
        self.wait_hold('game', game.pid)
        say(game)
        self.wait_released('game')

    def test_fork_without_exec(self):
        """A process that begins as what its parent is, is meant as well."""
        shutil.copy(os.path.realpath(sys.executable), self.bin / 'game')
        self.start()
        code = 'import os; pid = os.fork(); pid or os.write(1, b"%d\\n" % os.getpid()); __import__("signal").pause()'
        game = self.run_program(self.bin / 'game', '-c', code)
        child = int(game.stdout.readline())
        self.later.add(child)
        self.addCleanup(os.kill, child, signal.SIGKILL)  # before the game's, which waits for the end of its output
        self.wait_hold('game', game.pid)
        self.wait_hold('game', child)

    @unittest.skipUnless(os.geteuid() == 0, 'only root may release it')
    def test_is_released(self):
        self.start()
        game = self.run_game()
        self.call('ReleaseHold', dbus.ObjectPath('/org/idled1/hold/1'))
        self.wait_released('game')
        game.kill()
        self.run_game()

    def test_rules_change(self):
        self.start()
        game = self.run_game()
        self.rules(again='[Match]\nExecutable=BIN/g*\n[Ask]\nCores=1\n')
        self.call('Reload')
        self.wait_hold('again', game.pid)
        self.wait_released('game')
        self.rules()
        self.call('Reload')
        self.wait_released('again')

    def test_all_cores(self):
        """However many there are, and may be later."""
        self.rules(game='[Match]\nExecutable=BIN/game\n[Ask]\nCores=all\nWakeupP99=20ms\n')
        self.start()
        self.run_game()
        self.assertEqual(self.get('Request', path='/org/idled1/hold/1', interface='org.idled1.Hold'),
                         {'min_cores': 8192, 'wakeup_p99_us': 20000})
        self.assertRegex(self.idlectl('holds').stdout, r'(?m)^ *1 .* all ')

    def test_hostile_path(self):
        self.use_fence(game='[Match]\nExecutable=BIN/game\n' + ASK,
                       line='[Match]\nExecutable=BIN/x*y*\n' + ASK)
        self.start()
        names = ['game\n', '\ngame', 'game(deleted)', 'x\n<3>y' + 200 * 'z', '\udcff\udcfe)']
        pids = []
        for name in names:
            shutil.copy('/bin/sleep', self.bin / name)
            pids.append(self.run_program(self.bin / name, '1000').pid)
        self.wait_hold('line', pids[3])
        self.assert_no_hold(pids[0])
        self.assert_no_hold(pids[4])
        self.assertEqual(self.daemon.count_log('of app game'), 0)
        self.assertEqual(self.daemon.count_log('^(<3>)?y'), 0, 'a line of the log was broken')

    def test_lost_events(self):
        self.start()
        self.daemon.send(signal.SIGSTOP)
        for _ in range(300):
            subprocess.run(['/bin/true'], check=True)
        game = self.run_program(self.bin / 'game', '1000')
        self.daemon.send(signal.SIGCONT)
        self.wait_hold('game', game.pid)
        self.daemon.wait_log('were lost')
        game.kill()
        self.wait_over('game')
        self.run_game()


class Children(Apps):
    def family(self, children):
        """A game that starts another program: their pids."""
        shutil.copy('/bin/sh', self.bin / 'game')
        self.use_fence(game='[Match]\nExecutable=BIN/game\nChildren=%s\n%s' % (children, ASK))
        self.start()
        script = '%s/other 1000 & echo $!; wait' % self.bin
        game = self.run_program(self.bin / 'game', '-c', script)
        child = int(game.stdout.readline())
        self.later.add(child)
        self.addCleanup(os.kill, child, signal.SIGKILL)
        self.wait_exec(child, 'other')
        return game.pid, child

    def test_follow(self):
        game, child = self.family('yes')
        self.wait_hold('game', game)
        self.wait_hold('game', child)
        self.assert_no_hold(0)
        self.assertEqual(self.daemon.count_log('app game is released'), 0)
        os.kill(game, signal.SIGKILL)
        self.wait_over('game')
        self.assertEqual(self.daemon.count_log('has ended: '), 1 + self.daemon.count_log('fence has ended: '))

    def test_do_not_follow(self):
        game, child = self.family('no')
        self.wait_hold('game', game)
        self.assert_no_hold(0)
        self.assertEqual(self.daemon.count_log('of app game: .*process %d,' % child),
                         self.daemon.count_log('app game is released'))

    def test_that_are_there_at_start(self):
        game, child = self.family('yes')
        self.wait_hold('game', child)
        self.daemon.stop()
        self.start()
        self.wait_hold('game', game)
        self.wait_hold('game', child)


class Parents(Apps):
    """Processes that have children already when they become what a rule means."""

    RULES = {'alone': '[Match]\nExecutable=BIN/game\n' + ASK,
             'family': '[Match]\nExecutable=BIN/game\nChildren=yes\n[Ask]\nCores=2\n'}

    def parent(self):
        """A shell that has a child, and becomes a game on a line of input; the child's pid."""
        shell = self.run_program('sh', '-c', 'sleep 1000 & echo $!; read x; exec %s/game 1000'
                                 % self.bin)
        child = int(shell.stdout.readline())
        self.addCleanup(os.kill, child, signal.SIGKILL)
        return shell, child

    def become_game(self, shell):
        say(shell)
        self.wait_exec(shell.pid, 'game')

    def assert_family(self, game, child):
        self.wait_hold('alone', game.pid)
        self.wait_hold('family', game.pid)
        self.wait_hold('family', child)

    def test_the_first(self):
        self.start()
        game, child = self.parent()
        self.become_game(game)
        self.assert_family(game, child)

    def test_not_the_first(self):
        """idled gets fork events, but the child was forked before a rule matched its parent."""
        self.start()
        self.wait_hold('alone', self.run_program(self.bin / 'game', '1000').pid)
        game, child = self.parent()
        self.wait_hold('alone', self.run_program(self.bin / 'game', '1000').pid)
        self.become_game(game)
        self.assert_family(game, child)
        self.assertEqual(self.daemon.count_log('of app alone: .*process %d,' % child), 0)

    def test_at_start(self):
        game, child = self.parent()
        self.become_game(game)
        self.start()
        self.assert_family(game, child)


class Linger(Apps):
    RULES = {'game': '[Match]\nExecutable=BIN/game\n[Ask]\nProfile=quick\nLinger=600s\n'}

    def setUp(self):
        super().setUp()
        (self.conf / 'profiles').mkdir()
        (self.conf / 'profiles/quick.conf').write_text('[userspace]\nIdleMask=1\n')

    def test_short_runs(self):
        """One switch for all of them, which no log keeps, and one back at the end."""
        self.start()
        for _ in range(10):
            subprocess.run([self.bin / 'game', '0.01'], check=True)
        game = self.run_game()
        self.assertEqual(self.daemon.count_log('Profile quick: '), 1)
        game.kill()
        self.assertEqual(self.get('Profile'), 'quick')
        self.rules()
        self.call('Reload')
        self.assertEqual(self.get('Profile'), 'balanced')


class Others(Apps):
    def test_name(self):
        self.use_fence(name='[Match]\nComm=idled?test-game\n' + ASK)
        self.start()
        process = self.run_program(sys.executable, '-c', RENAMED)

        def rename(name):
            say(process, name)
            process.stdout.readline()
        rename('idled-test-gam')
        self.assert_no_hold(process.pid)
        rename('idled-test-game')
        self.wait_hold('name', process.pid)
        rename('(idled-test-gam')
        self.wait_released('name')

    @unittest.skipUnless(os.geteuid() == 0, 'needs root to become another user')
    def test_user(self):
        self.rules(user='[Match]\nExecutable=%s\nUser=%d\n%s' % (
            os.path.realpath(sys.executable), NOBODY, ASK))
        self.start()
        code = 'import os; input(); os.setuid(%d); input()' % NOBODY
        process = self.run_program(sys.executable, '-c', code)
        say(process)
        self.wait_hold('user', process.pid)
        hold, = self.get('Holds')
        self.assertEqual(self.get('User', hold, 'org.idled1.Hold'), NOBODY, 'whose process it is')

    @unittest.skipUnless(os.geteuid() == 0 and cpuset_root(), 'needs root and a cgroup v1 cpuset')
    def test_cgroup(self):
        group = make_cpuset(cpuset_root() / ('idled-apps-%d' % os.getpid()))
        self.remove_at_end(group)
        self.rules(group='[Match]\nCgroup=/idled-apps-*\n' + ASK)
        self.start()
        script = 'echo $$ >%s/cgroup.procs; exec sleep 1000' % group
        self.wait_hold('group', self.run_program('sh', '-c', script).pid)


@unittest.skipUnless(os.path.exists('/sys/devices/system/cpu/cpu0/cpuidle'), 'needs idle states')
class Limits(Apps):
    RULES = {'game': '[Match]\nExecutable=BIN/game\n[Ask]\nLatency=1s\n'}

    def test_goes_on(self):
        """No active policy serves the rule's hold: the administrator's limit stays in effect."""
        (self.conf / 'idled.conf').write_text('[Daemon]\nPolicies=cstates\n')
        (self.conf / 'policies').mkdir()
        (self.conf / 'policies/cstates.conf').write_text('[Policy]\nDeepestState=0\n')
        self.start()

        def reasons():
            return [[str(reason['text']) for reason in row['reasons']]
                    for row in self.call('Explain')]
        before = reasons()
        self.assertIn('DeepestState', before[0][0])
        self.run_game()
        self.assertEqual(reasons(), before)


class NoForkEvents(Apps):
    PREFIX = ('unshare', '--net')
    RULES = Executable.RULES

    @unittest.skipUnless(os.geteuid() == 0, 'needs root for a namespace')
    def test_only_those_at_start(self):
        game = self.run_program(self.bin / 'game', '1000')
        self.wait_exec(game.pid, 'game')
        self.start()
        self.wait_hold('game', game.pid)
        self.assertIn('process events', [str(what) for what, _ in self.get('Missing')])
        self.rules()
        self.call('Reload')
        self.wait_released('game')
        self.assertNotIn('process events', [str(what) for what, _ in self.get('Missing')])


class Mistakes(Apps):
    def check(self):
        done = subprocess.run([os.environ['IDLED'], '--check'] + self.arguments()[:-1],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout

    def test_are_reported(self):
        cases = {
            '[Match]\nExecutable=game\n' + ASK: ':2: Executable: found "game"',
            '[Match]\nComm=a\n[Ask]\nLatency=fast\n': ':4: Latency: found "fast"',
            '[Match]\nComm=a\n[Ask]\nLatency=0.4us\n':
                ':4: Latency: found "0.4us", expected a duration of 0 or from 1us to 1s',
            '[Match]\nComm=a\n[Ask]\nLatency=1001ms\n': ':4: Latency: found "1001ms", expected',
            '[Match]\nComm=a\nUnti=b\n' + ASK: 'did you mean Unit?',
            '[Match]\nLatency=5us\n': ':2: Latency: found in [Match], expected in [Ask]',
            '[App]\n': ':1: found section [App], expected [Match] or [Ask]',
            '[Match]\nComm=a\n[Ask]\nProfile=fast\n': ':4: Profile: ',
            ASK: ': matches every process',
            '[Match]\nComm=a\n': ': requests nothing',
        }
        for text, error in cases.items():
            with self.subTest(text):
                self.rules(one=text)
                status, output = self.check()
                self.assertIn('/apps/one.conf' + error if error[0] == ':' else error, output)
                self.assertEqual(status, 1)
        self.rules(one='[Match]\nComm=a\n' + ASK, example='# [Match]\n#Comm=a\n')
        self.assertEqual(self.check()[0], 0)


def can_mount():
    return subprocess.run(['unshare', '--user', '--map-root-user', '--mount', 'true'],
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


class Namespaces(Apps):
    @unittest.skipUnless(can_mount(), 'no mount namespace can be made here')
    def test_is_another_in_a_namespace(self):
        """A user with a user namespace can mount any program at the path of a rule: it does not match."""
        self.use_fence(**Executable.RULES)
        self.start()
        script = 'mount --bind BIN/other BIN/game && exec BIN/game 1000'
        fake = self.run_program('unshare', '--user', '--map-root-user', '--mount', 'sh', '-c',
                                script.replace('BIN', str(self.bin)))
        self.wait_exec(fake.pid, 'game')
        self.assert_no_hold(fake.pid)
        self.daemon.stop()
        self.start()
        self.assert_no_hold(fake.pid)


@unittest.skipUnless(os.geteuid() == 0, 'needs root to have fewer rights, and a user')
class Homes(Apps):
    """Programs in directories that the service, unlike root, may not look into."""

    PREFIX = ('setpriv', '--bounding-set', '-dac_override,-dac_read_search')
    RULES = Executable.RULES

    def setUp(self):
        super().setUp()
        os.chmod(self.directory, 0o755)
        os.chmod(self.bin, 0o700)
        os.chown(self.bin, NOBODY, NOBODY)

    def test_program_of_a_user(self):
        self.start()
        game = self.run_program(self.bin / 'game', '1000', user=NOBODY)
        self.wait_hold('game', game.pid)

    @unittest.skipUnless(can_mount(), 'no mount namespace can be made here')
    def test_another_in_a_namespace(self):
        real = self.run_program(self.bin / 'game', '1000', user=NOBODY)
        self.wait_exec(real.pid, 'game')
        fake = self.run_program('unshare', '--mount', 'sh', '-c', (
            'mount --bind BIN/other BIN/game && exec BIN/game 1000').replace('BIN', str(self.bin)))
        self.wait_exec(fake.pid, 'game')
        self.start()
        self.wait_hold('game', real.pid)
        self.daemon.stop()  # all that it said at the start has been read then
        self.assertEqual(self.daemon.count_log('of app game: .*process %d,' % fake.pid), 0)


main()
