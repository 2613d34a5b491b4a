#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""org.idled1(5) documents every member of the vtables, with its signature, and nothing else.

A property without a flag in its vtable emits no signal: it belongs among the measured ones. Those of
lib/model/measured.c are in neither: the vtable and the page are made from that table.
"""

import re

from source import TOP, finish

# Section of the page: the files whose vtables it is about.
SECTIONS = {
    "THE MANAGER": ["bus-manager.c", "bus-measured.c"],
    "CPUS": ["bus-cpu.c"],
    "POLICIES": ["bus-policy.c"],
    "ENERGY": ["bus-energy.c"],
    "HOLDS": ["bus-hold.c"],
    "SLEEPS": ["bus-sleeps.c"],
    "LOGGING": ["bus-log-control.c"],
    "POWER PROFILES": ["bus-power.c"],
}


def arguments(text):
    """SD_BUS_ARGS("s", a, "u", b) and SD_BUS_RESULT(...) as "s a, u b"."""
    return ", ".join(f"{t} {n}" for t, n in re.findall(r'"([^"]*)",\s*(\w+)', text))


def members(name):
    """{member: signature} of the vtables in a file; measured properties end in "~"."""
    code = re.sub(r"[\s\\]+", " ", next(TOP.glob(f"daemon/bus/**/{name}")).read_text()).replace("( ", "(")
    found = {}
    for m in re.finditer(r'SD_BUS_METHOD_WITH_ARGS\("(\w+)", SD_BUS_(?:ARGS\((.*?)\)|NO_ARGS), '
                         r'SD_BUS_(?:RESULT\((.*?)\)|NO_RESULT),', code):
        result = "".join(re.findall(r'"([^"]*)"', m[3] or ""))
        found[m[1]] = f"({arguments(m[2] or '')})" + (f" -> {result}" if result else "")
    for m in re.finditer(r'SD_BUS_(?:WRITABLE_)?PROPERTY\( ?"(\w+)", "([^"]+)", ([^)]*)\)', code):
        measured = m[3].split(",")[-1].strip() in ("0", "EXPLICIT")
        found[m[1]] = f" ({m[2]})" + ("~" if measured else "")
    for m in re.finditer(r'SD_BUS_SIGNAL_WITH_ARGS\("(\w+)", SD_BUS_ARGS\((.*?)\)', code):
        found[m[1]] = f"({arguments(m[2])})"
    return found


def documented(text):
    """The same, of a section of the page."""
    found, measured = {}, False
    for line in text.split("\n"):
        if line.startswith("## "):
            measured = "Measured" in line
        if line.startswith("*"):
            for m in re.finditer(r"\*(\w+)\*(\((?:[^()]|\([^()]*\))*\)(?: -> [\w{}()]+)?| \(\S+\)(?=[,.]|$))", line):
                is_property = m[2].startswith(" ")
                found[m[1]] = m[2] + ("~" if measured and is_property else "")
    return found


def compare(section, real, page):
    for name in sorted(real.keys() | page.keys()):
        if name not in page:
            yield f"{section}: {name}{real[name]} is not in the page"
        elif name not in real:
            yield f"{section}: {name}{page[name]} is in the page, but in no vtable"
        elif real[name] != page[name]:
            yield f"{section}: found {name}{page[name]}, expected {name}{real[name]}"


def main():
    page = (TOP / "man/org.idled1.5.scd.in").read_text()
    parts = dict(re.findall(r"^# ([^\n]+)\n(.*?)(?=^# |\Z)", page, re.MULTILINE | re.DOTALL))
    problems, checked, vtables = [], 0, set()
    for section, files in SECTIONS.items():
        real = {k: v for f in files for k, v in members(f).items()}
        problems += compare(section, real, documented(parts.get(section, "")))
        checked += len(real)
        vtables |= set(files)
    problems += [f"{p.name}: has a vtable, but no section of the page is about it"
                 for p in TOP.glob("daemon/bus/**/*.c")
                 if "SD_BUS_VTABLE_START" in p.read_text() and p.name not in vtables]
    for error in set(re.findall(r'"(org\.idled1\.Error\.\w+)"',
                                (TOP / "daemon/bus/bus-parts.h").read_text())):
        if f"*{error}*" not in parts["ERRORS"]:
            problems.append(f"ERRORS: {error} is not in the page")
    finish(problems, checked)


main()
