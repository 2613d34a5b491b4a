#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sleep ledgers on the bus: to whom they belong, and when they end."""
import contextlib
import json
import os
import shutil
import subprocess
import time

import dbus

import holdstest
from holdstest import CPUS
from idledtest import NAME, NOBODY, PATH, TestCase, main, needs_root, wait_until
from polkittest import YES, WithPolkit

SLEEPS = 'org.idled1.Sleeps'


def programs(pid):
    """The BPF programs that a process has, by number."""
    found = set()
    directory = f'/proc/{pid}/fdinfo'
    for name in os.listdir(directory):
        with contextlib.suppress(FileNotFoundError):  # closed since
            with open(os.path.join(directory, name), encoding='ascii') as file:
                found |= {line.split()[1] for line in file if line.startswith('prog_id:')}
    return found


def exists(program):
    return subprocess.run(['bpftool', 'prog', 'show', 'id', program], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


class Case(TestCase):
    def setUp(self):
        super().setUp()
        self.start('--dry-run')
        self.open = []
        self.addCleanup(lambda: [os.close(fd) for fd in self.open])

    def sleeps(self, method, *arguments, connection=None):
        return self.object(connection=connection).get_dbus_method(method, SLEEPS)(*arguments)

    def begin(self, connection=None, **options):
        try:
            number, fd = self.sleeps('Start', dbus.Dictionary(options, 'sv'), connection=connection)
        except dbus.DBusException as error:
            if error.get_dbus_name() != 'org.idled1.Error.NotAvailable':
                raise
            self.skipTest(str(error))
        self.open.append(fd.take())
        return number

    def assert_error(self, name, method, *arguments, connection=None):
        with self.assertRaises(dbus.DBusException) as caught:
            self.sleeps(method, *arguments, connection=connection)
        self.assertEqual(caught.exception.get_dbus_name(), name)
        return str(caught.exception)


@needs_root
class Ledgers(Case):
    def test_totals(self):
        number = self.begin(Latencies=True)
        time.sleep(0.2)  # whatever sleeps meanwhile
        self.sleeps('Stop', number)
        totals = self.sleeps('Read', number)
        self.assertEqual(set(totals), {'DurationNSec', 'BeganBefore', 'Missing', 'Sleeps', 'Causes',
                                       'Latencies', 'Asleep'})
        self.assertGreater(totals['DurationNSec'], 0.2e9)
        sleeps = 0
        for cpu, state, count, mean, deviation, shortest, longest, histogram in totals['Sleeps']:
            self.assertEqual(sum(histogram), count)
            self.assertLessEqual(shortest, mean)
            self.assertLessEqual(mean, longest)
            self.assertGreaterEqual(deviation, 0)
            self.assertLess(state, 11)
            self.assertGreaterEqual(cpu, 0)
            sleeps += count
        self.assertEqual(sum(row[7] for row in totals['Causes']), sleeps)
        self.assertEqual(self.sleeps('Read', number)['Sleeps'], totals['Sleeps'], 'it has stopped')

    def wait_gone(self, loaded):
        if shutil.which('bpftool'):
            wait_until(lambda: not any(map(exists, loaded)), 'programs out of the kernel')

    def test_it_ends_with_its_descriptor(self):
        pid = self.daemon.process.pid
        self.assertEqual(programs(pid), set())
        number = self.begin()
        loaded = programs(pid)
        self.assertGreater(len(loaded), 3)
        os.close(self.open.pop())

        def is_gone():
            try:
                self.sleeps('Read', number)
            except dbus.DBusException as error:
                return error.get_dbus_name() == 'org.idled1.Error.NoSuchLedger'
            return False
        wait_until(is_gone, 'the end of the ledger')
        self.assertEqual(programs(pid), set())
        self.wait_gone(loaded)

    def test_the_end_of_the_daemon_leaves_no_program(self):
        self.begin()
        loaded = programs(self.daemon.process.pid)
        self.daemon.process.kill()
        self.daemon.process.wait()
        self.wait_gone(loaded)

    def test_without_causes(self):
        number = self.begin(Causes=False)
        totals = self.sleeps('Read', number)
        self.assertEqual(list(totals['Causes']), [])

    def test_bad_options(self):
        for options in {'Colour': 'red'}, {'Causes': 'yes'}, {'Latencies': 3}:
            self.assert_error('org.idled1.Error.InvalidValue', 'Start',
                              dbus.Dictionary(options, 'sv'))

    def test_there_is_a_limit(self):
        for _ in range(8):
            self.begin()
        self.assert_error('org.idled1.Error.TooManyLedgers', 'Start', dbus.Dictionary({}, 'sv'))
        os.close(self.open.pop())
        wait_until(lambda: self.try_begin(), 'room for another')

    def try_begin(self):
        try:
            self.begin()
        except dbus.DBusException:
            return False
        return True

    def test_idlectl_is_served(self):
        """A user who may not load BPF programs gets idled's."""
        self.begin()  # or skip
        result = self.idlectl('sleeps', '--seconds', '0.1', '--json')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('"source": "bpf"', result.stdout)


@needs_root
class Others(WithPolkit, Case):
    def test_a_ledger_is_its_owners(self):
        number = self.begin()
        for method in 'Read', 'Stop':
            result = self.busctl('call', NAME, PATH, SLEEPS, method, 'u', str(number), user=NOBODY)
            self.assertNotEqual(result.returncode, 0)
            self.assertRegex(result.stderr, 'ermission denied|ccess denied')
        self.sleeps('Read', number)

    def test_polkit_may_allow_it(self):
        self.begin()  # or skip
        self.start_polkit(YES)
        result = self.busctl('call', NAME, PATH, SLEEPS, 'Start', 'a{sv}', '0', user=NOBODY)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.questions()[-1][1], 'org.idled1.watch-sleeps')


@needs_root
class Holds(holdstest.Case):
    """What idlectl makes of a ledger of idled for holds on the described machine."""

    FIGURES = {'C0': 40, 'C1E': 30, 'C6': 9, 'C10': 7, 'C6S': 8}

    def setUp(self):
        super().setUp()
        self.write_limits('0')
        self.start()
        try:
            _, fd = self.object().get_dbus_method('Start', SLEEPS)(dbus.Dictionary({}, 'sv'))
        except dbus.DBusException as error:
            self.skipTest(str(error))
        os.close(fd.take())
        self.table = os.path.join(self.root, 'table.conf')
        self.write_table(self.FIGURES)

    def write_table(self, figures):
        self.put(self.table, '[States]\n' + ''.join(f'{state}={watts}\n' for state, watts in figures.items()))

    def measure(self, *more):
        result = self.idlectl('holds', '--root', self.root, '--measure', '--seconds', '0.5', *more)
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        return result.stdout

    def costs(self):
        answer = json.loads(self.measure('--power', self.table, '--json'))
        return answer['power'], [hold['measured'] and hold['measured']['cost_watts_estimate']
                                 for hold in answer['holds']]

    def test_costs(self):
        self.hold(latency_us=20, cpus='0-1')
        self.hold(min_cores=1)
        power, (first, second) = self.costs()
        self.assertEqual((power['power_table'], power['states_without_figure']), (self.table, None))
        self.assertIsNone(second, 'it limits no latency')
        self.assertTrue(0 <= first <= 2 * (40 - 7) / CPUS, first)
        text = self.measure('--power', self.table)
        self.assertRegex(text, r'Costs\n.* ~\d+\.\d\d W\n')

    def test_of_equal_holds_neither_costs(self):
        for _ in range(2):
            self.hold(latency_us=20, cpus='0-1')
        self.assertEqual(self.costs()[1], [0, 0])

    def test_a_state_without_a_figure(self):
        self.hold(latency_us=20)
        self.write_table({'C0': 40, 'C1E': 30, 'C6S': 8})
        self.assertEqual(self.costs()[0]['states_without_figure'], 'C6, C10')
        self.assertIn('no figure for C6, C10', self.measure('--power', self.table))

    def test_no_table(self):
        self.hold(latency_us=20)
        self.assertIn('estimate --fit', self.measure('--config-dir', self.root, '--vendor-dir', self.root))

    def test_a_bad_table(self):
        self.write_table({'C0': 'much'})
        result = self.idlectl('holds', '--root', self.root, '--measure', '--power', self.table)
        self.assertEqual(result.returncode, 1)
        self.assertIn('table.conf:2: C0: found "much"', result.stderr)


main()
