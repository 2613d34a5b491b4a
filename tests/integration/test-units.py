#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Parking through systemd: the properties of its units, and a systemd that is missing, goes away, comes
back, or does not answer."""
import os
import signal
import threading

from idledtest import MOCK, PATH, TestCase, main, options, wait_until
from systemdtest import WithSystemd

CONFINED = ['init.scope', 'system.slice', 'user.slice']


class Units(WithSystemd, TestCase):
    CONFIG = '[Daemon]\nPolicies=userspace\n[Park]\nBackend=systemd\n'

    def setUp(self):
        super().setUp()
        self.start_systemd()
        self.start()

    def history(self, unit=None):
        rows = [row.split(' ') for row in self.mocked('History')]
        return [row[3] for row in rows if row[0] == unit] if unit else rows

    def test_parks_and_restores(self):
        self.assertIn('systemd', self.get('ParkBackend'))
        self.park_cpus('7')
        self.assertEqual(sorted(row[0] for row in self.history()), CONFINED)
        self.assertEqual({tuple(row[1:]) for row in self.history()},
                         {('runtime', 'AllowedCPUs', '7f')})
        self.assertEqual(self.get('Degraded'), [])
        self.assertEqual(self.call('Verify'), [])
        self.park_cpus('4-7')
        self.park_cpus('')
        for unit in CONFINED:
            self.assertEqual(self.history(unit), ['7f', '0f', 'ff'])
        self.assertEqual(self.daemon.terminate(), 0)
        for unit in CONFINED:
            self.assertEqual(self.history(unit), ['7f', '0f', 'ff', ''])

    def test_kubelet_that_cannot_be_read(self):
        """Any CPU may be a container's alone, until its state is whole again."""
        state = 'var/lib/kubelet/cpu_manager_state'
        whole = '{"policyName":"static","entries":{"pod":{"app":"6"}}}'
        for text, parked in (whole[:-4], ''), (whole, '7'), (whole[:-9], ''):
            self.put(state, text)
            self.set_idle_mask('')
            self.set_idle_mask('6-7')
            self.wait_parked(parked)
            self.assertIn('kubelet', self.call('Explain')[6]['text'])
        self.assertEqual(self.daemon.count_log('cpu_manager_state'), 2)

    def test_every_change_is_signalled(self):
        """Also if the next one is asked for while CPUs are being parked."""
        seen, answers = self.signals(PATH), []
        for cpus in ('7', ''):
            self.object().SetOptions(options('userspace', 'IdleMask', cpus), dbus_interface='org.idled1.Manager',
                                     reply_handler=lambda warnings: answers.append(True),
                                     error_handler=answers.append)
            # Two requests that idled reads at once would be no change at all.
            wait_until(self.history, 'parking to begin')
        wait_until(lambda: len(answers) == 2, 'two answers')
        self.assertEqual(answers, [True, True])

        def reported():
            return [str(s[2]['Parked']) for s in list(seen) if 'Parked' in s[2]]

        wait_until(lambda: reported() == ['7', ''],
                   lambda: 'a signal for each change: %s, %s' % (reported(), self.history()))

    def test_taken_over(self):
        """Once the last knob is taken over, no CPU is parked any more: idled reports it, and why."""
        self.park_cpus('7')
        for unit in CONFINED:
            self.limit(unit, b'\x03')
        seen = self.signals(PATH)
        self.assertEqual(len(self.call('Verify')), 3)
        wait_until(lambda: any(s[2].get('Parked') == '' for s in seen), 'a signal of Parked')
        newest = self.transitions()[0]
        self.assertEqual((newest['number'], newest['parked'], newest['policy']), (2, '', ''))
        self.assertRegex(newest['because'], 'another program has taken over unit ')
        self.set_idle_mask('6-7')
        self.assertEqual(self.get('Transitions'), 2, 'nothing was parked again')
        self.assertEqual((self.get('Parked'), self.get('IdleMask')), ('', '6-7'))
        self.assertRegex(self.get('Reason', PATH + '/cpu/7', 'org.idled1.Cpu'),
                         'CPU 7 should be parked by userspace: .*taken over')
        row = self.call('Explain')[7]
        self.assertFalse(row['parked'])
        self.assertIn('taken over', row['obstacle'])

    def test_taken_over_with_a_file(self):
        """Our drop-in alone does not park a CPU once the limit is taken over."""
        self.set_idle_mask('')
        os.makedirs(os.path.join(self.root, 'run/systemd/system'))
        self.mocked('KeepFiles', os.path.join(self.root, 'run/systemd/system.control'))
        self.park_cpus('7')
        kinds = {str(knob[0]) for knob in self.get('Knobs')}
        self.assertEqual(kinds, {'drop-in', 'unit'})
        for unit in CONFINED:
            self.limit(unit, b'\x03')
        self.assertEqual(len(self.call('Verify')), 3)
        self.assertEqual(self.get('Parked'), '')

    def test_new_slice_is_confined(self):
        self.park_cpus('7')
        self.mocked('AddUnit', 'cron.service', 'system.slice')
        self.mocked('AddUnit', 'system-getty.slice', 'system.slice')
        self.mocked('AddUnit', 'custom.slice', '-.slice')
        wait_until(lambda: self.history('custom.slice') == ['7f'], 'custom.slice confined')
        self.assertEqual(self.history('cron.service'), [])
        self.mocked('AddUnit', 'top.service', '-.slice')
        wait_until(lambda: self.history('top.service') == ['7f'], 'top.service confined')
        self.park_cpus('')
        self.mocked('AddUnit', 'late.slice', '-.slice')
        self.mocked('AddUnit', 'later.slice', '-.slice')
        self.assertEqual(self.history('late.slice'), [])

    def test_systemd_restarts(self):
        self.park_cpus('7')
        self.kill_systemd()
        self.set_idle_mask('')
        self.assertTrue(self.get('Degraded') or self.get('Knobs'), 'not forgotten')
        self.start_systemd()
        self.set_idle_mask('6-7')
        wait_until(lambda: self.history('user.slice'), 'the limits of units set again')

    def confines_what_comes(self):
        self.wait_subscribed()
        self.mocked('AddUnit', 'custom.slice', '-.slice')
        wait_until(lambda: self.history('custom.slice') == ['7f'], 'custom.slice confined')

    def test_listens_to_the_systemd_that_came_back(self):
        self.park_cpus('7')
        self.kill_systemd()
        self.start_systemd()
        self.confines_what_comes()

    def test_listens_after_the_bus_came_back(self):
        self.park_cpus('7')
        self.bus.stop()
        self.daemon.wait_log('is gone')
        self.systemd.kill()
        self.bus_returns()
        self.start_systemd()
        self.confines_what_comes()

    def test_systemd_hangs_while_parked(self):
        """A CPU that could not be parked is not reported as parked; the one that was still is."""
        self.park_cpus('7')
        self.systemd.send_signal(signal.SIGSTOP)
        self.set_idle_mask('6-7')
        self.assertEqual((self.get('Parked'), self.get('IdleMask')), ('7', '6-7'))
        self.assertEqual([row['parked'] for row in self.call('Explain')][6:], [False, True])
        self.assertRegex(self.get('Reason', PATH + '/cpu/6', 'org.idled1.Cpu'),
                         'CPU 6 should be parked by userspace: .*timed out')
        self.assertIn('CPU 7 is parked', self.get('Reason', PATH + '/cpu/7', 'org.idled1.Cpu'))
        self.assertEqual(self.transitions()[0]['parked'], '7')
        self.assertEqual([str(row[0]) for row in self.get('Degraded')], ['park'])
        self.systemd.send_signal(signal.SIGCONT)

    def test_systemd_hangs_after_a_unit_came(self):
        """Clients are served while idled waits, and the unit is confined once systemd answers."""
        self.park_cpus('7')
        self.wait_subscribed()
        seen = self.watch_questions()
        self.units.AddUnitAndHang('top.service', '-.slice', dbus_interface=MOCK,
                                  reply_handler=lambda: None, error_handler=lambda _: None)
        # One about its CPUs, and one about its place.
        wait_until(lambda: seen[1:], 'questions about the unit')
        self.assertEqual(self.get('IdleMask'), '7')
        self.systemd.send_signal(signal.SIGCONT)
        wait_until(lambda: self.history('top.service') == ['7f'], 'top.service confined')

    def test_systemd_hangs_at_the_end(self):
        for number in range(8):
            self.mocked('AddUnit', 'custom%d.slice' % number, '-.slice')
        self.park_cpus('7')
        self.systemd.send_signal(signal.SIGSTOP)
        self.daemon.terminate()  # eleven units do not take eleven timeouts
        self.systemd.send_signal(signal.SIGCONT)

    def test_systemd_is_slow_at_the_end(self):
        """Slower than any earlier wait for it."""
        self.park_cpus('7')
        self.systemd.send_signal(signal.SIGSTOP)
        threading.Timer(7, self.systemd.send_signal, [signal.SIGCONT]).start()
        self.assertEqual(self.daemon.terminate(), 0)
        self.assertEqual(self.history()[-1][1:], ['runtime', 'AllowedCPUs', ''])


class NothingToConfine(WithSystemd, TestCase):
    """What the plan leaves out is parked only if a unit is really confined."""

    def begin(self, options):
        self.write_config('idled.conf', Units.CONFIG + options)
        self.write_config('policies/userspace.conf', '[Policy]\nIdleMask=6-7\n')
        self.start_systemd()

    def assert_says_so(self, text, options):
        for word in ('confined', *options):
            self.assertIn(word, text)

    def assert_not_parked(self, *options):
        before = self.mocked('History')
        self.start()
        wait_until(lambda: self.get('IdleMask') == '6-7', 'a plan')
        wait_until(lambda: self.get('Degraded'), 'a reason')
        self.assertEqual(self.get('Parked'), '')
        self.assertEqual(self.mocked('History'), before)
        self.assertEqual(self.get('Transitions'), 0)
        for row in self.call('Explain')[6:]:
            self.assertFalse(row['parked'])
            self.assert_says_so(row['obstacle'], options)
        self.assert_says_so(self.get('Reason', PATH + '/cpu/7', 'org.idled1.Cpu'), options)
        (kind, _, why), = self.get('Degraded')
        self.assertEqual(kind, 'park')
        self.assert_says_so(why, options)
        self.daemon.wait_log('park: .*confined')
        for verb in ('status',), ('why', '7'), ('doctor',):
            self.assert_says_so(' '.join(self.idlectl(*verb).stdout.split()), options)

    def test_no_unit_matches(self):
        """As with a misspelt name. A unit of that name is confined when it comes."""
        self.begin('Units=nosuch.slice\n')
        self.assert_not_parked('Units=')
        self.wait_subscribed()
        seen = self.signals(PATH)
        self.mocked('AddUnit', 'nosuch.slice', '-.slice')
        self.wait_parked('6-7')
        self.assertEqual(self.get('Degraded'), [])
        wait_until(lambda: any(s[2].get('Degraded') == [] for s in seen), 'a signal of Degraded')

    def test_all_units_are_excluded(self):
        self.begin('Exclude=*\n')
        self.assert_not_parked('Exclude=')

    def test_all_units_have_cpus_of_their_own(self):
        self.begin('')
        for unit in CONFINED:
            self.limit(unit, b'\xff')
        self.assert_not_parked()


main()
