#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlelab prove finds what is true."""
import json
import os
import pty
import time
from pathlib import Path

import dbus
import dbus.bus

from idledtest import MANAGER, NAME, PATH, PROPERTIES, TIMEOUT, main, wait_until
from provetest import (EPP, WAITING, WATTS, BatteryWorld, ProveCase, TaskWorld, by_governor, by_preference,
                       is_saving)


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
        self.start_in_world()
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
        self.assertEqual([answer[key] for key in ('delay_mean', 'delay_source', 'delay_verdict')], [None] * 3)
        self.assertIn('another machine', answer['delay_problem'])
        self.assertIsNone(answer['work_change_percent'])
        self.assertEqual((answer['blocks']['checked_for_effect'], answer['blocks']['without_effect']),
                         (answer['blocks']['used'] / 2, 0))
        wait_until(lambda: not self.get('Trial'), 'no trial')
        self.assertEqual(self.preference(), 'power')

    def test_option_that_costs(self):
        """A second setting that draws more: not shown, and it says so."""
        self.start_in_world()
        process = self.spawn_prove('--option', 'cpufreq.EnergyPreference=power,performance',
                                   '--for', '10s', '--probe', '5ms')
        output, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, errors), (1, ''), output)
        self.assertIn('The opposite is shown', output)
        self.assertIn('Second: EnergyPreference=performance', output)
        self.assertRegex(output, r'Delay of the probe, us +[0-9.]+ +[0-9.]+')
        self.assertRegex(' '.join(output.split()),
                         r"The opposite is shown: .*; .*the p99 of the probe's wake-ups is .* us")
        self.assertFalse(any(row['runtime'] for row in self.call('GetSettings')))

    def test_less_work(self):
        """The setting that draws a quarter less does half of the work: energy per work is higher."""
        clocks = [str(p) for p in Path(self.root, 'sys/devices/system/cpu').rglob('scaling_cur_freq')]
        self.assertTrue(clocks)

        def watts(root):
            saves = (root / EPP).read_text().strip() == 'power'
            if saves != self.slow:
                for clock in clocks:
                    with open(clock, 'r+') as file:
                        file.write('0400000\n' if saves else '0800000\n')
                self.slow = saves
            return by_preference(root)

        self.slow = None
        self.start_in_world(watts)
        answer = self.prove('--policy', 'cpufreq', '--for', '9s', status=1)
        self.assertGreater(answer['energy_per_work']['change_low_percent'], 0)
        self.assertAlmostEqual(answer['work_change_percent'], -50, delta=10)
        self.assertAlmostEqual(answer['saved_watts'], 4, delta=2)
        self.assertLess(answer['saved_low_watts'], 0)
        self.assertEqual((answer['verdict'], answer['claim_holds']), ('unknown', False))

    def tasks(self, saving):
        """A world that draws 6 % less with the policy, where each CPU changes to a task 1000 times a second
        and runs it for 240 us; with the policy `saving` (times a second, us)."""
        world = TaskWorld(self.root, lambda root: 15 if is_saving(root) else 16)
        world.rates = {False: (1000, 240), True: saving}
        world.begin(self)
        self.start()

    def test_less_overhead(self):
        """The same requests in less time: less overhead, not less work."""
        self.tasks((1000, 220))
        answer = self.prove('--policy', 'cpufreq', '--for', '12s')
        self.saves(answer, 16, 15)
        self.assertIsNone(answer['work_change_percent'])
        # tasks wait for 2 % of the time: that much may be work that was not done
        self.assertAlmostEqual(answer['overhead_usec'], 15, delta=4)
        self.assertAlmostEqual(answer['energy_per_work']['change_percent'], -6, delta=3)

    def test_fewer_requests(self):
        """As much less time, for fewer requests: less work."""
        self.tasks((1000 * 200 / 240, 240))
        answer = self.prove('--policy', 'cpufreq', '--for', '12s', status=1)
        self.assertAlmostEqual(answer['work_change_percent'], -17, delta=4)
        self.assertEqual(answer['overhead_usec'], 0)
        self.assertEqual((answer['verdict'], answer['claim_holds']), ('unknown', False))

    def test_profiles(self):
        for name in ('performance', 'frugal'):
            self.write_config('profiles/%s.conf' % name, '[Profile]\nSummary=x\n[cpufreq]\n'
                              'EnergyPreference=%s\n' % {'performance': 'performance',
                                                         'frugal': 'power'}[name])
        self.start_in_world()
        quick = '--for', '10s', '--block', '300ms', '--wash-out', '300ms'
        answer = self.prove('--profile', 'performance,frugal', *quick)
        self.saves(answer, WATTS['performance'], WATTS['power'])
        self.assertEqual(answer['blocks']['dropped'], 0, answer['blocks'])
        answer = self.prove('--profile', 'frugal,performance', *quick, status=1)
        self.assertEqual(answer['verdict'], 'costs')
        self.assertEqual(answer['blocks']['dropped'], 0, answer['blocks'])
        # The profile that is active comes back after each block.
        self.call('SetProfile', 'performance')
        answer = self.prove('--profile', 'frugal', *quick)
        self.saves(answer, WATTS['performance'], WATTS['power'])
        self.assertEqual(answer['blocks']['dropped'], 0, answer['blocks'])
        self.assertEqual(self.get('Holds'), [])

    def test_battery(self):
        """Without RAPL and power table it is the battery that loses energy, in coarse steps."""
        world = BatteryWorld(self.root, lambda root: 500 * by_preference(root))
        world.begin(self)
        self.start()
        answer = self.prove('--policy', 'cpufreq', '--for', '9s')
        self.assertEqual((answer['verdict'], answer['energy_source'], answer['power_table']),
                         ('saves', 'battery', None))
        for arm, watts in ('first', 500 * WATTS['balance_power']), ('second', 500 * WATTS['power']):
            self.assertAlmostEqual(answer['power'][arm + '_watts'] / watts, 1, delta=0.15)
        self.QUICK = ()  # blocks that are long enough for real batteries take longer than this
        self.assertIn('at least', self.prove('--policy', 'cpufreq', '--for', '10min', status=3))

    def test_zero_has_no_sign(self):
        self.start_in_world(lambda root: 0.01)
        process = self.spawn_prove('--policy', 'userspace', '--for', '4s')
        output = process.communicate(timeout=60)[0]
        self.assertNotRegex(output, r'-0\.0*(?![0-9])')
        self.assertIn('0.01', output)

    def world_that_knows_the_trial(self):
        """Energy follows the trial although nothing else does: 12 W where the policy is honoured."""
        found = {'watts': 16, 'read': 0, 'connection': None}

        def watts(root):
            now = time.monotonic()
            if now - found['read'] > 0.02:
                found['read'] = now
                found['connection'] = found['connection'] or dbus.bus.BusConnection(self.bus.address)
                try:
                    manager = found['connection'].get_object(NAME, PATH, introspect=False)
                    trial = manager.Get(MANAGER, 'Trial', dbus_interface=PROPERTIES)
                    found['watts'] = 12 if trial and all(trial['policies'].values()) else 16
                except dbus.DBusException:
                    pass  # idled is not there yet
            return found['watts']
        self.world(watts)

    def test_policy_without_effect(self):
        """Where a policy changes nothing, no difference in power is its merit."""
        self.world_that_knows_the_trial()
        for name, back_end, mask in (('requests nothing', 'cgroup', ''),
                                     ('has nothing to park with', 'none', '2-3')):
            with self.subTest(name):
                self.write_config('idled.conf', '[Daemon]\nPolicies=userspace\n[Park]\nBackend=%s\n'
                                  % back_end)
                self.write_config('policies/userspace.conf', '[Policy]\nIdleMask=%s\n' % mask)
                self.start()
                answer = self.prove('--policy', 'userspace', '--for', '10s', status=1)
                blocks = answer['blocks']
                self.assertGreater(answer['saved_low_watts'], 0, 'the world does what it should')
                self.assertGreaterEqual(blocks['without_effect'], 4)
                self.assertEqual(blocks['without_effect'], blocks['checked_for_effect'])
                self.assertEqual((answer['verdict'], answer['claim_holds']), ('unknown', False))
                self.daemon.stop()
        self.start()
        process = self.spawn_prove('--policy', 'userspace', '--for', '4s')
        output = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, 1, output)
        self.assertRegex(output, r'no effect in (\d+) of \1 blocks')

    def test_precision_ends_it(self):
        self.start_in_world()
        answer = self.prove('--policy', 'cpufreq', '--for', '1h', '--precision', '30%')
        self.assertLessEqual(answer['precision_percent'], 30)
        self.assertGreaterEqual(answer['blocks']['used'], 16)

    def test_knobs_without_daemon(self):
        self.world(by_governor)
        answer = self.prove('--knob', 'governor=performance,powersave', '--knob', 'states=,C1E',
                            '--for', '10s')
        self.saves(answer, 14, 10)
        self.assertEqual((answer['first'], answer['second']),
                         ('governor=performance', 'governor=powersave, states=C1E'))
        self.assertEqual(self.knobs(), self.before)
        self.assertFalse(os.path.exists(os.path.join(self.directory, 'run/undo')))

    def test_command_that_ends(self):
        self.start_in_world()
        process = self.spawn_prove('--json', '--policy', 'cpufreq', '--for', '8s', '--', 'sleep',
                                   '0.15')
        answer = json.loads(process.communicate(timeout=60)[0])
        # How long a run takes is up to a busy machine, and with it whether enough of them show it.
        self.assertEqual(process.returncode, 0 if answer['verdict'] == 'saves' else 1)
        self.assertIn('saved_low_joules_per_run', answer)
        self.assertEqual(answer['work_unit'], 'runs')
        self.assertNotIn('saved_watts', answer)
        self.assertAlmostEqual(answer['power']['change_watts'], -4, delta=1.6)
        for arm, watts in ('first', 16), ('second', 12):
            seconds = answer['run_time'][arm + '_seconds']
            self.assertGreaterEqual(seconds, 0.15)
            self.assertAlmostEqual(answer['energy_per_work'][arm + '_joules'] / (watts * seconds), 1,
                                   delta=0.15)

    def test_command_throughout(self):
        self.start_in_world()
        answer = self.prove('--policy', 'cpufreq', '--for', '10s', '--',
                            'sh', '-c', 'echo $$ >%s/pid; exec sleep 1000' % self.directory)
        self.assertNotEqual(answer['work_unit'], 'runs')
        self.assertEqual(answer['blocks']['dropped'], 0)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(Path(self.directory, 'pid').read_text()), 0)

    def test_progress(self):
        self.start_in_world()
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


main()
