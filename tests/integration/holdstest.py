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
LATENCY = 'sys/devices/system/cpu/cpu%d/power/pm_qos_resume_latency_us'
CPUS = 8  # of the described machine
FREE = ['0'] * CPUS


def request(**values):
    types = {'latency_us': dbus.UInt32, 'wakeup_p99_us': dbus.UInt32, 'min_cores': dbus.UInt32, 'min_frequency_khz': dbus.UInt32,
             'pid': dbus.UInt32, 'pidfd': dbus.types.UnixFd, 'global': dbus.Boolean}
    return dbus.Dictionary({key: types.get(key, dbus.String)(value)
                            for key, value in values.items()}, signature='sv')


class Case(TestCase):
    CONFIG = '[Daemon]\nPolicies=userspace latency\n'

    def setUp(self):
        super().setUp()
        self.open = set()  # descriptors of holds
        self.addCleanup(lambda: [os.close(descriptor) for descriptor in self.open])

    def hold(self, connection=None, **values):
        """Returns the object's path and the descriptor, which close() closes."""
        path, descriptor = self.call('Hold', request(**values), connection=connection)
        descriptor = descriptor.take()
        self.open.add(descriptor)
        return str(path), descriptor

    def close(self, descriptor):
        self.open.remove(descriptor)
        os.close(descriptor)

    def latency_path(self, cpu):
        return os.path.join(self.root, LATENCY % cpu)

    def limits(self):
        """What stands in the kernel's files, by CPU."""
        return [self.read(LATENCY % cpu) for cpu in range(CPUS)]

    def write_limits(self, text):
        """Into every CPU's file."""
        for cpu in range(CPUS):
            self.put(LATENCY % cpu, text + '\n')

    def allow(self, process, cpus):
        """The process may run there, as far as the daemon can see."""
        status = 'proc/%d/status' % process.pid
        self.put(status + '-new', 'Name:\tx\nCpus_allowed_list:\t%s\nMems_allowed_list:\t0\n' % cpus)
        os.rename(os.path.join(self.root, status + '-new'), os.path.join(self.root, status))

    def wait_limits(self, expected):
        wait_until(lambda: self.limits() == expected, 'limits %s' % expected)

    def hold_for(self, **values):
        """As hold(), but waits for the signal that announces the hold, so that later ones are changes."""
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
        return self.popen(['sleep', '1000'])

    def holder(self, count=1, user=None):
        """A process that holds, when it does, and what it printed."""
        command = [sys.executable, HOLDER, self.bus.address, str(count)]
        process = self.popen(command_as(user, *command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        lines = []
        for line in process.stdout:
            if line == 'held\n':
                return process, lines
            lines.append(line.strip())
        raise AssertionError('it does not hold')
