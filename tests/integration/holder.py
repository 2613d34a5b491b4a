# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds as a process of its own does: ADDRESS COUNT.

Prints a line for every hold, its object or the name of the error, and "held"; then waits until
standard input is closed.
"""
import sys

import dbus
import dbus.bus

bus = dbus.bus.BusConnection(sys.argv[1])
manager = bus.get_object('org.idled1', '/org/idled1', introspect=False)
request = dbus.Dictionary({'latency_us': dbus.UInt32(50), 'reason': 'a process that holds'},
                          signature='sv')
descriptors = []
for _ in range(int(sys.argv[2])):
    try:
        path, descriptor = manager.Hold(request, dbus_interface='org.idled1.Manager')
        descriptors.append(descriptor.take())
        print(path)
    except dbus.DBusException as error:
        print(error.get_dbus_name())
print('held', flush=True)
sys.stdin.read()
