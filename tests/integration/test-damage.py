#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every file of a machine in turn is garbage, cut off, empty, enormous or gone: idled goes on.

Once while it runs, for what it reads again and again, and once before it starts, for what it reads
first. Files that differ in nothing but their numbers stand for each other.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess

from idledtest import PATH, TIMEOUT, TestCase, main, wait_until

MUTATIONS = {
    'garbage': lambda old: b'\xff\xfe%n;[]{}\x1b[2J -1-,,9-0 \x00 0x7f\n',
    'cut off': lambda old: old[:len(old) // 2],
    'empty': lambda old: b'',
    'a huge number': lambda old: re.sub(rb'\d+', b'99999999999999999999999', old) or b'9' * 99,
    'a large number': lambda old: re.sub(rb'\d+', b'18446744073709551615', old) or b'9' * 19,
    'negative': lambda old: re.sub(rb'\d+', rb'-\g<0>', old),
    'a megabyte': lambda old: old * (1 + (1 << 20) // max(len(old), 1)),
}


def representatives(root):
    """One path of each kind, relative to the root."""
    kinds = {}
    for place, _, names in os.walk(root):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(place, name), root)
            if path.startswith(('sys/', 'proc/')):
                kind = re.sub(r'\d+', 'N', path)
                kinds[kind] = min(kinds.get(kind, path), path)
    return sorted(kinds.values())


# What is read again and again, or when CPUs come and go.
READ_AGAIN = re.compile(r'^proc/|/cpuidle/state\d+/|/power_supply/|/cpu/[a-z_]+$|/topology/|/node')


class File:
    """A file of the tree that is damaged for a while; in place, for descriptors are kept."""

    def __init__(self, root, path):
        self.path = os.path.join(root, path)

    def put(self, data):
        with open(self.path, 'r+b') as file:
            file.truncate(0)
            file.write(data)

    def __enter__(self):
        os.chmod(self.path, 0o644)
        with open(self.path, 'rb') as file:
            self.old = file.read()
        return self

    def __exit__(self, *_):
        self.put(self.old)


class WhileRunning(TestCase):
    CONFIG = '[Daemon]\nPolicies=userspace ondemand\n'

    def ask_everything(self):
        objects = self.object().GetManagedObjects(
            dbus_interface='org.freedesktop.DBus.ObjectManager')
        self.assertIn(PATH + '/cpu/0', objects)
        self.assertTrue(self.call('Explain'))
        self.call('GetEnergy')
        online = self.get('Online')
        self.assertTrue(online)
        self.assertTrue(self.get('Allowed'), 'something is in use')
        self.assertTrue(0 <= self.get('Load') <= 8)
        self.assertTrue(0 <= self.get('Utilization') <= 1)

    def test_every_file(self):
        self.write_config('policies/ondemand.conf', '[Policy]\nPeriod=52ms\nDwell=100ms\n')
        self.start('--dry-run')
        before = self.get('Online')
        paths = [path for path in representatives(self.root) if READ_AGAIN.search(path)]
        self.assertGreater(len(paths), 30)
        for path in paths:
            for name in 'garbage', 'cut off', 'empty', 'a large number':
                mutate = MUTATIONS[name]
                with self.subTest(path=path, mutation=name), File(self.root, path) as file:
                    file.put(mutate(file.old))
                    ticks = self.get('Ticks')
                    self.set_option('ondemand', 'Dwell', '100ms')  # ticks begin again at the period
                    wait_until(lambda: self.get('Ticks') > ticks + 1, 'two ticks, 100 ms')
                    self.ask_everything()
            if self.daemon.process.poll() is not None:
                self.fail('ended by %s: %s' % (path, self.daemon.log[-5:]))
        wait_until(lambda: self.get('Online') == before, 'all CPUs again')
        self.ask_everything()
        self.assertEqual(self.daemon.terminate(), 0)


class Fifos(TestCase):
    """They replace idled's own files: opening one must not wait for its other end."""

    def make(self, *parts):
        path = os.path.join(self.directory, *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.mkfifo(path)

    def test_record(self):
        self.make('run', 'undo')
        self.start(mask='6-7')
        self.daemon.wait_log('record')

    def test_restore(self):
        """Anything but a file in the record's place is an error, with what to do."""
        path = os.path.join(self.directory, 'run', 'undo')
        for make, found in (os.mkfifo, 'something else'), (os.mkdir, 'a directory'):
            shutil.rmtree(os.path.dirname(path), ignore_errors=True)
            os.mkdir(os.path.dirname(path))
            make(path)
            done = subprocess.run([os.environ['IDLED'], '--restore', *self.arguments()],
                                  stderr=subprocess.PIPE, timeout=TIMEOUT, text=True, check=False)
            self.assertNotEqual(done.returncode, 0)
            for part in path + ': found ' + found, 'expected a regular file', 'remove it':
                self.assertIn(part, done.stderr)

    def test_chosen_profile(self):
        self.make('root', 'var', 'lib', 'idled', 'profile')
        self.start()
        self.assertEqual(self.get('ChosenProfile'), '')
        self.call('SetProfile', 'balanced')
        self.assertEqual(self.get('ChosenProfile'), 'balanced')


class AtTheStart(TestCase):
    CONFIG = '[Daemon]\nPolicies=userspace ondemand\n'
    FILES = {'policies/ondemand.conf': '[Policy]\nPeriod=50ms\nDwell=0s\n'}
    WORKERS = 20

    def once(self, root):
        arguments = self.arguments()
        arguments[arguments.index('--root') + 1] = root
        done = subprocess.run([os.environ['IDLED'], '--once', '--dry-run', '--no-bus', *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT,
                              text=True, errors='replace', check=False)
        return done.returncode, done.stdout

    def check(self, root, path, data):
        """What is wrong with how idled takes this; empty if nothing is."""
        with File(root, path) as file:
            if data is None:
                os.rename(file.path, file.path + '.gone')
            else:
                file.put(data(file.old))
            status, text = self.once(root)
            if data is None:
                os.rename(file.path + '.gone', file.path)
        result = re.search(r'^online (\S+), load (\S+), parked (?:none, planned )?([^\s:]+)(?:: .*)?$', text, re.M)
        if status == 0 and result:
            if result[1] == result[3]:
                return 'all is parked: ' + text
            return '' if 0 <= float(result[2]) <= 8 else text
        if status == 1 and text.strip() and not result:
            return ''  # it says why it does not start
        return 'status %d: %s' % (status, text)

    def one_worker(self, number, work):
        root = os.path.join(self.directory, 'root-%d' % number)
        shutil.copytree(self.root, root, symlinks=True)
        return [(path, name, wrong) for path, name, mutate in work
                for wrong in [self.check(root, path, mutate)] if wrong]

    def test_every_file(self):
        work = [(path, name, mutate) for path in representatives(self.root)
                for name, mutate in [*MUTATIONS.items(), ('gone', None)]]
        self.assertGreater(len(work), 300)
        with concurrent.futures.ThreadPoolExecutor(self.WORKERS) as pool:
            parts = [pool.submit(self.one_worker, n, work[n::self.WORKERS])
                     for n in range(self.WORKERS)]
        for path, name, wrong in (row for part in parts for row in part.result()):
            with self.subTest(path=path, mutation=name):
                self.fail(wrong)


main()
