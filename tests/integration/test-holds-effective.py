#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds in the kernel's files: on the right CPUs when the answer comes, and gone when their owner dies."""
import os

import dbus
import holdstest
from holdstest import FREE, LATENCY
from idledtest import PATH, main, needs_root, wait_until


class Case(holdstest.Case):
    def setUp(self):
        super().setUp()
        self.write_limits('0')

    def process_on(self, cpus):
        process = self.sleeper()
        self.allow(process, cpus)
        return process


class EffectiveHolds(Case):
    def test_at_once(self):
        """No waiting: what the answer says is so."""
        self.start()
        for latency, text in ((50, '50'), (0, 'n/a'), (1000000, '1000000')):
            path, descriptor = self.hold(latency_us=latency)
            self.assertEqual(self.limits(), [text] * 8)
            self.call('ReleaseHold', dbus.ObjectPath(path))
            self.assertEqual(self.limits(), FREE)
            self.close(descriptor)

    def test_right_cpus(self):
        self.start()
        process = self.process_on('2-3')
        self.hold(latency_us=50, pid=process.pid)
        self.assertEqual(self.limits(), ['0', '0', '50', '50', '0', '0', '0', '0'])
        self.hold(latency_us=20, cpus='3,5')
        self.assertEqual(self.limits(), ['0', '0', '50', '20', '0', '20', '0', '0'])
        process.kill()
        self.wait_limits(['0', '0', '0', '20', '0', '20', '0', '0'])

    def test_followed(self):
        """Where the process may run changes: seen though nothing makes the daemon tick."""
        self.write_config('idled.conf', '[Daemon]\nPolicies=latency\n')
        self.start()
        process = self.process_on('2-3')
        self.hold(latency_us=50, pid=process.pid)
        self.assertEqual(self.limits(), ['0', '0', '50', '50', '0', '0', '0', '0'])
        ticks = self.get('Ticks')
        self.allow(process, '5')
        self.wait_limits(['0', '0', '0', '0', '0', '50', '0', '0'])
        self.assertEqual(self.get('Ticks'), ticks)

    def test_not_parked(self):
        """Named CPUs, and as many cores as are held, stay active even if a client parks them."""
        self.start(mask='2-7')
        self.assertEqual(self.get('IdleMask'), '2-7')
        _, named = self.hold(cpus='3,6')
        self.assertEqual(self.get('IdleMask'), '2,4-5,7')
        self.close(named)
        wait_until(lambda: self.get('IdleMask') == '2-7', 'the mask as it was')
        self.hold(min_cores=self.get('Cores'))
        self.assertEqual(self.get('WantedCores'), self.get('Cores'))

    def test_ticks_go_on(self):
        """Who holds all the time does not keep idled from looking at the load."""
        self.write_config('idled.conf', '[Daemon]\nPolicies=latency ondemand\n')
        self.write_config('policies/ondemand.conf', '[Policy]\nPeriod=50ms\n')
        self.start()
        before = self.get('Ticks')
        for number in range(10000):
            _, descriptor = self.hold(latency_us=number % 50)
            self.close(descriptor)
            if self.get('Ticks') >= before + 3:
                return
        self.fail('no tick while holds come and go')

    def test_strictest(self):
        self.start()
        _, lax = self.hold(latency_us=100)
        _, strict = self.hold(latency_us=10)
        self.assertEqual(self.limits(), ['10'] * 8)
        self.close(strict)
        self.wait_limits(['100'] * 8)
        self.close(lax)
        self.wait_limits(FREE)

    def test_holder_killed(self):
        self.start()
        process, _ = self.holder()
        self.assertEqual(self.limits(), ['50'] * 8)
        process.kill()
        self.wait_limits(FREE)

    def test_daemon_killed(self):
        self.start()
        self.holder()
        self.daemon.kill()
        self.assertEqual(self.limits(), ['50'] * 8, 'no process is left to restore them')
        self.start()
        self.assertEqual(self.limits(), FREE)

    def test_pause(self):
        self.start()
        self.hold(latency_us=50)
        pause = self.pause('a test')
        self.wait_limits(FREE)
        self.hold(latency_us=20)
        self.assertEqual(self.limits(), FREE)
        os.close(pause)
        self.wait_limits(['20'] * 8)

    def test_reload(self):
        self.start()
        self.hold(latency_us=50)
        self.call('Reload')
        self.assertEqual(self.limits(), ['50'] * 8)
        self.write_config('policies/latency.conf', '[Policy]\nFloor=80us\n')
        self.call('Reload')
        self.assertEqual(self.limits(), ['80'] * 8)

    def test_bus_away(self):
        self.start()
        process, _ = self.holder()
        self.bus.stop()
        self.daemon.wait_log('is gone')
        self.assertEqual(self.limits(), ['50'] * 8)
        process.kill()
        self.wait_limits(FREE)

    def test_dry_run(self):
        self.start('--dry-run')
        self.hold(latency_us=50)
        self.assertEqual(self.limits(), FREE)
        self.assertEqual(self.get('Limits', PATH + '/cpu/1', 'org.idled1.Cpu'), {})

    @needs_root
    def test_one_that_fails(self):
        os.remove(self.latency_path(3))
        os.mkdir(self.latency_path(3))
        self.start()
        self.hold(latency_us=50)
        self.assertEqual(self.read(LATENCY % 2), '50', 'the others are limited')
        self.assertTrue(any('cpu3' in name for _, name, _ in self.get('Degraded')))

    def test_why(self):
        self.start()
        path, _ = self.hold(latency_us=50, reason='audio')
        texts = [str(reason['text']) for reason in self.call('Explain')[0]['reasons']]
        number = path.rpartition('/')[2]
        self.assertTrue(any('audio' in text and 'hold ' + number in text for text in texts), texts)


main()
