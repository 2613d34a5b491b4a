# SPDX-License-Identifier: LGPL-2.1-or-later
"""What tests of holds share: asking for them, and processes that do."""
import os
import subprocess
import sys

import dbus
from idledtest import PATH, TestCase, command_as, wait_until

HOLD = 'org.idled1.Hold'
HOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'holder.py')
OBJECTS = 'org.freedesktop.DBus.ObjectManager'


def wishes(**values):
    types = {'latency_us': dbus.UInt32, 'min_cores': dbus.UInt32, 'min_frequency_khz': dbus.UInt32,
             'pid': dbus.UInt32, 'pidfd': dbus.types.UnixFd, 'global': dbus.Boolean}
    return dbus.Dictionary({key: types.get(key, dbus.String)(value)
                            for key, value in values.items()}, signature='sv')


class Case(TestCase):
    CONFIG = '[Daemon]\nPolicies=userspace latency\n'

    def hold(self, connection=None, **values):
        """Returns the object's path and the descriptor."""
        path, descriptor = self.call('Hold', wishes(**values), connection=connection)
        descriptor = descriptor.take()
        self.addCleanup(self.close, descriptor)
        return str(path), descriptor

    @staticmethod
    def close(descriptor):
        try:
            os.close(descriptor)
        except OSError:
            pass  # the test did

    def told_hold(self, **values):
        """As hold(); clients are told of it by then, so that what changes next is news."""
        added = self.signals(PATH, OBJECTS, 'InterfacesAdded')
        path, descriptor = self.hold(**values)
        wait_until(lambda: added, 'InterfacesAdded')
        return path, descriptor

    def holds(self):
        return [str(path) for path in self.get('Holds')]

    def wait_holds(self, count):
        wait_until(lambda: len(self.holds()) == count, '%d holds' % count)

    def value(self, path, name):
        return self.get(name, path, HOLD)

    def sleeper(self):
        process = subprocess.Popen(['sleep', '1000'])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def holder(self, count=1, *more, user=None):
        """A process that holds, when it does, and what it printed."""
        command = [sys.executable, HOLDER, self.bus.address, str(count), *more]
        process = subprocess.Popen(command_as(user, *command), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)

        def stop():
            process.stdin.close()
            process.kill()
            process.wait()
            process.stdout.close()
        self.addCleanup(stop)
        lines = []
        for line in process.stdout:
            if line == 'held\n':
                return process, lines
            lines.append(line.strip())
        raise AssertionError('it does not hold')
