#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlectl hold and idlectl run: as good as the command itself, and a hold for as long as it runs."""
import os
import signal
import subprocess

import dbus

import holdstest
from holdstest import HOLD
from idledtest import TIMEOUT, main, wait_until

WAIT = 'read line'  # a shell that does this waits until its input ends


class Case(holdstest.Case):
    CONFIG = '[Daemon]\nPolicies=latency\n'
    START = ()

    def begin(self, *arguments, before=()):
        return self.popen([*before, os.environ['IDLECTL'], '--bus-address', self.bus.address, *arguments],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          process_group=0)  # as a shell does; an orphaned group cannot be stopped

    def finish(self, process):
        """Exit status and what it complained of."""
        _, errors = process.communicate(timeout=TIMEOUT)
        return process.returncode, errors

    def run_command(self, *command):
        return self.finish(self.begin('run', '--latency', '50us', '--', *command))


class Run(Case):
    def shell(self, script):
        """A shell that runs with a hold, when it has said that it does."""
        process = self.begin('run', '--latency', '50us', '--', 'sh', '-c', 'echo up; ' + script)
        self.assertEqual(process.stdout.readline(), 'up\n')
        return process

    def test_status(self):
        for script, status in (('exit 0', 0), ('exit 7', 7), ('exit 255', 255),
                               ('kill -TERM $$', 128 + 15), ('kill -KILL $$', 128 + 9)):
            self.assertEqual(self.run_command('sh', '-c', script), (status, ''), script)
        self.wait_holds(0)

    def test_child_signal_ignored(self):
        """Some programs ignore SIGCHLD, and what they start inherits that."""
        # Not ignored here, where the kernel would then reap what ends before it is waited for.
        ignoring = ('env', '--ignore-signal=CHLD')
        process = self.begin('run', '--latency', '50us', '--', 'grep', '-x',
                             r'SigIgn:\s[0-9a-f]*', '/proc/self/status', before=ignoring)
        failing = self.begin('run', '--latency', '50us', '--', 'sh', '-c', 'exit 5', before=ignoring)
        missing = self.begin('run', '--latency', '50us', '--', '/nonexistent/command', before=ignoring)
        text, _ = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(self.finish(failing)[0], 5)
        self.assertTrue(int(text.split()[1], 16) & 1 << signal.SIGCHLD - 1, 'it inherits it, too')
        self.assertEqual(self.finish(missing)[0], 127)

    def test_what_cannot_run(self):
        status, errors = self.run_command('/nonexistent/command')
        self.assertEqual(status, 127)
        self.assertEqual(errors, 'idlectl: /nonexistent/command: No such file or directory\n')
        status, errors = self.run_command(self.directory)
        self.assertEqual(status, 126)
        self.assertIn('Permission denied', errors)
        self.wait_holds(0)

    def test_arguments(self):
        process = self.begin('run', '--cores', '1', '--', 'printf', '%s|', '--json', '-x', 'a b')
        self.assertEqual(process.communicate(timeout=TIMEOUT)[0], '--json|-x|a b|')

    def test_hold(self):
        process = self.begin('run', '--latency', '50us', '--p99', '5ms', '--cores', '2', '--min-frequency',
                             '1.5GHz', '--cpus', '2-3', '--profile', 'balanced', '--reason',
                             'a game', '--', 'sh', '-c', 'echo $$; ' + WAIT)
        pid = int(process.stdout.readline())
        path, = self.holds()
        for name, value in (('Request', {'latency_us': 50, 'wakeup_p99_us': 5000, 'min_cores': 2, 'min_frequency_khz': 1500000,
                                         'profile': 'balanced'}),
                            ('CPUs', '2-3'), ('Reason', 'a game'),
                            ('Pid', pid), ('Bound', True)):
            self.assertEqual(self.get(name, path, HOLD), value, name)
        process.stdin.close()
        self.assertEqual(process.wait(TIMEOUT), 1)  # of read, at the end of its input
        self.wait_holds(0)

    def test_where(self):
        """It is printed at a terminal, but not where a program reads the command's errors."""
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        process = subprocess.run(
            [os.environ['IDLECTL'], '--bus-address', self.bus.address, 'run', '--latency', '50us',
             '--cpus', '2-3', '--', 'true'], stderr=slave, timeout=TIMEOUT)
        os.close(slave)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(os.read(master, 1000).decode().strip(),
                         'idlectl: the hold is in effect on CPUs 2-3')

    def test_refused(self):
        marker = os.path.join(self.directory, 'it-ran')
        status, errors = self.finish(self.begin('run', '--cores', '99', '--', 'touch', marker))
        self.assertEqual(status, 125)
        self.assertIn('found 99', errors)
        self.daemon.stop()
        status, errors = self.run_command('touch', marker)
        self.assertEqual(status, 125)
        self.assertIn('idled is not running', errors)
        self.assertFalse(os.path.exists(marker), 'without the hold it is not run')

    def test_try(self):
        """One line says that the command runs without a hold: refused, and without the daemon."""
        self.assertEqual(self.finish(self.begin('run', '--try', '--cores', '1', '--', 'sh', '-c', 'exit 4')), (4, ''))
        for reason in r'--cores: found 99.*', r'idled is not running.*':
            status, errors = self.finish(self.begin('run', '--try', '--cores', '99', '--', 'sh', '-c', 'exit 5'))
            self.assertEqual(status, 5)
            self.assertRegex(errors, r'\Aidlectl: %s; the command runs without a hold\n\Z' % reason)
            self.daemon.stop()
        self.assertEqual(self.finish(self.begin('run', '--try', '--cores', '1', '--', '/nonexistent'))[0], 127)

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1,
                       signal.SIGQUIT):
            process = self.shell('trap "echo got; exit 3" %d; echo trapped; while :; do %s; done'
                                 % (number, WAIT))
            self.assertEqual(process.stdout.readline(), 'trapped\n')
            process.send_signal(number)
            self.assertEqual(process.stdout.readline(), 'got\n', number)
            self.assertEqual(process.wait(TIMEOUT), 3)

    def test_stopped(self):
        process = self.shell('exec sleep 1000')
        process.send_signal(signal.SIGTSTP)
        wait_until(lambda: os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG),
                   'stopped, as a shell sees it')
        self.assertEqual(len(self.holds()), 1)
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: os.waitid(os.P_PID, process.pid, os.WCONTINUED | os.WNOHANG),
                   'continued')
        process.terminate()
        self.assertEqual(process.wait(TIMEOUT), 128 + signal.SIGTERM)

    def test_killed(self):
        process = self.shell('echo $$; exec sleep 1000')
        pid = int(process.stdout.readline())
        process.kill()
        process.wait()
        self.wait_holds(0)
        os.kill(pid, signal.SIGKILL)  # it can pass nothing on any more

    def test_what_it_leaves_running(self):
        process = self.shell('sleep 1000 >/dev/null 2>&1 & echo $!')
        pid = int(process.stdout.readline())
        self.assertEqual(process.wait(TIMEOUT), 0)
        self.wait_holds(0)
        os.kill(pid, signal.SIGKILL)

    def test_daemon_dies(self):
        process = self.shell(WAIT + '; exit 4')
        self.daemon.kill()
        self.assertIn('continues without it', process.stderr.readline())
        process.stdin.close()
        self.assertEqual(process.wait(TIMEOUT), 4)


class Hold(Case):
    def test_for(self):
        process = self.begin('hold', '--latency', '50us', '--for', '50ms')
        self.assertEqual(self.finish(process), (0, ''))
        self.wait_holds(0)

    def test_interrupted(self):
        os.mkdir(os.path.join(self.root, 'dev'))
        with open(os.path.join(self.root, 'dev/cpu_dma_latency'), 'wb'):
            pass
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.begin('hold', '--latency', '0', '--global', '--json')
            self.assertRegex(process.stdout.readline(), r'^\{ "hold": "/org/idled1/hold/\d+", "on": "all CPUs of the machine", "obstacle": null \}$')
            path, = self.holds()
            self.assertEqual(self.get('Request', path, HOLD), {'latency_us': 0, 'global': True})
            process.send_signal(number)
            self.assertEqual(self.finish(process), (0, ''))
            self.wait_holds(0)

    def test_process(self):
        sleeper = self.sleeper()
        process = self.begin('hold', '--cores', '1', '--pid', str(sleeper.pid))
        self.assertIn('is in effect', process.stdout.readline())
        sleeper.kill()
        self.assertEqual(self.finish(process), (0, ''))
        self.wait_holds(0)

    def test_over_before_its_time(self):
        """Released, or the daemon ended: a failure that says which, with and without --pid."""
        for more in ((), ('--pid', str(os.getpid()))):
            process = self.begin('hold', '--cores', '1', *more)
            process.stdout.readline()
            path, = self.holds()
            self.call('ReleaseHold', dbus.ObjectPath(path))
            self.assertEqual(self.finish(process),
                             (1, 'idlectl: the hold is over: it was released\n'))
        process = self.begin('hold', '--cores', '1', '--pid', str(os.getpid()))
        process.stdout.readline()
        self.daemon.stop()
        self.assertEqual(self.finish(process), (1, 'idlectl: the hold is over: idled ended\n'))

    def test_no_such_process(self):
        status, errors = self.finish(self.begin('hold', '--cores', '1', '--pid', '2147483647'))
        self.assertEqual(status, 1)
        self.assertIn('no such process', errors)

    def test_refused_by_option(self):
        """A refusal names the option that was typed, not the key that is sent to the daemon."""
        for option, value, key in (('--cores', '99', 'min_cores'),
                                   ('--min-frequency', '101GHz', 'min_frequency'),
                                   ('--cpus', '500', 'cpus:'), ('--profile', 'gaem', 'profile:')):
            for verb in (('hold',), ('run', '--')):
                process = self.begin(verb[0], option, value, *verb[1:], *(['true'] if verb[1:] else []))
                status, errors = self.finish(process)
                self.assertIn(status, (1, 2, 125))
                self.assertTrue(errors.startswith('idlectl: %s: ' % option), errors)
                self.assertNotIn(key + ':', errors.replace(option + ':', ''))

    def test_not_effective(self):
        """It is reported, and the command runs all the same."""
        pause = self.pause('a test')
        why = 'a client requested a pause'
        process = self.begin('hold', '--latency', '50us')
        self.assertRegex(process.stdout.readline(),
                         r'^Hold \d+ is not fully in effect: %s; interrupt to end it\.$' % why)
        process = self.begin('hold', '--latency', '50us', '--json')
        self.assertIn('"obstacle": "%s"' % why, process.stdout.readline())
        self.assertEqual(self.run_command('true'),
                         (0, 'idlectl: the hold is not fully in effect: %s\n' % why))
        os.close(pause)

    def test_partly_effective(self):
        self.set_option('Latency', 'Exclude', '1')
        why = 'not fully in effect: its latency cannot be kept: Exclude= of [Latency] excludes CPU 1'
        process = self.begin('hold', '--latency', '50us', '--cpus', '0-1')
        self.assertIn(why, process.stdout.readline())
        text, _ = self.begin('holds').communicate(timeout=TIMEOUT)
        self.assertIn(why.replace('not', 'Not', 1) + '.', text)

    def test_where(self):
        """A hold on all CPUs says so, and no fraction of a microsecond becomes 0."""
        for options, where in ((('--latency', '50us', '--cpus', '0-7'), ' on CPUs 0-7, all of them'),
                               (('--min-frequency', '1GHz', '--cpus', '3,5'), ' on CPUs 3,5'),
                               (('--latency', '1us', '--cpus', '3'), ' on CPU 3'),
                               (('--cores', '1'), '')):
            process = self.begin('hold', *options, '--for', '1ms')
            self.assertRegex(process.stdout.readline(), r'^Hold \d+ is in effect%s\.$' % where)
            self.assertEqual(self.finish(process), (0, ''))
        status, errors = self.finish(self.begin('hold', '--latency', '0.4us'))
        self.assertEqual(status, 2)
        self.assertIn('found "0.4us", expected 0 (no sleep at all) or a duration from 1us', errors)


main()
