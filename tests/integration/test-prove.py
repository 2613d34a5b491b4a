#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlectl prove on a machine whose energy counters follow what idled has set, by known watts."""
import fcntl
import json
import os
import pty
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import dbus

from idledtest import TIMEOUT, TestCase, main, wait_until

EPP = 'sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference'
GOVERNOR = 'sys/devices/system/cpu/cpufreq/policy0/scaling_governor'
RAPL = 'sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj'

# By preference; "balance_power" is what the machine begins with.
WATTS = {'performance': 20, 'balance_performance': 18, 'balance_power': 16, 'power': 12}
WAITING = 0.02  # share of the time


class World(threading.Thread):
    """Energy, load and pressure, as time goes by."""

    def __init__(self, root, watts):
        super().__init__(daemon=True)
        self.root, self.watts = Path(root), watts
        self.frozen = self.over = False
        self.joules = 1.0
        begin = (self.root / 'proc/stat').read_text()
        self.rest = '\n'.join(line for line in begin.splitlines() if not line.startswith('cpu'))
        self.files = {}

    def write(self, name, text):
        """In place and in one piece: always of the same length."""
        if name not in self.files:
            (self.root / name).write_text('')
            self.files[name] = os.open(self.root / name, os.O_WRONLY)
        os.pwrite(self.files[name], text.encode(), 0)

    def tell(self, seconds):
        busy, idle = int(seconds * 25), int(seconds * 75)
        rows = ['cpu%d %010d 0 0 %010d 0 0 0 0 0 0' % (cpu, busy, idle) for cpu in range(8)]
        rows.insert(0, 'cpu %011d 0 0 %011d 0 0 0 0 0 0' % (8 * busy, 8 * idle))
        self.write('proc/stat', '\n'.join(rows) + '\n' + self.rest + '\n')
        self.write('proc/pressure/cpu',
                   'some avg10=0.00 avg60=0.00 avg300=0.00 total=%012d\n' % (seconds * WAITING * 1e6))
        if not self.frozen:
            self.write(RAPL, '%012d\n' % (self.joules * 1e6))

    def hurry(self):
        """Time that the world is late is energy that counts for the wrong block."""
        try:
            os.sched_setscheduler(threading.get_native_id(), os.SCHED_FIFO, os.sched_param(1))
        except OSError:
            pass

    def run(self):
        self.hurry()
        before = begin = time.monotonic()
        while not self.over:
            try:
                now = time.monotonic()
                self.joules += self.watts(self.root) * (now - before)
                before = now
                self.tell(now - begin + 10000)
            except (OSError, KeyError):
                pass  # a file is being written
            time.sleep(0.002)

    def end(self):
        self.over = True
        self.join()
        for fd in self.files.values():
            os.close(fd)


def by_preference(root):
    return WATTS[(root / EPP).read_text().strip()]


def by_governor(root):
    return {'powersave': 10, 'performance': 14}[(root / GOVERNOR).read_text().strip()]


class ProveCase(TestCase):
    MACHINE = 'synthetic-laptop'
    CONFIG = '[Daemon]\nPolicies=cpufreq userspace\n'
    QUICK = ('--block', '400ms', '--wash-out', '100ms')

    def setUp(self):
        super().setUp()
        self.write_config('policies/cpufreq.conf', '[Policy]\nEnergyPreference=power\n')
        self.before = self.knobs()

    def world(self, watts=by_preference):
        world = World(self.root, watts)
        world.tell(10000)
        world.start()
        self.addCleanup(world.end)
        return world

    def knobs(self):
        base = Path(self.root, 'sys/devices/system/cpu')
        names = ('scaling_governor', 'energy_performance_preference', 'disable',
                 'pm_qos_resume_latency_us')
        return {str(p): p.read_text().strip() for n in names for p in base.rglob(n)}

    def preference(self):
        return Path(self.root, EPP).read_text().strip()

    def places(self):
        return ['--root', self.root, '--run', os.path.join(self.directory, 'run'),
                '--bus-address', self.bus.address]

    def spawn_prove(self, *arguments, **more):
        process = subprocess.Popen(
            [os.environ['IDLECTL'], 'prove', *self.places(), *self.QUICK, *arguments],
            **{'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, 'text': True, **more})

        def end():
            process.kill()
            process.communicate()
        self.addCleanup(end)
        return process

    def prove(self, *arguments, status=0):
        process = self.spawn_prove('--json', *arguments)
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, status, output + errors)
        return json.loads(output) if output else errors


class Truth(ProveCase):
    def saves(self, answer, first, second):
        """The interval has the truth in it, or nearly: the world of a busy test is not exact."""
        self.assertTrue(answer['claim_holds'])
        self.assertEqual((answer['verdict'], answer['energy_source']), ('saves', 'rapl'))
        self.assertAlmostEqual(answer['power']['first_watts'], first, delta=first / 10)
        self.assertAlmostEqual(answer['power']['second_watts'], second, delta=first / 10)
        self.assertAlmostEqual(answer['saved_watts'], first - second, delta=first / 10)
        self.assertGreater(answer['saved_low_watts'], 0)

    def test_policy(self):
        self.world()
        self.start()
        answer = self.prove('--policy', 'cpufreq', '--for', '9s')
        self.saves(answer, WATTS['balance_power'], WATTS['power'])
        self.assertEqual((answer['first'], answer['second']),
                         ('cpufreq ignored', 'cpufreq active'))
        self.assertEqual((answer['work_unit'], answer['block_usec']), ('busy seconds', 400000))
        self.assertGreaterEqual(answer['blocks']['used'], 8)
        # 8 CPUs, a quarter of the time, at 400 of 4700 MHz
        self.assertAlmostEqual(answer['energy_per_work']['first_joules'] / (16 / (2 * 4 / 47)), 1,
                               delta=0.25)
        self.assertAlmostEqual(answer['energy_per_work']['change_percent'], -25, delta=10)
        self.assertAlmostEqual(answer['waiting']['first_percent'], WAITING * 100, delta=0.5)
        self.assertIsNone(answer['delay_mean'])
        wait_until(lambda: not self.get('Trial'), 'no trial')
        self.assertEqual(self.preference(), 'power')

    def test_option_that_costs(self):
        """A second setting that draws more: not shown, and it says so."""
        self.world()
        self.start()
        process = self.spawn_prove('--option', 'cpufreq.EnergyPreference=power,performance',
                                   '--for', '6s', '--probe', '5ms')
        output, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, errors), (1, ''), output)
        self.assertIn('The opposite is shown', output)
        self.assertIn('Second: EnergyPreference=performance', output)
        self.assertRegex(output, r'Wake-up delay, us +[0-9.]+ +[0-9.]+')
        self.assertFalse(any(row['runtime'] for row in self.call('GetSettings')))

    def test_profiles(self):
        for name in ('eager', 'frugal'):
            self.write_config('profiles/%s.conf' % name, '[Profile]\nSummary=x\n[cpufreq]\n'
                              'EnergyPreference=%s\n' % {'eager': 'performance',
                                                         'frugal': 'power'}[name])
        self.world()
        self.start()
        answer = self.prove('--profile', 'eager,frugal', '--for', '6s')
        self.saves(answer, WATTS['performance'], WATTS['power'])
        self.assertEqual(self.get('Holds'), [])

    def test_nothing_saved(self):
        self.world(lambda root: 15)
        self.start()
        answer = self.prove('--policy', 'userspace', '--for', '6s', status=1)
        self.assertFalse(answer['claim_holds'])
        self.assertLess(answer['saved_low_watts'], answer['saved_high_watts'])
        self.assertLess(abs(answer['saved_percent']), 10)

    def test_precision_ends_it(self):
        self.world()
        self.start()
        answer = self.prove('--policy', 'cpufreq', '--for', '1h', '--precision', '30%')
        self.assertLessEqual(answer['precision_percent'], 30)
        self.assertGreaterEqual(answer['blocks']['used'], 16)

    def test_knobs_without_daemon(self):
        self.world(by_governor)
        answer = self.prove('--knob', 'governor=performance,powersave', '--knob', 'states=,C1E',
                            '--for', '6s')
        self.saves(answer, 14, 10)
        self.assertEqual((answer['first'], answer['second']),
                         ('governor=performance', 'governor=powersave, states=C1E'))
        self.assertEqual(self.knobs(), self.before)
        self.assertFalse(os.path.exists(os.path.join(self.directory, 'run/undo')))

    def test_command_that_ends(self):
        self.world()
        self.start()
        answer = self.prove('--policy', 'cpufreq', '--for', '8s', '--', 'sleep', '0.15')
        self.assertEqual((answer['work_unit'], answer['verdict']), ('runs', 'saves'))
        self.assertIsNone(answer.get('saved_watts'))
        self.assertAlmostEqual(answer['energy_per_work']['change_percent'], -25, delta=12)
        self.assertGreaterEqual(answer['run_time']['first_seconds'], 0.15)
        self.assertAlmostEqual(answer['energy_per_work']['first_joules'],
                               16 * answer['run_time']['first_seconds'], delta=1)

    def test_command_throughout(self):
        self.world()
        self.start()
        answer = self.prove('--policy', 'cpufreq', '--for', '5s', '--',
                            'sh', '-c', 'echo $$ >%s/pid; exec sleep 1000' % self.directory)
        self.assertNotEqual(answer['work_unit'], 'runs')
        self.assertEqual(answer['blocks']['dropped'], 0)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(Path(self.directory, 'pid').read_text()), 0)

    def test_progress(self):
        self.world()
        self.start()
        ours, theirs = pty.openpty()
        process = self.spawn_prove('--policy', 'cpufreq', '--for', '6s', '--precision', '0.01%',
                                   stderr=theirs)
        os.close(theirs)
        output = b''
        while True:
            try:
                output += os.read(ours, 4096)
            except OSError:
                break
        os.close(ours)
        process.communicate(timeout=TIMEOUT)
        self.assertRegex(output.decode(), r'\[#+-+\] \d+ s left, \d+ pairs, saves .* % \+- ')
        self.assertIn('in about', output.decode())
        self.assertTrue(output.endswith(b'\r\x1b[K'), 'the bar is gone at the end')


class BadDays(ProveCase):
    """Whatever happens, everything is restored; a block in which something happened is dropped."""

    def begin(self, *arguments):
        process = self.spawn_prove('--json', *(arguments or ('--policy', 'cpufreq', '--for', '1h')))
        wait_until(lambda: self.preference() == 'balance_power', 'the policy ignored')
        return process

    def restored(self):
        wait_until(lambda: not self.get('Trial'), 'the end of the trial')
        wait_until(lambda: self.preference() == 'power', 'the policy honoured')

    def test_signals(self):
        self.world()
        self.start()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.begin()
            process.send_signal(number)
            output, _ = process.communicate(timeout=TIMEOUT)
            self.assertEqual(process.returncode, 128 + number)
            self.assertTrue(json.loads(output)['interrupted'])
            self.restored()

    def test_killed(self):
        self.world()
        self.start()
        process = self.begin()
        process.send_signal(signal.SIGKILL)
        process.wait(TIMEOUT)
        self.restored()

    def test_killed_with_a_command(self):
        """The kernel ends the command."""
        self.world()
        self.start()
        file = Path(self.directory, 'pid')
        process = self.begin('--policy', 'cpufreq', '--for', '1min', '--', 'sh', '-c',
                             'echo $$ >%s; exec sleep 1000' % file)
        process.send_signal(signal.SIGKILL)
        process.wait(TIMEOUT)

        def is_gone():
            try:
                return Path('/proc', file.read_text().strip(), 'stat').read_text().split()[2] == 'Z'
            except FileNotFoundError:
                return True
        wait_until(is_gone, 'the end of the command')
        self.restored()

    def test_killed_with_knobs(self):
        """The daemon's own record has what was found."""
        self.world(by_governor)
        process = self.spawn_prove('--knob', 'governor=,performance', '--for', '1h')
        wait_until(lambda: Path(self.root, GOVERNOR).read_text().strip() == 'performance',
                   'the governor')
        process.send_signal(signal.SIGKILL)
        process.wait(TIMEOUT)
        subprocess.run([os.environ['IDLED'], '--restore', '--no-bus', '--root', self.root, '--run',
                        os.path.join(self.directory, 'run')], check=True,
                       stderr=subprocess.DEVNULL)
        self.assertEqual(self.knobs(), self.before)

    def dropped(self, process, reason):
        """Ends it; the reason is among those of dropped blocks."""
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 128 + signal.SIGINT, errors)
        reasons = json.loads(output)['blocks']['dropped_because']
        self.assertIn(reason, ' '.join(row['reason'] for row in reasons))

    def cycles(self, n):
        """Waits for so many changes of the arm."""
        for _ in range(n):
            now = self.preference()
            wait_until(lambda before=now: self.preference() != before, 'the other arm')

    def test_hold_and_reload(self):
        self.world()
        self.start()
        process = self.begin('--policy', 'cpufreq', '--for', '1h', '--block', '2s')
        self.cycles(1)
        before = self.preference()

        def hold():
            os.close(self.call('Hold', dbus.Dictionary({'profile': 'balanced'}, 'sv'))[1].take())
            return self.preference() != before
        wait_until(hold, 'the other arm')  # some of them are not in the wash-out
        self.dropped(process, 'a hold')
        process = self.begin('--policy', 'cpufreq', '--for', '1h', '--block', '2s')
        self.call('Reload')
        self.cycles(2)
        self.dropped(process, 'options or the profile')

    def test_daemon_restarts(self):
        self.world()
        self.start()
        process = self.begin()
        self.daemon.stop()
        self.start()
        self.wait_name()
        self.cycles(3)
        self.dropped(process, 'options or the profile')

    def test_daemon_is_absent(self):
        self.world()
        for arguments in (('--policy', 'x'), ('--profile', 'a,b'), ('--option', 'a.b=1')):
            self.assertIn('idled is not running', self.prove(*arguments, status=3))

    def test_refused(self):
        self.world()
        self.start()
        for arguments, says in ((('--policy', 'x'), 'found policy "x"'),
                                (('--profile', 'x'), 'found "x"'),
                                (('--option', 'cpufreq.X=1'), 'unknown key'),
                                (('--option', 'userspace.IdleMask=1;x'), 'found "x"'),
                                (('--knob', 'governor=performance'), 'idled is running'),
                                (('--policy', 'cpufreq', '--power', 'x'), 'no table "x"'),
                                (('--policy', 'cpufreq', '--', '/nonexistent'), 'No such file'),
                                (('--policy', 'cpufreq', '--', 'false'), 'ended with status 1')):
            with self.subTest(arguments):
                self.assertIn(says, self.prove(*arguments, status=3))
                self.assertEqual(self.get('Trial'), {})

    def test_two_at_once(self):
        self.world()
        self.start()
        self.begin()
        self.assertIn('runs already', self.prove('--policy', 'userspace', status=3))

    def test_paused_and_dry_run(self):
        self.world()
        self.start('--dry-run')
        self.assertIn('--dry-run', self.prove('--policy', 'cpufreq', status=3))
        fd = self.call('Pause', 'x').take()
        self.assertIn('is paused', self.prove('--policy', 'cpufreq', status=3))
        os.close(fd)

    def test_rapl_freezes(self):
        world = self.world()
        self.start()
        process = self.begin()
        world.frozen = True
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3, output)
        self.assertIn('did not move', errors)
        self.restored()

    def test_rapl_disappears(self):
        """The file stays open, but what it says is nothing."""
        world = self.world()
        self.start()
        process = self.begin()
        world.frozen = True
        time.sleep(0.01)  # the world may be writing
        os.truncate(os.path.join(self.root, RAPL), 0)
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3, output)
        self.assertIn('could not be read', errors)
        self.restored()

    def test_no_rapl(self):
        """An estimate, which is named as such, or nothing."""
        shutil.rmtree(os.path.join(self.root, 'sys/class/powercap'))
        World(self.root, by_preference).tell(10000)
        self.start()
        self.assertIn('--power', self.prove('--policy', 'cpufreq', status=3))
        table = Path(self.directory, 'table.conf')
        table.write_text('[States]\nC0=9\nPOLL=9\nC1E=2\nC6=1\nC10=1\n')
        answer = self.prove('--policy', 'cpufreq', '--power', str(table), '--for', '4s', status=1)
        self.assertEqual(answer['energy_source'], 'estimate')

    def test_record_is_locked(self):
        run = os.path.join(self.directory, 'run')
        os.mkdir(run)
        lock = os.open(run, os.O_RDONLY)
        self.addCleanup(os.close, lock)
        fcntl.flock(lock, fcntl.LOCK_EX)
        self.world(by_governor)
        self.assertIn('has locked', self.prove('--knob', 'governor=performance', status=3))


if __name__ == '__main__':
    main()
