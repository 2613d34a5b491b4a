#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Manual pages are clean for man, refer to pages that exist, and document every option.

usage: man_pages.py DIRECTORY, where the build put them
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from source import SKIPPED, TOP, finish

WIDTH = 80
# Pages of other projects that ours refer to.
FOREIGN = {"busctl(1)", "systemctl(1)", "systemd.resource-control(5)", "cgroups(7)", "dbus-daemon(1)",
           "sd_bus_path_encode(3)", "turbostat(8)", "clock_nanosleep(2)"}


def warnings(page):
    """What groff says about a page, at the width of a terminal."""
    run = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(page)],
                         env={**os.environ, "LC_ALL": "C.UTF-8", "MANROFFSEQ": "",
                              "MANWIDTH": "80"},
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return [f"{page.name}: {line}" for line in run.stderr.splitlines()]


def references(source, pages):
    text = source.read_text()
    return [f"{source.name}: refers to {name}, which does not exist"
            for name in sorted({f"{m[1]}({m[2]})" for m in
                                re.finditer(r"\*([\w.-]+)\*\((\d)\)", text)})
            if name not in pages | FOREIGN]


def wide(source):
    """Lines of a source wider than 80 columns, with tabs of 8; code and single words may be."""
    text = re.sub(r"^```.*?^```$", lambda m: "\n" * m[0].count("\n"), source.read_text(),
                  flags=re.MULTILINE | re.DOTALL)
    return [f"{source.name}:{number}: {len(line.expandtabs())} columns, expected at most {WIDTH}"
            for number, line in enumerate(text.split("\n"), 1)
            if len(line.expandtabs()) > WIDTH and " " in line.strip()]


def backslashes(source):
    """Backslashes that scdoc removes: of code any that is single, of text those before a letter.

    scdoc takes the character after a backslash as it is, in code as well: \\n needs \\\\n."""
    code = False
    for number, line in enumerate(source.read_text().splitlines(), 1):
        code ^= line == "```"
        lost = re.search(r"\\(.?)", re.sub(r"\\\\", "", line))
        if lost and (code or lost[1].isalnum() or not lost[1]):
            yield f"{source.name}:{number}: scdoc removes a backslash: found {lost[0]}, " \
                  f"expected \\{lost[0]}"


def compare(page, what, real, documented):
    return [f"{page}: does not document {what}{o}" for o in sorted(real - documented)] + \
           [f"{page}: documents {what}{o}, which does not exist" for o in sorted(documented - real)]


def section(page, title):
    """The text of a section, examples left out."""
    text = re.sub(r"^```\n.*?^```\n", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.search(rf"^# {title}\n(.*?)^# ", text, re.MULTILINE | re.DOTALL)[1]


def options(page, sources, shared=()):
    """Long options of the tables in `sources` that the page does not document, and back. It may document those
    of the tables in `shared`, too."""
    def rows(paths):
        return set(re.findall(r'^\s*\{ "([a-z-]+)",\s+(?:\w+_argument|NULL|"[A-Z=]+"),\s',
                              "".join(path.read_text() for path in paths), re.MULTILINE))
    table = rows(sources)
    documented = {o for line in page.read_text().splitlines() if line.startswith("*--")
            for o in re.findall(r"\*--([a-z-]+)\*", line)}
    return compare(page.name, "--", table, documented - (rows(shared) - table))


def verbs(page, folder):
    """Verbs in files of the folder that the page does not document, and back; obsolete ones stay out."""
    found = [verb for path in folder.glob("*.c") for verb in
             re.findall(r"^const Verb verb_[a-z]+ = \{\n(.*?)^\};", path.read_text(), re.MULTILINE | re.DOTALL)]
    return compare(page.name, "the verb ",
                   {re.search(r'\.name = "([a-z]+)"', v)[1] for v in found if ".renamed = " not in v},
                   set(re.findall(r"^\*([a-z]+)\*", section(page, "VERBS"), re.MULTILINE)) - {"help", "version"})


def settings(page, example):
    """Options of an example file that the page does not have in the same section."""
    documented, text = {}, page.read_text()
    for heading, body in re.findall(r"^## [^\n]*section \[(\w+)\]\n(.*?)(?=^#|\Z)", text,
                                    re.MULTILINE | re.DOTALL):
        documented.setdefault(heading, set()).update(re.findall(r"^\*(\w+)=\*", body, re.MULTILINE))
    where = None
    for line in example.read_text().splitlines():
        if heading := re.fullmatch(r"\[(\w+)\]", line):
            where = heading[1]
        elif (key := re.match(r"#?(\w+)=", line)) and key[1] not in documented.get(where, ()):
            yield f"{page.name}: does not document {key[1]}= of section [{where}]"


def main():
    if not shutil.which("man"):
        print("needs man")
        sys.exit(SKIPPED)
    built = [p for p in Path(sys.argv[1]).iterdir() if re.search(r"\.\d$", p.name)]
    sources = [*TOP.glob("man/*.scd"), *TOP.glob("man/*.scd.in")]
    pages = {"{}({})".format(*s.name.split(".scd")[0].rsplit(".", 1)) for s in sources}
    problems = [f"man/{s.name}: is not built" for s in sources
                if s.name.split(".scd")[0] not in {p.name for p in built} | {"idlelab.1"}]
    for page in built:
        problems += warnings(page)
    for source in sources:
        problems += references(source, pages) + wide(source) + [*backslashes(source)]
    problems += options(TOP / "man/idled.8.scd.in", [TOP / "daemon/arguments.c"])
    for page, folder, shared in (("idlectl", "ctl", ()), ("idlelab", "lab", sorted(TOP.glob("lib/cli/*.c")))):
        own = sorted(TOP.glob(f"{folder}/verbs/*.c"))
        problems += options(TOP / f"man/{page}.1.scd", own if shared else [*own, *TOP.glob("lib/cli/*.c")], shared)
        problems += verbs(TOP / f"man/{page}.1.scd", TOP / folder / "verbs")
    problems += settings(Path(sys.argv[1]) / "idled.conf.5.scd", TOP / "conf/idled.conf")
    finish(problems, len(built))


main()
