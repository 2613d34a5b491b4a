#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""README.md and HACKING.md name files, commands and options that exist. Packages have the version of meson.build."""

import re

from source import TOP, finish

README_MAX = 120   # lines
HACKING_MAX = 200
PATH = re.compile(r"(?:bpf|cockpit|conf|ctl|daemon|docs|lab|lib|man|packaging|policies|tests|tools|units)"
                  r"/[\w./*-]*[\w*]")
NAME_MIN = 2  # files that a path with NAME must stand for
# Not in the source tree.
ELSEWHERE = re.compile(r"\bbuild[\w-]*/\S*|/(?:etc|usr)/\S*")
# The README's own commands, and those of the machine that it may use.
FOREIGN = {"apt-get", "meson", "ninja", "systemctl", "busctl", "mkdir", "printf"}
OWN = {"idled", "idlectl", "idlelab"}


def blocks(text):
    """Lines of the code blocks, but not of those that show output (```text)."""
    return [line for kind, block in re.findall(r"^```(\w*)\n(.*?)^```\n", text, re.MULTILINE | re.DOTALL)
            for line in block.splitlines() if line and not kind]


def is_there(path):
    """Whether `path` exists. One with NAME stands for several files of one folder."""
    if "NAME" not in path:
        return any(TOP.glob(path))
    folder, _, last = path.rpartition("/")
    return "NAME" not in folder and len(list(TOP.glob(f"{folder}/{last.replace('NAME', '*')}"))) >= NAME_MIN


def paths(name, text):
    """Paths in backticks or blocks that are not there."""
    quoted = " ".join(re.findall(r"`([^`\n]+)`", text) + blocks(text))
    for path in sorted(set(PATH.findall(ELSEWHERE.sub("", quoted)))):
        if not is_there(path):
            yield f"{name}: names {path}, which does not exist"


def pictures(text):
    """Files behind links and pictures that are not there; idlectl top must have a picture."""
    linked = re.findall(r"\]\(([^)#]+)", text)
    yield from (f"README.md: links to {path}, which does not exist" for path in linked
                if "://" not in path and not (TOP / path).exists())
    if "docs/top.png" not in linked:
        yield "README.md: shows no picture of idlectl top, docs/top.png"


def commands(text):
    for line in blocks(text):
        word = line.split()[0]
        if ELSEWHERE.match(word):
            continue
        if "/" in word:
            if not (TOP / word).exists():
                yield f"README.md: {word} does not exist"
            elif not (TOP / word).stat().st_mode & 0o111:
                yield f"README.md: {word} cannot be executed"
        elif word not in FOREIGN | OWN:
            yield f"README.md: runs {word}, which is neither in FOREIGN nor ours"


def verbs(text):
    """Verbs of idlectl and idlelab that are not in their pages."""
    for program, verb in sorted(set(re.findall(r"\b(idlectl|idlelab) ([a-z]+)", text))):
        if not re.search(rf"\*{verb}\b", (TOP / f"man/{program}.1.scd").read_text()):
            yield f"README.md: {program} {verb} is not in {program}(1)"


# Where the version of a release is, with the pattern of its line.
VERSIONS = {"meson.build": r"^ *version : '(.*)',$", "packaging/rpm/idled.spec": r"^Version: +(.*)$",
            "packaging/debian/changelog": r"^idled \((.*)-\d+\) "}


def versions():
    found = {name: re.search(pattern, (TOP / name).read_text(), re.MULTILINE)[1] for name, pattern in VERSIONS.items()}
    if len(set(found.values())) > 1:
        yield f"different versions: {found}"


def main():
    readme, hacking = ((TOP / n).read_text() for n in ("README.md", "HACKING.md"))
    problems = [*paths("README.md", readme), *paths("HACKING.md", hacking), *commands(readme),
                *verbs(readme), *pictures(readme), *versions()]
    if blocks(readme)[:2] != ["tools/run", "tools/check"]:
        problems.append("README.md: does not open with tools/run and tools/check")
    for name, text, most in (("README.md", readme, README_MAX), ("HACKING.md", hacking, HACKING_MAX)):
        n = text.count("\n")
        if n > most:
            problems.append(f"{name}: {n} lines, expected at most {most}")
    options = re.findall(r"^option\('(\w+)'", (TOP / "meson_options.txt").read_text(), re.MULTILINE)
    problems += [f"HACKING.md: does not document the build option {o}" for o in options
                 if f"- `{o}`" not in hacking]
    finish(problems, len(blocks(readme)) + len(options))


main()
