#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bad days on the running kernel: killed at every write, taken over, out of room.

The daemon parks CPUs of one cgroup that the test makes below cgroup v1's cpuset, with `--once`, which
decides, acts and restores: so every write of its life happens in one short run. strace kills it
at the entry of its Nth write(2), for every N there is; `idled --restore` must then leave exactly
what was found.
"""
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from cpuset import cpuset_root, make_cpuset
import temporary

SKIP = 77
IDLED = os.environ['IDLED']
POLICIES = os.environ['IDLED_POLICIES']
GROUP = 'idled-test-%d' % os.getpid()


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def write(path, text):
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


class BadDays(unittest.TestCase):
    def setUp(self):
        self.root = cpuset_root()
        self.directory = temporary.make(self)
        self.run_dir = os.path.join(self.directory, 'run')
        self.config = os.path.join(self.directory, 'etc')
        os.makedirs(os.path.join(self.config, 'policies'))
        write(os.path.join(self.config, 'idled.conf'),
              '[Daemon]\nPolicies=userspace\n[Park]\nBackend=cgroup\nUnits=%s\n' % GROUP)
        self.groups = []
        self.addCleanup(self.remove_groups)
        for name in GROUP, GROUP + '/inner':
            self.groups.append(make_cpuset(self.root / name))
        self.found = self.values()
        self.mask(1)

    def remove_groups(self):
        for path in reversed(self.groups):
            os.rmdir(path)

    def values(self):
        return [read(os.path.join(path, 'cpuset.cpus')) for path in self.groups]

    def command(self, *more):
        return [IDLED, '--no-bus', '--run', self.run_dir, '--config-dir', self.config,
                '--vendor-dir', os.path.join(self.directory, 'none'), '--policy-dir', POLICIES,
                *more]

    def idled(self, *more, check=True):
        done = subprocess.run(self.command(*more), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if check:
            self.assertEqual(done.returncode, 0, done.stdout)
        return done

    def mask(self, cpu):
        """Requests an idle CPU as soon as no other task of this machine is bound to it."""
        self.cpu = cpu
        write(os.path.join(self.config, 'policies', 'userspace.conf'),
              '[Policy]\nIdleMask=%d\n' % cpu)
        end = time.monotonic() + 60
        while 'planned %d' % cpu not in self.idled('--once', '--dry-run').stdout:
            if time.monotonic() > end:
                self.skipTest('some task of this machine stays bound to CPU %d' % cpu)

    def killed_once(self, call, number):
        """True if `idled --once` was killed at the entry of its `number`th `call`."""
        inject = 'inject=%s:signal=KILL:when=%d' % (call, number)
        done = subprocess.run(['strace', '-f', '-o', '/dev/null', '-e', 'trace=' + call, '-e',
                               inject, *self.command('--once')],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        self.assertIn(done.returncode, (0, -signal.SIGKILL, 128 + signal.SIGKILL), done.stdout)
        return done.returncode != 0

    def assert_as_found(self, what):
        self.assertEqual(self.values(), self.found, what)
        self.assertFalse(os.path.exists(os.path.join(self.run_dir, 'undo')), what)

    def test_parks_and_restores(self):
        done = self.idled('--once')
        self.assertIn('parked 1', done.stdout)
        self.assert_as_found('after --once')

    def test_peer_defect_6_killed_at_every_write(self):
        changed = 0
        for call in 'write', 'rename', 'unlink', 'unlinkat', 'ftruncate':
            number = 1
            while self.killed_once(call, number):
                changed += self.values() != self.found
                self.idled('--restore')
                self.assert_as_found('killed at %s %d' % (call, number))
                number += 1
            self.assertTrue(call != 'write' or number > 8, 'only %d writes' % number)
        self.assertGreaterEqual(changed, 4, 'no kill left anything changed: too late or too early')

    def leave_changed(self):
        """Kills the daemon when it has parked; returns with the groups confined."""
        for _ in range(3):  # another task may have been bound to that CPU
            number = 1
            while self.killed_once('write', number):
                if all(value != found for value, found in zip(self.values(), self.found)):
                    return
                self.idled('--restore')
                number += 1
            self.mask(self.cpu)
        self.fail('never seen parked')

    def test_peer_defect_9_restart_restores_first(self):
        """After many kills, idled restores what it found before the first."""
        for _ in range(3):
            self.leave_changed()
        self.idled('--once')
        self.assert_as_found('restarted')

    def test_a_restore_that_is_killed_is_repeated(self):
        self.leave_changed()
        for number in range(1, 20):
            done = subprocess.run(['strace', '-f', '-o', '/dev/null', '-e',
                                   'inject=write:signal=KILL:when=%d' % number,
                                   *self.command('--restore')], check=False,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if done.returncode == 0:
                break
        self.assertGreater(number, 1)
        self.idled('--restore')
        self.assert_as_found('restored twice')

    def test_what_someone_else_changed_stays(self):
        self.mask(0)
        self.leave_changed()
        self.assertEqual(self.values(), ['1\n', '1\n'])
        write(os.path.join(self.groups[0], 'cpuset.cpus'), '0-1')
        write(os.path.join(self.groups[1], 'cpuset.cpus'), '0')
        done = self.idled('--restore')
        self.assertEqual(self.values(), ['0-1\n', '0\n'])
        self.assertIn('another program', done.stdout)

    def test_dry_run_writes_nothing(self):
        before = [os.stat(os.path.join(path, 'cpuset.cpus')).st_mtime_ns for path in self.groups]
        done = self.idled('--once', '--dry-run')
        after = [os.stat(os.path.join(path, 'cpuset.cpus')).st_mtime_ns for path in self.groups]
        self.assertIn('planned 1', done.stdout)
        self.assertEqual(before, after)
        self.assertFalse(os.path.exists(self.run_dir))


if __name__ == '__main__':
    # The leak sanitizer does not work under strace.
    os.environ['ASAN_OPTIONS'] = os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'
    if os.geteuid() != 0 or not cpuset_root() or not shutil.which('strace') or \
            not os.access(os.path.join(cpuset_root(), 'cgroup.procs'), os.W_OK) or \
            (os.cpu_count() or 1) < 2:
        print('needs root, two CPUs, a writable cgroup v1 cpuset and strace: skipped')
        sys.exit(SKIP)
    unittest.main(verbosity=2)
