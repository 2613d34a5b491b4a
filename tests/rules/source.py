# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the rules share: the files of the source tree, and C text without comments and strings."""

import os
import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
SKIPPED = 77  # what meson takes for "not here"


def files(*suffixes):
    """All files of the tree that end so, build directories and hidden ones left out."""
    found = []
    for directory, subdirs, names in os.walk(TOP):
        subdirs[:] = sorted(
            d for d in subdirs
            if not d.startswith((".", "build", "__pycache__"))
            and not (Path(directory) / d / "build.ninja").exists())
        for name in sorted(names):
            if name.endswith(suffixes):
                found.append(Path(directory) / name)
    return found


def relative(path):
    return str(path.relative_to(TOP))


TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def blanked(text):
    """C text with comments and literals blanked out, every line break kept."""
    return TOKEN.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def literals(text):
    """(line number, contents) of every string literal of C text, those of #include left out."""
    for match in TOKEN.finditer(text):
        if not match[0].startswith('"'):
            continue
        line_start = text.rfind("\n", 0, match.start()) + 1
        if not re.match(r"\s*#\s*include\b", text[line_start:match.start()]):
            yield text.count("\n", 0, match.start()) + 1, match[0][1:-1]


def finish(problems, checked):
    """Prints what is wrong and ends with the status that meson expects."""
    for problem in problems:
        print(problem)
    print(f"{checked} checked, {len(problems)} wrong")
    if not checked:
        print("nothing was found to check: that cannot be right")
    sys.exit(1 if problems or not checked else 0)
