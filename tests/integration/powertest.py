# SPDX-License-Identifier: LGPL-2.1-or-later
"""What tests of the power-profiles names share: the daemon that serves them, and plain calls."""
import dbus
from idledtest import PROPERTIES, TestCase, wait_until

OLD = ('net.hadess.PowerProfiles', '/net/hadess/PowerProfiles')
NEW = ('org.freedesktop.UPower.PowerProfiles', '/org/freedesktop/UPower/PowerProfiles')


class Case(TestCase):
    CONFIG = '[Daemon]\nPolicies=userspace\nPowerProfilesNames=yes\n'

    def setUp(self):
        super().setUp()
        for name, mask in ('power-saver', '4-7'), ('performance', '7'), ('night', '6-7'):
            self.write_config('profiles/%s.conf' % name, '[userspace]\nIdleMask=%s\n' % mask)

    def start(self, *more, bus=True):
        super().start(*more, bus=bus)
        for name, _ in OLD, NEW:
            wait_until(lambda name=name: self.connection.name_has_owner(name), name)

    def power(self, where=OLD, connection=None):
        return (connection or self.connection).get_object(*where, introspect=False)

    def value(self, name, where=OLD):
        return self.power(where).Get(where[0], name, dbus_interface=PROPERTIES)

    def choose(self, name, where=OLD):
        self.power(where).Set(where[0], 'ActiveProfile', name, dbus_interface=PROPERTIES,
                              signature='ssv')

    def hold(self, profile, where=OLD, connection=None):
        return self.power(where, connection).HoldProfile(profile, 'a test', 'org.test',
                                                         dbus_interface=where[0])

    def release(self, cookie, where=OLD, connection=None):
        self.power(where, connection).ReleaseProfile(dbus.UInt32(cookie), dbus_interface=where[0])

    def assert_error(self, name, function, *arguments, **more):
        with self.assertRaises(dbus.DBusException) as caught:
            function(*arguments, **more)
        self.assertEqual(caught.exception.get_dbus_name(), name)
