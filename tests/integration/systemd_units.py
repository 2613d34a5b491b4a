# SPDX-License-Identifier: LGPL-2.1-or-later
"""A systemd for tests, as a dbusmock template: units with cgroups, their AllowedCPUs, and who
subscribed. As measured on systemd 252: a set replaces, an empty one resets, and EffectiveCPUs is
empty while nothing is limited."""
import os

import dbus
from dbusmock import MOCK_IFACE, mockobject

BUS_NAME = 'org.freedesktop.systemd1'
MAIN_OBJ = '/org/freedesktop/systemd1'
MAIN_IFACE = 'org.freedesktop.systemd1.Manager'
UNIT_IFACE = 'org.freedesktop.systemd1.Unit'
SYSTEM_BUS = True

INTERFACES = {kind: 'org.freedesktop.systemd1.' + kind.title()
              for kind in ('slice', 'scope', 'service', 'mount')}
NOTHING = dbus.Array([], signature='y')


def unit_path(name):
    return MAIN_OBJ + '/unit/' + ''.join(
        c if c.isalnum() and c.isascii() else '_%02x' % ord(c) for c in name)


def interface_of(name):
    return INTERFACES[name.rpartition('.')[2]]


def no_such_unit(name):
    return dbus.exceptions.DBusException('Unit %s not loaded.' % name,
                                         name='org.freedesktop.systemd1.NoSuchUnit')


def load(mock, _parameters):
    mock.units = {}
    mock.subscribers = set()
    mock.history = []
    mock.files = None
    add(mock, '-.slice', '')
    for name in ('init.scope', 'system.slice', 'user.slice'):
        add(mock, name, '-.slice')
    add(mock, 'ssh.service', 'system.slice')
    add(mock, 'dev-mqueue.mount', '-.slice')
    add(mock, 'dead.slice', '-.slice', group='')


def add(mock, name, parent, group=None):
    path = unit_path(name)
    mock.units[name] = parent
    mock.AddObject(path, UNIT_IFACE, {'SliceOf': dbus.Array([], signature='s')}, [])
    mockobject.objects[path].AddProperties(interface_of(name), dbus.Dictionary({
        'Slice': parent,
        'ControlGroup': '/' + name if group is None else group,
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
        if self.files:
            directory = os.path.join(self.files, name + '.d')
            os.makedirs(directory, exist_ok=True)
            with open(os.path.join(directory, '50-%s.conf' % key), 'w', encoding='utf-8') as file:
                file.write('%s=...\n' % key)


@dbus.service.method(MAIN_IFACE, in_signature='', out_signature='', sender_keyword='sender')
def Subscribe(self, sender=None):
    self.subscribers.add(sender)


@dbus.service.method(MAIN_IFACE, in_signature='', out_signature='', sender_keyword='sender')
def Unsubscribe(self, sender=None):
    self.subscribers.discard(sender)


@dbus.service.method(MOCK_IFACE, in_signature='ss', out_signature='')
def AddUnit(self, name, parent):
    """A unit is started; subscribers are told."""
    add(self, name, parent)
    if self.subscribers:
        self.EmitSignal(MAIN_IFACE, 'UnitNew', 'so', [name, dbus.ObjectPath(unit_path(name))])


@dbus.service.method(MOCK_IFACE, in_signature='s', out_signature='')
def KeepFiles(self, directory):
    """Drop-ins of what is set at run time, as systemd keeps them."""
    self.files = str(directory)


@dbus.service.method(MOCK_IFACE, in_signature='', out_signature='i')
def Subscribers(self):
    return len(self.subscribers)


@dbus.service.method(MOCK_IFACE, in_signature='', out_signature='as')
def History(self):
    """Properties set so far: "UNIT runtime KEY HEX"."""
    return self.history
