#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Parking by a slice of systemd's: the calls that systemd gets, and what is left when a job fails. The
tree is one of plain files, in which a type cannot be replaced by a shorter one, so systemd ends slices."""
import os

from holdstest import request
from idledtest import TestCase, main, wait_until
from systemdtest import WithSystemd

SLICE = 'idledpark.slice'


class Slice(WithSystemd, TestCase):
    CONFIG = '[Daemon]\nPolicies=userspace\n'

    def setUp(self):
        super().setUp()
        self.cgroups = os.path.join(self.root, 'sys/fs/cgroup')
        for path, text in (('sys/fs/cgroup/cgroup.controllers', 'cpuset cpu\n'),
                           ('sys/fs/cgroup/cgroup.subtree_control', 'cpu\n'),
                           ('run/systemd/system/some.service', '')):
            self.put(path, text)
        self.start_systemd()

    def begin(self, broken=''):
        self.mocked('KeepCgroups', self.cgroups, broken)
        self.mocked('KeepFiles', os.path.join(self.root, 'run/systemd/system.control'))
        self.start()

    def stop_slice(self):
        self.call_systemd('StopUnit', SLICE, 'replace')

    def history(self):
        return [str(row) for row in self.mocked('History')]

    def cgroup(self, name):
        return self.read(os.path.join(self.cgroups, SLICE, name))

    def test_parks(self):
        self.begin()
        self.assertEqual(self.get('ParkBackend'), 'isolated partition ' + SLICE)
        self.park_cpus('6-7')
        self.assertEqual(self.history(), [SLICE + ' start ignore-dependencies c0'])
        self.assertEqual((self.cgroup('cpuset.cpus'), self.cgroup('cpuset.cpus.partition')),
                         ('6,7', 'isolated'))
        self.assertEqual((self.get('Degraded'), self.call('Verify')), ([], []))
        self.park_cpus('7')
        self.assertEqual(self.history()[1:], [SLICE + ' runtime AllowedCPUs 80'])
        self.stop_slice()
        self.assertEqual(self.daemon.terminate(), 0)
        self.assertEqual(len(self.history()), 3)

    def test_scheduler(self):
        """That idled yields to a scheduler of sched_ext is no failure."""
        self.put('sys/kernel/sched_ext/root/ops', 'lavd\n')
        self.put('sys/kernel/sched_ext/state', 'enabled\n')
        self.begin()
        self.set_idle_mask('6-7')
        wait_until(lambda: self.call('Explain')[7]['obstacle'], 'an obstacle')
        self.assertRegex(self.call('Explain')[7]['obstacle'], '^nothing while the scheduler lavd is loaded [^:]*$')
        self.assertEqual((self.get('Parked'), self.get('Degraded'), self.history()), ('', [], []))
        self.assertEqual(self.daemon.count_log('scheduler lavd is loaded'), 1)
        self.assertEqual(self.daemon.count_log('could not be applied'), 0)
        self.put('sys/kernel/sched_ext/state', 'disabled\n')
        self.park_cpus('7')
        self.stop_slice()

    def test_stopped_and_still_in_mind(self):
        self.begin()
        self.park_cpus('7')
        self.stop_slice()
        self.assertEqual(len(self.call('Verify')), 1)
        self.assertEqual(self.get('Parked'), '')
        self.assertIn(SLICE + ' is not in effect', self.call('Explain')[7]['obstacle'])
        self.park_cpus('5')
        self.assertEqual(self.history()[2:], [SLICE + ' runtime AllowedCPUs 20',
                                              SLICE + ' again ignore-dependencies -'])
        self.assertEqual(self.cgroup('cpuset.cpus'), '5')
        self.stop_slice()

    def test_once(self):
        """It parks as the service does, and ends systemd's slice again."""
        self.mocked('KeepCgroups', self.cgroups, '')
        self.write_config('policies/userspace.conf', '[Policy]\nIdleMask=6-7\n')
        once = self.spawn('--once')
        self.assertEqual(once.wait_exit(), 0, once.log)
        self.assertEqual(once.count_log('park: isolated partition ' + SLICE), 1)
        self.assertEqual(self.history(), [SLICE + ' start ignore-dependencies c0', SLICE + ' stop replace -'])
        self.assertFalse(self.connection.name_has_owner('org.idled1'))

    def test_stopped_within_a_signal(self):
        """Where the slice is not kept, a unit that starts has it stopped, from within the signal that says
        so, and it is started again afterwards."""
        self.write_config('idled.conf', '[Daemon]\nPolicies=ondemand\n[Park]\nBackend=partition\nStartWindow=300ms\n')
        self.write_config('policies/ondemand.conf', '[Policy]\nPeriod=100ms\nDwell=300ms\nMaxCores=1\n')
        self.set_kernel('6.1.0')
        self.begin()
        wait_until(lambda: self.get('Parked'), 'parking')
        self.wait_subscribed()
        for _ in range(3):
            self.mocked('EmitJob', 'JobNew', 'ssh.service')
            self.wait_parked('')
            self.assertEqual(self.history()[-1], SLICE + ' stop replace -')
            self.mocked('EmitJob', 'JobRemoved', 'ssh.service')
            wait_until(lambda: self.get('Parked'), 'parking again')
        self.assertEqual(self.get('Degraded'), [])
        self.assertEqual(self.daemon.count_log('resource busy'), 0)

    def make_masks(self):
        """The masks of unbound workqueues, as kernels have them that follow partitions. Returns a function that
        reads the first."""
        self.put('sys/devices/virtual/workqueue/cpumask', 'ff\n')
        self.put('sys/devices/virtual/workqueue/cpumask_isolated', '00\n')
        return lambda: self.read('sys/devices/virtual/workqueue/cpumask')

    def test_quiet_keeps_its_mask(self):
        """The partition and the policy quiet share the mask of unbound workqueues. While a window is open, it
        is that of quiet."""
        mask = self.make_masks()
        self.write_config('idled.conf', '[Daemon]\nPolicies=ondemand quiet\n[Park]\nBackend=partition\nStartWindow=300ms\n')
        self.write_config('policies/ondemand.conf', '[Policy]\nPeriod=100ms\nDwell=300ms\nMaxCores=1\n')
        self.set_kernel('6.1.0')
        self.begin()
        wait_until(lambda: self.get('Parked'), 'parking')
        self.wait_subscribed()
        resting = mask()
        self.assertNotEqual(resting, 'ff')
        for _ in range(2):
            self.mocked('EmitJob', 'JobNew', 'ssh.service')
            self.wait_parked('')
            self.assertEqual(mask(), resting)
            self.mocked('EmitJob', 'JobRemoved', 'ssh.service')
            wait_until(lambda: self.get('Parked'), 'parking again')
            self.assertEqual(mask(), resting)
        self.assertEqual(self.daemon.terminate(), 0)
        self.assertEqual(mask(), 'ff')

    def test_quiet_keeps_its_mask_without_a_partition(self):
        """A partition that fails again, while the policies request the same of quiet, does not take its mask."""
        mask = self.make_masks()
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace latency quiet\n'
                          '[Park]\nBackend=partition\n')
        self.begin('job')
        self.set_idle_mask('7')
        wait_until(lambda: [str(row[0]) for row in self.get('Degraded')] == ['park'], 'failure')
        self.assertEqual(mask(), '7f')
        starts = len(self.history())
        _, descriptor = self.call('Hold', request(latency_us=50))
        self.addCleanup(os.close, descriptor.take())
        self.assertGreater(len(self.history()), starts, 'it was tried again')
        self.assertEqual(mask(), '7f')

    def falls_back(self):
        self.park_cpus('7')
        self.assertRegex(self.get('ParkBackend'), "^AllowedCPUs of systemd's units, not isolated "
                         'partition')
        self.assertFalse(os.path.exists(os.path.join(self.cgroups, SLICE)))
        self.daemon.wait_log("park: AllowedCPUs of systemd's units")
        self.assertIn('user.slice runtime AllowedCPUs 7f', self.history())
        self.wait_subscribed()

    def test_job_fails(self):
        self.begin('job')
        self.falls_back()

    def test_no_partition_comes_of_it(self):
        self.begin('type')
        self.falls_back()
        self.assertEqual(self.history()[1], SLICE + ' stop replace -')

    def test_by_name_there_is_no_other(self):
        self.write_config('idled.conf', self.CONFIG + '[Park]\nBackend=partition\n')
        self.begin('job')
        self.set_idle_mask('7')
        wait_until(lambda: [str(row[0]) for row in self.get('Degraded')] == ['park'], 'failure')
        self.assertEqual(self.get('Parked'), '')
        self.assertEqual(self.history(), [SLICE + ' start ignore-dependencies 80'])

    def test_history_when_parking_is_impossible(self):
        """Plans that cannot be carried out change nothing, so they are no changes of the parked CPUs."""
        self.write_config('idled.conf', self.CONFIG + '[Park]\nBackend=partition\n')
        self.begin('job')
        for mask in '7', '6-7', '':
            self.set_idle_mask(mask)
            wait_until(lambda: self.get('WantedCores') == self.get('Cores') - len(mask[::2]), 'the plan')
        self.assertEqual((self.get('Transitions'), self.transitions()), (0, []))
        self.assertIn('0-7 never parked', self.idlectl('why', '--history').stdout)


main()
