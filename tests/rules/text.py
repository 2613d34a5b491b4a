#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every text file is clean: UTF-8, no invisible characters, no notes to self, a licence."""

import re

from source import TOP, files, finish, relative

SUFFIXES = (".c", ".h", ".js", ".css", ".html", ".json", ".xml", ".py", ".md", ".scd", ".in", ".conf", ".policy", ".build", ".txt",
            "/check", "/run", "/vm", "/build", "/packages", "/sources", "/init", "/runner",
            "/extract-kernel", ".service", ".sh", ".machine")
# These are spelt in parts so that this file passes.
NOTES = re.compile(r"\b(" + "|".join(a + b for a, b in (
    ("TO", "DO"), ("FIX", "ME"), ("XX", "X"), ("HA", "CK"))) + r")\b")
SPDX = "SPDX-License-" + "Identifier:"
# A kernel module may only be under the kernel's licence.
LICENCES = {"tests/vm/module": "GPL-2.0-only", "tests/vm/teo": "GPL-2.0-only"}
# Control characters other than tab and newline, soft hyphens, zero widths, bidirectional overrides.
INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f"
                       "\ufeff\ufff9-\ufffb]")


def check(path):
    name = relative(path)
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError as error:
        return [f"{name}: not UTF-8: {error}"]
    problems = []
    for number, line in enumerate(text.split("\n"), 1):
        note, invisible = NOTES.search(line), INVISIBLE.search(line)
        if note:
            problems.append(f"{name}:{number}: says {note[0]}")
        if invisible:
            problems.append(f"{name}:{number}: has the invisible character "
                            f"U+{ord(invisible[0]):04X}")
        if line.endswith((" ", "\t")):
            problems.append(f"{name}:{number}: ends with white space")
    if text and not text.endswith("\n"):
        problems.append(f"{name}: does not end with a newline")
    licence = LICENCES.get(str(path.parent.relative_to(TOP)), "LGPL-2.1-or-later")
    if name.endswith((".c", ".h", ".js", ".css")) and \
            not text.startswith(f"/* {SPDX} {licence} */\n"):
        problems.append(f"{name}:1: does not begin with the licence's SPDX line")
    return problems


def main():
    # Inputs that are wrong on purpose stand in corpora.
    texts = [p for p in files("") if not {"corpus", "traces"} & set(p.parts)
             and ("/" + relative(p)).endswith(SUFFIXES)]
    finish([problem for p in texts for problem in check(p)], len(texts))


main()
