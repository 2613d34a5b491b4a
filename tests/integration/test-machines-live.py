#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon on every described machine, from idle to saturated and back.

A thread lets the machine's time go by: it rewrites proc/stat in place, where every CPU has either
worked or slept since the line before. The daemon reads it as it would the kernel's, decides at every
tick, and tells on the bus; --dry-run leaves the rest to the imagination.
"""
import os
import threading
import unittest

from idledtest import NAME, PATH, TestCase, main, wait_until

MACHINES = os.environ['IDLED_MACHINES']
CPU = 'sys/devices/system/cpu'
STEADY_TICKS = 2  # that decided the same: it will not change any more


def cpu_set(text):
    cpus = set()
    for part in filter(None, text.strip().split(',')):
        first, _, last = part.partition('-')
        cpus |= set(range(int(first), int(last or first) + 1))
    return cpus


class Machine(threading.Thread):
    """proc/stat of a machine on which the CPUs in `busy` work and all others sleep."""

    def __init__(self, root):
        super().__init__(daemon=True)
        self.root = root
        self.online = sorted(cpu_set(self.read(CPU + '/online')))
        self.ticks = {cpu: [1000, 100000] for cpu in self.online}
        self.busy = set()
        self.lock = threading.Lock()
        self.ended = threading.Event()
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
        """Numbers have a fixed width, so that a reader finds whole ones whenever it comes."""
        lines = ['cpu  %015d 0 0 %015d 0 0 0 0 0 0\n' % tuple(map(sum, zip(*self.ticks.values())))]
        lines += ['cpu%d %015d 0 0 %015d 0 0 0 0 0 0\n' % (cpu, *ticks)
                  for cpu, ticks in self.ticks.items()]
        lines.append('intr 0\nctxt 1\nprocs_running %05d\nprocs_blocked 0\n' % (len(self.busy) + 1))
        os.pwrite(self.fd, ''.join(lines).encode(), 0)

    def run(self):
        while not self.ended.wait(0.015):
            with self.lock:
                for cpu, ticks in self.ticks.items():
                    ticks[cpu not in self.busy] += 1000
                self.write()

    def work(self, cpus):
        with self.lock:
            self.busy = set(cpus)

    def end(self):
        self.ended.set()
        self.join()
        os.close(self.fd)

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
    CONFIG = '[Daemon]\nPolicies=ondemand\nMaxStretch=1\n'

    def ondemand(self):
        """Decides at every tick by that tick alone."""
        self.write_config('policies/ondemand.conf',
                          '[Policy]\nPeriod=52ms\nFilterTime=0s\nDwell=0s\nMaxTransitions=60\n')
        self.machine = Machine(self.root)
        self.start('--dry-run')
        self.machine.start()
        self.addCleanup(self.machine.end)
        self.cores = self.machine.cores()
        self.usable = set(self.machine.online) - self.machine.aside()

    def wished(self):
        """What a dry run comes to: no CPU is parked, but this is what would be in use."""
        return self.get('Allowed', PATH + '/policy/ondemand', NAME + '.Policy')

    def settle(self):
        """The CPUs in use after some ticks that all decided the same, or if there are no ticks."""
        if self.get('PeriodUSec') == 0:
            return cpu_set(self.wished())
        last, since = None, 0

        def steady():
            nonlocal last, since
            now, ticks = self.wished(), self.get('Ticks')
            if now != last:
                last, since = now, ticks
            return ticks - since >= STEADY_TICKS
        wait_until(steady, 'a decision that stays')
        return cpu_set(last)

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
        before = 0
        for busy in sorted({0, 1, n // 2, n}):
            with self.subTest(busy=busy):
                allowed = self.settle() if busy == 0 else allowed
                # Work goes where it may: to CPUs in use first.
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
        wait_until(lambda: not one_core or len(
            [1 for core in one_core if core & self.usable & cpu_set(self.wished())]) == 1,
                   'one core again')
        self.check_decision(self.settle())

    def offline(self, cpu):
        """As the kernel shows it: out of the list, its line gone."""
        with self.machine.lock:
            self.machine.ticks.pop(cpu)
            os.ftruncate(self.machine.fd, 0)
            self.machine.write()
        self.show_online()

    def back(self, cpu):
        with self.machine.lock:
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
                wait_until(lambda: cpu_set(self.get('Online')) == rest, 'CPU %d offline' % cpu)
                self.assertTrue(self.settle() & rest, 'something is left without CPU %d' % cpu)
                self.assertLessEqual(self.get('WantedCores'), self.get('Cores'))
                self.back(cpu)
                wait_until(lambda: cpu_set(self.get('Online')) == set(range(8)),
                           'CPU %d online' % cpu)
        self.assertEqual(self.settle(), set(range(8)))

    def test_line_gone_before_the_list(self):
        """The files are not changed in one step: /proc/stat alone must not confuse anybody."""
        self.ondemand()
        self.settle()
        with self.machine.lock:
            line = self.machine.ticks.pop(7)
            os.ftruncate(self.machine.fd, 0)
            self.machine.write()
        self.assertTrue(self.settle())
        with self.machine.lock:
            self.machine.ticks[7] = line
            self.machine.write()
        self.machine.work(range(8))
        wait_until(lambda: cpu_set(self.wished()) == set(range(8)), 'all in use')


class PeerDefects(Machines):
    MACHINE = 'synthetic-laptop'

    def test_peer_defect_1_cpu0_counts(self):
        """Only CPU 0 works: a load of 1, not of 0, and one core more than none takes."""
        self.ondemand()
        self.settle()
        self.machine.work([0])
        wait_until(lambda: self.get('Load') > 0.9, 'load of CPU 0')
        self.assertLess(self.get('Load'), 1.1)
        self.settle()
        self.assertGreater(self.get('WantedCores'), 1)

    def test_peer_defect_7_no_flapping(self):
        """A load that comes and goes at every tick for a whole budget's worth of ticks."""
        self.write_config('policies/ondemand.conf',
                          '[Policy]\nPeriod=52ms\nFilterTime=100ms\nDwell=100ms\n')
        self.machine = Machine(self.root)
        self.start('--dry-run')
        self.machine.start()
        self.addCleanup(self.machine.end)
        wait_until(lambda: self.get('Transitions') > 0, 'the first parking')
        for n in range(30):
            self.machine.work(range(8) if n % 2 else ())
            until = self.get('Ticks') + 3
            wait_until(lambda: self.get('Ticks') >= until, 'three ticks')
        self.assertLessEqual(self.get('TransitionsLastMinute'), 6)
        self.assertLessEqual(self.get('Transitions'), 6)


if __name__ == '__main__':
    main()
