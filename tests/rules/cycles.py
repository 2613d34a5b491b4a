#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files and folders that need each other in a circle: by the symbols of the object files.

An object file depends on the one that defines a symbol it uses (nm); a folder on the folders of the
files that its files depend on. A circle of more than two files means that none of them can be
understood without the others. Prints every circle; fails if one is larger than allowed.

usage: cycles.py BUILD NM
"""

import json
import subprocess
import sys
from pathlib import Path

from source import TOP, finish

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
    return {source: targets - {source} for source, targets in edges.items()}


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
