#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The limits that cstates learns: live, over D-Bus, it does as well with a recorded trace as replayed, and
`idlelab replay --governor history:BASE` draws the same limits.

CPU 0 sleeps as recorded. It takes the deepest state that the daemon allows, and counts as the kernel
does. The replay (tests/unit/policies/cstates/check-cstates-replay.c) has the same in C.
"""
import glob
import os
import re
import subprocess
import time

from idledtest import NAME, PATH, TestCase, main

TRACES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../traces')
CPUIDLE = 'sys/devices/system/cpu/cpu0/cpuidle'
MIN_INTERVAL = 0.052  # seconds; readings closer than 50 ms are one to the daemon
COUNTERS = 'usage', 'above', 'below'


class Live(TestCase):
    CONFIG = '[Daemon]\nPolicies=cstates\n'

    def path(self, state, name):
        return os.path.join(self.root, CPUIDLE, 'state%d' % state, name)

    def read(self, state, name):
        with open(self.path(state, name), encoding='ascii') as file:
            return file.read().strip()

    def write_counters(self):
        for state, counts in enumerate(self.counts):
            for name in COUNTERS:
                path = self.path(state, name)
                if os.path.exists(path):
                    os.chmod(path, 0o644)
                with open(path, 'w', encoding='ascii') as file:
                    file.write('%d\n' % counts[name])

    def look(self):
        """An option that is set to what it is makes the daemon look."""
        time.sleep(max(0, self.looked + MIN_INTERVAL - time.monotonic()))
        self.set_option('cstates', 'UtilizationDwell', '2s')
        self.looked = time.monotonic()

    def allowed(self):
        """The deepest state that the daemon lets CPU 0 take."""
        inputs = [str(i[0]) for reason in self.call('Explain')[0]['reasons'] for i in reason['inputs']]
        return self.names.index(inputs[0]) if inputs else len(self.names) - 1

    def sleep(self, state, length_us):
        residency = self.residency[state]
        slept = length_us + self.latency[state]
        self.counts[state]['usage'] += 1
        if slept < residency:
            self.counts[state]['above'] += state > 0
        elif state + 1 < len(self.names) and length_us >= self.residency[state + 1]:
            self.counts[state]['below'] += 1

    def prepare(self):
        n = len(glob.glob(os.path.join(self.root, CPUIDLE, 'state*')))
        self.names = [self.read(state, 'name') for state in range(n)]
        self.latency = [int(self.read(state, 'latency')) for state in range(n)]
        self.residency = [int(self.read(state, 'residency')) for state in range(n)]
        self.counts = [dict.fromkeys(COUNTERS, 0) for _ in range(n)]
        self.write_counters()

    def play(self, series):
        with open(os.path.join(TRACES, 'sleeps-%s.txt' % series), encoding='ascii') as file:
            lines = file.read().splitlines()
        self.look()
        for line in lines:
            state = self.allowed()
            for part in line.split():
                length, count = part.split('*')
                for _ in range(int(count)):
                    self.sleep(state, int(length))
            self.write_counters()
            self.look()

    def replayed(self, series):
        """The accuracy, and the state of each second."""
        table = ' '.join('%s:%d:%d' % row for row in zip(self.names, self.latency, self.residency))
        answer = subprocess.run(
            [os.environ['CSTATES_REPLAY']], check=True, capture_output=True, text=True, timeout=60,
            env={**os.environ, 'IDLED_REPLAY_ONE': '%s|%s|' % (table, series)})
        states = re.search(r'^states (.*)$', answer.stdout, re.M)[1]
        return float(re.search(r'^accuracy (\S+)$', answer.stdout, re.M)[1]), list(map(int, states.split()))

    def by_idlectl(self, series):
        """The state of each second. Timers are so far away that timer-only takes the deepest state allowed."""
        table, trace = os.path.join(self.root, 'states.tbl'), os.path.join(self.root, 'trace.csv')
        with open(table, 'w', encoding='ascii') as file:
            for row in zip(self.names, self.latency, self.residency):
                file.write('%s %d %d -\n' % row)
        seconds = []
        with open(trace, 'w', encoding='ascii') as file, \
                open(os.path.join(TRACES, 'sleeps-%s.txt' % series), encoding='ascii') as sleeps:
            for second, line in enumerate(sleeps.read().splitlines()):
                pairs = [map(int, part.split('*')) for part in line.split()]
                lengths = [length for length, count in pairs for _ in range(count)]
                for i, length in enumerate(lengths):
                    file.write('0,%d,%d,%d\n' % (second * 10**9 + i, 10**15, length * 1000))
                seconds += [second] * len(lengths)
        answer = subprocess.run(
            [os.environ['IDLELAB'], 'replay', '--table', table, '--governor', 'history:timer-only', '--option',
             'draw=fourth', '--decisions', trace], check=True, capture_output=True, text=True, timeout=60)
        states = {}
        for second, line in zip(seconds, answer.stdout.splitlines()):
            states.setdefault(second, set()).add(int(line.split()[2]))
        return states

    def check(self, series):
        self.prepare()
        self.write_config('policies/cstates.conf', '[Policy]\nHistory=yes\nPeriod=1h\n')
        self.start('--dry-run')
        self.looked = time.monotonic()
        self.play(series)
        figures = {str(f[1]): float(f[3]) for f in self.get('Figures', PATH + '/cpu/0', NAME + '.Cpu')}
        accuracy, states = self.replayed(series)
        self.assertAlmostEqual(figures['accuracy'], accuracy, places=3)
        self.assertGreater(len(set(states)), 1)
        self.assertEqual(self.by_idlectl(series), {second: {state} for second, state in enumerate(states)})

    def test_database(self):
        self.check('database')

    def test_timers(self):
        self.check('timers')


main()
