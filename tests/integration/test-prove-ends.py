#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlelab prove restores everything, however it ends, and counts nothing that was disturbed."""
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import dbus

from idledtest import TIMEOUT, main, wait_until
from provetest import GOVERNOR, RAPL, BatteryWorld, ProveCase, World, by_governor, by_preference


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
        self.start_in_world()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.begin()
            process.send_signal(number)
            output, _ = process.communicate(timeout=TIMEOUT)
            self.assertEqual(process.returncode, 128 + number)
            self.assertTrue(json.loads(output)['interrupted'])
            self.restored()

    def test_killed_with_a_command(self):
        """The kernel ends the command."""
        self.start_in_world()
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
        self.start_in_world()
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
        self.start_in_world()
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
        self.write_config('profiles/balanced.conf', '[Profile]\nSummary=x\n')
        for name in 'frugal', 'thrifty':  # two names of the same
            self.write_config('profiles/%s.conf' % name, '[Profile]\nSummary=%s\n[cpufreq]\n'
                              'EnergyPreference=balance_power\n' % name)
        self.start()
        for arguments, says in ((('--policy', 'x'), 'found policy "x"'),
                                (('--policy', 'cpufrq'), 'did you mean cpufreq?'),
                                (('--profile', 'balanced'), 'are the same'),
                                (('--profile', 'frugal,thrifty'), 'are the same'),
                                (('--profile', 'x'), 'found "x"'),
                                (('--option', 'cpufreq.X=1'), 'unknown key'),
                                (('--option', 'userspace.IdleMask=1;x'), 'found "x"'),
                                (('--knob', 'governor=performance'), 'idled is running'),
                                (('--option', 'cpufreq.EnergyPreference=power'), 'are the same'),
                                (('--policy', 'cpufreq', '--power', 'x'), 'no table "x"'),
                                (('--policy', 'cpufreq', '--', '/nonexistent'), 'No such file'),
                                (('--policy', 'cpufreq', '--', 'false'), 'ended with status 1')):
            with self.subTest(arguments):
                self.assertIn(says, self.prove(*arguments, status=3))
                self.assertEqual(self.get('Trial'), {})
                self.assertEqual(self.get('Holds'), [])
        for arguments in (('--profile', 'frugal,frugal'), ('--option', 'cpufreq.EnergyPreference=power,power'),
                          ('--knob', 'governor=powersave,powersave')):
            with self.subTest(arguments):
                self.assertIn('expected', self.prove(*arguments, status=2))
        self.call('SetProfile', 'frugal')
        self.assertIn('are the same', self.prove('--profile', 'frugal', status=3))

    def test_two_at_once(self):
        self.start_in_world()
        self.begin()
        self.assertIn('runs already', self.prove('--policy', 'userspace', status=3))

    def test_paused_and_dry_run(self):
        self.world()
        self.start('--dry-run')
        self.assertIn('--dry-run', self.prove('--policy', 'cpufreq', status=3))
        fd = self.pause('x')
        self.assertIn('is paused', self.prove('--policy', 'cpufreq', status=3))
        os.close(fd)

    def test_rapl_freezes(self):
        world = self.start_in_world()
        process = self.begin()
        world.frozen = True
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3, output)
        self.assertIn('did not move', errors)
        self.restored()

    def test_rapl_disappears(self):
        """The file stays open, but what it says is nothing."""
        world = self.start_in_world()
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
        for name in 'powercap', 'power_supply':
            shutil.rmtree(os.path.join(self.root, 'sys/class', name))
        World(self.root, by_preference).advance(10000)
        self.start()
        self.assertIn('--power', self.prove('--policy', 'cpufreq', status=3))
        # What is wrong with the arguments comes first.
        for option, value, says in (('--policy', 'x', 'found policy "x"'), ('--profile', 'x', 'found "x"'),
                                    ('--option', 'cpufreq.X=1', 'unknown key')):
            self.assertIn(says, self.prove(option, value, status=3))
            self.assertEqual(self.get('Trial'), {})
        table = Path(self.directory, 'table.conf')
        table.write_text('[States]\nC0=9\nPOLL=9\nC1E=2\nC6=1\nC10=1\nC6S=1\n')
        answer = self.prove('--policy', 'cpufreq', '--power', str(table), '--for', '4s', status=1)
        self.assertEqual(answer['energy_source'], 'estimate')
        table.write_text('[States]\nC0=9\n')
        said = self.prove('--policy', 'cpufreq', '--power', str(table), '--for', '4s', status=3)
        self.assertRegex(said, 'without a figure.* table .*table.conf is of another machine')

    def test_plugged_in(self):
        """A battery that does not discharge measures nothing, also if it is plugged in meanwhile."""
        world = BatteryWorld(self.root, lambda root: 500 * by_preference(root), 'Charging')
        world.begin(self)
        self.start()
        self.assertIn('does not discharge', self.prove('--policy', 'cpufreq', status=3))
        status = Path(self.root, BatteryWorld.SUPPLY, 'status')
        status.write_text('Discharging\n')
        process = self.begin()
        status.write_text('Charging\n')
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3, output)
        self.assertIn('not discharging', errors)
        self.restored()

    def test_record_is_locked(self):
        run = os.path.join(self.directory, 'run')
        os.mkdir(run)
        lock = os.open(run, os.O_RDONLY)
        self.addCleanup(os.close, lock)
        fcntl.flock(lock, fcntl.LOCK_EX)
        self.world(by_governor)
        self.assertIn('has locked', self.prove('--knob', 'governor=performance', status=3))


main()
