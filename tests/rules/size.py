#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files and functions stay short enough to be read at once.

The format of the code (see the rule about it) puts the braces of functions, and of nothing else
that has code in it, into the first column.
"""

from source import blanked, files, finish, relative

FILE_MAX = 400       # lines
TEST_FILE_MAX = 800  # tables of cases are long
FUNCTION_MAX = 80    # lines between its braces


def functions(text):
    """(line of the brace, number of lines) of every function of C text."""
    start = None
    for number, line in enumerate(blanked(text).split("\n"), 1):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start:
            yield start, number - start - 1
            start = None


def main():
    sources, problems = files(".c", ".h"), []
    for path in sources:
        name, text = relative(path), path.read_text()
        lines, most = text.count("\n"), TEST_FILE_MAX if name.startswith("tests/") else FILE_MAX
        if lines > most:
            problems.append(f"{name}: {lines} lines, expected at most {most}")
        problems += [f"{name}:{line}: a function of {length} lines, expected at most {FUNCTION_MAX}"
                     for line, length in functions(text) if length > FUNCTION_MAX]
    finish(problems, len(sources))


main()
