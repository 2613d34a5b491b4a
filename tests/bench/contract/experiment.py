# SPDX-License-Identifier: LGPL-2.1-or-later
"""Does idled keep contracts, and how much of the possible saving is left?

A guest counts its time (--icount), and its module knows what was drawn. For each machine, table of idle states and
load, all static settings are measured: so many active cores, and the deepest idle state of their CPUs. The cheapest
that keeps a contract is the oracle. Then idled runs with a rule that has the contract (WakeupP99=).
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import figures
import packages

HERE = Path(__file__).resolve().parent
sys.path.insert(1, str(HERE.parent))

import profiles  # noqa: E402
import results  # noqa: E402

# Names and options of the module; the first state is the kernel's POLL.
TABLES = {
    "snb": ("C1", "C1E", "C3", "C6", "C7", "latency_us=2,10,80,104,109 residency_us=2,20,211,345,345"),
    "spr": ("C1", "C1E", "C6", "state_names=C1,C1E,C6 latency_us=1,2,290 residency_us=1,4,800 "
            "pkg_power_mw=90000,63000,55000,20000 gated_from=3"),
    "amd": ("C1", "C2", "state_names=C1,C2 latency_us=1,100 residency_us=2,300 pkg_power_mw=90000,63000,20000 "
            "gated_from=2"),
}

# Shapes, and the CPUs of each core.
MACHINES = {"2x2": ("2x2", 2, 2), "4x2": ("4x2", 4, 2)}

# Shape, arrivals a second, and how long each computes, in us (load.c).
LOADS = {
    "poisson": "poisson 25 20000",
    "many": "poisson 1500 400",
    "bursts": "bursts 25 20000",
    "heavy": "heavy 1500 400",
    "day": "day 1000 400",
    "step": "step 400 400",
    "memcached": "poisson 400",
    "nginx": "poisson 400",
}

# What --short measures: 25 minutes of the guest's time.
SHORT = "2x2/spr/heavy,2x2/spr/bursts,2x2/spr/step"

# Real servers, and next to them tasks of a unit without a contract.
SERVERS = ("memcached", "nginx")
NEIGHBOUR = "/root/load poisson 2 400 400"

# Settling and measuring, in seconds. A contract is judged after its first minute; a step comes after one.
STATIC, IDLED, STEP = (10, 40), (60, 60), (0, 180)


def prepare(lab, machine, table, load):
    """The guest, with idled and the load installed, and what it needs."""
    guest = lab.boot(MACHINES[machine][0], f"exit_wait=Y {TABLES[table][-1]}")
    lab.install(guest)
    (guest.share / "measure").write_text((HERE / "measure").read_text())
    (guest.share / "server").write_text((HERE.parent / "server").read_text())
    if load in SERVERS:
        packages.install(guest, load)
    subprocess.run(["cc", "-O2", "-static", "-std=gnu17", "-D_GNU_SOURCE", "-o", guest.share / "load", HERE / "load.c", "-lm"],
                   check=True)
    guest.run("cp /share/measure /share/load /share/server /root; for f in /sys/devices/system/cpu/cpufreq/policy*/scaling_governor; do "
              "echo performance >$f; done; systemctl is-system-running --wait", check=False)
    return guest


def settings(machine, table, short=False):
    """(title, CPUs that are set aside, indexes of disabled states) of all static settings, the default first; `short`:
    those with all states."""
    _, cores, threads = MACHINES[machine]
    states = TABLES[table][:-1]
    for active in range(cores, 0, -1):
        aside = f"{active * threads}-{cores * threads - 1}" if active < cores else "-"
        for deepest in range(len(states), len(states) - 1 if short else 0, -1):
            disabled = ",".join(str(s) for s in range(deepest + 1, len(states) + 1)) or "-"
            yield f"{active} cores, {states[deepest - 1]}", aside, disabled


def measure(guest, seconds, aside, disabled, contract, load, seed):
    settle, length = seconds
    contract, _, limit = contract.partition("+")
    shape, *words = LOADS[load].split()
    program, neighbour = (f"sh /root/server {load}", NEIGHBOUR) if load in SERVERS else ("/root/load", "")
    guest.run(profiles.limit_command(contract, limit))
    output = guest.read(f"NEIGHBOUR='{neighbour}' bash /root/measure {settle} {length} {aside} {disabled} {contract} "
                        f"{program} {shape} {seed} {' '.join(words)}", timeout=7200)
    return figures.read(output, settle)


def describe(found):
    late = ", ".join(str(window["p99_us"]) for window in found["windows"])
    neighbour = ", ".join(str(window["p99_us"]) for window in found["neighbour"])
    return f"{found['watts']:.1f} W, p99 of windows {late} us{', neighbour ' + neighbour + ' us' if neighbour else ''}"


def runs(arguments, kind):
    """What is measured of one kind: its row's first fields, and the arguments of measure() for them."""
    machine, table, load = kind
    step = STEP if load == "step" else None
    for setting, aside, disabled in settings(machine, table, arguments.short) if not arguments.only_idled else ():
        yield {"kind": "/".join(kind), "setting": setting}, (step or STATIC, aside, disabled, "-")
    for contract in arguments.contracts if not arguments.only_static else ():
        yield {"kind": "/".join(kind), "contract_ms": contract}, (step or IDLED, "-", "-", f"{contract}ms")
    for profile in arguments.profiles:
        yield {"kind": "/".join(kind), "profile": profile}, (step or IDLED, "-", "-", profile)


def run(lab, arguments, kind, rows):
    """All settings of one kind, then idled with each contract; not what FILE has already."""
    missing = [(row, how) for row, how in runs(arguments, kind) if not any(row.items() <= old.items() for old in rows)]
    guest = prepare(lab, *kind) if missing else None
    for row, how in missing:
        title = row.get("setting") or row.get("profile") or f"{row['contract_ms']} ms"
        found = results.attempt(lab.settings.say, f"{row['kind']}, {title}", describe, measure, guest, *how, kind[2],
                                arguments.seed)
        if found:
            rows.record(row | found)


def parse(words):
    parser = argparse.ArgumentParser(prog="tools/vm bench contract", description=__doc__)
    parser.add_argument("--kinds", help="MACHINE/TABLE/LOAD,... of " + ", ".join(
        [*MACHINES, *TABLES, *LOADS]))
    parser.add_argument("--contracts", help="in ms, of " + ", ".join(map(str, figures.LIMITS_MS)))
    parser.add_argument("--seed", type=int, default=1, help="of the arrivals")
    parser.add_argument("--short", action="store_true", help=f"by default {SHORT}, each with a contract of 5 and of 20 "
                        "ms; of static settings only those with all idle states")
    parser.add_argument("--profiles", metavar="PROFILE,...", default=[],
                        type=lambda words: list(map(profiles.checked, words.split(","))),
                        help="measure these profiles, too; PROFILE+LIMIT: with this contract for all units instead of "
                        "its own, such as balanced+20ms; balanced+0: without one")
    parser.add_argument("--only-static", action="store_true", help="measure the static settings alone")
    parser.add_argument("--only-idled", action="store_true", help="measure idled alone")
    parser.add_argument("--results", type=Path, metavar="FILE", help="add all figures to this file")
    parser.add_argument("--report", action="store_true", help="measure nothing, show that file")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    result = parser.parse_args(words)
    kinds = ",".join(f"{machine}/{table}/{load}" for machine in MACHINES for table in TABLES for load in LOADS)
    result.kinds = [tuple(kind.split("/")) for kind in (result.kinds or (SHORT if result.short else kinds)).split(",")]
    for kind in result.kinds:
        if len(kind) != 3 or kind[0] not in MACHINES or kind[1] not in TABLES or kind[2] not in LOADS:
            parser.error(f"--kinds: found {'/'.join(kind)}, expected MACHINE/TABLE/LOAD")
    contracts = result.contracts or ("5,20" if result.short else "2,5,10,20")
    result.contracts = [int(text) if text.isdigit() else 0 for text in contracts.split(",")]
    if set(result.contracts) - set(figures.LIMITS_MS):
        parser.error("--contracts: expected some of " + ", ".join(map(str, figures.LIMITS_MS)))
    if result.report and not result.results:
        parser.error("--report: expected --results FILE")
    return result


def main(lab, words):
    arguments = parse(words)
    rows = results.Rows(arguments.results)
    for kind in [] if arguments.report else arguments.kinds:
        run(lab, arguments, kind, rows)
    cases = figures.cases(rows, arguments.contracts)
    of_profiles = figures.profiles(rows)
    print(json.dumps({"cases": cases, "profiles": of_profiles, "summary": figures.summary(cases)}) if arguments.json else
          figures.text(cases, of_profiles))
    return 0
