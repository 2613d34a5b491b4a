#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The machine suspends while the daemon writes knobs: on waking it carries out the whole plan again. The
systemd and the logind are stand-ins."""
import signal

from holdstest import CPUS, Case
from idledtest import MANAGER, main, options, wait_until
from systemdtest import WithLogind, WithSystemd


class Sleep(WithLogind, WithSystemd, Case):
    CONFIG = '[Daemon]\nPolicies=userspace latency\n[Park]\nBackend=systemd\n'

    def setUp(self):
        super().setUp()
        self.start_logind()
        self.start_systemd()
        self.start()

    def assert_all_effective(self):
        self.wait_limits(['50'] * CPUS)
        self.wait_parked('7')
        self.assertEqual(self.get('Degraded'), [])
        self.assertEqual(self.call('Verify'), [])

    def test_between(self):
        self.hold(latency_us=50)
        self.set_idle_mask('7')
        self.assert_all_effective()
        self.prepare_for_sleep(True)
        self.write_limits('7')  # firmware leaves the machine as it likes
        self.prepare_for_sleep(False)
        self.assert_all_effective()

    def test_signals_wait(self):
        """It falls asleep, and wakes, while a unit's new limit waits for systemd's answer; check-manager
        has what firmware does meanwhile."""
        answers = []
        self.hold(latency_us=50)
        self.systemd.send_signal(signal.SIGSTOP)
        self.object().get_dbus_method('SetOptions', MANAGER)(
            options('userspace', 'IdleMask', '7'), reply_handler=lambda warnings: answers.append('done'),
            error_handler=answers.append)
        self.prepare_for_sleep(True)
        self.prepare_for_sleep(False)
        self.connection.flush()
        self.systemd.send_signal(signal.SIGCONT)
        self.assert_all_effective()
        wait_until(lambda: answers, 'an answer')
        self.assertEqual(answers, ['done'])


main()
