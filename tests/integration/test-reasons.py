#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon's reports: what policies request for single CPUs, why, and what they counted."""
import json
import os
import time

from idledtest import NAME, PATH, TestCase, main, options

STATE = 'sys/devices/system/cpu/cpu%d/cpuidle/state%d/%s'
MIN_INTERVAL = 0.052  # seconds; readings closer than 50 ms are one to the daemon


class Reasons(TestCase):
    """CPUs 0 to 3 have the idle states C1E (2 us), C6 (170 us), C10; 4 to 7 C1E and C6S."""
    CONFIG = '[Daemon]\nPolicies=userspace cstates cpufreq\n'

    def run_daemon(self, cstates=''):
        self.write_config('policies/cstates.conf', '[Policy]\n' + cstates)
        self.start('--dry-run')
        self.looked = time.monotonic()

    def reasons(self, cpu):
        return [(str(r['policy']), str(r['option']), str(r['text']))
                for r in self.call('Explain')[cpu]['reasons']]

    def write(self, cpu, state, name, value):
        self.put(STATE % (cpu, state, name), '%d\n' % value)

    def look(self):
        """A setting that is set to what it is makes the daemon look."""
        time.sleep(max(0, self.looked + MIN_INTERVAL - time.monotonic()))
        self.set_option('cstates', 'UtilizationDwell', '2s')
        self.looked = time.monotonic()

    def test_nothing(self):
        self.run_daemon()
        for row in self.call('Explain'):
            self.assertEqual((row['reasons'], row['figures']), ([], []))
        self.assertEqual(self.get('Figures', PATH + '/cpu/0', NAME + '.Cpu'), [])
        self.assertEqual(self.get('PeriodUSec'), 0, 'no policy has a period')

    def test_limit(self):
        self.run_daemon('\nDeepestState=200us\n')
        config = os.path.join(self.config, 'policies/cstates.conf')
        (policy, option, text), = self.reasons(0)
        self.assertEqual((policy, option), ('cstates', 'DeepestState'))
        for part in 'cstates', 'C6 170 us', 'DeepestState is 200 us', config + ':3':
            self.assertIn(part, text)
        self.assertIn('(C1E 4 us)', self.reasons(7)[0][2])
        reason = self.call('Explain')[0]['reasons'][0]
        self.assertEqual(set(reason), {'cause', 'policy', 'because', 'inputs', 'option', 'threshold',
                                       'threshold_unit', 'effective', 'effective_because',
                                       'source', 'text'})
        self.assertEqual(reason['inputs'], [('C6', 170.0, 'us')])
        self.set_option('cstates', 'DeepestState', 'C6')
        for part in 'C6 170 us', 'DeepestState', 'set over D-Bus':
            self.assertIn(part, self.reasons(0)[0][2])
        for part in 'other CPUs', 'C1E 4 us':
            self.assertIn(part, self.reasons(4)[0][2])
        self.assert_fails(NAME + '.Error.InvalidValue', 'SetOptions', options('cstates', 'DeepestState', '5o0us'))
        self.assertIn('see DeepestState', self.reasons(0)[0][2], 'nothing changed')

    def test_frequency(self):
        """intel_pstate is active here: two governors, and preferences."""
        self.write_config('policies/cpufreq.conf',
                          '[Policy]\nGovernor=schedutil ondemand\nEnergyPreference=power\n'
                          'MaxFrequency=base\n')
        self.run_daemon()
        texts = [text for _, _, text in self.reasons(0)]
        self.assertEqual(len(texts), 3)
        for text, parts in zip(texts, (('no governor', 'schedutil, ondemand', 'intel_pstate', 'Governor'),
                                       ('energy preference power', 'intel_pstate'),
                                       ('frequency 2100 MHz', 'MaxFrequency'))):
            for part in parts:
                self.assertIn(part, text)
        self.set_option('cpufreq', 'Governor', 'schedutil powersave')
        for part in 'governor powersave', 'intel_pstate':
            self.assertIn(part, self.reasons(7)[0][2])
        self.assert_fails(NAME + '.Error.InvalidValue', 'SetOptions', options('cpufreq', 'MinFrequency', '1.8 GHz'))

    def test_paused(self):
        self.run_daemon('DeepestState=200us\n')
        held = self.pause('a test')
        self.assertEqual(self.reasons(0), [], 'nothing is requested while paused')
        os.close(held)

    def test_figures(self):
        self.run_daemon('History=yes\nPeriod=1h\n')
        for name in 'above', 'below':
            for state in range(4):
                self.write(2, state, name, 0)
        self.look()
        self.write(2, 2, 'usage', 100)
        self.look()
        self.write(2, 2, 'usage', 110)
        self.write(2, 2, 'above', 3)
        self.write(2, 2, 'below', 1)
        self.look()
        figures = {str(f[1]): (str(f[0]), str(f[2]), float(f[3]))
                   for f in self.get('Figures', PATH + '/cpu/2', NAME + '.Cpu')}
        self.assertEqual(set(figures), {'correct', 'too deep', 'too shallow', 'accuracy'})
        self.assertEqual(figures['too deep'], ('cstates', '', 3))
        self.assertEqual(figures['too shallow'], ('cstates', '', 1))
        self.assertEqual(figures['accuracy'][1], '%')
        row = self.call('Explain')[2]
        self.assertEqual(len(row['figures']), 4)
        self.assertEqual(row['reasons'][0]['option'], 'History')
        answer = json.loads(self.idlectl('why', '2', '--json').stdout)['cpus'][0]
        self.assertEqual(answer['reasons'][0]['because'], row['reasons'][0]['because'])
        self.assertIn({'policy': 'cstates', 'name': 'too deep', 'unit': '', 'value': 3.0},
                      answer['figures'])


class Blame(TestCase):
    """Who is said to have changed what is parked, and to keep it in use."""
    CONFIG = '[Daemon]\nPolicies=userspace ondemand\n'

    def last(self):
        row = self.transitions()[0]
        self.assertTrue(row['because'])
        return str(row['parked']), str(row['policy'])

    def test_who_unparked(self):
        self.start('--dry-run', mask='6-7')
        self.assertEqual(self.last(), ('6-7', 'userspace'))
        self.set_idle_mask('7')
        self.assertEqual(self.last(), ('7', 'userspace'))
        self.set_idle_mask('')
        self.assertEqual(self.last(), ('', 'userspace'))
        self.assertEqual(self.call('Explain')[7]['policy'], 'ondemand', 'that is what is left')

    def test_who_unparked_by_a_file(self):
        self.write_config('policies/userspace.conf', '[Policy]\nIdleMask=7\n')
        self.start('--dry-run')
        self.write_config('policies/userspace.conf', '')
        self.call('Reload')
        self.assertEqual(self.last(), ('', 'userspace'))

    def test_who_is_gone(self):
        self.write_config('policies/userspace.conf', '[Policy]\nIdleMask=7\n')
        self.start('--dry-run')
        self.write_config('idled.conf', '[Daemon]\nPolicies=ondemand\n')
        self.call('Reload')
        self.assertEqual(self.last(), ('', ''))


class SetAside(TestCase):
    """CPUs 2, 3, 6 and 7 are isolated."""
    CONFIG = '[Daemon]\nPolicies=userspace ondemand\n'
    MACHINE = 'synthetic-isolated'

    def test_isolated(self):
        self.start('--dry-run')
        causes = [(str(row['policy'] or row['cause']), str(row['because'])) for row in self.call('Explain')]
        for cpu in 2, 3, 6, 7:
            self.assertEqual(causes[cpu][0], 'safety')
            self.assertIn('isolated', causes[cpu][1])
        for cpu in 0, 1, 4, 5:
            self.assertEqual(causes[cpu][0], 'ondemand')
        self.set_idle_mask('1-2')
        rows = self.call('Explain')
        self.assertEqual((rows[1]['policy'], rows[2]['cause'], rows[2]['policy']), ('userspace', 'safety', ''))


main()
