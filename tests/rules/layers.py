#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Includes go down only, and each library is used in the places that are meant for it.

base < model < {sense, act, systemd, config, policies, stats, recording} < holds < apps < manager < bus < main;
idlectl and idlelab stand on lib, not on each other or the daemon. No file below main.c names an absolute path of the machine:
the root is a directory that is passed.
"""

import re

from source import TOP, blanked, files, finish, literals, relative

# Installed headers, which plugins are built with: they include only installed headers.
INSTALLED = ["base/cpuset.h", "base/setting.h", "model/contract.h", "model/frequency.h", "model/hold.h",
             "model/idle-table.h", "model/octaves.h", "model/snapshot.h", "model/topology.h", "model/wakeups.h",
             "model/wish.h"]

DECIDE = [*INSTALLED, "idled-policy.h", "./"]
SHARED = ["base/", "model/"]
# Readers of the machine and the configuration, for the tools.
READERS = [*SHARED, "config/", "systemd/", "sense/readings.h", "sense/sensor.h", "sense/topology-read.h", "sense/frequency-read.h",
           "sense/power.h", "sense/task-time.h", "sense/users.h"]

# Folder: prefixes that its files may include. A file belongs to the longest folder that fits.
LAYERS = {
    # What runs in the kernel, its loader, and what reads it without libbpf.
    "bpf": ["base/clock.h", "base/cpuset.h", "model/cgroup-unit.h", "model/octaves.h", "model/wakeups.h", "model/unit-wakeups.h", "bpf/",
            "sleeps.skel.h", "refused.lskel.h", "wakeups.lskel.h", "./"],
    "lib/base": ["base/"],
    "lib/model": SHARED,
    "lib/sense": [*SHARED, "sense/"],
    "lib/act": [*SHARED, "act/"],
    "lib/act/knob": ["base/", "act/knob/"],
    # config-warn.c compares the configuration with the machine, for idled and idlectl.
    "lib/config": [*SHARED, "sense/process-facts.h", "sense/frequency-read.h", "sense/sensor.h",
                   "sense/topology-read.h", "sense/users.h", "config/", "act/", "stats/", "idled-policy.h"],
    "lib/systemd": [*SHARED, "systemd/", "act/knob/"],
    "daemon/holds": [*SHARED, "sense/", "holds/"],
    # Pure, and idlectl's too.
    "lib/stats": [*SHARED, "stats/"],
    "daemon/apps": [*SHARED, "sense/", "config/", "holds/", "apps/"],
    "daemon/manager": [*SHARED, "sense/", "act/", "config/", "systemd/", "holds/", "apps/",
                       "stats/", "manager/", "recording/", "bpf/bill.h", "bpf/refused.h", "idled-policy.h"],
    "daemon/bus": [*SHARED, "sense/", "config/", "systemd/", "manager/", "bus/", "bpf/bill.h", "bpf/ledger.h"],
    "daemon": ["base/", "sense/", "systemd/", "manager/", "bus/", "arguments.h"],
    "policies": DECIDE,
    # Packing is idled's, too (max_cores), and compiled into the module.
    "policies/ondemand": [*DECIDE, "ondemand/", "model/pack.h"],
    "policies/contract": [*DECIDE, "contract/", "model/pack.h"],
    "policies/cstates": [*DECIDE, "cstates/", "words.h", "model/random.h", "model/weights.h"],
    "policies/cpufreq": [*DECIDE, "cpufreq/", "words.h"],
    "lab/governors": ["base/", "model/idle-table.h", "model/random.h", "model/weights.h", "governors/"],
    # The format of recordings, for idled and idlectl.
    "lib/recording": [*SHARED, "recording/"],
    # What both tools share, the top of lib.
    "lib/cli": [*READERS, "bpf/ledger.h", "cli/"],
    "ctl": ["verbs/", "cli/"],
    "lab": ["verbs/", "cli/"],
    "ctl/verbs": [*READERS, "sense/process-facts.h", "bpf/ledger.h", "act/knob/undo-load.h",
                  "act/park/park-isolate.h", "cli/", "./"],
    # A sweep changes values by the daemon's engine.
    "lab/verbs": [*READERS, "stats/", "sense/", "act/actuator.h", "act/tune/cpufreq-knobs.h",
                  "act/knob/undo-load.h", "governors/", "bpf/bill.h", "bpf/ledger.h", "recording/", "cli/", "page/",
                  "./"],
    "lab/page": [*SHARED, "cli/", "page/", "./"],
    # The tables of options.
    "man": [*SHARED, "config/", "stats/evaluator.h", "act/park/park.h", "act/tune/quiet.h", "idled-policy.h"],
}

# Header of a library: the layers that may use it, and in how many files at most.
LOOP = ["lib/systemd", "daemon/holds", "daemon/apps", "daemon/manager", "daemon/bus", "daemon"]
LIBRARIES = {
    "systemd/sd-bus.h": (["lib/systemd", "daemon/bus", "lib/cli"], None),
    "systemd/": ([*LOOP, "lib/cli"], None),
    "libcgroup.h": (["lib/act"], 1),
    "cpufreq.h": (["lib/act"], 1),
    "cpuidle.h": (["lib/act"], 1),
    "gmodule.h": (["lib/config", "bpf", "man"], None),
    "bpf/": (["bpf"], None),
    "json": (["lib/cli"], None),
    "lzma.h": (["lab/governors"], 1),
    "zstd.h": (["lib/recording", "lab/governors"], 2),
}

# Headers that are for the files of one folder: what they define is opaque to all others.
PRIVATE = {f"manager/{name}.h": "daemon/manager"
           for name in ("manager-parts", "seen", "done", "asked", "decided", "evaluation")}

# Headers with the inside of an object: the files of that object.
INSIDE = {"manager/decided-parts.h": ("decided.c", "evaluation.c")}

# Headers that meson makes, and the layer that they belong to.
GENERATED = {"sensor-list.h": "lib/sense"}

ABSOLUTE = re.compile(r"^/(sys|proc|dev|run|etc)(/|$)")
# The process itself and its descriptors are not part of the machine.
OWN = ("/proc/self/exe", "/proc/self/fd/", "/proc/self/fdinfo/")


def layer_of(path):
    name = relative(path)
    for layer in sorted(LAYERS, key=len, reverse=True):
        if name.startswith(layer + "/"):
            return layer
    return None


def includes(text):
    """(line, header, is it of the system) of every #include."""
    code = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL)
    for number, line in enumerate(code.split("\n"), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match:
            yield number, match[2], match[1] == "<"


def may_include(layer, header, path):
    for prefix in LAYERS[layer]:
        if prefix == "./":
            if (path.parent / header).exists():
                return True
        elif header == prefix or (prefix.endswith("/") and header.startswith(prefix)):
            return True
    return False


def check_library(header, layer):
    for name, (layers, _) in LIBRARIES.items():
        if header.startswith(name):
            return None if layer in layers else f"<{header}> is only for {', '.join(layers)}"
    return None


def check_file(path, users):
    layer, name, text = layer_of(path), relative(path), path.read_text()
    problems = []
    for line, header, is_system in includes(text):
        wrong = None
        if is_system:
            wrong = check_library(header, layer)
            users.setdefault(header, []).append(name)
        elif PRIVATE.get(header, layer) != layer:
            wrong = f'"{header}" is only for {PRIVATE[header]}'
        elif path.name not in INSIDE.get(header, (path.name,)):
            wrong = f'"{header}" is only for {" and ".join(INSIDE[header])}'
        elif GENERATED.get(header) != layer and not may_include(layer, header, path):
            wrong = f'"{header}" is not below {layer}'
        elif f"{path.parent.name}/{path.name}" in INSTALLED and header not in INSTALLED:
            wrong = f'"{header}" is not installed, but {path.name} is'
        if wrong:
            problems.append(f"{name}:{line}: {wrong}")
    if layer not in ("daemon", "ctl", "lab", "ctl/verbs", "lab/verbs"):
        for line, literal in literals(text):
            if ABSOLUTE.match(literal) and not literal.startswith(OWN):
                problems.append(f'{name}:{line}: "{literal}" is absolute: use the root directory')
    if re.search(r"\bgoto\b", blanked(text)):
        problems.append(f"{name}: has a goto")
    return problems


def main():
    sources = [p for p in files(".c", ".h") if layer_of(p)]
    users, problems = {}, []
    for path in sources:
        problems += check_file(path, users)
    for header, (_, most) in LIBRARIES.items():
        if most and len(users.get(header, [])) > most:
            problems.append(f"<{header}> is used by {', '.join(users[header])}: expected one file")
    for header in INSTALLED:
        if not (TOP / "lib" / header).exists():
            problems.append(f"lib/{header} is gone, but plugins include it")
    finish(problems, len(sources))


main()
