#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The shipped configuration files tell of every setting, with its default as a comment.

usage: conf.py SETTINGS-PAGE MODULE...
"""

import re
import subprocess
import sys

from source import TOP, finish, relative


def tables():
    """{file: [(section, key, default)]} as the tables of settings have it."""
    text = subprocess.check_output([sys.argv[1], "rows", *sys.argv[2:]], text=True)
    found = {}
    for line in text.splitlines():
        file, section, key, default, _help = line.split("\t")
        found.setdefault(file, []).append((section, key, default))
    return found


def shipped(path):
    """The same of a file; whatever is set rather than commented is a mistake of its own."""
    section, found, problems = None, [], []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if re.fullmatch(r"\[\w+\]", line):
            section = line[1:-1]
        elif m := re.fullmatch(r"#(\w+)=(.*)", line):
            found.append((section, m[1], m[2]))
        elif line and not line.startswith("# ") and line != "#":
            problems.append(f'{relative(path)}:{number}: found "{line}", expected a comment, '
                            f"a section or #Key=default")
    return found, problems


def compare(name, expected, found):
    for row in expected:
        if row not in found:
            yield f"{name}: expected #{row[1]}={row[2]} in [{row[0]}]"
    for row in found:
        if row not in expected:
            yield f"{name}: found #{row[1]}={row[2]} in [{row[0]}], which is not in the table"
    if sorted(expected) == sorted(found) and expected != found:
        yield f"{name}: the settings are not in the order of the table"


def main():
    expected, problems, checked = tables(), [], 0
    for path in sorted((TOP / "conf").rglob("*.conf")):
        name = str(path.relative_to(TOP / "conf"))
        found, wrong = shipped(path)
        problems += wrong
        problems += compare(f"conf/{name}", expected.pop(name, []), found)
        checked += len(found)
    problems += [f"conf/{name}: is not there, but has settings" for name, rows in expected.items()
                 if rows]
    finish(problems, checked)


main()
