#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Contracts of units on the bus: holds and profiles that request them, what is shown, and when the kernel has
the programs that count."""
import json
import os


from holdstest import Case, request
from idledtest import MANAGER, NAME, NOBODY, PATH, bpf_programs, main, needs_root, wait_until
from systemdtest import WithLogind

INVALID = 'org.idled1.Error.InvalidValue'
UNIT = '/system.slice/mail.service'


class Contracts(Case):
    CONFIG = '[Daemon]\nPolicies=latency contract ondemand\n'
    worked = 0

    def begin(self, *arguments):
        self.start(*arguments)
        self.process = self.sleeper()
        self.move(UNIT)

    def move(self, cgroup):
        self.put(f'proc/{self.process.pid}/cgroup', f'0::{cgroup}\n')

    def hold_contract(self, p99=5000):
        return self.hold(wakeup_p99_us=p99, pid=self.process.pid)

    def rows(self):
        return [(str(row['unit']), int(row['limit_us'])) for row in self.get('Contracts')]

    def put_stat(self, online, worked):
        self.put('proc/stat', f'cpu {8 * worked} 0 0 1\n' + ''.join(f'cpu{cpu} {worked} 0 0 1\n' for cpu in online) +
                 'ctxt 1\nprocs_running 1\nprocs_blocked 0\n')

    def work(self):
        """All CPUs are busy, since the last call and now."""
        self.worked += 1000
        self.put_stat(range(8), self.worked)

    def wait_rows(self, rows):
        """With work, as without it the contract of a profile that parks nothing is not needed."""
        wait_until(lambda: self.work() or self.rows() == rows, 'the contracts')

    def obstacle(self, path):
        return str(self.value(path, 'Obstacle'))


@needs_root
class Units(Contracts):
    def setUp(self):
        super().setUp()
        self.begin()

    def test_hold(self):
        changed = self.signals('/org/idled1')
        path, descriptor = self.hold_contract()
        self.assertEqual(self.rows(), [('mail.service', 5000)])
        self.assertEqual(self.value(path, 'Request'), {'wakeup_p99_us': 5000})
        wait_until(lambda: any('Contracts' in c[2] for c in changed), 'a signal')
        (row,) = self.get('Contracts')
        self.assertEqual(row['cgroup'], UNIT)
        if row['obstacle']:  # no BPF here: said once, and the unit gets what ondemand gives
            self.assertFalse(row['measured'])
            self.assertIn('not measured', self.obstacle(path))
            self.daemon.wait_log('delays of wake-ups are not measured')
        else:
            wait_until(lambda: self.get('Contracts')[0]['measured'], 'measuring')
            self.assertEqual(self.obstacle(path), '')
            self.assertGreater(bpf_programs(self.daemon.process.pid), 0)
        self.close(descriptor)
        wait_until(lambda: not self.rows(), 'no contracts')
        wait_until(lambda: not bpf_programs(self.daemon.process.pid), 'no programs')

    def test_unit_ends(self):
        self.hold_contract()
        self.process.kill()
        wait_until(lambda: not self.rows(), 'no contracts')

    def test_tightest(self):
        self.hold_contract(9000)
        tight, descriptor = self.hold_contract(4000)
        self.assertEqual(self.rows(), [('mail.service', 4000)])
        self.assertEqual([str(row['owner']) for row in self.get('Contracts')], [str(self.value(tight, 'Owner'))])
        self.close(descriptor)
        wait_until(lambda: self.rows() == [('mail.service', 9000)], 'the other one')

    def test_profile(self):
        self.hold_contract()
        self.set_option('contract', 'WakeupP99', '20ms')
        self.wait_rows([('', 20000), ('mail.service', 5000)])
        self.set_option('contract', 'WakeupP99', '')
        wait_until(lambda: self.rows() == [('mail.service', 5000)], 'the one of the hold')

    def test_not_readable(self):
        os.unlink(os.path.join(self.root, f'proc/{self.process.pid}/cgroup'))
        path, _ = self.hold_contract()
        self.assertEqual(self.rows(), [])
        self.assertIn('cannot be read', self.obstacle(path))

    def test_status(self):
        self.hold_contract()
        answer = json.loads(self.idlectl('status', '--json').stdout)
        self.assertEqual([row['unit'] for row in answer['contracts']], ['mail.service'])
        self.assertIn('mail.service: 99 % of wake-ups within 5 ms', self.idlectl('status').stdout)
        why = ' '.join(self.idlectl('why').stdout.split())
        self.assertRegex(why, r'mail\.service: 99 % of wake-ups within 5 ms: .*requested by user 0')

    def test_pause(self):
        """Nothing is requested then, and the contract says so."""
        path, _ = self.hold_contract()
        measured = not self.get('Contracts')[0]['obstacle']
        if measured:
            wait_until(lambda: 'cores' in self.get('Contracts')[0], 'a request')
        descriptor = self.pause('a test')
        wait_until(lambda: 'cores' not in self.get('Contracts')[0], 'no request')
        self.assertEqual(self.get('Contracts')[0]['obstacle'], self.obstacle(path))
        self.assertIn(self.obstacle(path), self.idlectl('status').stdout)
        os.close(descriptor)
        if measured:
            wait_until(lambda: 'cores' in self.get('Contracts')[0], 'a request')

    def test_others(self):
        """All may know that there is a contract. How late a user's tasks are is for that user and root."""
        self.move(f'/user.slice/user-{NOBODY}.slice/session-1.scope')
        self.hold_contract()
        for user, knows in ((None, True), (NOBODY, True), (1, False)):
            text = self.busctl('get-property', NAME, PATH, MANAGER, 'Contracts', user=user, check=True).stdout
            self.assertIn('"session-1.scope"', text)
            self.assertEqual('windows_kept' in text, knows, f'user {user}: {text}')

    def test_wrong(self):
        for values, words in (({'wakeup_p99_us': 0, 'pid': 1}, '1 to 10000000'),
                              ({'wakeup_p99_us': 10000001, 'pid': 1}, '1 to 10000000'),
                              ({'wakeup_p99_us': 5000}, 'no pid')):
            with self.subTest(values):
                self.assertIn(words, self.assert_fails(INVALID, 'Hold', request(**values)))


@needs_root
class Measured(Contracts):
    """What contracts save is one number for the machine, which an instance before this one measured."""
    def test_saved(self):
        pair = 'pair 2 40 1 0 1 0 0 2 32 1 0 1 0 0\n'
        self.put('var/lib/idled/evaluate-contract',
                 'idled-evaluator 2\nmachine rapl 8 by busy seconds\ntotals 1000 900 1100 0 250 500 0\n'
                 'idled-estimator 2\npairs 4 8\ndropped 0 0 0 0 0 0 0 0 0 0 0\n' + 4 * pair + 'end\n')
        self.begin()
        self.hold_contract()
        self.assertEqual(self.get('SavedJoules', '/org/idled1/policy/contract', NAME + '.Policy'), (1000, 900, 1100))
        for verb in 'status', 'why':
            (row,) = json.loads(self.idlectl(verb, '--json').stdout)['benefits']
            self.assertEqual([row[key] for key in ('policy', 'saved_joules', 'saved_joules_low', 'saved_joules_high')],
                             ['contract', 1000, 900, 1100])
            self.assertRegex(' '.join(self.idlectl(verb).stdout.split()), r'contract\b.*1000 J \(900 J to 1100 J\)')
        self.assertRegex(self.idlectl('metrics').stdout, r'policy_saved_low_joules\{policy="contract"\} 900')


@needs_root
class Asleep(WithLogind, Contracts):
    def test_sleep(self):
        """The contract goes on after the machine slept."""
        self.start_logind()
        self.begin()
        self.hold_contract()
        if self.get('Contracts')[0]['obstacle']:
            self.skipTest('delays are not measured here')
        wait_until(lambda: 'cores' in self.get('Contracts')[0], 'a request')
        (before,) = self.get('Contracts')
        self.prepare_for_sleep(True)
        self.prepare_for_sleep(False)
        wait_until(lambda: self.get('Contracts')[0].get('cores', 0) > 0, 'a request')
        (row,) = self.get('Contracts')
        self.assertEqual((row['contract'], bool(row['measured'])), (before['contract'], True))


@needs_root
class DryRun(Contracts):
    def test_dry_run(self):
        self.begin('--dry-run')
        self.hold_contract()
        if bpf_programs(self.daemon.process.pid):
            wait_until(lambda: self.get('Contracts')[0]['measured'], 'measuring')
        (row,) = self.get('Contracts')
        self.assertEqual(row['obstacle'], 'this is a dry run')
        self.assertNotIn('cores', row)


@needs_root
class Unserved(Contracts):
    CONFIG = '[Daemon]\nPolicies=latency ondemand\n'

    def test_no_policy(self):
        self.begin()
        path, _ = self.hold_contract()
        self.assertEqual(self.rows(), [])
        self.assertIn('no active policy serves contracts', self.obstacle(path))
        self.assertEqual(bpf_programs(self.daemon.process.pid), 0)


@needs_root
class FromTheStart(Contracts):
    CONFIG = '[Daemon]\nPolicies=contract\n'

    def test_file(self):
        """No other policy has idled tick then."""
        self.write_config('policies/contract.conf', '[Policy]\nWakeupP99=20ms\nPark=no\n')
        self.start()
        self.assertEqual((self.rows(), bpf_programs(self.daemon.process.pid)), ([], 0))
        self.wait_rows([('', 20000)])


main()
