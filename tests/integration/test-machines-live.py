#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon on a described machine whose CPUs come and go, idle and busy.

Time goes by in steps: proc/stat is rewritten in place, where every CPU has either worked or slept
since the step before, and setting an option to its value makes the daemon tick, which it does no
sooner than MIN_INTERVAL after the last time. It decides, and reports on the bus; with --dry-run it
does not act.
"""
import os
import random
import threading
import time

from cpuset import cpu_set
from idledtest import NAME, PATH, TestCase, main

CPU = 'sys/devices/system/cpu'
MIN_INTERVAL = 0.052  # seconds; readings closer than 50 ms are one to the daemon
STEADY = 2  # steps that were decided alike: it will not change any more


class Machine:
    """proc/stat of a machine on which the CPUs in `busy` work and all others sleep."""

    def __init__(self, root):
        self.root = root
        self.online = sorted(cpu_set(self.read(CPU + '/online')))
        self.ticks = {cpu: [1000, 100000] for cpu in self.online}
        self.busy = set()
        os.chmod(os.path.join(root, 'proc/stat'), 0o644)
        self.fd = os.open(os.path.join(root, 'proc/stat'), os.O_RDWR | os.O_TRUNC)
        self.write()

    def read(self, path):
        with open(os.path.join(self.root, path), encoding='ascii') as file:
            return file.read()

    def write(self):
        lines = ['cpu  %015d 0 0 %015d 0 0 0 0 0 0\n' % tuple(map(sum, zip(*self.ticks.values())))]
        lines += ['cpu%d %015d 0 0 %015d 0 0 0 0 0 0\n' % (cpu, *ticks)
                  for cpu, ticks in self.ticks.items()]
        lines.append('intr 0\nctxt 1\nprocs_running %05d\nprocs_blocked 0\n' % (len(self.busy) + 1))
        os.pwrite(self.fd, ''.join(lines).encode(), 0)

    def pass_time(self):
        for cpu, ticks in self.ticks.items():
            ticks[cpu not in self.busy] += 1000
        self.write()

    def work(self, cpus):
        self.busy = set(cpus)


class Hotplug(TestCase):
    CONFIG = '[Daemon]\nPolicies=ondemand\n'

    def ondemand(self):
        """It decides at every step by that step alone."""
        self.write_config('policies/ondemand.conf',
                          '[Policy]\nPeriod=60s\nFilterTime=0s\nDwell=0s\nMaxTransitions=60\n')
        self.machine = Machine(self.root)
        self.addCleanup(os.close, self.machine.fd)
        self.start('--dry-run')
        self.looked = time.monotonic()

    def requested(self):
        """What a dry run comes to: no CPU is parked, but this is what would be in use."""
        return self.get('Allowed', PATH + '/policy/ondemand', NAME + '.Policy')

    def step(self):
        self.machine.pass_time()
        time.sleep(max(0, self.looked + MIN_INTERVAL - time.monotonic()))
        self.set_option('ondemand', 'PackOrder', 'efficiency')
        self.looked = time.monotonic()

    def step_until(self, condition, what):
        for _ in range(100):
            self.step()
            if condition():
                return
        self.fail('not after 100 steps: ' + what)

    def settle(self):
        """The active CPUs after some steps that were all decided alike."""
        decisions = []
        while len(decisions) < STEADY or len(set(decisions[-STEADY:])) > 1:
            self.step()
            decisions.append(self.requested())
            self.assertLess(len(decisions), 100, 'it never comes to rest')
        return cpu_set(decisions[-1])

    def offline(self, cpu):
        """As the kernel shows it: out of the list, its line gone."""
        self.machine.ticks.pop(cpu)
        os.ftruncate(self.machine.fd, 0)
        self.machine.write()
        self.show_online()

    def back(self, cpu):
        self.machine.ticks[cpu] = [0, 0]
        self.machine.ticks = dict(sorted(self.machine.ticks.items()))
        self.machine.write()
        self.show_online()

    def show_online(self):
        self.put(CPU + '/online', ','.join(map(str, self.machine.ticks)) + '\n')

    def test_cpus_come_and_go(self):
        """While idle and while busy, the last one in use, and one that is parked."""
        self.ondemand()
        for busy in (set(), {0, 1, 4, 5}, set(range(8))):
            self.machine.work(busy)
            for cpu in (7, 0, 4):
                self.settle()
                self.offline(cpu)
                rest = set(self.machine.ticks)
                self.step_until(lambda: cpu_set(self.get('Online')) == rest, 'CPU %d offline' % cpu)
                self.assertTrue(self.settle() & rest, 'something is left without CPU %d' % cpu)
                self.assertLessEqual(self.get('WantedCores'), self.get('Cores'))
                self.back(cpu)
                self.step_until(lambda: cpu_set(self.get('Online')) == set(range(8)),
                           'CPU %d online' % cpu)
        self.assertEqual(self.settle(), set(range(8)))

    def test_during_a_tick(self):
        """CPUs go and come back at any point while the daemon reads, decides and reports."""
        self.ondemand()
        done = threading.Event()
        flips = [0]

        def flip():
            while not done.is_set():
                cpu = random.choice([0, 4, 7])
                self.offline(cpu)
                self.back(cpu)
                flips[0] += 1

        flipper = threading.Thread(target=flip)
        flipper.start()
        try:
            for step in range(60):
                self.machine.busy = set(range(step % 9))
                time.sleep(MIN_INTERVAL)
                self.set_option('ondemand', 'PackOrder', 'efficiency')
                self.assertTrue(cpu_set(self.requested()))
        finally:
            done.set()
            flipper.join()
        self.assertGreater(flips[0], 60)
        self.machine.work(range(8))
        self.step_until(lambda: cpu_set(self.requested()) == set(range(8)), 'all active')
        self.assertEqual(cpu_set(self.get('Online')), set(range(8)))
        self.machine.work(())
        self.step_until(lambda: self.get('WantedCores') == 1, 'one core again')


main()
