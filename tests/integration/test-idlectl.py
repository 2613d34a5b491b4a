#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlectl and the daemon together: on a fake machine, and on the running kernel with a cgroup that
the test makes. What each verb prints is tested in tests/ctl; here, that the two fit."""
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

from cpuset import OwnGroup, cpuset_root
from idledtest import MANAGER, NAME, NOBODY, PATH, TIMEOUT, TestCase, main, needs_root, wait_until

sys.path.append(str(Path(__file__).resolve().parents[1] / 'ctl'))
from shapes import SHAPES, matches  # pylint: disable=wrong-import-position

GROUP = 'idlectl-test-%d' % os.getpid()


class Idlectl(TestCase):
    def ctl(self, *arguments, status=0, output=False):
        """Its output; if a status is expected, its errors, unless `output`."""
        done = self.idlectl(*arguments)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stderr if status and not output else done.stdout

    def ask(self, *arguments):
        return json.loads(self.ctl(*arguments, '--json'))


class Sensor(Idlectl):
    def test_energy(self):
        """Its source, and that it is an estimate, without the daemon and with it."""
        os.rename(os.path.join(self.root, 'sys/class/powercap'), os.path.join(self.root, 'powercap'))
        self.put('sys/class/hwmon/hwmon0/name', 'ina226\n')
        self.put('sys/class/hwmon/hwmon0/power1_input', '4000000\n')
        alone = self.ctl('status', '--root', self.root), self.ask('status', '--root', self.root)
        self.assertIn('ina226 ~4.0 W (hwmon)', alone[0])
        self.start('--dry-run')
        for status in alone[1], self.ask('status'):
            self.assertEqual([[row[key] for key in ('name', 'source', 'sampled')] for row in status['energy']],
                             [['ina226', 'hwmon', True]])


class Fake(Idlectl):
    START = ('--dry-run',)

    def test_shapes(self):
        for verb, shape in SHAPES.items():
            answer = self.ask(*verb.split())
            self.assertTrue(matches(shape, answer), '%s: %s' % (verb, answer))
            self.assertIsNotNone(answer['daemon'], verb)
            self.assertTrue(self.ctl(*verb.split()))

    def test_status(self):
        status = self.ask('status')
        self.assertTrue(status['daemon']['dry_run'])
        self.assertEqual(status['cpus']['online'], '0-7')
        self.assertEqual(status['cpus']['cores'], 6)
        self.assertEqual(status['power'], {'source': 'battery', 'battery_percent': 76.0})
        self.assertIn('package-0', [domain['name'] for domain in status['energy']])

    def parked_line(self):
        return [line for line in self.ctl('status').splitlines() if line.startswith('Parked')]

    def test_intervals(self):
        """Busy times of different intervals differ, so each is shown with its own."""
        self.ctl('status')
        before = self.get('ObservedUSec')
        wait_until(lambda: self.get('ObservedUSec') != before, 'another reading of the load')
        status = self.ask('status')
        self.assertGreater(status['residency']['interval_usec'], status['load']['interval_usec'])
        # Residencies may be read again between two questions.
        wait_until(lambda: self.ask('status')['residency']['interval_usec'] // 1000 ==
                   self.ask('cpus')['interval_usec'] // 1000, 'the same interval in status and cpus')

    def test_nothing_parked(self):
        """One line says why, whatever the reason is."""
        self.assertEqual(self.parked_line(), ['Parked      none: no policy requests it'])
        self.set_idle_mask('7')
        self.assertRegex(self.parked_line()[0], r'^Parked +none: 7 should be parked: .*dry run')
        self.ctl('pause', '--reason', 'a benchmark')
        wait_until(lambda: self.get('IdleMask') == '', 'the pause')
        self.assertRegex(self.parked_line()[0], r'^Parked +none: paused by user \d+: a benchmark$')
        self.assertIn('a benchmark', self.ask('status')['cpus']['nothing_parked_because'])

    def test_same_with_and_without(self):
        """The machine is described alike by the daemon and by idlectl itself."""
        alone = json.loads(subprocess.run(
            [os.environ['IDLECTL'], 'cpus', '--root', self.root, '--json'],
            stdout=subprocess.PIPE, check=True, timeout=TIMEOUT).stdout)
        by_daemon = self.ask('cpus')
        for mine, its in zip(alone['cpus'], by_daemon['cpus'], strict=True):
            for key in ('cpu', 'core', 'cluster', 'die', 'package', 'node', 'thread',
                        'capacity', 'state'):
                self.assertEqual(mine[key], its[key], key)
            self.assertEqual([(s['name'], s['exit_latency_us'], s['target_residency_us'])
                              for s in mine['states']],
                             [(s['name'], s['exit_latency_us'], s['target_residency_us'])
                              for s in its['states']])

    def test_set_and_why(self):
        self.ctl('set', 'userspace', 'IdleMask=6-7')
        wait_until(lambda: self.get('IdleMask') == '6-7', 'the mask')
        why = self.ctl('why', '7')
        self.assertTrue(why.startswith('7 should be parked by userspace: '), why)
        self.assertIn('(set over D-Bus)', why)
        self.assertIn('(IdleMask 6-7)', ' '.join(why.split()), 'which CPUs, not how many')
        row = self.ask('why', '7')['cpus'][0]
        self.assertEqual((row['option'], row['in_idle_mask']), ('IdleMask', True))
        self.assertIsNone(row['threshold'], 'a mask is no number')
        self.assertEqual(self.ask('why', '--history')['history'][0]['policy'], 'userspace')
        setting = [s for s in self.ask('settings', 'userspace')['settings']
                   if s['key'] == 'IdleMask'][0]
        self.assertEqual((setting['value'], setting['runtime']), ('6-7', True))
        self.ctl('set', 'userspace', 'IdleMask=')
        wait_until(lambda: self.get('IdleMask') == '', 'no mask')

    def test_paused(self):
        descriptor = self.pause('a test')
        self.addCleanup(os.close, descriptor)
        status = self.ask('status')
        self.assertTrue(status['daemon']['paused'])
        self.assertEqual(status['daemon']['pauses'][0]['reason'], 'a test')
        self.assertIn('while paused', self.ctl('why'))


class NoWayOfParking(Idlectl):
    """cgroup v2 without cpusets: each way says what it lacks, wherever parking is missing."""

    def setUp(self):
        super().setUp()
        self.put('sys/fs/cgroup/cgroup.controllers', 'cpu io memory\n')
        self.start(mask='7')

    def assert_named(self, text):
        text = ' '.join(str(text).split())
        for part in 'partition', 'cgroup.controllers has no cpuset controller', 'cgroup: ':
            self.assertIn(part, text)
        self.assertNotIn('Operation not supported', text)
        self.assertNotIn('not usable', text)

    def test_named(self):
        status = self.ask('status')
        self.assert_named(status['cpus']['nothing_parked_because'])
        self.assert_named(self.get('ParkBackend'))
        self.assert_named(dict(self.get('Missing'))['park'])
        text = ' '.join(self.ctl('status').split())
        self.assert_named(text)
        self.assertEqual(text.count(dict(self.get('Missing'))['park']), 1, text)
        self.assert_named(self.ctl('why', '7'))
        doctor = self.idlectl('doctor', '--root', self.root)
        self.assert_named(doctor.stdout)
        self.assertNotIn('journalctl', doctor.stdout)
        self.assertTrue(self.daemon.count_log(r'park: not available here.*cpuset controller'))

    def test_verify(self):
        """Nothing keeps tasks off CPU 7, so not all is well; without such CPUs it is."""
        done = json.loads(self.ctl('verify', '--json', status=1, output=True))
        self.assertIs(done['fine'], False)
        row, = done['problems']
        self.assertEqual((row['kind'], row['expected'], row['found']), ('park', '0-6', '0-7'))
        self.assert_named(row['problem'])
        self.assert_named(self.ctl('verify', status=1, output=True))
        self.assertIn('idled_degraded{kind="park"} 1', self.ctl('metrics'))
        self.set_idle_mask('')
        self.assertEqual(self.get('Degraded'), [])
        self.ctl('verify')

    def test_verify_switched_off(self):
        self.write_config('idled.conf', self.CONFIG + '[Park]\nBackend=none\n')
        self.call('Reload')
        self.set_idle_mask('7')
        self.assertEqual(self.get('Degraded'), [])
        self.ctl('verify')


class NotOffered(Idlectl):
    CONFIG = '[Daemon]\nPolicies=userspace cstates\n'
    START = ()

    def test_governor(self):
        """why names the one that is requested, and verify says that the kernel has others."""
        self.set_option('cstates', 'IdleGovernor', 'haltpoll')
        self.assertIn('governor haltpoll is requested; see IdleGovernor', self.ctl('why', '0'))
        self.assertIn('ladder menu teo', self.idlectl('verify').stdout)
        self.set_option('cstates', 'IdleGovernor', 'teo')
        self.assertIn('governor teo is requested; see IdleGovernor', self.ctl('why', '0'))


class AffinitiesReset(Idlectl):
    """The kernel resets affinities: nothing is parked without a back end that is named, and all say why."""

    ABOUT = 'Linux 6.1.0-56-amd64, not tried: a dry run or another root'

    def setUp(self):
        super().setUp()
        self.set_kernel('6.1.0-56-amd64')

    def assert_named(self, text):
        self.assertIn(f'resets affinities when CPUs are parked ({self.ABOUT})', ' '.join(str(text).split()))

    def test_nothing_is_parked(self):
        self.start(mask='7')
        self.assertEqual(self.get('KeepsAffinities'), (False, self.ABOUT))
        self.assertEqual(self.get('Parked'), '')
        status = self.ask('status')
        self.assertIs(status['daemon']['keeps_affinities'], False)
        self.assert_named(status['cpus']['nothing_parked_because'])
        self.assert_named(self.get('ParkBackend'))
        self.assert_named(dict(self.get('Missing'))['park'])
        self.assert_named(self.ctl('why', '7'))
        self.assertIn('reset when CPUs are parked', self.ctl('status'))
        self.assertTrue(self.daemon.count_log('park: not available here.*resets affinities'))
        self.assertIn('idled_keeps_affinities 0', self.ctl('metrics'))
        self.assertEqual((self.get('Degraded'), self.call('Verify')), ([], []))  # as decided
        doctor = self.idlectl('doctor', '--root', self.root).stdout
        self.assert_named(doctor)
        self.assertIn('cannot park CPUs', doctor)
        self.assertNotIn('provide what', doctor)

    def test_back_end_is_named(self):
        """It parks, and doctor says what that costs."""
        self.write_config('idled.conf', self.CONFIG + '[Park]\nBackend=partition\n')
        for name in 'cgroup.controllers', 'cgroup.subtree_control':
            self.put('sys/fs/cgroup/' + name, 'cpuset\n')
        self.start()
        self.assertEqual(self.get('KeepsAffinities')[0], False)
        self.assertEqual(self.get('ParkBackend'), 'isolated partition /sys/fs/cgroup/idled.parked')
        doctor = self.idlectl('doctor', '--root', self.root).stdout
        self.assert_named(doctor)
        self.assertNotIn('cannot park CPUs', doctor)
        self.assertNotIn('sched_ext', doctor)
        self.put('sys/kernel/sched_ext/state', 'disabled\n')
        doctor = ' '.join(self.idlectl('doctor', '--root', self.root).stdout.split())
        self.assertIn('load no scheduler of sched_ext while CPUs are parked', doctor)
        self.assertIn('Backend=systemd', doctor)

    def test_newer_kernel(self):
        self.set_kernel('6.2.0')
        self.start()
        self.assertEqual(self.get('KeepsAffinities')[0], True)
        self.assertNotIn('resets', self.ctl('status') + self.get('ParkBackend'))
        self.assertIn('idled_keeps_affinities 1', self.ctl('metrics'))


class KeptInUse(Idlectl):
    """CPUs that a bound task keeps active: why names it."""

    def setUp(self):
        super().setUp()
        self.put('proc/9/status', 'Name:\tpinned\nUid:\t%d\t0\nVmSize:\t1 kB\nThreads:\t1\n'
                 'Cpus_allowed_list:\t7\nMems_allowed_list:\t0\n' % NOBODY)

    def why(self, cpu):
        self.set_idle_mask('6-7')
        row, = self.ask('why', cpu)['cpus']
        self.assertFalse(row['in_idle_mask'])
        return self.ctl('why', cpu)

    def test_pinned(self):
        self.start('--dry-run')
        self.assertEqual(self.why('7'), '7 active for safety: the affinity of process 9 '
                         '(pinned) has no other active CPU\n')

    @needs_root
    def test_is_private(self):
        """To the task's user and to root; `daemon` is another user."""
        self.start('--dry-run', mask='6-7')
        for reads in (('call', NAME, PATH, MANAGER, 'Explain'),
                      ('get-property', NAME, PATH + '/cpu/7', NAME + '.Cpu', 'Reason')):
            for user, known in ((None, True), (NOBODY, True), (1, False)):
                text = self.busctl(*reads, user=user, check=True).stdout
                self.assertEqual('process 9 (pinned)' in text, known, (reads, user))
                self.assertEqual('affinity of a process' in text, not known, (reads, user))


class KeptByHold(Idlectl):
    """A hold is in the way: why says which, and of which process."""

    CONFIG = '[Daemon]\nPolicies=userspace latency\n'

    def hold(self, *options):
        process = self.popen([os.environ['IDLECTL'], '--bus-address', self.bus.address, 'hold', *options],
                             stdout=subprocess.PIPE)
        process.stdout.readline()

    def test_named(self):
        self.start('--dry-run', mask='6-7')
        self.hold('--cores', '6')
        self.hold('--cpus', '7')
        for cpu, number in (('7', 2), ('6', 1)):
            self.assertEqual(self.ctl('why', cpu).splitlines()[0].split(' (')[1],
                             'hold %d)' % number)
            row, = self.ask('why', cpu)['cpus']
            self.assertEqual([(i['name'], i['value']) for i in row['inputs']],
                             [('hold', number)])


class Refused(Idlectl):
    """The plan cannot be carried out at all, and no knob is left to show it."""

    CONFIG = '[Daemon]\nPolicies=userspace\n[Park]\nBackend=partition\n'

    def setUp(self):
        super().setUp()
        for name in ('cgroup.controllers', 'cgroup.subtree_control'):
            self.put('sys/fs/cgroup/' + name, 'cpuset\n')
        Path(self.root, 'sys/fs/cgroup/idled.parked').symlink_to('nowhere')  # mkdir() says EEXIST, also to root
        self.start()

    def test_is_shown_as_long_as_it_is_so(self):
        seen = self.signals(PATH)
        self.assertEqual(self.get('Degraded'), [])
        self.set_idle_mask('7')
        self.assertEqual(self.get('Parked'), '')
        why = 'isolated partition /sys/fs/cgroup/idled.parked: File exists'
        row, = self.get('Degraded')
        self.assertEqual(row[0], 'park')
        self.assertIn('/sys/fs/cgroup/idled.parked', row[1])
        self.assertIn('File exists', row[2])
        wait_until(lambda: any(s[2].get('Degraded') for s in seen), 'a signal of Degraded')
        self.assertIn('Degraded    park isolated partition', self.ctl('status'))
        done = json.loads(self.ctl('verify', '--json', status=1, output=True))
        self.assertEqual(done['problems'], [
            {'kind': 'park', 'name': row[1], 'expected': '0-6', 'found': '0-7',
             'problem': row[2]}])
        self.assertEqual(self.ask('why', '7')['cpus'][0]['obstacle'], 'park: ' + why)
        self.assertIsNone(self.ask('why', '6')['cpus'][0]['obstacle'])
        self.assertIn(', but tasks may still run there: park: ' + why, self.ctl('why', '7'))
        self.set_idle_mask('')
        self.assertEqual(self.get('Degraded'), [])
        wait_until(lambda: seen[-1][2].get('Degraded') == [], 'a signal of its end')
        self.ctl('verify')


@unittest.skipUnless(os.geteuid() == 0 and cpuset_root() and len(os.sched_getaffinity(0)) > 1,
                     'needs root, a cpuset of cgroup v1, and two CPUs')
class Kernel(OwnGroup, Idlectl):
    """CPU 1 is really parked, for one cgroup."""

    def setUp(self):
        super().setUp()
        self.make_group(GROUP)

    def knob(self):
        lines = [line.split('\t') for line in self.ctl('status', '--knobs').splitlines()]
        return dict(lines)['%s/cpuset.cpus' % self.group]

    def park(self):
        self.start()
        self.ctl('set', 'userspace', 'IdleMask=1')
        if not self.get('Parked'):
            self.skipTest('this machine keeps CPU 1: ' + self.ctl('why', '1'))

    def test_park(self):
        before = self.knob()
        self.park()
        self.assertEqual(self.ask('status')['cpus']['parked'], '1')
        self.assertEqual(self.ask('cpus')['cpus'][1]['state'], 'parked')
        self.assertRegex(self.ctl('why', '1'), r'^1 parked \d+ s ago by userspace: ')
        self.assertEqual(self.ctl('verify'), 'all knobs as idled left them: 1\n')
        self.assertNotEqual(self.knob(), before)
        self.daemon.stop()
        self.assertEqual(self.knob(), before)
        self.assertIn('nothing is left to restore',
                      self.ctl('verify', '--run', os.path.join(self.directory, 'run')))

    def test_hold(self):
        """A hold of all that may run says so, also while others are parked."""
        self.POLICY = 'userspace latency'
        self.configure('')
        self.park()
        said = self.ctl('hold', '--latency', '1s', '--cpus', '0', '--for', '1ms')
        self.assertRegex(said, r'^Hold \d+ is in effect on CPU 0, all that are active\.$')


main()
