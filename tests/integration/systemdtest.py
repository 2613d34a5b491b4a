# SPDX-License-Identifier: LGPL-2.1-or-later
"""What tests of systemd's part share: a systemd and a logind with given answers."""
import os

import dbus.lowlevel

from idledtest import MOCK, wait_until

SYSTEMD = 'org.freedesktop.systemd1'
TEMPLATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'systemd_units.py')
LOGIND = 'org.freedesktop.login1'


def cpus(value):
    """The CPUs in a row of the stand-in's history."""
    return [8 * i + bit for i, byte in enumerate(bytes.fromhex(value)) for bit in range(8)
            if byte >> bit & 1]


class WithSystemd:
    """For a TestCase whose daemon finds a systemd on its bus (systemd_units.py)."""

    def start_systemd(self):
        self.systemd, self.units = self.mock(SYSTEMD, '/org/freedesktop/systemd1',
                                             template=TEMPLATE)

    def kill_systemd(self):
        self.systemd.kill()
        wait_until(lambda: not self.connection.name_has_owner(SYSTEMD), 'systemd gone')

    def mocked(self, method, *arguments):
        return self.units.get_dbus_method(method, MOCK)(*arguments)

    def watch_questions(self):
        """A list that fills with the questions about units that reach systemd, whether it answers or not."""
        return self.monitor(*("type='method_call',path_namespace='/org/freedesktop/systemd1',interface='%s'" % interface
                              for interface in (SYSTEMD + '.Manager', dbus.PROPERTIES_IFACE)),
                            members=('Get', 'GetUnit'))

    def call_systemd(self, method, *arguments, **more):
        return self.units.get_dbus_method(method, SYSTEMD + '.Manager')(*arguments, **more)

    def wait_subscribed(self, count=1):
        wait_until(lambda: self.mocked('Subscribers') == count, '%d subscriptions' % count)

    def limit(self, unit, mask):
        """Another program sets AllowedCPUs= of the unit."""
        self.call_systemd('SetUnitProperties', unit, True, [('AllowedCPUs', dbus.ByteArray(mask))], signature='sba(sv)')

    def wait_parked(self, cpus):
        wait_until(lambda: self.get('Parked') == cpus, 'parked "%s"' % cpus)

    def park_cpus(self, cpus):
        self.set_idle_mask(cpus)
        self.wait_parked(cpus)


class WithUnits(WithSystemd):
    """For a TestCase with processes in units. They are real; their facts and cgroups are files of the machine."""

    def process(self, cgroup, *others):
        """Its number; `others` are in the same unit."""
        process = self.popen(['sleep', '1000'])
        self.put('proc/%d/cgroup' % process.pid, '0::%s\n' % cgroup)
        self.put('proc/%d/comm' % process.pid, 'sleep\n')
        self.put('proc/%d/status' % process.pid, 'Name:\tsleep\nPPid:\t1\nUid:\t0\t0\t0\t0\n')
        self.put('sys/fs/cgroup%s/cgroup.procs' % cgroup,
                 ''.join('%d\n' % pid for pid in (process.pid, *others)))
        return process.pid

    def unit_limits(self, unit):
        """The CPUs of each change of the unit."""
        return [cpus(row.split(' ')[3]) for row in self.mocked('History')
                if row.split(' ')[0] == unit]


class WithLogind:
    """For a TestCase in which the machine sleeps."""

    def start_logind(self):
        self.connection.request_name(LOGIND)

    def prepare_for_sleep(self, asleep):
        message = dbus.lowlevel.SignalMessage('/org/freedesktop/login1', LOGIND + '.Manager',
                                              'PrepareForSleep')
        message.append(asleep, signature='b')
        self.connection.send_message(message)
