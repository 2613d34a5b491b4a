#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Why a hold is not in effect, or what of it is not."""
import os
import shutil

import dbus

from holdstest import Case
from idledtest import main, wait_until


class DryRun(Case):
    def test_obstacle(self):
        self.start('--dry-run')
        path, _ = self.hold(latency_us=50)
        self.assertEqual(self.value(path, 'Obstacle'), 'this is a dry run')


class Obstacles(Case):
    def write(self, name, text):
        """Another program writes to a file of the machine."""
        self.put(name, text + '\n')

    def assert_obstacle(self, expected, **values):
        path, _ = self.hold(**values)
        self.assertEqual(self.value(path, 'Obstacle'), expected)
        return path


class Laptop(Obstacles):
    def test_left_alone(self):
        self.start()
        path = self.assert_obstacle('', latency_us=50, min_frequency_khz=800000)
        for section, text in (
                ('Frequency', 'its frequency cannot be kept: Manage= of [Frequency] is no'),
                ('Latency', 'its latency cannot be kept: Manage= of [Latency] is no')):
            self.set_option(section, 'Manage', 'no')
            self.assertEqual(self.value(path, 'Obstacle'), text)
            self.set_option(section, 'Manage', '')
        self.assertEqual(self.value(path, 'Obstacle'), '')

    def test_knob_taken_over(self):
        """A hold cannot get what it requests where another program has taken over a knob. idled
        reports that, and its end after a reload."""
        self.start()
        path, _ = self.hold_for(latency_us=50, min_frequency_khz=900000, cpus='0')
        self.assertEqual(self.value(path, 'Obstacle'), '')
        other = self.assert_obstacle('', latency_us=50, min_frequency_khz=900000, cpus='1')
        changed = self.signals(path)
        for knob, text in (
                ('cpu0/power/pm_qos_resume_latency_us', 'its latency cannot be kept'),
                ('cpufreq/policy0/scaling_min_freq', 'its frequency cannot be kept')):
            del changed[:]
            self.write('sys/devices/system/cpu/' + knob, '800000')
            self.call('Verify')
            obstacle = '%s: another program has taken over %s' % (text, knob)
            self.assertEqual(self.value(path, 'Obstacle'), obstacle)
            wait_until(lambda: changed, 'the obstacle')
            self.assertEqual(self.value(other, 'Obstacle'), '')
            self.assert_obstacle(obstacle, latency_us=40, min_frequency_khz=1000000, cpus='0')
            self.call('Reload')
            self.assertEqual(self.value(path, 'Obstacle'), '')

    def test_excluded(self):
        self.start()
        path, _ = self.hold_for(latency_us=50, min_frequency_khz=800000, cpus='0-3')
        self.assertEqual(self.value(path, 'Obstacle'), '')
        changed = self.signals(path)
        self.set_option('Latency', 'Exclude', '1-2')
        late = 'its latency cannot be kept: Exclude= of [Latency] excludes CPUs 1-2'
        self.assertEqual(self.value(path, 'Obstacle'), late)
        wait_until(lambda: changed, 'the obstacle')
        self.set_option('Frequency', 'Exclude', '3,5')
        slow = 'its frequency cannot be kept: Exclude= of [Frequency] excludes CPU 3'
        self.assertEqual(self.value(path, 'Obstacle'), late + '; ' + slow)
        self.assert_obstacle('', latency_us=50, cpus='3-4')
        self.assert_obstacle('', min_frequency_khz=800000, cpus='0-2')
        self.write('sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us', '7')
        self.call('Verify')
        self.assertEqual(self.value(path, 'Obstacle'), late + ', another program has taken '
                         'over cpu0/power/pm_qos_resume_latency_us; ' + slow)

    def test_global(self):
        """The limit of all CPUs together."""
        self.start()
        self.assert_obstacle('its latency cannot be kept: the limit of all CPUs '
                             '(/dev/cpu_dma_latency): No such file or directory', latency_us=70, **{'global': True})
        row, = self.get('Degraded')
        self.assertEqual(row[0], 'pmqos')
        self.assertIn('/dev/cpu_dma_latency: No such file', row[2])
        self.write('dev/cpu_dma_latency', '')
        path = self.assert_obstacle('', latency_us=50, cpus='0', **{'global': True})
        self.set_option('Latency', 'Exclude', '7')
        self.assertEqual(self.value(path, 'Obstacle'), 'its latency cannot be kept: '
                         'Exclude= of [Latency] excludes the limit of all CPUs')

    def test_maximum(self):
        """Another program lowers the highest frequency below the lowest that is held: the kernel
        accepts that, and the lower one is in effect."""
        self.start()
        path, _ = self.hold_for(min_frequency_khz=1200000, cpus='0-1')
        maximum = 'cpufreq/policy1/scaling_max_freq'
        found = self.read('sys/devices/system/cpu/' + maximum)
        changed = self.signals(path)
        self.write('sys/devices/system/cpu/' + maximum, '1000000')
        obstacle = ('its frequency cannot be kept: %s is 1 GHz, set by another program or the '
                    'kernel' % maximum)
        self.assertEqual(self.value(path, 'Obstacle'), obstacle)
        self.call('Verify')
        wait_until(lambda: changed, 'the obstacle')
        self.assert_obstacle('', min_frequency_khz=1000000, cpus='0-1')
        self.assert_obstacle('', min_frequency_khz=1200000, cpus='2')
        del changed[:]
        self.call('Verify')
        self.sync()
        self.assertEqual(changed, [], 'it is reported once')
        self.write('sys/devices/system/cpu/' + maximum, found)
        self.assertEqual(self.value(path, 'Obstacle'), '')

    def test_more_than_there_is(self):
        """idled clips a frequency that the hardware lacks, or has with boost only, and reports it."""
        self.start()
        slow = 'its frequency cannot be kept: '
        self.assert_obstacle(slow + 'the highest frequency of cpufreq/policy0 is 4.7 GHz',
                             min_frequency_khz=20000000)
        self.assert_obstacle(slow + 'the highest frequency of cpufreq/policy4 is 3.4 GHz',
                             min_frequency_khz=3500000)
        path = self.assert_obstacle('', min_frequency_khz=2200000, cpus='0-3')
        self.write('sys/devices/system/cpu/intel_pstate/no_turbo', '1')
        self.assertEqual(self.value(path, 'Obstacle'), slow + 'boost is off, and without it '
                         'the highest frequency of cpufreq/policy0 is 2.1 GHz')
        self.assert_obstacle('', min_frequency_khz=2100000, cpus='0-3')

    def test_offline(self):
        """CPUs that were named, and all went."""
        self.start()
        path, _ = self.hold_for(latency_us=50, min_frequency_khz=800000, cpus='7')
        other = self.assert_obstacle('', latency_us=50, cpus='6-7')
        changed = self.signals(path)
        self.take_offline(7)

        def noticed():  # by a decision, if it is not made by a reading that is still fresh
            self.set_option('userspace', 'IdleMask', '6')
            return changed
        wait_until(noticed, 'the obstacle')
        self.assertEqual(self.value(path, 'Obstacle'), 'none of its CPUs is online')
        self.assertEqual(self.value(other, 'Obstacle'), '')

    def test_beside_a_profile(self):
        """Without a policy that serves holds only the profile takes effect."""
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace latency\n')
        self.write_config('profiles/night.conf', '[userspace]\nIdleMask=1\n')
        self.start()
        path = self.assert_obstacle('', profile='night', latency_us=50)
        only = self.assert_obstacle('', profile='night')
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace\n')
        self.call('Reload')
        self.assertEqual(self.value(path, 'Obstacle'),
                         'only its profile is in effect: no active policy serves holds')
        self.assertEqual(self.value(only, 'Obstacle'), '')
        for request in ({'latency_us': 50}, {'min_cores': 2}, {'min_frequency_khz': 900000},
                        {'cpus': '0'}):
            with self.assertRaisesRegex(dbus.DBusException, 'No active policy serves holds'):
                self.hold(profile='night', **request)
        self.assert_obstacle('', profile='night')

    def test_profile(self):
        """A hold whose profile is gone, or contradicts what was set at run time."""
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace latency ondemand\n')
        self.write_config('profiles/night.conf', '[userspace]\nIdleMask=1\n')
        self.write_config('profiles/few.conf', '[ondemand]\nMaxCores=2\n')
        self.start()
        path, _ = self.hold_for(profile='night')
        self.assertEqual(self.value(path, 'Obstacle'), '')
        self.set_option('ondemand', 'MinCores', '4')
        few, _ = self.hold_for(profile='few')
        self.assertIn('few cannot be activated: MinCores', self.value(few, 'Obstacle'))
        changed = self.signals(few)
        self.set_option('ondemand', 'MinCores', '')
        self.assertEqual(self.value(few, 'Obstacle'), '')
        wait_until(lambda: changed, 'the obstacle')
        changed = self.signals(path)
        os.unlink(os.path.join(self.config, 'profiles/night.conf'))
        self.call('Reload')
        self.assertEqual(self.value(path, 'Obstacle'), 'there is no profile "night" any more')
        wait_until(lambda: changed, 'the obstacle')


class Bare(Obstacles):
    """A machine that has not what is asked for."""
    MACHINE = 'synthetic-bare'

    def test_absent(self):
        self.start()
        slow = 'its frequency cannot be kept: this machine has no cpufreq'
        late = 'its latency cannot be kept: this machine has no PM QoS'
        self.assert_obstacle('', min_cores=1)
        self.assert_obstacle(slow, min_frequency_khz=800000)
        self.assert_obstacle('', latency_us=50)
        shutil.rmtree(os.path.join(self.root, 'sys/devices/system/cpu/cpu0/power'))
        self.set_option('Latency', 'Exclude', '3')
        self.assert_obstacle(late + '; ' + slow, latency_us=50, min_frequency_khz=800000)


main()
