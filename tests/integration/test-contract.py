#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The introspection of every object is what org.idled1.xml, which is installed, promises: no member more, none
less."""
import os
import xml.etree.ElementTree as xml
from pathlib import Path

import dbus
from idledtest import MANAGER, NAME, PATH, TestCase, main

DOCUMENT = Path(os.environ['IDLED']).parents[1] / 'units' / 'org.idled1.xml'
INTERFACES = {i.get('name'): i for i in xml.parse(DOCUMENT).getroot()}
# Get returns these; GetAll and GetManagedObjects do not.
EXPLICIT = 'org.freedesktop.systemd1.Explicit'


class Contract(TestCase):
    START = ()

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

    def promised(self, name, annotation=None):
        """The properties of an interface, without those that have an annotation."""
        return {p.get('name') for p in INTERFACES[name].findall('property')
                if not annotation or p.find('annotation[@name="%s"]' % annotation) is None}

    def objects(self):
        """{interface: an object that has it}"""
        hold, self.held = self.call('Hold', dbus.Dictionary({'profile': 'balanced'}, signature='sv'))
        return {MANAGER: PATH, NAME + '.Sleeps': PATH, NAME + '.Cpu': PATH + '/cpu/7',
                NAME + '.Policy': PATH + '/policy/userspace',
                NAME + '.Energy': PATH + '/energy/package_2d0', NAME + '.Hold': hold}

    def test_interfaces(self):
        objects = self.objects()
        self.assertEqual(set(objects), set(INTERFACES))
        for name, path in objects.items():
            found, promised = (
                {member.get('name'): xml.canonicalize(xml.tostring(member), strip_text=True) for member in interface}
                for interface in (self.interface(path, name), INTERFACES[name]))
            self.assertEqual(found, promised, name)
        self.assertEqual(self.nodes(PATH + '/hold'), {'1'})
        self.assertEqual({p.get('name'): p.get('type') for p in self.interface(
            '/org/freedesktop/LogControl1', 'org.freedesktop.LogControl1').findall('property')},
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
            self.assertEqual(set(values), self.promised(NAME + '.Cpu', EXPLICIT))
            self.assertEqual(values['Number'], cpu)
        self.assertEqual(set(objects[PATH + '/policy/userspace'][NAME + '.Policy']),
                         self.promised(NAME + '.Policy'))
        self.assertEqual(set(objects[PATH + '/energy/package_2d0'][NAME + '.Energy']),
                         self.promised(NAME + '.Energy'))

    def test_no_such_object(self):
        for path in ('/cpu/8', '/cpu/-1', '/cpu/00', '/cpu/x', '/cpu', '/cpu/99999999999',
                     '/policy/ondemand', '/policy', '/energy/nothing', '/cpu/0/1'):
            path = path.replace('-', '_')
            with self.assertRaises(dbus.DBusException, msg=path) as caught:
                self.get('Number', PATH + path, NAME + '.Cpu')
            self.assertIn(caught.exception.get_dbus_name().rpartition('.')[2],
                          ('UnknownObject', 'UnknownInterface', 'UnknownProperty'), path)

    def test_every_property_can_be_read(self):
        for interface, path in self.objects().items():
            values = self.object(path).GetAll(interface,
                                              dbus_interface='org.freedesktop.DBus.Properties')
            self.assertEqual(set(values), self.promised(interface, EXPLICIT))
            for name in self.promised(interface):
                self.get(name, path, interface)

    def test_no_property_can_be_written(self):
        with self.assertRaises(dbus.DBusException) as caught:
            self.object().Set(MANAGER, 'Parked', '1',
                              dbus_interface='org.freedesktop.DBus.Properties')
        self.assertEqual(caught.exception.get_dbus_name(),
                         'org.freedesktop.DBus.Error.PropertyReadOnly')


main()
