#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlectl advise --apply and --save: IdleGovernor=auto of a running idled becomes what the models advise."""
import json
import os
import subprocess

from idledtest import TIMEOUT, TestCase, main, wait_until

TRACES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../traces/idle')
TABLE = os.path.join(TRACES, 'client.tbl')
GOVERNORS = 'sys/devices/system/cpu/cpuidle'


class Advise(TestCase):
    CONFIG = '[Daemon]\nPolicies=cstates\n'

    def setUp(self):
        super().setUp()
        directory = os.path.join(self.root, GOVERNORS)
        os.makedirs(directory, exist_ok=True)
        for name, text in (('current_governor', 'ladder'), ('available_governors', 'ladder menu teo ')):
            path = os.path.join(directory, name)
            if os.path.exists(path):
                os.chmod(path, 0o644)
            with open(path, 'w', encoding='ascii') as file:
                file.write(text + '\n')
        self.write_config('policies/cstates.conf.d/10-auto.conf', '[Policy]\nIdleGovernor=auto\n')

    def command(self, *arguments):
        return [os.environ['IDLECTL'], 'advise', '--bus-address', self.bus.address, '--root', self.root,
                '--config-dir', self.config, '--vendor-dir', '/nonexistent', '--policy-dir',
                os.environ['IDLED_POLICIES'], *arguments]

    def run_advise(self, *arguments, trace='idle.csv.xz', table=TABLE):
        return subprocess.run(self.command('--table', table, *arguments, os.path.join(TRACES, trace)),
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
        with open(os.path.join(self.root, GOVERNORS, 'current_governor'), encoding='ascii') as file:
            return file.read().strip()

    def clients(self):
        """The processes that have said hello to the bus."""
        bus = self.connection.get_object('org.freedesktop.DBus', '/org/freedesktop/DBus')
        names = [name for name in bus.ListNames() if name.startswith(':')]
        return [bus.GetConnectionUnixProcessID(name) for name in names]

    def reasons(self):
        return [(str(r['because']), str(r['option'])) for r in self.call('Explain')[0]['reasons']]

    def test_auto_waits(self):
        """Without advice auto leaves the kernel's governor alone, and says what to do."""
        self.start()
        self.assertEqual(self.current(), 'ladder')
        self.assertTrue([1 for because, option in self.reasons()
                         if option == 'IdleGovernor' and 'idlectl advise' in because], self.reasons())

    def test_apply(self):
        self.start()
        answer = self.advise('--apply', '--latency', '50us')
        governor = answer['best']['governor']
        self.assertEqual(answer['settings']['DeepestState'], '33us')
        wait_until(lambda: self.current() == governor, 'the governor')
        options = self.options()
        self.assertEqual(options['IdleGovernor'][0], governor)
        self.assertEqual(options['DeepestState'][0], '33us')
        self.assertEqual({row['key']: (row['value'], row['source']) for row in answer['in_effect']},
                         {key: options[key] for key in ('IdleGovernor', 'DeepestState', 'UtilizationAware',
                                                        'History', 'HistoryDraw')})
        self.assertIn(('a kernel idle governor is configured', 'IdleGovernor'), self.reasons())
        source = options['IdleGovernor'][1]
        self.assertIn(source, self.idlectl('why').stdout)
        # Without a bound there is no limit, and the earlier one is taken back.
        self.advise('--apply')
        self.assertEqual(self.options()['DeepestState'][0], '')
        self.call('SetOption', 'cstates', 'IdleGovernor', '')
        wait_until(lambda: self.current() == 'ladder', 'auto again')
        self.assertTrue(self.options()['IdleGovernor'][1].endswith('10-auto.conf:2'))

    def test_save(self):
        """The drop-in outlives the daemon."""
        self.start()
        answer = self.advise('--save', '--latency', '50us')
        governor = answer['best']['governor']
        wait_until(lambda: self.current() == governor, 'the governor')
        drop_in = os.path.join(self.config, 'policies/cstates.conf.d/90-idlectl.conf')
        self.assertEqual(answer['saved_in'], drop_in)
        self.assertTrue(self.options()['IdleGovernor'][1].startswith(drop_in))
        self.daemon.stop()
        self.assertEqual(self.current(), 'ladder')
        answer = self.advise('--save')  # without the daemon
        self.assertEqual(answer['in_effect'], [])
        with open(drop_in, encoding='utf-8') as file:
            text = file.read()
        self.assertIn(f'IdleGovernor={governor}\n', text)
        self.assertNotIn('DeepestState', text)

    def test_long_wait(self):
        """The bus closes connections without a hello after 30 s, and a recording takes longer. So idlectl says
        hello before it reads a trace; here, one that does not come."""
        fifo = os.path.join(self.root, 'trace')
        os.mkfifo(fifo)
        self.start()
        program = subprocess.Popen(self.command('--apply', '--table', TABLE, fifo), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.stderr.close)
        try:
            wait_until(lambda: program.pid in self.clients(), 'the client on the bus')
        finally:
            program.kill()
            program.wait()

    def test_without_daemon(self):
        """It says that nothing was applied, and still what to write."""
        result = self.run_advise('--apply')
        self.assertEqual(result.returncode, 1)
        self.assertIn('idled is not running', result.stderr)
        self.assertIn('use --save', result.stderr)

    def test_governors_of_this_machine(self):
        """Even with another machine's table: the kernel would refuse others."""
        with open(os.path.join(self.root, GOVERNORS, 'available_governors'), 'w',
                  encoding='ascii') as file:
            file.write('ladder\n')
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


if __name__ == '__main__':
    main()
