#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Options of the release before: wherever they are, idled warns of them and works."""
import os
import re
import subprocess

from idledtest import TestCase, main

POLICIES = '[Daemon]\nPolicies=userspace cstates cpufreq quiet\n'

# Every option of the table, with a value that was valid.
REMOVED = {
    'Daemon': {'MaxStretch': '8'},
    'Evaluate': {'BlockTime': '5s', 'WashOut': '0', 'Duty': '10%'},
    'cpufreq': {'GovernorBattery': 'powersave', 'EnergyPreferenceBattery': 'power', 'EnergyBiasBattery': '15',
                'MinFrequencyBattery': 'min', 'MaxFrequencyBattery': '50%', 'BoostBattery': 'off'},
    'quiet': {'TimerSlackUnits': 'cron.service', 'TimerSlack': '50ms'},
    'cstates': {'DeepestStateBattery': '50us', 'HistoryLearn': '40%', 'HistoryForget': '1%', 'HistoryDraw': 'fourth',
                'HistorySeed': '7', 'IdleGovernorAdvised': 'teo: x'},
}


class Removed(TestCase):
    def setUp(self):
        super().setUp()
        self.write_config('idled.conf', POLICIES)

    def places(self):
        """Name, text and line of each file that a removed option may be in, with the option."""
        for section, options in REMOVED.items():
            daemon = section[0].isupper()
            heading = section if daemon else 'Policy'
            name = 'idled.conf' if daemon else 'policies/%s.conf' % section
            for key, value in options.items():
                option = '%s=%s\n' % (key, value)
                yield name + '.d/10-old.conf', '[%s]\n%s' % (heading, option), 2, key
                yield name + '.d/90-idlectl.conf', '# Written by idlectl.\n[%s]\n%s' % (heading, option), 3, key
                if not daemon:
                    yield 'profiles/old.conf', '[Profile]\nSummary=x\n[%s]\n%s' % (section, option), 4, key
                    yield name, '[Policy]\n\n%s' % option, 3, key

    def check(self):
        done = subprocess.run([os.environ['IDLED'], *self.arguments(), '--check'], capture_output=True,
                              text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_check(self):
        """Each option in each place: a warning with file and line, and no error."""
        for name, text, line, key in self.places():
            with self.subTest(name=name, key=key):
                self.write_config(name, text)
                status, output = self.check()
                self.assertEqual(status, 0, output)
                self.assertRegex(output, r'%s:%d: %s: .*removed' % (re.escape(name), line, key))
                os.remove(os.path.join(self.config, name))

    def test_on_battery(self):
        """Who does what the warnings say has the values on battery power, in the profile that was in effect there."""
        for section in 'cpufreq', 'cstates':
            for key, value in REMOVED[section].items():
                if not key.endswith('Battery'):
                    continue
                with self.subTest(key=key):
                    path = 'policies/%s.conf.d/10-old.conf' % section
                    self.write_config(path, '[Policy]\n%s=%s\n' % (key, value))
                    said = re.search(r': set (\w+)= in section (\[\w+\]) of .*; if it names none, set '
                                     r'(ProfileBattery=battery) and write (profiles/battery.conf) with '
                                     r'(Include=balanced) in (\[Profile\])', self.check()[1])
                    os.remove(os.path.join(self.config, path))
                    option, heading, daemon, profile, include, first = said.groups()
                    self.assertEqual((option, heading), (key.removesuffix('Battery'), '[%s]' % section))
                    self.write_config('idled.conf.d/battery.conf', '[Daemon]\n%s\n' % daemon)
                    self.write_config(profile, '%s\n%s\n%s\n%s=%s\n' % (first, include, heading, option, value))
                    status, output = self.check()
                    self.assertEqual(status, 0, output)
                    self.assertNotIn('removed', output)

    def test_like_a_removed_one(self):
        """Only the very option, in its own section, is accepted."""
        for name, text in (('policies/cstates.conf', '[Policy]\nHistorySed=1\n'),
                           ('policies/cpufreq.conf', '[Policy]\nHistorySeed=1\n'),
                           ('idled.conf.d/a.conf', '[Daemon]\nHistorySeed=1\n'),
                           ('profiles/old.conf', '[cpufreq]\nHistorySeed=1\n')):
            with self.subTest(name=name):
                self.write_config(name, text)
                self.assertEqual(self.check()[0], 1)
                os.remove(os.path.join(self.config, name))

    def test_start_and_reload(self):
        """All of them at once: idled starts with the other options of these files, and reloads them."""
        for section, options in REMOVED.items():
            daemon = section[0].isupper()
            name = 'idled.conf.d/%s.conf' % section if daemon else 'policies/%s.conf.d/90-idlectl.conf' % section
            lines = ''.join('%s=%s\n' % option for option in options.items())
            if section == 'cstates':
                lines += 'DeepestState=50us\n'
            self.write_config(name, '[%s]\n%s' % (section if daemon else 'Policy', lines))
        self.write_config('profiles/old.conf', '[cstates]\nHistorySeed=3\nPeriod=3s\n')
        self.start()
        everything = sum(len(options) for options in REMOVED.values()) + 1
        self.daemon.wait_log('removed', everything)
        self.assertIn('50us', self.call('GetSettings').__str__())
        self.call('Reload')
        self.daemon.wait_log('removed', 2 * everything)
        self.call('SetProfile', 'old')

    def test_at_run_time(self):
        """A warning of each, and no other effect; the options next to them are set."""
        self.start()
        before = self.call('GetSettings')
        old = [(section, key, value) for section, rows in REMOVED.items() for key, value in rows.items()
               if key != 'IdleGovernorAdvised']  # idlelab advise --apply sets this
        warnings = self.call('SetOptions', old)
        self.assertEqual(sorted(warning.split(':')[0] for warning in warnings), sorted(key for _, key, _ in old))
        self.assertEqual([warning for warning in warnings if 'removed' not in warning], [])
        self.assertEqual(self.call('GetSettings'), before)
        done = self.idlectl('set', 'cstates', 'HistorySeed=3', 'Period=2s')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertRegex(done.stdout, r'^cstates Period is now 2s\nHistorySeed: [^\n]*removed')
        self.assert_fails('org.idled1.Error.NoSuchOption', 'SetOptions', [('cpufreq', 'HistorySeed', '3')])
        self.assert_fails('org.idled1.Error.NoSuchPolicy', 'SetOptions', [('nobody', 'HistorySeed', '3')])

    def test_saved(self):
        """Another option can be saved into a file that has one."""
        self.write_config('policies/cstates.conf.d/90-idlectl.conf', '[Policy]\nHistorySeed=3\n')
        self.start()
        done = self.idlectl('--config-dir', self.config, '--vendor-dir', os.path.join(self.root, 'usr/lib/idled'),
                            '--policy-dir', os.environ['IDLED_POLICIES'], 'set', 'cstates', 'Period=2s', '--save')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.check()[0], 0)


main()
