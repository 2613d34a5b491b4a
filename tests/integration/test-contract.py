#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The introspection of every object is what the interface promises: no member more, none less."""
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import dbus
from idledtest import MANAGER, NAME, PATH, TestCase, main

sys.path.append(str(Path(__file__).resolve().parents[1] / 'ctl'))
import measured  # pylint: disable=wrong-import-position

# Methods: (in, out). Properties: (type, whether signals have their values).
CHANGES, CONST, MEASURED = 'true', 'const', 'false'
METHODS = {
    'Explain': ('', 'aa{sv}'), 'History': ('tu', 'aa{sv}'), 'Pause': ('st', 'ah'),
    'Resume': ('', 'u'), 'StartTrial': ('a{sb}a(sss)s', 'h'),
    'SetOptions': ('a(sss)', 'as'),
    'SetProfile': ('s', ''),
    'Reload': ('', ''),
    'GetSettings': ('', 'aa{sv}'), 'Sample': ('', 'a{sv}'), 'Verify': ('', 'a(sssss)'), 'GetEnergy': ('', 'a(st)'),
    'WakeupBill': ('a{sv}', 'a{sv}'),
    'Hold': ('a{sv}', 'oh'), 'ReleaseHold': ('o', ''), 'ForgetRefused': ('s', 'u'),
}
MANAGER_PROPERTIES = {
    'Version': ('s', CONST), 'DryRun': ('b', CONST), 'Pauses': ('aa{sv}', CHANGES),
    'Trial': ('a{sv}', CHANGES), 'Holds': ('ao', CHANGES), 'Online': ('s', CHANGES), 'Isolated': ('s', CHANGES),
    'Parked': ('s', CHANGES), 'Allowed': ('s', CHANGES), 'IdleMask': ('s', CHANGES),
    'WantedCores': ('u', CHANGES), 'ActiveCores': ('u', CHANGES), 'Cores': ('u', CHANGES),
    'Policies': ('as', CHANGES), 'ParkBackend': ('s', CHANGES), 'KeepsAffinities': ('(bs)', CONST),
    'Missing': ('a(ss)', CHANGES),
    'Degraded': ('a(sss)', CHANGES), 'Knobs': ('a(sssss)', CHANGES),
    'Transitions': ('t', CHANGES), 'ConfigFiles': ('as', CHANGES),
    'RefusedAffinities': ('aa{sv}', CHANGES),
    'Profile': ('s', CHANGES), 'ProfileReason': ('s', CHANGES), 'ProfileInhibited': ('s', CHANGES),
    'ChosenProfile': ('s', CHANGES), 'Profiles': ('a(sss)', CHANGES),
    **{name: (signature, MEASURED) for name, signature in measured.SIGNATURES.items()},
    'ObservedUSec': ('t', MEASURED),
    'TransitionsLastMinute': ('u', MEASURED), 'UptimeUSec': ('t', MEASURED), 'Ticks': ('t', MEASURED),
    'LateUSec': ('t', MEASURED), 'CpuUSec': ('t', MEASURED), 'Wakeups': ('t', MEASURED),
    'PeriodUSec': ('t', MEASURED),
}
CPU_PROPERTIES = {
    'Number': ('u', CONST), 'Online': ('b', CHANGES), 'Parked': ('b', CHANGES),
    'Isolated': ('b', CHANGES), 'Core': ('i', CHANGES), 'Cluster': ('i', CHANGES),
    'Die': ('i', CHANGES), 'Package': ('i', CHANGES), 'Node': ('i', CHANGES),
    'Thread': ('i', CHANGES), 'Capacity': ('u', CHANGES), 'Kinds': ('as', CHANGES), 'Utilization': ('d', MEASURED),
    'ParkedUSec': ('t', MEASURED), 'IdleStates': ('a(suu)', CONST), 'Residency': ('a(sdtttt)', MEASURED),
    'ResidencyUSec': ('t', MEASURED),
    'Estimated': ('s', MEASURED), 'Reason': ('s', MEASURED), 'Figures': ('a(sssd)', MEASURED),
    'Limits': ('a{sv}', CHANGES),
}
# Get returns these; GetAll and GetManagedObjects do not.
CPU_EXPLICIT = {'Figures'}
POLICY_PROPERTIES = {
    'Name': ('s', CONST), 'Summary': ('s', CONST), 'Rank': ('u', CHANGES),
    'Allowed': ('s', CHANGES), 'Reason': ('s', MEASURED), 'Settled': ('b', MEASURED),
    'PeriodUSec': ('t', MEASURED), 'Options': ('a{ss}', CHANGES),
    'SavedJoules': ('(ddd)', MEASURED), 'SavedWatts': ('(ddd)', MEASURED),
    'SavedShare': ('(ddd)', MEASURED), 'WaitingChange': ('(ddd)', MEASURED), 'MeanWatts': ('(dd)', MEASURED),
    'EffectiveShare': ('d', MEASURED), 'Blocks': ('t', CHANGES), 'BlocksDropped': ('t', CHANGES),
    'Verdict': ('s', CHANGES), 'EnergySource': ('s', MEASURED), 'WorkUnit': ('s', MEASURED),
}
ENERGY_PROPERTIES = {
    'Name': ('s', CONST), 'Parent': ('s', CONST), 'RangeUJ': ('t', CONST),
    'Power': ('d', MEASURED), 'Dropped': ('t', MEASURED),
}
HOLD_PROPERTIES = {
    'Id': ('t', CONST), 'Owner': ('s', CONST), 'User': ('u', CONST), 'Pid': ('u', CONST),
    'Bound': ('b', CONST), 'SinceUSec': ('t', CONST), 'Reason': ('s', CONST),
    'Request': ('a{sv}', CONST), 'CPUs': ('s', CHANGES),
    'Obstacle': ('s', CHANGES),
}
EMITS = 'org.freedesktop.DBus.Property.EmitsChangedSignal'


class Contract(TestCase):
    def setUp(self):
        super().setUp()
        self.start()

    def introspect(self, path):
        text = self.object(path).Introspect(
            dbus_interface='org.freedesktop.DBus.Introspectable')
        return xml.fromstring(text)

    def nodes(self, path):
        return {node.get('name') for node in self.introspect(path).findall('node')}

    def interface(self, path, name):
        found = [i for i in self.introspect(path).findall('interface') if i.get('name') == name]
        self.assertEqual(len(found), 1, '%s has %s once' % (path, name))
        return found[0]

    def properties(self, path, name):
        table = {}
        for node in self.interface(path, name).findall('property'):
            emits = [a.get('value') for a in node.findall('annotation') if a.get('name') == EMITS]
            table[node.get('name')] = (node.get('type'), emits[0] if emits else 'true')
        return table

    def test_methods(self):
        table = {}
        for method in self.interface(PATH, MANAGER).findall('method'):
            table[method.get('name')] = tuple(
                ''.join(a.get('type') for a in method.findall('arg') if a.get('direction') == way)
                for way in ('in', 'out'))
            for argument in method.findall('arg'):
                self.assertTrue(argument.get('name'), method.get('name'))
        self.assertEqual(table, METHODS)

    def test_properties(self):
        self.assertEqual(self.properties(PATH, MANAGER), MANAGER_PROPERTIES)
        self.assertEqual(self.properties(PATH + '/cpu/0', NAME + '.Cpu'), CPU_PROPERTIES)
        self.assertEqual(self.properties(PATH + '/policy/userspace', NAME + '.Policy'),
                         POLICY_PROPERTIES)
        self.assertEqual(self.properties(PATH + '/energy/package_2d0', NAME + '.Energy'),
                         ENERGY_PROPERTIES)
        _, self.held = self.call('Hold', dbus.Dictionary({'profile': 'balanced'}, signature='sv'))
        self.assertEqual(self.properties(PATH + '/hold/1', NAME + '.Hold'), HOLD_PROPERTIES)
        self.assertEqual(self.nodes(PATH + '/hold'), {'1'})
        log = self.properties('/org/freedesktop/LogControl1', 'org.freedesktop.LogControl1')
        self.assertEqual({name: row[0] for name, row in log.items()},
                         {'LogLevel': 's', 'LogTarget': 's', 'SyslogIdentifier': 's'})

    def test_nodes(self):
        self.assertEqual(self.nodes(PATH), {'cpu', 'policy', 'energy', 'hold'})
        self.assertEqual(self.nodes(PATH + '/cpu'), {str(cpu) for cpu in range(8)})
        self.assertEqual(self.nodes(PATH + '/policy'), {'userspace'})
        self.assertIn('package_2d0', self.nodes(PATH + '/energy'))

    def test_managed_objects(self):
        objects = self.object().GetManagedObjects(
            dbus_interface='org.freedesktop.DBus.ObjectManager')
        for cpu in range(8):
            values = objects[PATH + '/cpu/%d' % cpu][NAME + '.Cpu']
            self.assertEqual(set(values), set(CPU_PROPERTIES) - CPU_EXPLICIT)
            self.assertEqual(values['Number'], cpu)
        self.assertEqual(set(objects[PATH + '/policy/userspace'][NAME + '.Policy']),
                         set(POLICY_PROPERTIES))
        self.assertEqual(set(objects[PATH + '/energy/package_2d0'][NAME + '.Energy']),
                         set(ENERGY_PROPERTIES))

    def test_no_such_object(self):
        for path in ('/cpu/8', '/cpu/-1', '/cpu/00', '/cpu/x', '/cpu', '/cpu/99999999999',
                     '/policy/ondemand', '/policy', '/energy/nothing', '/cpu/0/1'):
            path = path.replace('-', '_')
            with self.assertRaises(dbus.DBusException, msg=path) as caught:
                self.get('Number', PATH + path, NAME + '.Cpu')
            self.assertIn(caught.exception.get_dbus_name().rpartition('.')[2],
                          ('UnknownObject', 'UnknownInterface', 'UnknownProperty'), path)

    def test_every_property_can_be_read(self):
        for path, interface, table, explicit in (
                (PATH, MANAGER, MANAGER_PROPERTIES, set()),
                (PATH + '/cpu/7', NAME + '.Cpu', CPU_PROPERTIES, CPU_EXPLICIT),
                (PATH + '/policy/userspace', NAME + '.Policy', POLICY_PROPERTIES, set()),
                (PATH + '/energy/package_2d0', NAME + '.Energy', ENERGY_PROPERTIES, set())):
            values = self.object(path).GetAll(interface,
                                              dbus_interface='org.freedesktop.DBus.Properties')
            self.assertEqual(set(values), set(table) - explicit)
            for name in table:
                self.get(name, path, interface)

    def test_no_property_can_be_written(self):
        with self.assertRaises(dbus.DBusException) as caught:
            self.object().Set(MANAGER, 'Parked', '1',
                              dbus_interface='org.freedesktop.DBus.Properties')
        self.assertEqual(caught.exception.get_dbus_name(),
                         'org.freedesktop.DBus.Error.PropertyReadOnly')


if __name__ == '__main__':
    main()
