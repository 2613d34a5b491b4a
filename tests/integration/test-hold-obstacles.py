#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Why a hold is not in force, or what of it is not."""
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
    def assert_obstacle(self, expected, **values):
        path, _ = self.hold(**values)
        self.assertEqual(self.value(path, 'Obstacle'), expected)
        return path

    def test_left_alone(self):
        self.start()
        path = self.assert_obstacle('', latency_us=50, min_frequency_khz=800000)
        for section, text in (
                ('Frequency', 'its frequency cannot be kept up: Manage= of [Frequency] is no'),
                ('Latency', 'its latency cannot be kept: Manage= of [Latency] is no')):
            self.call('SetOption', section, 'Manage', 'no')
            self.assertEqual(self.value(path, 'Obstacle'), text)
            self.call('SetOption', section, 'Manage', '')
        self.assertEqual(self.value(path, 'Obstacle'), '')

    def test_knob_of_somebody_else(self):
        """What a hold asks for is not there where a knob is not idled's: that is told, and that it
        is over after a reload."""
        self.start()
        path, _ = self.told_hold(latency_us=50, min_frequency_khz=900000, cpus='0')
        self.assertEqual(self.value(path, 'Obstacle'), '')
        other = self.assert_obstacle('', latency_us=50, min_frequency_khz=900000, cpus='1')
        changed = self.signals(path)
        for knob, text in (
                ('cpu0/power/pm_qos_resume_latency_us', 'its latency cannot be kept'),
                ('cpufreq/policy0/scaling_min_freq', 'its frequency cannot be kept up')):
            del changed[:]
            with open(os.path.join(self.root, 'sys/devices/system/cpu', knob), 'w',
                      encoding='ascii') as file:
                file.write('800000\n')
            self.call('Verify')
            obstacle = '%s: %s is somebody else\'s' % (text, knob)
            self.assertEqual(self.value(path, 'Obstacle'), obstacle)
            wait_until(lambda: changed, 'the obstacle is told')
            self.assertEqual(self.value(other, 'Obstacle'), '')
            self.assert_obstacle(obstacle, latency_us=40, min_frequency_khz=1000000, cpus='0')
            self.call('Reload')
            self.assertEqual(self.value(path, 'Obstacle'), '')

    def test_beside_a_profile(self):
        """Without a policy that looks at holds a profile is all that one can give."""
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace latency\n')
        self.write_config('profiles/night.conf', '[userspace]\nIdleMask=1\n')
        self.start()
        path = self.assert_obstacle('', profile='night', latency_us=50)
        only = self.assert_obstacle('', profile='night')
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace\n')
        self.call('Reload')
        self.assertEqual(self.value(path, 'Obstacle'),
                         'only its profile is in force: no policy at work looks at holds')
        self.assertEqual(self.value(only, 'Obstacle'), '')
        for wish in ({'latency_us': 50}, {'min_cores': 2}, {'min_frequency_khz': 900000},
                     {'cpus': '0'}):
            with self.assertRaisesRegex(dbus.DBusException, 'No policy at work looks at holds'):
                self.hold(profile='night', **wish)
        self.assert_obstacle('', profile='night')

    def test_profile(self):
        """A hold whose profile is gone, or contradicts what was set at run time."""
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace latency ondemand\n')
        self.write_config('profiles/night.conf', '[userspace]\nIdleMask=1\n')
        self.write_config('profiles/few.conf', '[ondemand]\nMaxCores=2\n')
        self.start()
        path, _ = self.told_hold(profile='night')
        self.assertEqual(self.value(path, 'Obstacle'), '')
        self.call('SetOption', 'ondemand', 'MinCores', '4')
        few, _ = self.told_hold(profile='few')
        self.assertIn('few cannot be put in force: MinCores', self.value(few, 'Obstacle'))
        changed = self.signals(few)
        self.call('SetOption', 'ondemand', 'MinCores', '')
        self.assertEqual(self.value(few, 'Obstacle'), '')
        wait_until(lambda: changed, 'the obstacle is told')
        changed = self.signals(path)
        os.unlink(os.path.join(self.config, 'profiles/night.conf'))
        self.call('Reload')
        self.assertEqual(self.value(path, 'Obstacle'), 'there is no profile "night" any more')
        wait_until(lambda: changed, 'the obstacle is told')


class Bare(Obstacles):
    """A machine that has not what is asked for."""
    MACHINE = 'synthetic-bare'
    test_left_alone = test_profile = test_knob_of_somebody_else = test_beside_a_profile = None

    def test_absent(self):
        self.start()
        slow = 'its frequency cannot be kept up: this machine has no cpufreq'
        late = 'its latency cannot be kept: this machine has no PM QoS'
        self.assert_obstacle('', min_cores=1)
        self.assert_obstacle(slow, min_frequency_khz=800000)
        self.assert_obstacle('', latency_us=50)
        shutil.rmtree(os.path.join(self.root, 'sys/devices/system/cpu/cpu0/power'))
        self.call('SetOption', 'Latency', 'Exclude', '3')
        self.assert_obstacle(late + '; ' + slow, latency_us=50, min_frequency_khz=800000)


main()
