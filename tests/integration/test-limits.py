#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The limits of single CPUs, from a policy's request to the files, and on the bus.

The policy is the tests' own, tune, which requests what its options say.
"""
import json
import os
import re
import signal
import subprocess

from idledtest import PATH, TestCase, main, wait_until

CPU = 'sys/devices/system/cpu/'
INTERFACE = 'org.idled1.Cpu'
LATENCY = 'cpu%d/power/pm_qos_resume_latency_us'
EPP = 'cpufreq/policy%d/energy_performance_preference'


class Limits(TestCase):
    CONFIG = '[Daemon]\nPolicies=tune\n'

    def arguments(self):
        arguments = super().arguments()
        arguments[arguments.index('--policy-dir') + 1] = os.environ['IDLED_TUNE']
        return arguments

    def read(self, name):
        return super().read(CPU + name)

    def write(self, name, value):
        self.put(CPU + name, value + '\n')

    def request(self, **options):
        for key, value in options.items():
            self.set_option('tune', key, str(value))

    def limits(self, cpu):
        return self.get('Limits', PATH + '/cpu/%d' % cpu, INTERFACE)

    def degraded(self):
        return [tuple(map(str, row)) for row in self.get('Degraded')]

    def test_from_request_to_file(self):
        before = self.cpu_values()
        self.start()
        seen = self.signals()
        self.assertEqual(self.limits(4), {})
        self.request(Cpus='4-5', Latency=100, Disabled=4, MinFrequency=1000000,
                     MaxFrequency=2000000, Governor='powersave', Preference='power')
        self.assertEqual(self.read(LATENCY % 4), '100')
        self.assertEqual(self.read(LATENCY % 3), '0')
        self.assertEqual(self.read('cpu5/cpuidle/state2/disable'), '1')
        self.assertEqual(self.read(EPP % 4), 'power')
        self.assertEqual(self.read('cpufreq/policy5/scaling_max_freq'), '2000000')
        self.assertEqual(self.limits(4), {
            'governor': 'powersave', 'energy_preference': 'power', 'min_khz': 1000000,
            'max_khz': 2000000, 'latency_us': 100, 'disabled_states': ['C6S']})
        self.assertEqual(self.limits(3), {})
        self.sync()
        wait_until(lambda: any(path.endswith('/cpu/4') and 'Limits' in changed
                               for path, _, changed, *_ in seen), 'a signal')
        self.assertFalse([path for path, *_ in seen if path.endswith('/cpu/3')])
        self.daemon.stop()
        self.assertEqual(self.cpu_values(), before)

    def test_another_program(self):
        """A knob that another program changed is taken over; verify says so, and the others go on."""
        self.start()
        self.request(Cpus='1-2', Latency=100)
        done = self.idlectl('verify')
        self.assertEqual((done.stdout, done.returncode), ('all knobs as idled left them: 2\n', 0))
        self.write(LATENCY % 1, '30')
        self.assertEqual((self.degraded(), self.get('PeriodUSec')), ([], 60000000),
                         'by itself it would look some time')
        done = self.idlectl('verify')
        self.assertEqual(done.returncode, 1)
        self.assertIn('pmqos ' + LATENCY % 1, done.stdout)
        self.assertEqual(self.degraded(), [('pmqos', LATENCY % 1, 'taken over by another program')])
        self.request(Latency=50)
        self.assertEqual(self.read(LATENCY % 1), '30')
        self.assertEqual(self.read(LATENCY % 2), '50')
        self.assertEqual(self.limits(1), {})
        self.assertEqual(self.limits(2)['latency_us'], 50)
        self.daemon.stop()
        self.assertEqual(self.read(LATENCY % 1), '30')
        self.assertEqual(self.read(LATENCY % 2), '0')

    def test_pause_gives_all_back(self):
        before = self.cpu_values()
        self.start()
        self.request(Cpus='0-7', Latency=100, Disabled=4, Preference='power', Boost=0)
        self.assertNotEqual(self.cpu_values(), before)
        held = self.pause('test')
        wait_until(lambda: self.cpu_values() == before, 'all as found')
        os.close(held)
        wait_until(lambda: self.read(LATENCY % 1) == '100', 'applied again')

    def test_killed(self):
        self.put('proc/sys/kernel/random/boot_id', 'this-boot\n')
        before = self.cpu_values()
        self.start()
        self.request(Cpus='0-7', Latency=100, Disabled=4, MaxFrequency=2000000, Preference='power',
                     Boost=0)
        self.assertEqual(self.read('intel_pstate/no_turbo'), '1')
        self.daemon.kill()
        self.assertNotEqual(self.cpu_values(), before)
        done = subprocess.run([os.environ['IDLECTL'], 'verify', '--root', self.root, '--run',
                               os.path.join(self.directory, 'run'), '--bus-address',
                               'unix:path=/nowhere'], stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn('pmqos ' + LATENCY % 3, done.stdout)
        done = subprocess.run([os.environ['IDLED'], *self.arguments(), '--restore', '--no-bus'],
                              check=False)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.cpu_values(), before)

    def test_reload_begins_again(self):
        """idled manages knobs again that other programs had taken over, noticed or not, and restores
        their values in the end."""
        self.start()
        self.request(Cpus='0-2', Latency=100)
        self.write(LATENCY % 0, '500')
        self.assertEqual(self.idlectl('verify').returncode, 1)
        self.request(Latency=90)
        self.assertEqual([self.read(LATENCY % cpu) for cpu in (0, 1)], ['500', '90'])
        self.write(LATENCY % 1, '600')
        self.call('Reload')
        self.assertEqual([self.read(LATENCY % cpu) for cpu in (0, 1)], ['90', '90'])
        self.assertEqual(self.degraded(), [])
        self.write(LATENCY % 2, '700')
        self.idlectl('verify')
        self.assertEqual([name for _, name, _ in self.degraded()], [LATENCY % 2])
        self.daemon.send(signal.SIGHUP)
        wait_until(lambda: self.read(LATENCY % 2) == '90', 'managed again')
        self.assertEqual(self.idlectl('verify').returncode, 0)
        self.daemon.stop()
        self.assertEqual([self.read(LATENCY % cpu) for cpu in range(4)], ['500', '600', '700', '0'])

    def test_hotplug(self):
        """The kernel removes the files of a CPU that goes offline, and makes new ones later."""
        self.start()
        self.request(Cpus='7', Latency=100)
        self.write('cpu7/online', '0')
        self.write('online', '0-6')
        os.unlink(os.path.join(self.root, CPU + LATENCY % 7))
        self.request(Cpus='6-7')
        self.assertEqual(self.read(LATENCY % 6), '100')
        self.assertEqual(self.degraded(), [])
        self.write('cpu7/online', '1')
        self.write('online', '0-7')
        self.write(LATENCY % 7, '0')
        self.request(Latency=90)
        wait_until(lambda: self.read(LATENCY % 7) == '90', 'applied again')

    def test_other_driver(self):
        """The driver of frequencies changes under us: idled reads its words again."""
        self.start()
        self.request(Cpus='0-7', Governor='powersave')
        for cpu in range(8):
            policy = 'cpufreq/policy%d/' % cpu
            self.write(policy + 'scaling_driver', 'intel_cpufreq')
            self.write(policy + 'scaling_available_governors', 'performance schedutil')
            self.write(policy + 'scaling_governor', 'schedutil')
        self.request(Governor='schedutil')
        self.daemon.wait_log('driver has changed')
        wait_until(lambda: self.limits(3).get('governor') == 'schedutil', 'the new governor')
        self.assertEqual(self.degraded(), [])

    def test_not_offered(self):
        """An error about a value that the machine lacks names its values and the configuration line;
        everything else takes effect."""
        self.write_config('policies/tune.conf',
                          '[Policy]\nCpus=0-3\nLatency=100\n\nIdleGovernor=haltpoll\n')
        self.start()
        file = os.path.join(self.config, 'policies/tune.conf')
        row, = self.degraded()
        self.assertEqual(row[0], 'cpuidle')
        why = row[2]
        for part in file + ':5: IdleGovernor of tune', '"haltpoll"', 'ladder menu teo':
            self.assertIn(part, why)
        self.daemon.wait_log('cpuidle: .*' + re.escape(why))
        self.assertTrue(self.idlectl('verify').stdout.endswith('cpuidle: %s\n' % why))
        problem, = self.call('Verify')
        self.assertEqual((problem[0], *problem[2:]), ('cpuidle', '', '', why))
        self.assertEqual(self.read(LATENCY % 1), '100')
        self.request(IdleGovernor='teo', Governor='schedutil')
        row, = self.degraded()
        for part in ('set over D-Bus', 'Governor of tune', '"schedutil"', 'cpufreq/policy0',
                     'performance powersave'):
            self.assertIn(part, row[2])
        self.assertEqual(self.read('cpuidle/current_governor'), 'teo')
        self.request(Governor='powersave')
        self.assertEqual(self.degraded(), [])

    def test_cpus_table(self):
        self.start()
        done = self.idlectl('cpus')
        self.assertNotIn('Limits', done.stdout)
        self.request(Cpus='4', Latency=100, Disabled=4, MaxFrequency=2000000, Preference='power')
        done = self.idlectl('cpus')
        self.assertIn('Limits', done.stdout)
        cpus = json.loads(self.idlectl('cpus', '--json').stdout)['cpus']
        self.assertEqual(cpus[4]['limits'], {
            'latency_us': 100, 'disabled_states': ['C6S'], 'governor': None,
            'energy_preference': 'power', 'energy_bias': None, 'boost': None, 'min_khz': None,
            'max_khz': 2000000})
        self.assertEqual(cpus[3]['limits']['latency_us'], None)


main()
