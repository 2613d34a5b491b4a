# SPDX-License-Identifier: LGPL-2.1-or-later
"""The measured properties of the machine as clients know them, each with an example.

This is the contract, apart from the table in lib/model/measured.c that idled and idlectl are
driven by: a row that changes there by mistake fails here.

With ADDED_SENSOR=1 there is one more, as tests/ctl/add-sensor.py adds it to that table.
"""
import os

from shape import number, optional

# Property: signature, example, object of `idlectl status --json`, and the shapes of its keys there.
ROWS = {
    "LoadAverage": ("(ddd)", (0.5, 0.25, 0.125), "load",
                    {f"load_average_{n}min": optional(number) for n in (1, 5, 15)}),
    "Running": ("u", 1, "load", {"running_tasks": optional(int)}),
    "Utilization": ("d", 0.125, "load", {"utilization_percent": optional(number)}),
    "Load": ("d", 0.5, "load", {"busy_cpus": optional(number)}),
    "Pressure": ("d", 0.03, "load", {"pressure_percent": optional(number)}),
    "OnBattery": ("b", True, "power", {"source": optional(str)}),
    "BatteryLevel": ("d", 0.755, "power", {"battery_percent": optional(number)}),
}
ADDED = os.environ.get("ADDED_SENSOR")
if ADDED:
    ROWS["Added"] = ("d", 0.25, "added", {"added_percent": optional(number)})
SIGNATURES = {name: row[0] for name, row in ROWS.items()}
EXAMPLE = {name: row[1] for name, row in ROWS.items()}


def objects():
    """The shapes of all objects of the rows."""
    found = {}
    for _, _, name, keys in ROWS.values():
        found.setdefault(name, {}).update(keys)
    return found
