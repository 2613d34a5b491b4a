#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon on every described machine, from idle to saturated and back.

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

MACHINES = os.environ['IDLED_MACHINES']
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

    def read_set(self, path):
        try:
            return cpu_set(self.read(path))
        except OSError:
            return set()

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

    def cores(self):
        """Sets of online CPUs that are threads of one core."""
        cores = {}
        for cpu in self.online:
            threads = {cpu}
            for name in 'core_cpus_list', 'thread_siblings_list':
                threads |= self.read_set('%s/cpu%d/topology/%s' % (CPU, cpu, name))
            cores[min(threads)] = cores.get(min(threads), set()) | {cpu}
        return list(cores.values())

    def aside(self):
        return self.read_set(CPU + '/isolated') | self.read_set(CPU + '/nohz_full')


class Machines(TestCase):
    CONFIG = '[Daemon]\nPolicies=ondemand\n'

    def ondemand(self):
        """It decides at every step by that step alone."""
        self.write_config('policies/ondemand.conf',
                          '[Policy]\nPeriod=60s\nFilterTime=0s\nDwell=0s\nMaxTransitions=60\n')
        self.machine = Machine(self.root)
        self.addCleanup(os.close, self.machine.fd)
        self.start('--dry-run')
        self.looked = time.monotonic()
        self.cores = self.machine.cores()
        self.usable = set(self.machine.online) - self.machine.aside()

    def wished(self):
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
            decisions.append(self.wished())
            self.assertLess(len(decisions), 100, 'it never comes to rest')
        return cpu_set(decisions[-1])

    def check_decision(self, allowed):
        online = set(self.machine.online)
        parked = online - allowed
        self.assertTrue(allowed & online, 'something is left')
        self.assertFalse(parked - self.usable, 'CPUs set aside are not parked')
        for core in self.cores:
            part = core & self.usable
            self.assertIn(len(parked & part), (0, len(part)), 'core %s is cut in two' % core)
        wanted = sum(1 for core in self.cores if core & allowed)
        self.assertEqual(self.get('WantedCores'), wanted)
        return wanted

    def idle_to_saturated(self):
        self.ondemand()
        n = len(self.usable)
        one_core = [core for core in self.cores if core & self.usable]
        before, allowed = 0, set()
        for busy in sorted({0, 1, n // 2, n}):
            with self.subTest(busy=busy):
                allowed = self.settle() if busy == 0 else allowed
                # Work goes where it may: to active CPUs first.
                order = sorted(allowed & self.usable) + sorted(self.usable - allowed)
                self.machine.work(order[:busy])
                allowed = self.settle()
                wanted = self.check_decision(allowed)
                self.assertGreaterEqual(wanted, before, 'more load, fewer cores')
                self.assertGreaterEqual(len(allowed & self.usable), busy)
                before = wanted
                if busy == 0 and one_core:
                    self.assertEqual(sum(1 for core in one_core if core & self.usable & allowed), 1)
        self.assertEqual(allowed & self.usable, self.usable, 'all are wanted')
        self.machine.work(())
        self.step_until(lambda: not one_core or len(
            [1 for core in one_core if core & self.usable & cpu_set(self.wished())]) == 1,
                   'one core again')
        self.check_decision(self.settle())

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
        path = os.path.join(self.root, CPU, 'online')
        os.chmod(path, 0o644)
        with open(path, 'w', encoding='ascii') as file:
            file.write(','.join(map(str, self.machine.ticks)) + '\n')


def add_machine(name):
    def test(self):
        self.idle_to_saturated()
    kind = type('On_' + name.replace('-', '_'), (Machines,),
                {'MACHINE': name, 'test_idle_to_saturated': test})
    globals()[kind.__name__] = kind


for machine in sorted(os.listdir(MACHINES)):
    if machine.endswith('.machine'):
        add_machine(machine[:-len('.machine')])


class Hotplug(Machines):
    MACHINE = 'synthetic-laptop'

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
                self.assertTrue(cpu_set(self.wished()))
        finally:
            done.set()
            flipper.join()
        self.assertGreater(flips[0], 60)
        self.machine.work(range(8))
        self.step_until(lambda: cpu_set(self.wished()) == set(range(8)), 'all active')
        self.assertEqual(cpu_set(self.get('Online')), set(range(8)))
        self.machine.work(())
        self.step_until(lambda: self.get('WantedCores') == 1, 'one core again')

    def test_line_gone_before_the_list(self):
        """The kernel does not change both files in one step: /proc/stat alone must not confuse idled."""
        self.ondemand()
        self.settle()
        line = self.machine.ticks.pop(7)
        os.ftruncate(self.machine.fd, 0)
        self.machine.write()
        self.assertTrue(self.settle())
        self.machine.ticks[7] = line
        self.machine.write()
        self.machine.work(range(8))
        self.step_until(lambda: cpu_set(self.wished()) == set(range(8)), 'all active')


if __name__ == '__main__':
    main()
