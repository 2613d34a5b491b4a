#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files and folders that need each other in a circle: by the symbols of the object files.

An object file depends on the one that defines a symbol it uses (nm). A table of functions that is filled
in once is no choice: calls through it count as calls of these functions. A folder depends on the folders
of the files that its files depend on. A circle of more than two files means that none of them can be
understood without the others. Prints every circle; fails if one is larger than allowed.

usage: cycles.py BUILD NM
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from source import TOP, blanked, files, finish, relative

ROOTS = ("lib", "daemon", "policies", "bpf", "lab", "ctl")
FILES_MAX = 2


def objects(build):
    """{object: source} of the product, sources relative to the top."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = (Path(entry["directory"]) / entry["file"]).resolve()
        if not source.is_relative_to(TOP):
            continue
        name = str(source.relative_to(TOP))
        target = Path(entry["output"]).parts[0]
        if name.split("/")[0] in ROOTS and target in ROOTS:
            found[build / entry["output"]] = name
    return found


def symbols(nm, path):
    """(defined, used) global symbols of an object file."""
    defined, used = set(), set()
    for line in subprocess.check_output([nm, "-g", str(path)], text=True).splitlines():
        *_, kind, name = line.split()
        (used if kind == "U" else defined).add(name)
    return defined, used


def graph(build, nm):
    """{source: sources whose symbols it uses}. Modules are linked alone, so the object's own target
    is searched for a symbol first."""
    tables = {o: symbols(nm, o) for o in objects(build) if o.exists()}
    sources = objects(build)
    owners = {}
    for path, (defined, _) in tables.items():
        for name in defined:
            owners.setdefault(name, []).append(path)
    edges = {}
    for path, (_, used) in tables.items():
        mine = edges.setdefault(sources[path], set())
        for name in used & owners.keys():
            near = [o for o in owners[name] if o.parent == path.parent] or owners[name]
            mine.update(sources[o] for o in near)
    for caller, called in calls_by_table({n: sources[o[0]] for n, o in owners.items()}):
        edges.setdefault(caller, set()).add(called)
    return {source: targets - {source} for source, targets in edges.items()}


def product():
    """{name: text without comments and literals} of the product's files."""
    return {relative(p): blanked(p.read_text()) for p in files(".c", ".h") if relative(p).split("/")[0] in ROOTS}


def tables(texts):
    """{type: its functions} of every struct that has several."""
    found = {}
    for text in texts.values():
        for tag, body, alias in re.findall(r"\bstruct (\w*) ?\{(.*?)\n\}(?: (\w+))?;", text, re.DOTALL):
            functions = set(re.findall(r"\(\*(\w+)\)\(", body))
            if len(functions) > 1:  # one alone is the callback of a request
                found[alias or tag] = functions
    return found


def fillings(kind, functions, texts):
    """(file, names in it) of every initializer of the type that fills in functions."""
    start = re.compile(rf"\b{kind}\s+\w+(?:\[\w*\])?\s*=\s*\{{|\(\s*(?:const )?(?:struct )?{kind}\s*\)\s*\{{")
    for name, text in texts.items():
        for match in start.finditer(text) if kind in text else ():
            end, depth = match.end(), 1
            while depth:
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
            filling = text[match.end():end]
            designated = set(re.findall(r"\.(\w+)\s*=", filling))
            if not designated or designated & functions:
                yield name, set(re.findall(r"\w+", filling))


def seen_by(name, includes, known):
    """The file and all headers that it includes, `known` so far."""
    if name not in known:
        known.add(name)
        for header in includes.get(name, ()):
            seen_by(header, includes, known)
    return known


def included(texts):
    """{file: the product's headers that it includes}."""
    places = {}
    for name in texts:
        places.setdefault(name.split("/")[-1], []).append(name)
    found = {}
    for name in texts:
        headers = re.findall(r'^#include "([^"]+)"', (TOP / name).read_text(), re.MULTILINE)
        found[name] = [p for h in headers for p in places.get(h.split("/")[-1], ())
                       if p.endswith("/" + h) or p == str(Path(name).parent / h)]
    return found


def calls_by_table(owners):
    """(caller, called) for each call through a table that is filled in once. `owners`: the file of each symbol."""
    texts = product()
    includes = included(texts)
    scopes = {name: seen_by(name, includes, set()) for name in texts if name.endswith(".c")}
    for kind, functions in tables(texts).items():
        filled = list(fillings(kind, functions, texts))
        if len(filled) != 1:
            continue
        place, names = filled[0]
        called = {place} | {owners[n] for n in names & owners.keys()}
        definitions = {name for name, text in texts.items() if kind in text}
        call = re.compile(rf"(?:->|\.)(?:{'|'.join(functions)})\(")
        for caller, scope in scopes.items():
            if scope & definitions and call.search(texts[caller]):
                yield from ((caller, c) for c in called if c != caller and c.endswith(".c"))


def circles(edges):
    """The strongly connected components of more than one node (Tarjan), largest first."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return sorted(found, key=len, reverse=True)


def folders(edges):
    between = {}
    for source, targets in edges.items():
        folder = str(Path(source).parent)
        between.setdefault(folder, set()).update(str(Path(t).parent) for t in targets)
    return {folder: targets - {folder} for folder, targets in between.items()}


def main():
    sys.setrecursionlimit(10000)
    build, nm = Path(sys.argv[1]), sys.argv[2]
    edges = graph(build, nm)
    problems = []
    for circle in circles(edges):
        print(f"{len(circle)} files: {' '.join(circle)}")
        if len(circle) > FILES_MAX:
            problems.append(f"a circle of {len(circle)} files, expected at most {FILES_MAX}")
    for circle in circles(folders(edges)):
        problems.append(f"a circle of folders: {' '.join(circle)}")
    finish(problems, len(edges))


main()
