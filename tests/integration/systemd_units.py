# SPDX-License-Identifier: LGPL-2.1-or-later
"""A systemd for tests, as a dbusmock template: units with cgroups, their AllowedCPUs, and its
subscribers. As measured on systemd 252: a set replaces, an empty one resets, and EffectiveCPUs is
empty while nothing is limited."""
import os
import shutil
import signal
import time
import zlib

import dbus
from dbusmock import MOCK_IFACE, mockobject
from gi.repository import GLib

BUS_NAME = 'org.freedesktop.systemd1'
MAIN_OBJ = '/org/freedesktop/systemd1'
MAIN_IFACE = 'org.freedesktop.systemd1.Manager'
UNIT_IFACE = 'org.freedesktop.systemd1.Unit'
JOB_IFACE = 'org.freedesktop.systemd1.Job'
SYSTEM_BUS = True

INTERFACES = {kind: 'org.freedesktop.systemd1.' + kind.title()
              for kind in ('slice', 'scope', 'service', 'mount')}
NOTHING = dbus.Array([], signature='y')


def unit_path(name):
    return MAIN_OBJ + '/unit/' + ''.join(
        c if c.isalnum() and c.isascii() else '_%02x' % ord(c) for c in name)


def interface_of(name):
    return INTERFACES[name.rpartition('.')[2]]


def cpus_text(value):
    """The list of CPUs in an `ay`."""
    return ','.join(str(8 * i + bit) for i, byte in enumerate(value) for bit in range(8)
                    if byte >> bit & 1)


def write_cpus(mock, name, value):
    """Into the unit's cgroup, if there is one."""
    directory = os.path.join(mock.cgroups or '', name)
    if mock.cgroups and os.path.isdir(directory):
        with open(os.path.join(directory, 'cpuset.cpus'), 'w', encoding='utf-8') as file:
            file.write(cpus_text(value) + '\n')


def run_job(mock, name, result='done'):
    """A job that is done as soon as it was asked for."""
    mock.jobs += 1
    job = dbus.ObjectPath('%s/job/%d' % (MAIN_OBJ, mock.jobs))
    GLib.idle_add(mock.EmitSignal, MAIN_IFACE, 'JobRemoved', 'uoss',
                  [dbus.UInt32(mock.jobs), job, name, result])
    return job


def make_cgroup(mock, name):
    directory = os.path.join(mock.cgroups, name)
    os.mkdir(directory)
    if mock.broken != 'type':
        with open(os.path.join(directory, 'cpuset.cpus.partition'), 'w', encoding='utf-8') as file:
            file.write('member')


def no_such_unit(name):
    return dbus.exceptions.DBusException('Unit %s not loaded.' % name,
                                         name='org.freedesktop.systemd1.NoSuchUnit')


def load(mock, _parameters):
    mock.units = {}
    mock.stopped = {'dead.slice'}
    mock.subscribers = set()
    mock.history = []
    mock.files = None
    mock.cgroups = None
    mock.broken = ''
    mock.jobs = 0
    mock.starting = set()
    add(mock, '-.slice', '')
    for name in ('init.scope', 'system.slice', 'user.slice'):
        add(mock, name, '-.slice')
    add(mock, 'ssh.service', 'system.slice')
    add(mock, 'dev-mqueue.mount', '-.slice')
    add(mock, 'dead.slice', '-.slice')


def add(mock, name, parent):
    path = unit_path(name)
    mock.units[name] = parent
    mock.AddObject(path, UNIT_IFACE, {'SliceOf': dbus.Array([], signature='s'),
                                     'InactiveExitTimestampMonotonic': dbus.UInt64(1)}, [])
    mockobject.objects[path].AddProperties(interface_of(name), dbus.Dictionary({
        'Slice': parent,
        'AllowedCPUs': NOTHING,
        'EffectiveCPUs': NOTHING,
    }, signature='sv'))
    if parent:
        children = [child for child, of in mock.units.items() if of == parent]
        mockobject.objects[unit_path(parent)].UpdateProperties(
            UNIT_IFACE, {'SliceOf': dbus.Array(children, signature='s')})


@dbus.service.method(MAIN_IFACE, in_signature='s', out_signature='o')
def GetUnit(self, name):
    if name not in self.units:
        raise no_such_unit(name)
    return dbus.ObjectPath(unit_path(name))


@dbus.service.method(MAIN_IFACE, in_signature='as', out_signature='a(ssssssouso)')
def ListUnitsByNames(self, names):
    found = []
    for name in names:
        path = dbus.ObjectPath(unit_path(name))
        state = ('active', 'running') if name in self.units and name not in self.stopped else \
            ('inactive', 'dead')
        found.append((name, '', 'loaded', *state, '', path, dbus.UInt32(0), '', '/'))
    return found


@dbus.service.method(MAIN_IFACE, in_signature='', out_signature='a(ssssssouso)')
def ListUnits(self):
    return ListUnitsByNames(self, list(self.units))


@dbus.service.method(MAIN_IFACE, in_signature='', out_signature='a(usssoo)')
def ListJobs(self):
    return [(number_of(name), name, 'start', 'running', dbus.ObjectPath(job_path(name)),
             dbus.ObjectPath(unit_path(name))) for name in sorted(self.starting)]


@dbus.service.method(MAIN_IFACE, in_signature='sba(sv)', out_signature='')
def SetUnitProperties(self, name, runtime, properties):
    if name not in self.units:
        raise no_such_unit(name)
    for key, value in properties:
        value = dbus.Array([dbus.Byte(byte) for byte in value], signature='y')
        self.history.append('%s %s %s %s' % (name, 'runtime' if runtime else 'for ever', key,
                                             bytes(value).hex()))
        mockobject.objects[unit_path(name)].UpdateProperties(
            interface_of(name), {'AllowedCPUs': value, 'EffectiveCPUs': value})
        write_cpus(self, name, value)
        if self.files:
            directory = os.path.join(self.files, name + '.d')
            os.makedirs(directory, exist_ok=True)
            with open(os.path.join(directory, '50-%s.conf' % key), 'w', encoding='utf-8') as file:
                file.write('%s=...\n' % key)


@dbus.service.method(MAIN_IFACE, in_signature='ssa(sv)a(sa(sv))', out_signature='o')
def StartTransientUnit(self, name, mode, properties, _more):
    if name in self.units:
        raise dbus.exceptions.DBusException('Unit %s was already loaded.' % name,
                                            name='org.freedesktop.systemd1.UnitExists')
    properties = dict(properties)
    if name.endswith('.scope'):
        self.history.append('%s start %s %s' % (name, mode, *properties['PIDs']))
        add(self, name, 'user.slice')
        return run_job(self, name)
    value = properties.pop('AllowedCPUs')
    self.history.append('%s start %s %s' % (name, mode, bytes(value).hex()))
    if self.broken == 'job':
        return run_job(self, name, 'failed')
    add(self, name, '-.slice')
    make_cgroup(self, name)
    write_cpus(self, name, value)
    return run_job(self, name)


@dbus.service.method(MAIN_IFACE, in_signature='ss', out_signature='o')
def StartUnit(self, name, mode):
    self.history.append('%s again %s -' % (name, mode))
    self.stopped.discard(name)
    make_cgroup(self, name)
    write_cpus(self, name, mockobject.objects[unit_path(name)].Get(interface_of(name),
                                                                   'AllowedCPUs'))
    return run_job(self, name)


@dbus.service.method(MAIN_IFACE, in_signature='ss', out_signature='o')
def StopUnit(self, name, mode):
    """It stays loaded, as if another unit referred to it."""
    self.stopped.add(name)
    self.history.append('%s stop %s -' % (name, mode))
    shutil.rmtree(os.path.join(self.cgroups, name))
    return run_job(self, name)


@dbus.service.method(MAIN_IFACE, in_signature='', out_signature='', sender_keyword='sender')
def Subscribe(self, sender=None):
    self.subscribers.add(sender)


@dbus.service.method(MAIN_IFACE, in_signature='', out_signature='', sender_keyword='sender')
def Unsubscribe(self, sender=None):
    self.subscribers.discard(sender)


@dbus.service.method(MOCK_IFACE, in_signature='ss', out_signature='')
def AddUnit(self, name, parent):
    """A unit is started; subscribers get a signal."""
    add(self, name, parent)
    if self.subscribers:
        self.EmitSignal(MAIN_IFACE, 'UnitNew', 'so', [name, dbus.ObjectPath(unit_path(name))])


@dbus.service.method(MOCK_IFACE, in_signature='ss', out_signature='')
def AddUnitAndHang(self, name, parent):
    """The signal is the last thing that systemd does until SIGCONT."""
    AddUnit(self, name, parent)
    self.connection.flush()
    os.kill(os.getpid(), signal.SIGSTOP)


@dbus.service.method(MOCK_IFACE, in_signature='sa{sv}', out_signature='')
def LoadUnit(self, name, properties):
    """A unit of system.slice with these properties; subscribers get a signal."""
    add(self, name, 'system.slice')
    mockobject.objects[unit_path(name)].AddProperties(interface_of(name), properties)
    if self.subscribers:
        self.EmitSignal(MAIN_IFACE, 'UnitNew', 'so', [name, dbus.ObjectPath(unit_path(name))])


@dbus.service.method(MOCK_IFACE, in_signature='sa{sv}', out_signature='')
def PassUnit(self, name, properties):
    """A unit is loaded and unloaded at once. Its object still answers: systemd loads a unit that is asked
    for a property."""
    LoadUnit(self, name, properties)
    del self.units[name]


def number_of(name):
    """That of the unit's job: each has one at most."""
    return dbus.UInt32(zlib.crc32(name.encode()) % 1000)


def job_path(name):
    return '%s/job/%d' % (MAIN_OBJ, number_of(name))


def emit_job(mock, signal, name, *result):
    mock.EmitSignal(MAIN_IFACE, signal, 'uos' + 's' * len(result),
                    [number_of(name), dbus.ObjectPath(job_path(name)), name, *result])


@dbus.service.method(MOCK_IFACE, in_signature='ss', out_signature='')
def EmitJob(self, signal, name):
    """JobNew or JobRemoved of a start, whose type can be read until it ends."""
    if signal == 'JobNew':
        emit_job(self, signal, name)
        self.starting.add(name)
        self.AddObject(job_path(name), JOB_IFACE, {'JobType': 'start'}, [])
    else:
        emit_job(self, signal, name, 'done')
        self.starting.remove(name)
        self.RemoveObject(job_path(name))


@dbus.service.method(MOCK_IFACE, in_signature='s', out_signature='')
def BeginStop(self, name):
    """JobNew of a stop that goes on."""
    self.AddObject(job_path(name), JOB_IFACE, {'JobType': 'stop'}, [])
    emit_job(self, 'JobNew', name)


@dbus.service.method(MOCK_IFACE, in_signature='', out_signature='')
def EmitReloaded(self):
    """systemd has read its files again."""
    self.EmitSignal(MAIN_IFACE, 'Reloading', 'b', [False])


@dbus.service.method(MOCK_IFACE, in_signature='sb', out_signature='')
def PassJob(self, name, start):
    """A job that ends before its type can be read; if it is a start, the unit has just become active."""
    if name in self.units:
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        mockobject.objects[unit_path(name)].UpdateProperties(
            UNIT_IFACE, {'InactiveExitTimestampMonotonic': dbus.UInt64(now if start else 1)})
    emit_job(self, 'JobNew', name)
    emit_job(self, 'JobRemoved', name, 'done')


@dbus.service.method(MOCK_IFACE, in_signature='s', out_signature='')
def RemoveUnit(self, name):
    """systemd forgets it."""
    del self.units[name]
    self.EmitSignal(MAIN_IFACE, 'UnitRemoved', 'so', [name, dbus.ObjectPath(unit_path(name))])


@dbus.service.method(MOCK_IFACE, in_signature='s', out_signature='')
def KeepFiles(self, directory):
    """Writes drop-ins for properties that are set at run time, as systemd does."""
    self.files = str(directory)


@dbus.service.method(MOCK_IFACE, in_signature='ss', out_signature='')
def KeepCgroups(self, directory, broken):
    """Units that are started have cgroups there; what is broken: "job", "type" or nothing."""
    self.cgroups, self.broken = str(directory), str(broken)


@dbus.service.method(MOCK_IFACE, in_signature='', out_signature='i')
def Subscribers(self):
    return len(self.subscribers)


@dbus.service.method(MOCK_IFACE, in_signature='', out_signature='as')
def History(self):
    """Properties set so far: "UNIT runtime KEY HEX"."""
    return self.history
