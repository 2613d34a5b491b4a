#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Application rules by systemd unit: processes are in the unit from its start, or are moved there while
they run, which only systemd reports. Real processes in real cgroups; the systemd is a stand-in with
given answers."""
import os
import unittest
from pathlib import Path

from appstest import ASK, Apps
from idledtest import main, wait_until
from systemdtest import WithSystemd

NAME = 'idled-test-%d' % os.getpid()


def cgroup_root():
    """Where systemd's cgroups would be."""
    for line in Path('/proc/mounts').read_text(encoding='utf-8').splitlines():
        _, where, kind, _ = line.split()[:4]
        if kind == 'cgroup2':
            return Path(where)
    return None


@unittest.skipUnless(os.geteuid() == 0 and cgroup_root(), 'needs root and cgroup v2')
class Units(WithSystemd, Apps):
    RULES = {'unit': '[Match]\nUnit=%s*.scope\n%s' % (NAME, ASK)}

    def setUp(self):
        super().setUp()
        self.use_fence(**self.RULES)
        self.home = cgroup_root() / Path('/proc/self/cgroup').read_text(encoding='ascii').rpartition(
            '0::/')[2].strip()
        self.start_systemd()

    def make_unit(self, name):
        """Its cgroup; systemd says nothing yet."""
        group = self.home / name
        group.mkdir()
        self.remove_at_end(group)
        return group

    @staticmethod
    def move(process, group):
        (group / 'cgroup.procs').write_text(str(process.pid))

    def test_process_is_moved(self):
        """As systemd does when it makes a scope for what runs, or a user's manager for its own."""
        self.start()
        self.wait_subscribed()
        unit = self.make_unit(NAME + '.scope')
        process = self.run_program(self.bin / 'game', '1000')
        self.assert_no_hold(process.pid)  # its start was seen before it is moved
        self.move(process, unit)
        self.assert_no_hold(process.pid)
        self.mocked('AddUnit', unit.name, 'user.slice')
        self.wait_hold('unit', process.pid)
        self.move(process, self.home)
        self.mocked('AddUnit', 'another.scope', 'user.slice')
        self.wait_released('unit')

    def test_unit_begins_and_ends(self):
        self.start()
        unit = self.make_unit(NAME + '.scope')
        script = 'echo $$ >%s/cgroup.procs; exec %s/game 1000' % (unit, self.bin)
        process = self.run_program('sh', '-c', script)
        self.wait_hold('unit', process.pid)
        (unit / 'cgroup.kill').write_text('1')
        self.wait_over('unit')

    def test_unit_is_there_at_start(self):
        unit = self.make_unit(NAME + '.scope')
        process = self.run_program(self.bin / 'game', '1000')
        self.move(process, unit)
        self.start()
        self.wait_hold('unit', process.pid)

    def test_other_units(self):
        """Names that only begin or end so, and that of another."""
        self.start()
        self.wait_subscribed()
        processes = []
        for name in (NAME + '.scope.d', 'x' + NAME + '.scope', NAME + '.service'):
            unit = self.make_unit(name)
            processes.append(self.run_program(self.bin / 'game', '1000'))
            self.move(processes[-1], unit)
        self.mocked('AddUnit', NAME + '.scope', 'user.slice')
        self.mocked('AddUnit', NAME + '-2.scope', 'user.slice')
        self.assert_no_hold(processes[0].pid)
        for process in processes:
            self.assert_no_hold(process.pid)

    def test_systemd_comes_back(self):
        self.start()
        self.wait_subscribed()
        self.kill_systemd()
        unit = self.make_unit(NAME + '.scope')
        process = self.run_program(self.bin / 'game', '1000')
        self.assert_no_hold(process.pid)  # its start was seen before it is moved
        self.move(process, unit)
        self.assert_no_hold(process.pid)
        self.start_systemd()
        self.wait_hold('unit', process.pid)
        self.wait_subscribed()

    def test_only_while_rules_need_it(self):
        self.start()
        self.wait_subscribed()
        self.rules()
        self.call('Reload')
        self.wait_subscribed(0)
        self.rules(**self.RULES)
        self.call('Reload')
        self.wait_subscribed()

    def test_one_contract_of_a_unit(self):
        """One hold for all processes, each of which may end first: the contract goes on until the last ends."""
        (self.conf / 'idled.conf').write_text('[Daemon]\nPolicies=contract\n')
        self.use_fence(unit='[Match]\nUnit=%s*.scope\n[Ask]\nWakeupP99=10ms\nLinger=0\n' % NAME)
        self.start()
        unit = self.make_unit(NAME + '.scope')
        script = 'echo $$ >%s/cgroup.procs; exec %s/game 1000' % (unit, self.bin)
        processes = [self.run_program('sh', '-c', script)]
        self.wait_hold('unit', processes[0].pid)
        (before,) = self.get('Contracts')
        self.assertEqual(before['unit'], unit.name)
        for _ in range(20):
            processes.append(self.run_program('sh', '-c', script))
            self.wait_exec(processes[-1].pid, 'game')
        self.assert_no_hold(processes[-1].pid)
        wait_until(lambda: len(self.get('Holds')) == 1, 'the end of the hold of the fence')
        self.assertEqual(self.daemon.count_log('of app unit: .*process'), 1)
        for process in processes[:-1]:
            process.kill()
            process.wait()
        self.wait_hold('unit', processes[-1].pid)
        (after,) = self.get('Contracts')
        self.assertEqual((after['contract'], after['unit']), (before['contract'], unit.name))
        processes[-1].kill()
        wait_until(lambda: not self.get('Contracts') and not self.get('Holds'), 'the end of the contract')


main()
