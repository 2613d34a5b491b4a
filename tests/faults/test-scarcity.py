#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What idled needs runs out, or the machine changes a thousand times: it serves on or ends with a true status,
every knob is restored at the latest by `idled --restore`, and it has as many descriptors as before."""
import itertools
import os
import re
import signal
import struct
import subprocess
import sys
import unittest
from pathlib import Path

import dbus

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from holdstest import CPUS, FREE, HOLD, Case  # noqa: E402
from idledtest import main, needs_root, wait_until  # noqa: E402
from systemdtest import WithLogind, WithUnits  # noqa: E402

ENDS = 0, 1, 127, -signal.SIGABRT, -signal.SIGTRAP  # 127: the loader; a signal: GLib without memory
TIMES = 1000


def is_sanitized():
    return b'__asan_init' in subprocess.run(['nm', '-D', os.environ['IDLED']], stdout=subprocess.PIPE, check=True).stdout


class Scarcity(WithLogind, WithUnits, Case):
    CONFIG = '[Daemon]\nPolicies=userspace contract ondemand cstates latency\n[Park]\nBackend=systemd\n'

    def setUp(self):
        super().setUp()
        self.write_config('policies/userspace.conf', '[Policy]\nIdleMask=7\n')
        self.write_config('policies/cstates.conf', '[Policy]\nDeepestState=C1E\n')
        self.write_config('policies/ondemand.conf', '[Policy]\nMinCores=8\n')
        self.write_limits('0')
        self.start_logind()
        self.start_systemd()
        self.put('sys/fs/cgroup/cgroup.controllers', 'cpuset\n')
        self.mocked('AddUnit', 'game.scope', 'user.slice')
        self.game = self.process('/user.slice/game.scope')
        self.found = self.cpu_values()

    def end(self):
        """Starts the daemon, and stops it if it has begun: its status."""
        self.daemon = self.spawn()
        wait_until(lambda: self.daemon.process.poll() is not None or self.daemon.count_log(r'^idled \d'), 'a start')
        return self.daemon.terminate()

    def assert_restored(self):
        if self.cpu_values() != self.found or os.path.exists(os.path.join(self.directory, 'run/undo')):
            self.PREFIX = ()
            self.assertEqual(self.spawn('--restore', bus=False).wait_exit(), 0)
        self.assertEqual(self.cpu_values(), self.found)

    def assert_serves(self):
        wait_until(lambda: self.cpu_values() != self.found, 'idle states that are switched off')
        self.wait_parked('7')

    def start_well(self):
        self.start()
        self.assert_serves()

    def assert_ends_well(self):
        self.assertEqual(self.daemon.terminate(), 0, self.daemon.log)
        self.assert_restored()

    def hold_game(self):
        """A contract of a unit, which is also kept to a kind of cores: what obstructs it, and the descriptor."""
        path, descriptor = self.hold(kind='efficient', wakeup_p99_us=5000, pid=self.game)
        return str(self.get('Obstacle', path, HOLD)), descriptor

    def game_cpus(self):
        return (self.unit_limits('game.scope') or [[]])[-1]

    def try_limits(self, option, limits):
        """Each is a try; the least is too little, the most is enough."""
        seen = []
        for limit in limits:
            self.PREFIX = ['prlimit', '--core=0', '--%s=%d' % (option, limit)]
            seen.append(self.end())
            self.assertIn(seen[-1], ENDS, '%s=%d: %s' % (option, limit, self.daemon.log))
            self.assert_restored()
        print(option, dict(zip(limits, seen)))
        self.assertNotEqual(seen[0], 0)
        self.assertEqual(seen[-1], 0)

    @unittest.skipIf(is_sanitized(), 'a sanitizer needs descriptors of its own')
    def test_descriptors(self):
        self.try_limits('nofile', range(4, 64, 4))

    @unittest.skipIf(is_sanitized(), 'a sanitizer reserves terabytes')
    def test_memory(self):
        self.start()
        with open('/proc/%d/status' % self.daemon.process.pid, encoding='ascii') as file:
            needed = int(re.search(r'VmPeak:\s+(\d+)', file.read())[1]) * 1024
        self.daemon.stop()
        self.try_limits('as', [needed * part // 100 for part in (30, *range(82, 101, 2), 150)])

    def test_descriptors_while_it_serves(self):
        """It takes no hold, and serves on when there are descriptors again."""
        self.start_well()
        process = '%d' % self.daemon.process.pid
        n = len(os.listdir('/proc/%s/fd' % process))
        subprocess.run(['prlimit', '--pid=' + process, '--nofile=%d:1024' % n], check=True)
        with self.assertRaises(dbus.DBusException):
            self.hold(latency_us=50)
        self.get('Version')
        subprocess.run(['prlimit', '--pid=' + process, '--nofile=1024:1024'], check=True)
        self.hold(latency_us=50)
        self.wait_limits(['50'] * CPUS)
        self.assert_ends_well()

    @needs_root
    def test_descriptors_for_a_contract(self):
        """Wherever they run out, all that there is works again with the next hold."""
        self.start_well()
        best, descriptor = self.hold_game()  # without BPF here that is the obstacle
        self.close(descriptor)
        process, n, refused = str(self.daemon.process.pid), self.state(), set()
        for more in range(16):
            subprocess.run(['prlimit', '--pid=' + process, '--nofile=%d:1024' % (n + more)], check=True)
            try:
                obstacle, descriptor = self.hold_game()
                self.close(descriptor)
            except dbus.DBusException as error:
                obstacle = error.get_dbus_message()
            refused.add(obstacle)
            subprocess.run(['prlimit', '--pid=' + process, '--nofile=1024:1024'], check=True)
            obstacle, descriptor = self.hold_game()
            self.assertEqual((obstacle, self.game_cpus()), (best, [4, 5, 6]))
            self.close(descriptor)
            wait_until(lambda: self.game_cpus() == [], 'no limit')
        for obstacle in refused - {best}:
            self.assertIn('Too many open files', obstacle)
        self.assertLessEqual(self.state(), n)
        self.assert_ends_well()

    @needs_root
    def test_full_directories(self):
        """Without room for the record and the state nothing is written, and the reason of a chosen profile
        names the obstacle; with room again everything is written."""
        self.write_config('profiles/night.conf', '[Profile]\nInclude=balanced\n')
        run = os.path.join(self.directory, 'run')
        os.mkdir(run)
        if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', run], check=False).returncode != 0:
            self.skipTest('cannot mount')
        self.addCleanup(subprocess.run, ['umount', run], check=True)
        self.fill(run)
        self.daemon = self.spawn('--state', run + '/state')
        self.daemon.wait_ready()
        self.get('Version')
        self.assertEqual(self.cpu_values(), self.found)
        obstacle, _ = self.hold_game()
        self.assertIn('No space left', obstacle)
        self.assertEqual(self.game_cpus(), [])
        self.call('SetProfile', 'night')
        self.assertIn('No space left', self.get('ProfileReason'))
        self.assertEqual(os.listdir(run + '/state'), [])
        os.unlink(run + '/ballast')
        self.call('SetProfile', 'night')
        self.assertEqual(Path(run, 'state/profile').read_text(encoding='ascii'), 'night\n')
        self.assertNotIn('No space left', self.get('ProfileReason'))
        self.call('Reload')
        self.assert_serves()
        wait_until(lambda: self.game_cpus() == [4, 5, 6], 'the unit on its cores')
        self.fill(run)
        self.hold(latency_us=50)
        self.assert_ends_well()

    def fill(self, directory):
        with open(os.path.join(directory, 'ballast'), 'wb', buffering=0) as file:
            try:
                while file.write(b'x' * 4096):
                    pass
            except OSError:
                pass

    def state(self):
        return len(os.listdir('/proc/%d/fd' % self.daemon.process.pid))

    def decide(self, dwell):
        self.set_option('ondemand', 'Dwell', dwell)
        return self.get('Online')

    def test_hotplug(self):
        """CPU 6 comes and goes, and idled notices each time, without uevents (vm-hotplug has these)."""
        lines = self.read('proc/stat').splitlines(True)
        self.start_well()
        self.hold_game()
        descriptors, dwells = self.state(), itertools.cycle(['1s', '2s'])
        for number in range(TIMES):
            online = number % 2 == 1
            self.put('sys/devices/system/cpu/online', '0-7\n' if online else '0-5,7\n')
            self.put('proc/stat', ''.join(
                line for line in lines if online or not line.startswith('cpu6 ')) + '\n')
            # Each decision may read; the first may come within a millisecond of the last reading.
            wait_until(lambda: any(self.decide(next(dwells)) == ('0-7' if online else '0-5,7') for _ in range(8)), 'CPUs')
        self.set_idle_mask('7')
        self.assert_serves()
        self.assertLessEqual(self.state(), descriptors)
        wait_until(lambda: self.game_cpus() == [4, 5, 6], 'the unit on its cores')
        self.assertEqual(self.daemon.terminate(), 0)
        self.assertEqual(self.game_cpus(), [])
        self.assert_restored()

    def test_sleep(self):
        """The machine sleeps, and firmware changes every limit meanwhile."""
        self.start_well()
        _, hold = self.hold(latency_us=50)
        self.wait_limits(['50'] * CPUS)
        descriptors = self.state()
        for _ in range(TIMES // 10):
            self.prepare_for_sleep(True)
            self.write_limits('7')
            self.prepare_for_sleep(False)
            self.wait_limits(['50'] * CPUS)
        self.assertLessEqual(self.state(), descriptors)
        self.close(hold)
        self.wait_limits(FREE)
        self.assert_ends_well()

    def test_clock(self):
        """It is set to 1970 and to 2226, forwards and back: holds, pauses and their ends do not depend on it."""
        clock, zone = (os.path.join(self.directory, name) for name in ('clock', 'zone'))

        def jump(years):
            with open(clock, 'r+b' if os.path.exists(clock) else 'wb') as file:
                file.write(struct.pack('=q', int(years * 31556952)))
            with open(zone, 'w', encoding='ascii') as file:
                file.write(str(years))
            os.rename(zone, os.path.join(self.root, 'etc/localtime'))  # to be noticed as a clock that is set

        jump(0)
        self.PREFIX = ['env', 'LD_PRELOAD=' + os.environ['FAULTS_SHIM'], 'CLOCK=' + clock,
                       'ASAN_OPTIONS=%s:verify_asan_link_order=0' % os.environ.get('ASAN_OPTIONS', '')]
        self.start_well()
        lasting, _ = self.hold(latency_us=50)
        self.hold_game()
        descriptors = []
        for years, mask in zip((200, -56, 0.0001, -0.0001, 0) * 3, itertools.cycle(['5,7', '7'])):
            self.pause('a test', usec=10**5)
            jump(years)
            wait_until(lambda: not self.get('Pauses'), 'the end of the pause')
            path, descriptor = self.hold(latency_us=20)
            years_between = (self.get('SinceUSec', path, HOLD) - self.get('SinceUSec', lasting, HOLD)) / 31556952e6
            self.assertAlmostEqual(years_between, years, places=4)
            self.wait_limits(['20'] * CPUS)
            self.close(descriptor)
            self.wait_limits(['50'] * CPUS)
            self.park_cpus(mask)
            descriptors.append(self.state())
        self.set_idle_mask('7')
        wait_until(lambda: self.game_cpus() == [4, 5, 6], 'the unit on its cores')
        self.assertLessEqual(descriptors[-1], descriptors[0])
        self.assert_ends_well()


main()
