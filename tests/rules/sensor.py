#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A new visible number of the machine costs few files: HACKING.md lists them, and idled and idlectl
name no measured property and no key of `idlectl status` but in the table that drives them.

The list is compared with the last sensor of that table: all files exist for it and name it. Test
idlectl-added-sensor adds a row and finds whether clients or golden files need others.
"""

import re

from source import TOP, finish, literals, relative

MOST = 9
TABLE = TOP / "lib/model/measured.c"
# Files that name a property for a reason of their own.
OTHERS = {
    "ctl/verbs/cpus.c": "a property of each CPU",
    "lib/cli/facts.c": "a property of each CPU",
    "daemon/bus/bus-cpu.c": "a property of each CPU",
    "ctl/verbs/metrics-families.c": "families of OpenMetrics have help and types of their own",
}


def recipe():
    """Files that HACKING.md names under "Add a sensor"."""
    text = (TOP / "HACKING.md").read_text()
    section = re.search(r"^## Add a sensor\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)[1]
    return sorted(set(re.findall(r"`((?:lib|daemon|tests|ctl|lab|man)/[\w./-]+\.\w+)`", section)
                      + re.findall(r"`((?:lib|daemon|tests)/[\w./-]*meson\.build)`", section)))


def names():
    """Properties and keys of the table."""
    text = TABLE.read_text()
    keys = " ".join(re.findall(r"\.keys = \{([^}]*)\}", text))
    return set(re.findall(r'\.property = "(\w+)"', text) + re.findall(r'"(\w+)"', keys)) - {"source"}


def not_needed(listed):
    """Files of the list that the last sensor of the table, and its last property, do without."""
    last = TABLE.read_text().split('{ .property = "')[-1]
    sense = re.search(r"\.sense = (SENSE_(\w+))", last)
    name = sense[2].lower()
    parts = [sense[1], f"sensor_{name}", f"'{name}'", re.match(r"\w+", last)[0],
             re.search(r"offsetof\(Snapshot, (\w+)\)", last)[1],
             re.search(r'\.before = "([^"]*)"', last)[1]]
    for listed_name in listed:
        path = TOP / listed_name.replace("NAME", name)
        if not path.exists():
            yield f"{relative(path)} does not exist"
        elif not re.search("|".join(parts), path.read_text()):
            yield f"{relative(path)} has none of {', '.join(parts)}"


def main():
    problems, listed, rows = [], recipe(), names()
    if not 0 < len(listed) <= MOST:
        problems.append(f"HACKING.md: a sensor costs {len(listed)} files, expected 1 to {MOST}: {listed}")
    problems += [f"HACKING.md: Add a sensor: {problem}" for problem in not_needed(listed)]
    for path in sorted([*TOP.glob("lib/**/*.[ch]"), *TOP.glob("daemon/**/*.[ch]"), *TOP.glob("ctl/**/*.[ch]"), *TOP.glob("lab/**/*.[ch]")]):
        if path == TABLE or relative(path) in OTHERS:
            continue
        for line, text in literals(path.read_text()):
            if text in rows:
                problems.append(f'{relative(path)}:{line}: names "{text}": use the rows of measured.h')
    finish(problems, len(listed) + len(rows))


main()
