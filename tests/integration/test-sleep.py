#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The machine sleeps while the daemon is at work on it: on waking everything is carried out anew. The
systemd and the logind are ones for tests."""
import os
import signal

import dbus
import dbus.lowlevel
from holdstest import Case
from idledtest import MANAGER, main, wait_until

SYSTEMD = 'org.freedesktop.systemd1'
TEMPLATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'systemd_units.py')
FILE = 'sys/devices/system/cpu/cpu%d/power/pm_qos_resume_latency_us'


class Sleep(Case):
    CONFIG = '[Daemon]\nPolicies=userspace latency\n[Park]\nBackend=systemd\n'

    def setUp(self):
        super().setUp()
        self.connection.request_name('org.freedesktop.login1')
        self.systemd, self.units = self.mock(SYSTEMD, '/org/freedesktop/systemd1',
                                             template=TEMPLATE)
        self.start()

    def prepare_for_sleep(self, asleep):
        message = dbus.lowlevel.SignalMessage('/org/freedesktop/login1',
                                              'org.freedesktop.login1.Manager', 'PrepareForSleep')
        message.append(asleep, signature='b')
        self.connection.send_message(message)

    def limits(self):
        texts = []
        for cpu in range(8):
            with open(os.path.join(self.root, FILE % cpu), encoding='ascii') as file:
                texts.append(file.read().strip())
        return texts

    def firmware(self):
        """It leaves the machine as it likes."""
        for cpu in range(8):
            with open(os.path.join(self.root, FILE % cpu), 'w', encoding='ascii') as file:
                file.write('7\n')

    def assert_all_in_force(self):
        wait_until(lambda: self.limits() == ['50'] * 8, 'the limits')
        wait_until(lambda: self.get('Parked') == '7', 'CPU 7 parked')
        self.assertEqual(self.get('Degraded'), [])
        self.assertEqual(self.call('Verify'), [])

    def test_between(self):
        self.hold(latency_us=50)
        self.set_idle_mask('7')
        self.assert_all_in_force()
        self.prepare_for_sleep(True)
        self.firmware()
        self.prepare_for_sleep(False)
        self.assert_all_in_force()

    def test_signals_wait(self):
        """It falls asleep, and wakes, while a unit's new limit waits for systemd's answer; check-manager
        has what firmware does meanwhile."""
        answers = []
        self.hold(latency_us=50)
        self.systemd.send_signal(signal.SIGSTOP)
        self.object().get_dbus_method('SetIdleMask', MANAGER)(
            '7', reply_handler=lambda: answers.append('done'), error_handler=answers.append)
        self.prepare_for_sleep(True)
        self.prepare_for_sleep(False)
        self.connection.flush()
        self.systemd.send_signal(signal.SIGCONT)
        self.assert_all_in_force()
        wait_until(lambda: answers, 'an answer')
        self.assertEqual(answers, ['done'])


main()
