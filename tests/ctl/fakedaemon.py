#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A daemon that only says what a scenario has it say: org.idled1 with the types of the contract.

usage: fakedaemon.py ADDRESS SCENARIO; prints "ready" when it has the name.
"""
import copy
import json
import os
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import dbus
import dbus.bus
import dbus.lowlevel
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

import measured
from scenarios import SCENARIOS

MANAGER = "org.idled1.Manager"
TOP = Path(__file__).resolve().parents[2]
# Types of properties, as org.idled1.xml promises them, and of the keys of dictionaries (org.idled1(5)).
SIGNATURES = {
    **{interface.get("name"): {p.get("name"): p.get("type") for p in interface.findall("property")}
       for interface in xml.parse(TOP / "units" / "org.idled1.xml.in").getroot()},
    "sample": {
        "Cpus": "a(uttiii)", "IdleStates": "a(usttttt)", "Limits": "a(uiuuiiss)",
        "DisabledStates": "a(us)", "Energy": "a(sstdts)", "Transitions": "a(sst)",
        "PressureUSec": "t", "RefusedAffinities": "t",
    },
    "dict": {
        "cause": "s",
        "cpu": "u", "parked": "b", "parked_usec": "t", "number": "t", "since_usec": "t", "time_usec": "t", "policy": "s",
        "because": "s", "inputs": "a(sds)", "option": "s", "threshold": "d",
        "threshold_unit": "s", "effective": "d", "effective_because": "s", "source": "s", "text": "s", "section": "s", "key": "s",
        "value": "s", "default": "s", "expects": "s", "help": "s", "runtime": "b",
        "obstacle": "s", "reasons": "aa{sv}", "figures": "a(sssd)",
        "owner": "s", "reason": "s", "lasting": "b", "until_usec": "t", "user": "u",
        "latency_us": "u", "wakeup_p99_us": "u", "global": "b", "min_cores": "u", "min_frequency_khz": "u", "kind": "s",
        "profile": "s",
        "unit": "s", "cpus": "s", "program": "s", "pid": "u", "count": "t",
        "cgroup": "s", "contract": "t", "limit_us": "u", "measured": "b", "infeasible": "b", "p99_us": "d",
        "wakeups": "t", "best_us": "d", "cores": "u", "highest_frequency": "b", "windows_kept": "t", "windows_broken": "t",
    },
}
SIGNATURES[MANAGER].update(measured.SIGNATURES)
BASIC = {"s": dbus.String, "b": dbus.Boolean, "u": dbus.UInt32, "i": dbus.Int32,
         "t": dbus.UInt64, "d": dbus.Double}


def typed(signature, value):
    """The value as D-Bus has it, one level of variants deep."""
    if signature == "aa{sv}":
        return dbus.Array(dictionaries(value), signature="a{sv}", variant_level=1)
    if signature in BASIC:
        return BASIC[signature](value, variant_level=1)
    if signature == "a{sv}":
        return dbus.Dictionary({k: typed(SIGNATURES["dict"][k], v) for k, v in value.items()}, signature="sv",
                               variant_level=1)
    if signature.startswith("a{"):
        return dbus.Dictionary(value, signature=signature[2:-1], variant_level=1)
    if signature.startswith("a("):
        rows = [dbus.Struct([BASIC[s](v) for s, v in zip(signature[2:-1], row)],
                            signature=signature[2:-1]) for row in value]
        return dbus.Array(rows, signature=signature[1:], variant_level=1)
    if signature.startswith("a"):
        return dbus.Array(value, signature=signature[1:], variant_level=1)
    return dbus.Struct([BASIC[s](v) for s, v in zip(signature[1:-1], value)],
                       signature=signature[1:-1], variant_level=1)


def properties(interface, values):
    return dbus.Dictionary({k: typed(SIGNATURES[interface][k], v) for k, v in values.items()},
                           signature="sv")


def dictionaries(values):
    # "parked" is a boolean; in rows of History() it is a list of CPUs.
    return dbus.Array([
        dbus.Dictionary({k: typed("s" if k == "parked" and "time_usec" in row
                                  else SIGNATURES["dict"][k], v) for k, v in row.items()},
                        signature="sv") for row in values], signature="a{sv}")


def refuse(name, message):
    error = dbus.DBusException(message)
    error._dbus_error_name = name  # pylint: disable=protected-access
    return error


class Daemon(dbus.service.Object):
    def __init__(self, bus, says):
        super().__init__(bus, "/org/idled1")
        self.says = says

    @dbus.service.method("org.freedesktop.DBus.Properties", "s", "a{sv}")
    def GetAll(self, interface):
        return properties(interface, self.says["manager"])

    @dbus.service.method("org.freedesktop.DBus.Properties", "ss", "v")
    def Get(self, interface, name):
        return properties(interface, self.says["manager"])[name]

    @dbus.service.method("org.freedesktop.DBus.ObjectManager", "", "a{oa{sa{sv}}}")
    def GetManagedObjects(self):
        objects = {}
        for kind, interface, key in (("cpu", "org.idled1.Cpu", "Number"),
                                     ("policy", "org.idled1.Policy", "Name"),
                                     ("energy", "org.idled1.Energy", "Name"),
                                     ("hold", "org.idled1.Hold", "Id")):
            for values in self.says.get({"cpu": "cpus", "policy": "policies"}.get(kind, kind), []):
                name = str(values[key]).replace("-", "_2d")
                objects[dbus.ObjectPath(f"/org/idled1/{kind}/{name}")] = dbus.Dictionary(
                    {interface: properties(interface, values)}, signature="sa{sv}")
        return dbus.Dictionary(dict(reversed(objects.items())), signature="oa{sa{sv}}")

    @dbus.service.method(MANAGER, "", "aa{sv}")
    def Explain(self):
        return dictionaries(self.says["explain"])

    @dbus.service.method(MANAGER, "tu", "aa{sv}")
    def History(self, number, most):
        rows = self.says["history"]
        numbered = [dict(row, number=len(rows) - i) for i, row in enumerate(rows)]
        return dictionaries([r for r in numbered if not number or r["number"] < number][:most])

    @dbus.service.method(MANAGER, "", "aa{sv}")
    def GetSettings(self):
        return dictionaries(self.says["settings"])

    @dbus.service.method(MANAGER, "", "a{sv}")
    def Sample(self):
        return properties("sample", self.says["sample"])

    @dbus.service.method(MANAGER, "", "a(sssss)")
    def Verify(self):
        return dbus.Array(self.says["verify"], signature="(sssss)")

    @dbus.service.method(MANAGER, "a{sv}", "a{sv}")
    def WakeupBill(self, options):
        for path, text in json.loads(os.environ.get("BILL_WRITES", "{}")).items():
            Path(path).write_text(text, encoding="ascii")
        bill = self.says["bill"]
        if isinstance(bill, str):
            raise refuse("org.idled1.Error." + bill, "No bill of wake-ups: this kernel has no BTF")
        asked = self.says["asked"] = sorted((str(k), bool(v)) for k, v in options.items())
        numbers = {key: dbus.UInt64(value) for key, value in bill.items() if key != "units"}
        units = [(unit, cgroup, process if ("Processes", True) in asked else "", kinds)
                 for unit, cgroup, process, kinds in bill["units"]]
        return dbus.Dictionary({**numbers, "Units": dbus.Array(units, "(sssa(sutdda(td)))")}, "sv")

    @dbus.service.method(MANAGER, "a(sss)", "as")
    def SetOptions(self, options):
        """Options of Daemon are refused."""
        settings = copy.deepcopy(self.says["settings"])
        for section, key, value in options:
            found = [s for s in settings if (s["section"], s["key"]) == (section, key)]
            if not found:
                raise refuse("org.idled1.Error.NoSuchOption",
                             f"{key}: found an unknown key, expected one of [{section}]")
            if section == "Daemon":
                raise refuse("org.freedesktop.DBus.Error.AccessDenied", "no")
            found[0].update(value=str(value) or {"MaxCores": "4", "IdleMask": ""}[key],
                            runtime=bool(value))
        self.says["settings"] = settings
        return dbus.Array([], signature="s")


class Policy(dbus.service.Object):
    def __init__(self, bus, values):
        name = "".join(c if c.isalnum() and c.isascii() else "".join(f"_{b:02x}" for b in c.encode())
                       for c in values["Name"])
        super().__init__(bus, f"/org/idled1/policy/{name}")
        self.values = values

    @dbus.service.method("org.freedesktop.DBus.Properties", "s", "a{sv}")
    def GetAll(self, interface):
        return properties(interface, self.values)


def change_types(types):
    """Has properties and keys of these names other types than the contract says."""
    for signatures in SIGNATURES.values():
        signatures.update({k: v for k, v in types.items() if k in signatures})


def main():
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.bus.BusConnection(sys.argv[1])
    says = SCENARIOS[sys.argv[2]]()
    change_types(says.get("types", {}))
    daemon = Daemon(bus, says)
    policies = [Policy(bus, values) for values in says.get("policies", [])]
    name = dbus.service.BusName("org.idled1", bus, do_not_queue=True)
    print("ready", flush=True)
    GLib.MainLoop().run()
    del daemon, policies, name


main()
