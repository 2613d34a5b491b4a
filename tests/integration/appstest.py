# SPDX-License-Identifier: LGPL-2.1-or-later
"""What tests of application rules share: rules, programs to run, and the daemon's messages about them.
Programs are copies of sleep below the test's directory, so that rules match no other process."""
import os
import shutil
import subprocess
from pathlib import Path

from idledtest import TestCase, wait_until

ASK = '[Ask]\nLatency=50us\nLinger=0\n'


def say(process, line=''):
    """On its standard input."""
    process.stdin.write(line + '\n')
    process.stdin.flush()


class Apps(TestCase):
    RULES = {}

    def setUp(self):
        super().setUp()
        self.later = set()  # programs that started after idled
        self.conf = Path(self.directory, 'conf')
        self.conf.mkdir()
        self.bin = Path(self.directory, 'bin')
        self.bin.mkdir()
        for name in ('game', 'other'):
            shutil.copy('/bin/sleep', self.bin / name)
        (self.conf / 'idled.conf').write_text('[Daemon]\nPolicies=userspace\n')
        self.rules(**self.RULES)

    def rules(self, **texts):
        shutil.rmtree(self.conf / 'apps', ignore_errors=True)
        (self.conf / 'apps').mkdir()
        for name, text in texts.items():
            (self.conf / 'apps' / (name + '.conf')).write_text(
                text.replace('BIN', str(self.bin)))

    def arguments(self):
        return [*self.arguments_here(self.conf), '--dry-run']

    def start(self, *more, **options):
        self.later = set()
        return super().start(*more, **options)

    def run_program(self, *command, **options):
        process = self.popen([str(word) for word in command], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, **options)
        self.later.add(process.pid)
        return process

    def wait_exec(self, pid, name):
        """Until the process executes one of our programs."""
        wait_until(lambda: os.readlink('/proc/%d/exe' % pid) == str(self.bin / name), 'exec')

    def remove_at_end(self, group):
        """A cgroup, which lives longer than processes of later."""
        self.addCleanup(lambda: wait_until(
            lambda: not (group / 'cgroup.procs').read_text() and (group.rmdir() or True), 'its end'))

    def check_events(self, pid):
        self.daemon.wait_log(r'^idled [0-9]')  # after what is not available
        if pid in self.later and self.daemon.count_log('Process events are not available'):
            self.skipTest('in a PID namespace the kernel reports no new processes')

    def wait_hold(self, rule, pid, count=1):
        self.check_events(pid)
        self.daemon.wait_log(r'Hold \d+ of app %s: .*process %d,' % (rule, pid), count)

    def run_game(self):
        """With the hold of the rule that means it."""
        game = self.run_program(self.bin / 'game', '1000')
        self.wait_hold('game', game.pid)
        return game

    def wait_released(self, rule, count=1):
        self.daemon.wait_log(r'Hold \d+ of app %s is released' % rule, count)

    def wait_over(self, rule, count=1):
        self.daemon.wait_log(r'Hold \d+ of app %s has ended: its process exited' % rule, count)

    def assert_no_hold(self, pid):
        """This process has none: idled has already matched a process that started later."""
        seen = self.daemon.count_log(r'of app fence: .*process')
        fence = self.run_program(self.bin / 'fence', '1000')
        self.check_events(fence.pid)
        wait_until(lambda: self.daemon.count_log(r'of app fence: .*process') > seen, 'the fence')
        fence.kill()
        self.assertEqual(self.daemon.count_log(r'of app .*: .*process %d,' % pid), 0)

    def use_fence(self, **rules):
        shutil.copy('/bin/sleep', self.bin / 'fence')
        self.rules(fence='[Match]\nExecutable=BIN/fence\n' + ASK, **rules)
