#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The bill of wake-ups on the bus: which units a user sees, and when the kernel has the programs."""
import json
import os
import subprocess
import threading

import dbus

from idledtest import MANAGER, NAME, PATH, TestCase, bpf_programs, main, needs_root, wait_until
from polkittest import YES, WithPolkit


class Case(TestCase):
    START = ('--dry-run',)

    def bill(self, connection=None, **options):
        try:
            return self.object(connection=connection).WakeupBill(
                dbus.Dictionary(options, 'sv'), dbus_interface='org.idled1.Manager')
        except dbus.DBusException as error:
            if error.get_dbus_name() != 'org.idled1.Error.NotAvailable':
                raise
            return self.skipTest(str(error))

    def processes(self, answer):
        return {str(row[2]): row for row in answer['Units']}


@needs_root
class Bills(Case):
    def test_wakeups_are_counted(self):
        over = threading.Event()

        def nap():
            with open('/proc/thread-self/comm', 'w', encoding='ascii') as file:
                file.write('napper')
            while not over.wait(0.005):
                pass
        napper = threading.Thread(target=nap)
        napper.start()
        try:
            answer = self.bill(Seconds=1.0, Processes=True, All=True)
        finally:
            over.set()
            napper.join()
        self.assertEqual(set(answer), {'DurationNSec', 'Sampled', 'Lost', 'Unstored', 'Units'})
        self.assertGreaterEqual(answer['DurationNSec'], 1e9)
        own = self.processes(answer)[os.path.basename(os.readlink('/proc/self/exe'))]
        self.assertGreater(sum(kind[2] for kind in own[3]), 50)
        for unit in answer['Units']:
            self.assertTrue(unit[0] and unit[1])
            for kind, state, count, total, longest, bins in unit[3]:
                self.assertIn(kind, ('idle', 'waiting', 'parked', 'other'))
                self.assertLess(state, 11)
                self.assertEqual(sum(n for _, n in bins), count)
                self.assertLessEqual(longest, total)

    def test_idlectl(self):
        self.bill(Seconds=0.1)  # or skip
        self.popen(['sh', '-c', 'while sleep 0.01; do :; done'])
        result = self.idlectl('bill', '--seconds', '0.5', '--json', '--by', 'process')
        answer = json.loads(result.stdout)
        self.assertEqual((answer['source'], answer['source_error']), ('idled', None), result.stderr)
        naps = sum(unit['wakeups'] for unit in answer['units'] if unit['process'] == 'sleep')
        self.assertGreater(naps, 10, answer['units'])

    def test_units_together(self):
        rows = self.bill(Seconds=0.5, All=True)['Units']
        self.assertEqual({str(row[2]) for row in rows}, {''})
        self.assertEqual(len({str(row[1]) for row in rows}), len(rows))

    def test_nothing_stays(self):
        pid = self.daemon.process.pid
        self.assertEqual(bpf_programs(pid), 0)
        self.bill(Seconds=0.1)
        wait_until(lambda: not bpf_programs(pid), 'no programs')

    def test_it_ends_with_its_client(self):
        pid = self.daemon.process.pid
        self.bill(Seconds=0.1)  # or skip
        client = self.popen(
            ['busctl', '--address=' + self.bus.address, 'call', NAME, PATH, MANAGER, 'WakeupBill', 'a{sv}',
             '1', 'Seconds', 'd', '600'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: bpf_programs(pid), 'programs')
        client.kill()
        wait_until(lambda: not bpf_programs(pid), 'no programs')

    def test_bad_options(self):
        for options in ({'Colour': 'red'}, {'Seconds': 0.0}, {'Seconds': 601.0},
                        {'Seconds': float('nan')}, {'Seconds': 'x'}, {'All': 3}):
            with self.subTest(options), self.assertRaises(dbus.DBusException) as caught:
                self.bill(**options)
            self.assertEqual(caught.exception.get_dbus_name(), 'org.idled1.Error.InvalidValue')


@needs_root
class Others(WithPolkit, Case):
    def test_others_see_their_own(self):
        self.bill(Seconds=0.1)  # or skip
        result = self.call_as_nobody('WakeupBill', 'a{sv}', '1', 'Seconds', 'd', '0.3')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn('.service', result.stdout)
        self.assertIn('"Units" a(sssa(sutdda(td))) 0', result.stdout)

    def test_all_needs_authorization(self):
        arguments = ('a{sv}', '2', 'Seconds', 'd', '0.3', 'All', 'b', 'true')
        result = self.call_as_nobody('WakeupBill', *arguments)
        self.assertNotEqual(result.returncode, 0)
        self.bill(Seconds=0.1)  # or skip
        self.start_polkit(YES)
        result = self.call_as_nobody('WakeupBill', *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.questions()[-1][1], 'org.idled1.watch-sleeps')
        self.assertNotIn('a(sssa(sutdda(td))) 0', result.stdout)


main()
