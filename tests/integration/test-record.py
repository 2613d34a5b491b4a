#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Recordings of the decisions of idled: by idlelab record, and the ring that idled keeps itself."""
import csv
import io
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import dbus

from provetest import BatteryWorld
from idledtest import FOR_EVER, TIMEOUT, TestCase, main, options, wait_until

HOSTILE = 'a game";,\n<b>=1+1'


class Recorded(TestCase):
    CONFIG = '[Daemon]\nPolicies=userspace latency\n'

    def setUp(self):
        super().setUp()
        self.write_config('profiles/performance.conf', '[Profile]\nSummary=fast\n')

    def rows(self, file):
        """{(table, row): {column: value}} of a recording."""
        done = self.idlelab('export', file)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        found = {}
        for value in csv.DictReader(io.StringIO(done.stdout, newline='')):
            row = found.setdefault((value['table'], int(value['row'])), {})
            row[value['column'] + (' ' + value['of'] if value['of'] else '')] = value['value']
        return found

    def events(self, file, kind):
        return [row for (table, _), row in self.rows(file).items()
                if table == 'event' and row['kind'] == kind]

    def samples(self, file):
        return [row for (table, _), row in self.rows(file).items() if table == 'machine']

    def hold(self, **request):
        types = {'latency_us': dbus.UInt32, 'reason': dbus.String, 'cpus': dbus.String}
        _, fd = self.call('Hold', dbus.Dictionary(
            {k: types[k](v, variant_level=1) for k, v in request.items()}, signature='sv'))
        return fd.take()

    def expect_all(self, file):
        """What change_all() did."""
        transitions = self.events(file, 'transition')
        self.assertEqual([row.get('cpus', '') for row in transitions], ['6-7', ''])
        self.assertIn('IdleMask', transitions[0]['text'])
        self.assertEqual(transitions[0]['policy'], 'userspace')
        holds = self.events(file, 'hold')
        self.assertEqual(len(holds), 1)
        self.assertEqual(holds[0]['cpus'], '2')
        self.assertIn('latency 50 us', holds[0]['text'])
        self.assertIn('a game";,', holds[0]['text'])
        self.assertEqual(len(self.events(file, 'release')), 1)
        self.assertIn('performance', self.events(file, 'profile')[-1]['text'])
        self.assertIn('for tests', self.events(file, 'pause')[0]['text'])
        self.assertEqual(len(self.events(file, 'resume')), 1)
        self.assertEqual(len(self.events(file, 'start')), 1)
        self.assertEqual(len(self.events(file, 'end')), 1)


class Idlectl(Recorded):
    """Events are found by asking once a second."""

    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.directory, 'a.rec')

    def record(self, *arguments):
        return self.popen(
            [os.environ['IDLELAB'], '--bus-address', self.bus.address, 'record', '--root',
             self.root, '--interval', '100ms', *arguments, self.file],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def count_asked(self):
        """A list that grows when idlectl begins to ask."""
        asked = []
        monitor = self.popen(
            ['dbus-monitor', '--address', self.bus.address, "type='method_call',member='Get'"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        reader = threading.Thread(target=lambda: [asked.append(line) for line in monitor.stdout
                                                  if '"Parked"' in line], daemon=True)
        reader.start()
        self.addCleanup(reader.join)
        self.addCleanup(monitor.kill)
        return asked

    def test_all(self):
        self.start('--dry-run')
        process = self.record()

        asked = self.count_asked()

        def step(change):
            """Changes something and lets idlectl ask for all of it: twice, as the first time may
            have begun before."""
            change()
            before = len(asked)
            wait_until(lambda: len(asked) >= before + 2, 'what idlectl asks')
        step(lambda: None)
        step(lambda: self.set_idle_mask('6-7'))
        fd = self.hold(latency_us=50, cpus='2', reason=HOSTILE)
        step(lambda: self.set_idle_mask(''))
        step(lambda: os.close(fd))
        step(lambda: self.call('SetProfile', 'performance'))
        step(lambda: self.pause('for tests', FOR_EVER))
        step(lambda: self.call('Resume'))
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 0, out)
        self.expect_all(self.file)
        samples = self.samples(self.file)
        self.assertEqual(samples[0]['profile'], 'balanced')
        self.assertEqual(samples[-1]['profile'], 'performance')
        self.assertTrue({'parked', 'allowed', 'wanted_cores', 'active_cores', 'holds'} <=
                        set(samples[-1]) | {'parked'})


class Ring(Recorded):
    """idled notes events when they happen."""

    CONFIG = '[Daemon]\nPolicies=userspace latency\n[Recording]\nEnabled=yes\nInterval=1s\n'

    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.root, 'var/lib/idled/idled.rec')

    def test_all(self):
        self.start('--dry-run', mask='6-7')
        wait_until(lambda: self.get('Transitions') == 1, 'a transition')
        fd = self.hold(latency_us=50, cpus='2', reason=HOSTILE)
        os.close(fd)
        wait_until(lambda: not self.get('Holds'), 'the end of the hold')
        self.set_idle_mask('')
        wait_until(lambda: self.get('Transitions') == 2, 'a transition')
        self.call('SetProfile', 'performance')
        self.pause('for tests', FOR_EVER)
        self.call('Resume')
        wait_until(lambda: not self.get('Pauses'), 'the end of the pause')
        self.daemon.stop()
        self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o600)
        self.expect_all(self.file)

    def test_samples(self):
        """They come by themselves, and another start continues the file."""
        self.start('--dry-run')
        wait_until(lambda: os.path.exists(self.file), 'a frame')  # of ten samples
        for _ in range(2):
            self.daemon.stop()
            self.start('--dry-run')
        self.daemon.stop()
        samples = self.samples(self.file)
        self.assertGreaterEqual(len(samples), 9)
        self.assertEqual(len(self.events(self.file, 'start')), 3)
        self.assertIn('residency_share POLL', self.rows(self.file)['cpu', 0])
        self.assertIn('power_watts package-0', samples[-1])

    def test_old_ring(self):
        """A ring of version 1 is set aside, and a new one begins."""
        self.put(self.file, '')
        Path(self.file).write_bytes(b'\x89idlrec\n' + bytes(200))
        self.start('--dry-run')
        self.daemon.stop()
        self.assertEqual(len(self.events(self.file, 'start')), 1)
        self.assertEqual(os.stat(self.file + '.old').st_size, 208)

    def facts(self):
        """What was recorded of the energy source, one after the other."""
        return [row['value'] for (table, _), row in self.rows(self.file).items()
                if table == 'info' and row['key'] == 'energy_source']

    def test_estimate(self):
        """Without RAPL, the watts of idle states by the table that is configured; a reload may change it."""
        shutil.rmtree(os.path.join(self.root, 'sys/devices/virtual/powercap'))
        self.start('--dry-run')
        self.write_config('power/mine.conf', '[Power]\nDescription=a test\n[States]\nC0=20\n'
                          'C1E=10\nC6=10\nC10=10\nC6S=10\n')
        self.write_config('idled.conf', self.CONFIG + '[Evaluate]\nPowerTable=mine\n')
        self.call('Reload')
        wait_until(lambda: os.path.exists(self.file), 'a frame')
        self.daemon.stop()
        self.assertEqual(self.facts()[-1], 'estimate')
        watts = [float(row['estimated_watts package-0']) for row in self.samples(self.file)
                 if row.get('estimated_watts package-0')]
        self.assertGreater(len(watts), 0)
        for value in watts:
            self.assertTrue(0 <= value <= 20, value)

    def test_battery(self):
        """Without RAPL and a table the mean power of the battery, over enough of its steps."""
        world = BatteryWorld(self.root, lambda root: 2000)
        world.begin(self)
        self.start('--dry-run')
        wait_until(lambda: os.path.exists(self.file), 'a frame')
        self.daemon.stop()
        self.assertEqual(self.facts(), ['battery'])
        watts = [float(row['power_watts battery']) for row in self.samples(self.file)
                 if row.get('power_watts battery')]
        self.assertGreater(len(watts), 2)
        self.assertAlmostEqual(sum(watts) / len(watts) / 2000, 1, delta=0.15)

    def test_saved(self):
        """What ondemand saves, as soon as its requests serve to."""
        self.write_config('idled.conf', '[Daemon]\nPolicies=ondemand\n[Recording]\nEnabled=yes\nInterval=1s\n')
        self.write_config('policies/ondemand.conf', '[Policy]\nDwell=100ms\n')
        self.start('--dry-run')
        policy = '/org/idled1/policy/ondemand', 'org.idled1.Policy'
        wait_until(lambda: self.get('Verdict', *policy) == 'unknown', 'an evaluator')
        wait_until(lambda: os.path.exists(self.file), 'a frame')  # of ten samples
        self.daemon.stop()
        sample = self.samples(self.file)[-1]
        self.assertEqual((sample['saved_verdict ondemand'], sample['saved_source ondemand']),
                         ('unknown', 'rapl'))
        self.assertEqual(float(sample['effective_share ondemand']), 0)  # a dry run saves nothing
        self.assertNotIn('saved_joules ondemand', {name for name, value in sample.items() if value})

    def test_runtime(self):
        """It can be switched off and on while idled runs."""
        self.start('--dry-run')
        self.set_option('Recording', 'Enabled', 'no')
        wait_until(lambda: os.path.exists(self.file), 'the end of the recording')
        self.assertEqual(len(self.events(self.file, 'end')), 1)
        self.assert_fails('org.idled1.Error.InvalidValue', 'SetOptions', options('Recording', 'Interval', '10ms'))
        self.set_option('Recording', 'Enabled', 'yes')
        self.set_option('Recording', 'Enabled', 'no')
        wait_until(lambda: len(self.events(self.file, 'end')) == 2, 'another end')

    def on_request(self, *arguments):
        """idlelab record --daemon: exit status and standard error."""
        done = self.idlelab('record', '--daemon', '--root', self.root, '--config-dir', self.config,
                            '--vendor-dir', '/nonexistent', '--policy-dir', os.environ['IDLED_POLICIES'],
                            *arguments)
        return done.returncode, done.stderr

    def options(self):
        """Values of [Recording], and whether all come from files."""
        rows = [row for row in self.call('GetSettings') if row['section'] == 'Recording']
        self.assertFalse(any(row['runtime'] for row in rows))
        return [str(row['value']) for row in rows]

    def test_on_request(self):
        """idlelab record --daemon: now, and after the next start."""
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace\n')
        self.start('--dry-run')
        before = self.options()
        for status, arguments in ((2, ('x.rec',)), (2, ('--append',)), (2, ('--seconds', '3')),
                                  (2, ('--idle', 'x')), (2, ('--max-size', '1500K')),
                                  (1, ('--interval', '100ms'))):
            with self.subTest(arguments):
                found, says = self.on_request(*arguments)
                self.assertEqual(found, status, says)
                self.assertIn(arguments[0] if status == 2 and arguments[0] == '--max-size' else
                              '--daemon' if status == 2 else 'Interval', says)
                self.assertEqual(self.options(), before)
        self.assertEqual(self.on_request('--interval', '2s', '--max-age', '48h', '--max-size', '8M'), (0, ''))
        self.assertEqual(self.options(), ['yes', '2s', '48h', '8'])
        self.daemon.stop()
        self.assertEqual(len(self.events(self.file, 'end')), 1)
        self.start('--dry-run')
        self.assertEqual(self.options()[0], 'yes')

    def test_off(self):
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace\n')
        self.start('--dry-run')
        self.daemon.stop()
        self.assertFalse(os.path.exists(self.file))

    def test_cannot_write(self):
        """A warning, once; idled does the rest."""
        os.makedirs(self.file)
        self.start('--dry-run')
        self.set_option('Recording', 'Enabled', 'no')
        self.daemon.wait_log('idled.rec: samples cannot be recorded: Is a directory')
        self.set_idle_mask('7')
        wait_until(lambda: self.get('Transitions') == 1, 'a transition')
        os.rmdir(self.file)
        self.put(self.file, 'a diary')
        self.set_option('Recording', 'Enabled', 'yes')
        self.set_option('Recording', 'Enabled', 'no')
        self.daemon.wait_log('idled.rec: samples cannot be recorded: ', 2)
        self.assertEqual(Path(self.file).read_text(encoding='ascii'), 'a diary')


main()
