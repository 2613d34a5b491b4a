#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What must not notice parking, with a systemd that says what it does: units that start, units whose
files name CPUs, cgroups that name some, and input to terminals."""
import os
import re
import signal
import subprocess
import time

import dbus
from idledtest import TestCase, main, wait_until
from systemdtest import WithSystemd

CPU_7 = dbus.Array([dbus.Byte(1 << 7)], signature='y')
POLICY = '[Policy]\nPeriod=100ms\nDwell=300ms\nMaxCores=1\n'


class WithWindows(WithSystemd, TestCase):
    CONFIG = ('[Daemon]\nPolicies=ondemand\n[Park]\nBackend=systemd\nStartWindow=300ms\n'
              'TerminalWindow=300ms\n')

    def setUp(self):
        super().setUp()
        self.write_config('policies/ondemand.conf', POLICY)
        self.start_systemd()
        for name, text in (('dev/pts/0', 'keys'), ('sys/fs/cgroup/cgroup.controllers', 'cpuset'),
                           ('sys/fs/cgroup/box/cpuset.cpus', '')):
            self.put(name, text + '\n')

    def load(self, name, **properties):
        self.mocked('LoadUnit', name, dbus.Dictionary(properties, signature='sv'))

    def set_cores(self, number):
        self.call('SetOptions', dbus.Array([('ondemand', key, str(number)) for key in ('MinCores', 'MaxCores')],
                                           signature='(sss)'))

    def unpark(self):
        self.set_cores(8)
        self.wait_parked('')

    def begin(self):
        self.start()
        wait_until(lambda: self.get('Parked'), 'parking')
        return str(self.get('Parked'))

    def reasons(self):
        return [str(row['text']) for row in self.call('Explain')]

    def wait_reason(self, pattern):
        wait_until(lambda: any(re.search(pattern, text) for text in self.reasons()), pattern)


class Windows(WithWindows):
    def test_unit_that_starts(self):
        parked = self.begin()
        self.mocked('EmitJob', 'JobNew', 'ssh.service')
        self.wait_parked('')
        self.assertRegex(self.reasons()[7], r'active .*window.*: ssh\.service starts; StartWindow is '
                         r'0\.3 s \(.*idled\.conf:\d+\)')
        self.mocked('EmitJob', 'JobRemoved', 'ssh.service')
        self.wait_parked(parked)

    def configure(self, option, value):
        self.write_config('idled.conf', self.CONFIG.replace(option + '=300ms', option + '=' + value))

    def begin_long(self):
        """Windows are open for an hour after the start."""
        self.configure('StartWindow', '1h')
        return self.begin()

    def assert_no_window(self, parked):
        """The unit is seen after what would have opened one, and CPUs stay parked."""
        self.load('late.service', CPUAffinity=CPU_7)
        wait_until(lambda: self.get('Parked') not in ('', parked), 'parking without CPU 7')

    def test_stop_opens_no_window(self):
        parked = self.begin_long()
        self.mocked('BeginStop', 'ssh.service')
        self.assert_no_window(parked)

    def test_stop_that_ends_before_its_type_is_known(self):
        parked = self.begin_long()
        self.mocked('PassJob', 'ssh.service', False)
        self.assert_no_window(parked)

    def test_starts_that_end_before_their_type_is_known(self):
        for unit in 'ssh.service', 'forgotten.service':  # of this nothing is left
            with self.subTest(unit):
                self.begin_long()
                self.mocked('PassJob', unit, True)
                self.wait_parked('')
                self.wait_reason(rf'active .*window.*: {re.escape(unit)} has just started')
                self.daemon.stop()

    def test_start_after_a_job_of_unknown_type(self):
        """What was asked about the job before says nothing about the start."""
        self.begin_long()
        self.mocked('PassJob', 'ssh.service', False)
        self.mocked('EmitJob', 'JobNew', 'ssh.service')
        self.load('late.service', CPUAffinity=CPU_7)  # seen after these
        self.assert_start_is_known()

    def assert_start_is_known(self):
        self.wait_reason(r'active .*window.*: ssh\.service starts')
        self.mocked('EmitJob', 'JobRemoved', 'ssh.service')
        self.wait_reason(r'active .*window.*: ssh\.service has just started')

    def test_start_that_began_before_idled(self):
        self.mocked('EmitJob', 'JobNew', 'ssh.service')
        self.configure('StartWindow', '1h')
        self.start()
        self.assert_start_is_known()

    def test_start_while_systemd_reads_its_files_again(self):
        self.begin_long()
        self.mocked('EmitJob', 'JobNew', 'ssh.service')
        self.wait_parked('')
        self.mocked('EmitReloaded')
        self.assert_start_is_known()

    def test_start_that_ends_while_systemd_executes_itself_again(self):
        """idled asks for the type of the job when only the new systemd can answer."""
        self.begin_long()
        self.daemon.send(signal.SIGSTOP)
        self.mocked('EmitJob', 'JobNew', 'gone.service')
        self.kill_systemd()
        self.start_systemd()
        self.daemon.send(signal.SIGCONT)
        self.wait_reason(r'active .*window.*: gone\.service has just started')

    def test_our_own_slice_and_mounts_open_none(self):
        parked = self.begin()
        for unit in ('idledpark.slice', 'idled.service', 'dev-mqueue.mount'):
            self.mocked('EmitJob', 'JobNew', unit)
        self.load('late.service', CPUAffinity=CPU_7)  # seen after these
        self.mocked('EmitJob', 'JobNew', 'late.service')
        self.wait_parked('')
        self.assertFalse([text for text in self.reasons() if 'idled' in text.split('(')[0]])
        self.mocked('EmitJob', 'JobRemoved', 'late.service')
        wait_until(lambda: self.get('Parked'), 'parking')
        self.assertNotEqual(self.get('Parked'), parked, 'late.service needs CPU 7')

    def test_no_window(self):
        self.configure('StartWindow', '0')
        parked = self.begin()
        self.mocked('EmitJob', 'JobNew', 'ssh.service')
        self.assert_no_window(parked)

    def test_unit_that_is_loaded(self):
        self.load('a.service', CPUAffinity=CPU_7)
        self.assertNotIn('7', self.begin())
        self.wait_reason(r'CPU 7 is active .*safety: a\.service \(CPUAffinity=7\) needs')
        self.mocked('RemoveUnit', 'a.service')
        wait_until(lambda: str(self.get('Parked')).endswith('7'), 'parking CPU 7')

    def test_unit_that_is_not_loaded_any_more(self):
        """It is not asked for properties, which would load it again, and so on for ever."""
        parked = self.begin()
        self.assertIn('7', parked)
        self.mocked('PassUnit', 'brief.service', dbus.Dictionary({'CPUAffinity': CPU_7}, signature='sv'))
        self.load('late.service', CPUAffinity=dbus.Array([dbus.Byte(1 << 6)], signature='y'))
        self.wait_reason(r'CPU 6 is active .*safety: late\.service \(CPUAffinity=6\) needs')
        wait_until(lambda: '7' in self.get('Parked') and '6' not in self.get('Parked'), 'parking CPU 7')
        self.assertFalse([text for text in self.reasons() if 'brief' in text])

    def test_oneshot_opens_none(self):
        self.load('once.service', Type='oneshot')
        parked = self.begin()
        self.mocked('EmitJob', 'JobNew', 'once.service')
        self.assert_no_window(parked)

    def test_named_cpus_stay_parked(self):
        """Those of userspace, except the one that a unit needs."""
        self.write_config('idled.conf', self.CONFIG.replace('ondemand', 'userspace'))
        self.start()
        self.park_cpus('6-7')
        self.mocked('EmitJob', 'JobNew', 'ssh.service')
        self.load('late.service', CPUAffinity=CPU_7)
        self.wait_parked('6')

    def test_terminal(self):
        parked = self.begin()
        self.read('dev/pts/0')
        self.wait_parked('')
        self.wait_reason(r'active .*window.*: input to terminal pts/0; TerminalWindow is 0\.3 s')
        os.utime(os.path.join(self.root, 'dev/pts/0'), (0, 0))  # no more input
        self.wait_parked(parked)

    def begin_in_window(self, option):
        """A window is open for an hour."""
        self.configure(option, '1h')
        parked = self.begin()
        if option == 'TerminalWindow':
            self.read('dev/pts/0')
            os.utime(os.path.join(self.root, 'dev/pts/0'), (0, 0))
        else:
            self.mocked('EmitJob', 'JobNew', 'ssh.service')
            self.wait_parked('')
            self.mocked('EmitJob', 'JobRemoved', 'ssh.service')
        self.wait_parked('')
        self.wait_reason(f'active .*window.*; {option} is 3600 s')
        return parked

    def test_option_ends_window(self):
        """Whatever the window was when it opened."""
        for option in 'StartWindow', 'TerminalWindow':
            for value in '0', '1ms':
                with self.subTest(option=option, value=value):
                    parked = self.begin_in_window(option)
                    self.set_option('Park', option, value)
                    self.wait_parked(parked)
                    self.assertFalse([text for text in self.reasons() if 'window' in text])
                    self.daemon.stop()

    def terminals_wake(self):
        """Whether idled waits for input to the terminal: the inotify descriptor is in its epoll set."""
        watch = ' ino:%x ' % os.stat(os.path.join(self.root, 'dev/pts/0')).st_ino
        place = '/proc/%d/fdinfo' % self.daemon.process.pid
        texts = {}
        for fd in os.listdir(place):
            with open(os.path.join(place, fd), encoding='ascii') as file:
                texts[fd] = file.read()
        watching, = [fd for fd, text in texts.items() if 'inotify' in text and watch in text]
        return any(re.search(r'tfd: +%s ' % watching, text) for text in texts.values())

    def test_no_wakeup_per_key(self):
        """Only the first key wakes idled; those that follow do not, while all CPUs are active."""
        self.configure('TerminalWindow', '1h')
        self.begin()
        self.assertTrue(self.terminals_wake())
        self.read('dev/pts/0')
        self.wait_parked('')
        self.assertFalse(self.terminals_wake())

    def test_clock_is_set_back(self):
        """Input was before that, although the clock says that it is still to come."""
        parked = self.begin()
        self.read('dev/pts/0')
        self.wait_parked('')
        os.utime(os.path.join(self.root, 'dev/pts/0'), (time.time() + 3600, 0))
        self.wait_parked(parked)

    def type_at(self, when):
        """As the kernel notes input to a terminal; the file changes now."""
        os.utime(os.path.join(self.root, 'dev/pts/0'), (when, 0))
        wait_until(lambda: time.time() > when, 'that time')

    def test_input_while_nothing_is_parked(self):
        """It counts when idled parks CPUs later: it parks none before the window ends."""
        self.write_config('policies/ondemand.conf', POLICY.replace('MaxCores=1', 'MinCores=8'))
        self.start()
        self.type_at(time.time() + 0.05)
        self.set_cores(1)
        self.wait_reason(r'active .*window.*: input to terminal pts/0; TerminalWindow')
        self.assertEqual((self.get('Transitions'), self.get('Parked')), (0, ''))
        self.type_at(0)
        wait_until(lambda: self.get('Parked'), 'parking')

    def test_input_before_idled_started(self):
        """It is often the command that starts idled."""
        self.type_at(time.time() + 0.05)
        self.begin()
        self.assertEqual(self.get('Transitions'), 1)

    def test_named_cpus_are_parked_after_input(self):
        """No window keeps them."""
        self.write_config('idled.conf', self.CONFIG.replace('ondemand', 'userspace'))
        self.start()
        self.type_at(time.time() + 0.05)
        self.park_cpus('6-7')

    def test_cgroup_that_names_a_parked_cpu(self):
        parked = self.begin()
        self.assertIn('7', parked)
        self.put('sys/fs/cgroup/box/cpuset.cpus', '7\n')
        self.wait_reason(r'CPU 7 is active .*safety: cgroup /box \(cpuset\.cpus=7\) needs')


    def make_cgroup(self, name):
        os.makedirs(os.path.join(self.root, 'sys/fs/cgroup', name))

    def test_cgroup_that_is_made_without_systemd(self):
        """It opens a window as a unit does, for StartWindow=."""
        parked = self.begin()
        for name in 'docker', 'docker/1f\x1b':
            self.make_cgroup(name)
            self.wait_parked('')
            self.assertRegex(self.reasons()[7], r'active .*window.*: cgroup /docker(/1f\\x1b)? has just started; '
                             r'StartWindow is 0\.3 s')
            self.wait_parked(parked)

    def test_cgroup_of_a_unit_opens_none(self):
        """Nor one that idled makes itself, nor a list that changes, nor without StartWindow=."""
        parked = self.begin()
        for name in 'a.slice/b.service', 'a.slice/b.service/.control', 'c.scope', 'idled.parked':
            self.make_cgroup(name)
        self.set_option('Park', 'StartWindow', '0')
        self.make_cgroup('docker/1')
        self.get('Parked')  # what comes after the answer is handled after the event of the cgroup
        self.set_option('Park', 'StartWindow', '1h')
        self.make_cgroup('docker/2')
        self.wait_parked('')
        self.assertIn('cgroup /docker/2 has just started', self.reasons()[7])
        self.assertEqual(self.daemon.count_log('New cgroup'), 1)
        self.assertTrue(parked)

    def test_cgroup_that_is_made_while_nothing_is_parked(self):
        """CPUs are parked StartWindow= later."""
        self.begin_long()
        self.unpark()
        self.make_cgroup('docker')
        self.set_cores(1)
        self.wait_reason(r'window.*: cgroup /docker has just started')
        self.assertEqual(self.get('Parked'), '')


class Unwatched(WithWindows):
    """In a user namespace of its own the daemon has no inotify instance, or no watch."""
    FEW = 'printf 0 >/proc/sys/user/$0; exec "$@"'
    LIMITS = {'max_inotify_instances': r'no inotify instance is left.*max_user_instances',
              'max_inotify_watches': r'no inotify watch is left.*max_user_watches'}

    def missing(self):
        return {str(what): str(why) for what, why in self.get('Missing')}

    def begin_without(self, limit):
        self.PREFIX = ('unshare', '--user', '--map-root-user', 'sh', '-c', self.FEW, limit)
        if subprocess.run([*self.PREFIX, 'true'], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest('this machine has no user namespaces')
        return self.begin()

    def raise_limit(self, limit):
        subprocess.run(['nsenter', '--user', '--preserve-credentials', '-t', str(self.daemon.process.pid),
                        'sh', '-c', 'printf 1000 >/proc/sys/user/$0', limit], check=True)

    def test_is_said_once_and_tried_again(self):
        for limit, why in self.LIMITS.items():
            with self.subTest(limit):
                parked = self.begin_without(limit)
                for what in 'terminal watch', 'cgroup watch':
                    self.assertRegex(self.missing()[what], why)
                self.unpark()
                self.set_cores(1)
                self.wait_parked(parked)
                for what in 'input to terminals', 'cpusets of cgroups':
                    self.assertEqual(self.daemon.count_log(f'Failed to watch {what}'), 1)
                self.raise_limit(limit)
                self.unpark()
                self.set_cores(1)
                self.wait_parked(parked)
                self.assertEqual([what for what in self.missing() if 'watch' in what], [])
                self.read('dev/pts/0')
                self.wait_parked('')
                self.daemon.stop()

    def test_window_that_is_off_needs_no_watch(self):
        self.write_config('idled.conf', self.CONFIG.replace('TerminalWindow=300ms', 'TerminalWindow=0'))
        self.begin_without('max_inotify_watches')
        self.assertEqual([what for what in self.missing() if 'watch' in what], ['cgroup watch'])


class Nodes(WithWindows):
    """One CPU of a NUMA node stays active if memory is bound to that node; the explanation names the owner."""
    MACHINE = 'synthetic-2x4-numa'

    def test_unit(self):
        self.load('a.service', NUMAPolicy=dbus.Int32(2), NUMAMask=dbus.Array([dbus.Byte(2)], signature='y'))
        self.assertNotIn('4-7', self.begin())
        self.wait_reason(r'active .*safety: a\.service \(NUMAMask=1\) needs')

    def test_task(self):
        self.put('proc/9/status', 'Name:\tbase\nVmSize:\t9 kB\nThreads:\t1\nCpus_allowed_list:\t0-7\n'
                 'Mems_allowed_list:\t1\n')
        self.assertNotIn('4-7', self.begin())
        self.wait_reason(r'active .*safety: memory of process 9 \(base\) .*NUMA node')


main()
