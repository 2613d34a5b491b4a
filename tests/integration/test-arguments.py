#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every method and property of every object gets arguments at random, of its types and of others: idled
answers or refuses each call, and has no more descriptors and memory afterwards than before."""
import datetime
import os
import random
import time
from xml.etree import ElementTree

import dbus
import dbus.lowlevel

from idledtest import MANAGER, NAME, PATH, PROPERTIES, TIMEOUT, TestCase, main, wait_until

SECONDS = 8
OUTSTANDING = 32  # calls that wait for an answer
INTROSPECTABLE = 'org.freedesktop.DBus.Introspectable'
NUMBERS = {'y': (dbus.Byte, 0, 2**8), 'u': (dbus.UInt32, 0, 2**32), 't': (dbus.UInt64, 0, 2**64),
           'i': (dbus.Int32, -2**31, 2**31), 'x': (dbus.Int64, -2**63, 2**63), 'b': (dbus.Boolean, 0, 2)}
WORDS = ['', 'x', '0', '-1', '0-3', '7,99999999999', '%s%n%p', 'a\nb', '\x1b[2J', '\u00e9\U0001f600', 'A' * 70000,
         'userspace', 'IdleMask', 'ondemand', 'Period', '250ms', 'performance', 'Version', MANAGER, PATH, 'sources',
         'latency_us', 'wakeup_p99_us', 'global', 'profile', 'min_cores', 'min_frequency_khz', 'cpus', 'kind', 'fast',
         'pid', 'pidfd', 'reason', 'debug', '../../etc']
TYPES = ['s', 'u', 'i', 't', 'x', 'd', 'b', 'y', 'o', 'g', 'v', 'h', 'as', 'a{sv}', 'a(sss)', '(su)', 'aas', 'a{us}']
# Descriptors that idled keeps for later: of processes that held (daemon/holds/holder.c), and sd-event's of each clock
# from the first timer on.
KEPT = {'anon_inode:[pidfd]': 16, 'anon_inode:[timerfd]': 5}
LASTING = {'WakeupBill'}  # answered after as long as its caller says


class Arguments(TestCase):
    CONFIG = '[Daemon]\nPolicies=userspace contract ondemand cpufreq cstates latency quiet\n'

    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get('SEED', datetime.date.today().toordinal()))
        self.random = random.Random(self.seed)
        self.next_hold = PATH  # which a random release may end
        self.null = os.open('/dev/null', os.O_RDONLY)
        self.addCleanup(os.close, self.null)

    def value(self, signature, depth=0):
        """A value of one complete type."""
        choose, kind = self.random.choice, signature[0]
        if kind in NUMBERS:
            make, least, most = NUMBERS[kind]
            return make(choose([least, most - 1, 1, 1000 % most, self.random.randrange(least, most)]))
        if kind == 'd':
            return choose([0.0, -1.0, 0.5, 1e308, float('inf'), float('nan')])
        if kind == 's':
            return choose(WORDS)
        if kind == 'o':
            return dbus.ObjectPath(choose(['/', PATH, self.next_hold, '/x']))
        if kind == 'g':
            return dbus.Signature(choose(['', 's', 'a{sv}']))
        if kind == 'h':
            return dbus.types.UnixFd(self.null)
        if kind == 'v':
            return self.value(choose(TYPES[:10] if depth > 1 else TYPES), depth + 1)
        if signature.startswith('a{'):
            key, of = signature[2], signature[3:-1]
            return dbus.Dictionary({self.value(key): self.value(of, depth + 1) for _ in range(choose([0, 1, 3]))},
                                   signature=key + of)
        if kind == 'a':
            return dbus.Array([self.value(signature[1:], depth + 1) for _ in range(choose([0, 1, 3]))],
                              signature=signature[1:])
        return dbus.Struct([self.value(str(part), depth + 1) for part in dbus.Signature(signature[1:-1])],
                           signature=signature[1:-1])

    def members(self, path=''):
        """(path, interface, method, its first arguments, signature of the others) of everything that introspection
        shows, properties included; one CPU stands for all."""
        xml = ElementTree.fromstring(self.object(path or '/').Introspect(dbus_interface=INTROSPECTABLE))
        for interface in xml.iter('interface'):
            for method in interface.iter('method'):
                yield path or '/', interface.get('name'), method.get('name'), [], ''.join(
                    argument.get('type') for argument in method.iter('arg') if argument.get('direction') == 'in')
            for name in interface.iter('property'):
                for method, signature in ('Get', ''), ('Set', 'v'):
                    yield path or '/', PROPERTIES, method, [interface.get('name'), name.get('name')], signature
        for node in xml.findall('node'):
            if not path.endswith('/cpu') or node.get('name') == '1':
                yield from self.members('%s/%s' % (path, node.get('name')))

    def send(self, connection, path, interface, method, first, signature):
        types = [str(part) for part in dbus.Signature(signature)]
        if self.random.random() < 0.3:  # others than it has
            types = [self.random.choice(TYPES) for _ in range(self.random.randint(0, 3))]
        message = dbus.lowlevel.MethodCallMessage(NAME, path, interface, method)
        message.append(*first, *[self.value(kind) for kind in types], signature='s' * len(first) + ''.join(types))
        what = ' '.join([path, method, *first, ''.join(types)])
        self.waiting.add(what)
        self.sent[method] = self.sent.get(method, 0) + 1
        connection.send_message_with_reply(message, lambda _: self.waiting.discard(what), TIMEOUT)

    def state(self):
        """How many descriptors there are of each of KEPT, and of others except files of the machine, because idled
        keeps one of each knob that it wrote; and kilobytes of memory."""
        process = '/proc/%d' % self.daemon.process.pid
        with open(process + '/statm', encoding='ascii') as file:
            memory = int(file.read().split()[1]) * 4
        targets = [os.readlink('%s/fd/%s' % (process, number)) for number in os.listdir(process + '/fd')]
        others = [target for target in targets if not target.startswith(str(self.root) + '/') and target not in KEPT]
        return {kind: targets.count(kind) for kind in KEPT} | {'others': len(others)}, memory

    def round(self, members, seconds):
        """Calls all members, those of a hold too, then any method, on a connection that is closed in the end."""
        connection = self.bus.connect()
        path, held = self.call('Hold', dbus.Dictionary({'latency_us': dbus.UInt32(50)}, signature='sv'))
        self.next_hold = '%s/hold/%d' % (PATH, int(path.rpartition('/')[2]) + 1)
        members = [*members, *self.members(path)]
        queue, methods = list(members), [member for member in members if not member[3]]
        end = time.monotonic() + seconds
        self.waiting = set()
        while queue or time.monotonic() < end:
            self.send(connection, *(queue.pop() if queue else self.random.choice(methods)))
            wait_until(lambda: len(self.waiting) < OUTSTANDING, lambda: 'answers to %s' % self.waiting)
        wait_until(lambda: not {what for what in self.waiting if what.split()[1] not in LASTING},
                   lambda: 'answers to %s' % self.waiting)
        self.assertIn(path, self.get('Holds'))
        connection.close()
        os.close(held.take())
        wait_until(lambda: len(self.get('Holds')) == 0, 'the end of holds')

    def test_arguments(self):
        print('seed %d' % self.seed)
        self.sent = {}
        self.start()
        members = list(self.members())
        self.assertTrue({'Hold', 'SetOptions', 'Set', 'WakeupBill'} <= {member[2] for member in members})
        self.round(members, SECONDS / 4)
        descriptors, before = self.state()
        self.round(members, SECONDS)
        most = KEPT | {'others': descriptors['others']}
        wait_until(lambda: all(n <= most[kind] for kind, n in self.state()[0].items()),
                   lambda: 'descriptors: at most %s, found %s' % (most, self.state()[0]))
        after = self.state()[1]
        print('%d calls of %d members; %d kB, then %d' % (sum(self.sent.values()), len(members), before, after))
        with open('/proc/%d/maps' % self.daemon.process.pid, encoding='utf-8') as maps:
            if 'libasan' not in maps.read():  # a sanitizer keeps freed memory, and finds leaks at the end
                self.assertLess(after, before * 1.3 + 4096)
        self.assertEqual(self.get('Version', PATH), self.get('Version'))
        self.daemon.send(15)
        self.assertEqual(self.daemon.wait_exit(), 0, '\n'.join(self.daemon.log[-20:]))


main()
