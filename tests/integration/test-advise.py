#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlelab advise --apply and --save: IdleGovernor=auto of a running idled becomes what the models advise."""
import itertools
import json
import os
import subprocess
import time
from pathlib import Path

from idledtest import TIMEOUT, TestCase, main, wait_until

TRACES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../traces/idle')
TABLE = os.path.join(TRACES, 'client.tbl')
GOVERNORS = 'sys/devices/system/cpu/cpuidle'


class Advise(TestCase):
    CONFIG = '[Daemon]\nPolicies=cstates\n'

    def setUp(self):
        super().setUp()
        self.offer('ladder', 'ladder menu teo ')
        self.write_config('policies/cstates.conf.d/10-auto.conf', '[Policy]\nIdleGovernor=auto\n')

    def offer(self, current, available):
        self.put(os.path.join(GOVERNORS, 'current_governor'), current + '\n')
        self.put(os.path.join(GOVERNORS, 'available_governors'), available + '\n')

    def command(self, *arguments):
        return [os.environ['IDLELAB'], 'advise', '--bus-address', self.bus.address, '--root', self.root,
                '--config-dir', self.config, '--vendor-dir', '/nonexistent', '--policy-dir',
                os.environ['IDLED_POLICIES'], *arguments]

    def run_advise(self, *arguments, trace='idle.csv.xz', table=TABLE):
        traces = [os.path.join(TRACES, trace)] * 3  # one has too few periods
        return subprocess.run(self.command('--table', table, *arguments, *traces),
                              capture_output=True, text=True, timeout=TIMEOUT, check=False)

    def advise(self, *arguments, **more):
        result = self.run_advise('--json', *arguments, **more)
        self.assertEqual(result.returncode, 0, result.stderr)
        if more.get('table') != 'this':  # this machine has CPUs of two kinds, which is warned of
            self.assertEqual(result.stderr, '')
        return json.loads(result.stdout)

    def options(self):
        """{key: (value, source)} of cstates in the daemon."""
        return {str(s['key']): (str(s['value']), str(s['source'])) for s in self.call('GetSettings')
                if s['section'] == 'cstates'}

    def current(self):
        return self.read(os.path.join(GOVERNORS, 'current_governor'))

    def clients(self):
        """The processes that have said hello to the bus."""
        bus = self.connection.get_object('org.freedesktop.DBus', '/org/freedesktop/DBus')
        names = [name for name in bus.ListNames() if name.startswith(':')]
        return [bus.GetConnectionUnixProcessID(name) for name in names]

    def reasons(self):
        return [(str(r['because']), str(r['option'])) for r in self.call('Explain')[0]['reasons']]

    def choice(self):
        """Why auto uses the governor that it uses."""
        (why,) = [because for because, option in self.reasons()
                  if option == 'IdleGovernor' and 'by the advice of' in because]
        return why

    def test_auto_waits(self):
        """Without advice auto leaves the kernel's governor alone, and says what to do."""
        self.start()
        self.assertEqual(self.current(), 'ladder')
        self.assertTrue([1 for because, option in self.reasons()
                         if option == 'IdleGovernor' and 'idlelab advise' in because], self.reasons())

    def test_apply(self):
        self.start()
        answer = self.advise('--apply', '--latency', '50us')
        governor = answer['best']['governor']
        self.assertEqual(answer['settings']['DeepestState'], '33us')
        wait_until(lambda: self.current() == governor, 'the governor')
        options = self.options()
        self.assertEqual(options['IdleGovernor'][0], 'auto')
        self.assertTrue(options['IdleGovernor'][1].endswith('10-auto.conf:2'))
        why = self.choice()
        self.assertEqual(options['DeepestState'][0], '33us')
        self.assertEqual({row['key']: (row['value'], row['source']) for row in answer['in_effect']},
                         {key: options[key] for key in ('IdleGovernor', 'DeepestState', 'UtilizationAware',
                                                        'History')})
        self.assertNotIn('IdleGovernorAdvised', options)
        for part in governor, time.strftime('%Y-%m-'), '33 us':
            self.assertIn(part, why)
        self.assertIn(why, ' '.join(self.idlectl('why').stdout.split()))
        # Without a bound there is no limit, and the earlier one is taken back.
        self.advise('--apply')
        self.assertEqual(self.options()['DeepestState'][0], '')
        self.set_option('cstates', 'IdleGovernorAdvised', '')
        wait_until(lambda: self.current() == 'ladder', 'auto without advice')

    def test_auto(self):
        """What the service runs: it follows the advice of a load, and says what that saves."""
        self.start()
        answer = self.advise('--auto')
        self.assertTrue(answer['change'])
        saved = answer['saved_percent']
        self.assertGreaterEqual(saved, 5)
        wait_until(lambda: self.current() == answer['best']['governor'], 'the governor')
        why = self.choice()
        for part in answer['best']['governor'], f'{saved:.1f} %', time.strftime('%Y-%m-'):
            self.assertIn(part, why)
            self.assertIn(part, ' '.join(self.idlectl('why').stdout.split()))
        # The same advice again saves nothing more, and leaves the earlier choice and its reason.
        before = self.options()
        answer = self.advise('--auto')
        self.assertFalse(answer['change'])
        self.assertIn('5 %', answer['obstacle'])
        self.assertEqual(self.options(), before)
        # It outlives a reload of the configuration and the daemon.
        self.call('Reload')
        self.assertEqual(self.current(), answer['best']['governor'])
        self.daemon.stop()
        self.assertEqual(self.current(), 'ladder')
        self.start()
        wait_until(lambda: self.current() == answer['best']['governor'], 'the governor that was advised before')
        self.assertEqual(self.choice(), why)
        self.set_option('cstates', 'IdleGovernorAdvised', '')
        wait_until(lambda: self.current() == 'ladder', 'auto without advice')
        self.daemon.stop()
        self.start()
        self.assertEqual(self.current(), 'ladder')

    def test_takes_options_back(self):
        """Options of the configuration that the best choice does not have are set to no, and advice is not
        repeated. The states that UtilizationAware= switches off for a while are no limit."""
        self.write_config('policies/cstates.conf.d/10-auto.conf', '[Policy]\nIdleGovernor=teo\nPeriod=100ms\n'
                          'UtilizationAware=yes\nUtilizationDwell=0\n')
        self.start()
        seconds = itertools.count(1)

        def busy():
            """CPU 0 runs, and sleeps for 2 us at a time."""
            second = next(seconds)
            state = 'sys/devices/system/cpu/cpu0/cpuidle/state1/'
            for name, text in (('proc/stat', f'cpu0 {10**9 + second * 100} 0 0 0 0 0 0 0\n'),
                               (state + 'usage', f'{10**9 + second}\n'), (state + 'time', f'{10**12 + 2 * second}\n')):
                path = os.path.join(self.root, name)
                os.chmod(path, 0o644)
                with open(path, 'w', encoding='ascii') as file:
                    file.write(text)
            return [k for k in self.get('Knobs') if str(k[1]).startswith('cpu0/cpuidle/')]

        wait_until(busy, 'a limit of CPU 0')
        for table, deepest in (TABLE, 'C7s'), ('this', 'C10'):
            now = self.advise(table=table)['now']
            self.assertEqual((now['governor'], now['utilization_aware'], now['deepest_state']), ('teo', True, deepest))
        answer = self.advise('--apply', '--latency', '50us')
        self.assertTrue(answer['change'])
        self.assertFalse(answer['best']['utilization_aware'])
        self.assertEqual(answer['settings']['UtilizationAware'], 'no')
        self.assertEqual(self.options()['UtilizationAware'][0], 'no')
        self.assertFalse(self.advise('--apply', '--latency', '50us')['change'])

    def test_lifts_a_configured_limit(self):
        """--apply does, what the service must not do."""
        self.write_config('policies/cstates.conf.d/10-auto.conf', '[Policy]\nIdleGovernor=menu\nDeepestState=10us\n')
        self.start()
        wait_until(lambda: self.current() == 'menu', 'the governor')
        answer = self.advise('--apply')
        self.assertEqual(answer['now']['worst_exit_latency_us'], 10)
        self.assertEqual(answer['best']['worst_exit_latency_us'], 166)
        self.assertEqual(self.options()['DeepestState'][0], '166us')
        self.assertFalse(self.advise('--apply')['change'])

    def test_combination_without_model(self):
        """The message names all of it."""
        self.write_config('policies/cstates.conf.d/10-auto.conf', '[Policy]\nIdleGovernor=menu\n'
                          'UtilizationAware=yes\nDeepestState=10us\n')
        self.start()
        wait_until(lambda: self.current() == 'menu', 'the governor')
        obstacle = self.advise('--auto', table='this')['obstacle']
        self.assertIn('IdleGovernor is menu', obstacle)
        result = self.run_advise('--apply')
        self.assertEqual(result.returncode, 1)
        self.assertIn('no model of menu with C1E as the deepest state, UtilizationAware=yes', result.stderr)
        self.assertTrue(self.advise()['change'], 'the table may be of another machine')

    def test_few_periods(self):
        """They change nothing, and a person who asked for a change gets an error."""
        self.start()
        before = self.options()
        trace = os.path.join(self.root, 'few')
        for periods, option, status in ((2, '--auto', 0), (1999, '--auto', 0), (1999, '--apply', 1),
                                        (1999, '--save', 1), (2000, '--apply', 0)):
            with self.subTest((periods, option)):
                with open(trace, 'w', encoding='ascii') as file:
                    file.writelines(f'0,{i * 4000000},200000,180000\n' for i in range(periods))
                result = subprocess.run(self.command('--table', TABLE, option, trace), capture_output=True,
                                        text=True, timeout=TIMEOUT, check=False)
                self.assertEqual(result.returncode, status, result.stderr)
                said = ' '.join((result.stderr if status else result.stdout).split())
                self.assertEqual(f'{periods} idle periods are too few' in said, periods < 2000, said)
                self.assertEqual(self.options() == before, periods < 2000)

    def test_kept_file(self):
        """Whatever is in the file of advice, idled starts, and says what it ignored."""
        path = os.path.join(self.root, 'var/lib/idled/cstates-IdleGovernorAdvised')
        os.makedirs(os.path.dirname(path), exist_ok=True)
        for text, current, said in (('teo: it\n', 'teo', None), ('menu', 'menu', None),
                                    ('warp: it\n', 'ladder', 'IdleGovernorAdvised: '),
                                    ('x' * 100000, 'ladder', path), ('garbage\0\xff', 'ladder', path),
                                    ('', 'ladder', None), (None, 'ladder', path)):
            with self.subTest(text and text[:20]):
                if text is None:
                    os.unlink(path)
                    os.mkfifo(path)
                else:
                    with open(path, 'w', encoding='latin-1') as file:
                        file.write(text)
                self.start()
                self.assertEqual(self.current(), current)
                if said:
                    self.daemon.wait_log(said)
                self.daemon.stop()
        os.unlink(path)
        os.mkdir(path)
        self.start()
        self.daemon.wait_log('Failed to read ' + path)
        self.set_option('cstates', 'IdleGovernorAdvised', 'teo: it')
        self.daemon.wait_log('Failed to write ' + path)
        wait_until(lambda: self.current() == 'teo', 'the governor that cannot be kept')

    def test_old_option(self):
        """IdleGovernorAdvised= of an old file or profile counts while no file of advice exists."""
        self.write_config('policies/cstates.conf.d/10-auto.conf',
                          '[Policy]\nIdleGovernor=auto\nIdleGovernorAdvised=teo: it\n')
        self.write_config('profiles/old.conf', '[cstates]\nIdleGovernorAdvised=menu: old\n')
        self.start()
        self.daemon.wait_log('IdleGovernorAdvised: .*removed.*idlelab advise --apply', 2)
        self.assertEqual(self.current(), 'teo')
        self.assertRegex(self.idlectl('settings', 'cstates').stdout, r'IdleGovernorAdvised +teo: it .*10-auto\.conf:3')
        self.assertIn('it', [because for because, option in self.reasons() if option == 'IdleGovernor'])
        self.call('SetProfile', 'old')
        wait_until(lambda: self.current() == 'menu', 'the value of the profile')
        self.set_option('cstates', 'IdleGovernorAdvised', 'ladder: by people')
        wait_until(lambda: self.current() == 'ladder', 'the new advice')
        self.call('Reload')
        self.daemon.stop()
        self.put(os.path.join(GOVERNORS, 'current_governor'), 'menu\n')
        self.start()
        wait_until(lambda: self.current() == 'ladder', 'the new advice after a restart')
        self.daemon.stop()
        self.write_config('profiles/old.conf', '[cstates]\nIdleGovernorAdvised=warp: it\n')
        done = subprocess.run([os.environ['IDLED'], *self.arguments(), '--check'], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn('profiles/old.conf:2: IdleGovernorAdvised: found "warp: it"', done.stdout + done.stderr)

    def test_auto_keeps_the_limit(self):
        """States that the configuration forbids are no candidates of a service."""
        self.write_config('policies/cstates.conf.d/10-auto.conf',
                          '[Policy]\nIdleGovernor=auto\nDeepestState=10us\n')
        self.start()
        wait_until(lambda: [k for k in self.get('Knobs') if str(k[1]).endswith('/disable')], 'a limit')
        limited = self.advise('--auto', table='this')
        self.assertLessEqual(max(row['worst_exit_latency_us'] for row in limited['candidates']), 10)
        self.assertLessEqual(limited['best']['worst_exit_latency_us'], 10)
        self.assertEqual(self.options()['DeepestState'][0], '10us')

    def test_auto_without_model(self):
        """It keeps a governor of which it cannot say what a change saves, and succeeds."""
        self.offer('haltpoll', 'haltpoll menu')
        self.start()
        result = self.run_advise('--auto')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertIn('no model of haltpoll', ' '.join(result.stdout.split()))
        self.assertEqual(self.current(), 'haltpoll')
        self.assertEqual(self.run_advise('--apply').returncode, 1)

    def test_auto_is_not_configured(self):
        """It changes nothing, and says why."""
        for config, text in (('[Daemon]\nPolicies=cstates\n', 'IdleGovernor is ladder'),
                             ('[Daemon]\nPolicies=userspace\n', 'not active')):
            self.write_config('idled.conf', config)
            self.write_config('policies/cstates.conf.d/10-auto.conf', '[Policy]\nIdleGovernor=ladder\n')
            with self.subTest(text):
                self.start()
                before = self.options()
                result = self.run_advise('--auto')
                self.assertEqual((result.returncode, result.stderr), (0, ''))
                self.assertIn(text, result.stdout)
                self.assertIn('Nothing was changed', result.stdout)
                self.assertFalse(self.advise('--auto')['change'])
                self.assertEqual((self.current(), self.options()), ('ladder', before))
                self.daemon.stop()

    def test_long_wait(self):
        """The bus closes connections without a hello after 30 s, and a recording takes longer. So idlectl says
        hello before it reads a trace; here, one that does not come."""
        fifo = os.path.join(self.root, 'trace')
        os.mkfifo(fifo)
        self.start()
        program = self.popen(self.command('--apply', '--table', TABLE, fifo), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        wait_until(lambda: program.pid in self.clients(), 'the client on the bus')

    def test_auto_without_daemon(self):
        self.assert_failed(self.run_advise('--auto'), 'idled is not running')
        self.assertEqual(self.run_advise('--auto', '--save').returncode, 2)

    def test_save(self):
        """The drop-in outlives the daemon."""
        self.start()
        answer = self.advise('--save', '--latency', '50us')
        governor = answer['best']['governor']
        wait_until(lambda: self.current() == governor, 'the governor')
        drop_in = os.path.join(self.config, 'policies/cstates.conf.d/zz-idlectl.conf')
        self.assertEqual(answer['saved_in'], drop_in)
        self.assertTrue(self.options()['IdleGovernor'][1].startswith(drop_in))
        self.daemon.stop()
        self.assertEqual(self.current(), 'ladder')
        answer = self.advise('--save')  # without the daemon
        self.assertEqual(answer['in_effect'], [])
        text = Path(drop_in).read_text(encoding='utf-8')
        self.assertIn(f'IdleGovernor={governor}\n', text)
        self.assertNotIn('DeepestState', text)

    def test_without_daemon(self):
        """It says that nothing was applied, and still what to write."""
        result = self.run_advise('--apply')
        self.assertEqual(result.returncode, 1)
        self.assertIn('idled is not running', result.stderr)
        self.assertIn('use --save', result.stderr)

    def test_governors_of_this_machine(self):
        """Even with another machine's table: the kernel would refuse others."""
        self.offer('ladder', 'ladder')
        self.start()
        answer = self.advise('--apply')
        self.assertEqual({row['governor'] for row in answer['candidates']}, {'ladder'})
        self.assertEqual(answer['best']['governor'], 'ladder')

    def test_own_limit_is_no_fact(self):
        """States that idled switched off can be advised again; those that were off before cannot."""
        self.start()
        first = self.advise('--apply', '--latency', '10us', table='this')
        limit = first['best']['worst_exit_latency_us']
        wait_until(lambda: [k for k in self.get('Knobs') if str(k[1]).endswith('/disable')], 'a limit')
        again = self.advise(table='this')
        deepest = max(row['worst_exit_latency_us'] for row in again['candidates'])
        self.assertGreater(deepest, limit)
        self.daemon.stop()
        alone = self.advise(table='this')
        self.assertEqual(max(row['worst_exit_latency_us'] for row in alone['candidates']), deepest)

    def test_not_active(self):
        """Options of a policy that does not run cannot be set."""
        self.write_config('idled.conf', '[Daemon]\nPolicies=userspace\n')
        self.start()
        result = self.run_advise('--apply')
        self.assertEqual(result.returncode, 1)
        self.assertIn('"cstates" is neither an active policy', result.stderr)
        self.assertEqual(self.current(), 'ladder')


main()
