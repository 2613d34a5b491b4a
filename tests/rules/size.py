#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Functions stay short enough to be read at once, those of tests and tools as well. A C file opens with
a comment, which is short, too: reasons and measurements are in docs/.

The format of the C code (see the rule about it) puts the braces of functions, and of nothing else
that has code in it, into the first column.
"""

import ast
import re

from source import blanked, files, finish, relative

FUNCTION_MAX = 80 # lines: of C between its braces, of Python with its head
OPENING_MAX = 30  # lines of the comment
OPENING = re.compile(r"/\* SPDX[^\n]*\n\s*(/\*.*?\*/)", re.DOTALL)


def c_functions(text):
    """(line of the brace, number of lines) of every function of C text."""
    start = None
    for number, line in enumerate(blanked(text).split("\n"), 1):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start:
            yield start, number - start - 1
            start = None


def python_functions(text):
    """(line of its head, number of lines) of every function of Python text."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1


def check_opening(name, text):
    comment = OPENING.match(text)
    length = comment[1].count("\n") + 1 if comment else 0
    if not 0 < length <= OPENING_MAX:
        yield f"{name}: opens with a comment of {length} lines, expected 1 to {OPENING_MAX}"


def source(path):
    """(text, its functions) of C, Python and other scripts; None of anything else."""
    if path.suffix in (".c", ".h"):
        text = path.read_text()
        return text, c_functions(text)
    with path.open("rb") as file:
        head = file.readline(64)
    if path.suffix != ".py" and not head.startswith(b"#!"):
        return None
    text = path.read_text()
    is_python = path.suffix == ".py" or b"python" in head
    return text, python_functions(text) if is_python else ()


def main():
    problems, n = [], 0
    for path in files(""):
        found = source(path)
        if not found:
            continue
        (text, functions), name, n = found, relative(path), n + 1
        problems += [f"{name}:{line}: a function of {length} lines, expected at most {FUNCTION_MAX}"
                     for line, length in functions if length > FUNCTION_MAX]
        if path.suffix in (".c", ".h"):
            problems += check_opening(name, text)
    finish(problems, n)


main()
