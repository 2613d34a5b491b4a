#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The shipped profiles on described machines with different drivers: they load, act and restore."""
import os

from idledtest import TestCase, main

CONF = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../conf')
GOVERNOR, PREFERENCE = '/scaling_governor', '/energy_performance_preference'
BIAS, NO_TURBO, BOOST = '/energy_perf_bias', '/intel_pstate/no_turbo', '/cpufreq/boost'


class Shipped:
    CONFIG = ''
    SAVER = FAST = {}  # all values of the files whose names end so
    DEEP = set()  # the idle states that latency switches off

    def arguments(self):
        return super().arguments() + ['--vendor-dir', CONF]

    def assert_values(self, name, expected):
        """Each file, and no others than are expected."""
        values = self.cpu_values()
        for end in GOVERNOR, PREFERENCE, BIAS, NO_TURBO, BOOST:
            found = {text for path, text in values.items() if path.endswith(end)}
            self.assertEqual(found, expected.get(end, set()), name + ': ' + end)

    def assert_off(self, name, expected):
        """These idle states are off, on each CPU that has them, and no others."""
        values = self.cpu_values()
        states = {'0': set(), '1': set()}
        for path, text in values.items():
            if path.endswith('/disable'):
                states[text].add(values[path.replace('/disable', '/name')])
        self.assertEqual(states['1'], expected, name)
        self.assertEqual(states['0'] & expected, set(), name)

    def test_all(self):
        self.start()
        found = self.cpu_values()
        for name in 'power-saver', 'performance', 'latency', 'power-saver', 'balanced', 'latency':
            self.call('SetProfile', name)
            self.assertEqual(self.get('Profile'), name)
            self.assertEqual([row for row in self.get('Degraded') if row[0] != 'park'], [], name)
            self.assert_off(name, self.DEEP if name == 'latency' else set())
            if name == 'balanced':
                self.assertEqual(self.cpu_values(), found, 'everything as it was found')
            elif name == 'power-saver':
                self.assert_values(name, self.SAVER)
            else:
                self.assertEqual(self.get('IdleMask'), '')
                self.assert_values(name, self.FAST)
        before = self.cpu_files()
        self.call('SetProfile', 'latency')
        self.assertEqual(self.cpu_files(), before, 'nothing changes, nothing is written')
        self.daemon.stop()
        self.assertEqual(self.cpu_values(), found, 'everything as it was found')


class Laptop(Shipped, TestCase):
    """Intel's with hybrid cores. With the governor performance the driver decides the preference,
    and none is written."""
    MACHINE = 'adl0'
    SAVER = {GOVERNOR: {'powersave'}, PREFERENCE: {'power'}, BIAS: {'15'}, NO_TURBO: {'1'}}
    FAST = {GOVERNOR: {'performance'}, PREFERENCE: {'balance_performance'}, BIAS: {'0'},
            NO_TURBO: {'0'}}
    DEEP = {'C6', 'C8', 'C10'}


class Platform(Shipped, TestCase):
    """Hybrid cores, and a firmware with profiles."""
    def platform(self):
        return self.read('sys/firmware/acpi/platform_profile').split('\n')[0].strip()

    def test_all(self):
        self.start()
        for name, expected in ('power-saver', 'low-power'), ('performance', 'performance'), \
                ('balanced', 'balanced'), ('power-saver', 'low-power'):
            self.call('SetProfile', name)
            self.assertEqual(self.platform(), expected, name)
        self.daemon.stop()
        self.assertEqual(self.platform(), 'balanced', 'as it was found')


class IntelServer(Shipped, TestCase):
    """With intel_pstate passive, so without preferences."""
    MACHINE = 'bdwep0'
    SAVER = {GOVERNOR: {'schedutil'}, BIAS: {'15'}, NO_TURBO: {'1'}}
    FAST = {GOVERNOR: {'performance'}, BIAS: {'0'}, NO_TURBO: {'0'}}
    DEEP = {'C3', 'C6'}


class AmdServer(Shipped, TestCase):
    """AMD's with acpi-cpufreq, whose second state takes long to leave."""
    MACHINE = 'genoa0'
    SAVER = {GOVERNOR: {'schedutil'}, BOOST: {'0'}}
    FAST = {GOVERNOR: {'performance'}, BOOST: {'1'}}
    DEEP = {'C2'}


class OtherServer(AmdServer):
    MACHINE = 'milan0'


class Bare(Shipped, TestCase):
    """Without cpufreq and idle states: nothing to set."""
    MACHINE = 'synthetic-bare'


main()
