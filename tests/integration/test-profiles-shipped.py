#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The shipped profiles on described machines with different drivers: they fit, act, and give back."""
import os

from idledtest import TestCase, main

CONF = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../conf')


class Shipped(TestCase):
    CONFIG = ''

    def arguments(self):
        return super().arguments() + ['--vendor-dir', CONF]

    def assert_all(self, pattern, values):
        found = {text for path, text in self.cpu_values().items() if pattern in path}
        self.assertLessEqual(found, values, pattern)

    def test_all(self):
        self.start()
        found = self.cpu_values()
        for name in 'power-saver', 'performance', 'latency', 'power-saver', 'balanced', 'latency':
            self.call('SetProfile', name)
            self.assertEqual(self.get('Profile'), name)
            self.assertEqual([row for row in self.get('Degraded') if row[0] != 'park'], [], name)
            if name == 'balanced':
                self.assertEqual(self.cpu_values(), found, 'everything as it was found')
            elif name == 'power-saver':
                self.assert_all('/scaling_governor', {'schedutil', 'ondemand', 'powersave'})
            else:
                self.assertEqual(self.get('IdleMask'), '')
                self.assert_all('/scaling_governor', {'performance'})
        before = self.cpu_files()
        self.call('SetProfile', 'latency')
        self.assertEqual(self.cpu_files(), before, 'nothing changes, nothing is written')
        self.daemon.stop()
        self.assertEqual(self.cpu_values(), found, 'everything as it was found')


def on_machine(name):
    return type('On_' + name, (Shipped,), {'MACHINE': name})


# An intel_pstate laptop with a battery, another with hybrid cores, servers of both vendors, one
# without cpufreq.
On_adl0 = on_machine('adl0')
On_genoa0 = on_machine('genoa0')
On_bdwep0 = on_machine('bdwep0')
On_milan0 = on_machine('milan0')
On_bare = on_machine('synthetic-bare')

if __name__ == '__main__':
    main()
