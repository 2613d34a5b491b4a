# SPDX-License-Identifier: LGPL-2.1-or-later
"""idled and other programs that save power, side by side: the same guest, kernel and loads.

Each package has a guest of its own that has just booted, in which it is installed; its program starts with its own
defaults for each run. The kernel alone and idled share a guest. The loads, the counters and the model of power are
those of coreidle. docs/rivals.md has what was found.
"""

import argparse
import dataclasses
import sys
import time
from pathlib import Path
from statistics import mean

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "coreidle"), str(HERE.parent)]

import crate  # noqa: E402
import experiment  # noqa: E402
import packages  # noqa: E402
import profiles  # noqa: E402
import report  # noqa: E402
from experiment import Placement  # noqa: E402

IDLE = 30  # seconds without load after a start: most machines have been idle for a while when load arrives
CONTRACT = "[Match]\\nUnit=load.service\\n[Ask]\\nWakeupP99=10ms\\n"
SCHEDULES = "grep -qs ^lavd /sys/kernel/sched_ext/root/ops"


@dataclasses.dataclass(frozen=True)
class Arm:
    package: str = ""  # of Debian, or NAME@VERSION of crates.io; idled is what was built
    unit: str = ""     # that is started, without its suffix
    choose: str = ""   # a command that chooses a profile
    daemon: bool = True
    active: str = ""   # a command that fails unless the program is in effect


def lavd(mode):
    """It takes a while to load, and the kernel may eject it at any time."""
    unit = f"scx_lavd@{mode}"
    wait = f"until {SCHEDULES}; do systemctl is-active -q {unit} || exec systemctl status {unit}; sleep 1; done"
    return Arm("scx_lavd@1.1.4", unit, wait, active=SCHEDULES)


ARMS = {
    "kernel": Arm(),
    "idled-balanced": Arm(unit="idled"),
    "idled-power-saver": Arm(unit="idled", choose="idlectl profile power-saver"),
    "idled-contract": Arm(unit="idled", choose="mkdir -p /etc/idled/apps; "
                          f"printf '{CONTRACT}' >/etc/idled/apps/load.conf; systemctl reload idled"),
    "tuned-balanced": Arm("tuned", "tuned", "tuned-adm profile balanced"),
    "tuned-powersave": Arm("tuned", "tuned", "tuned-adm profile powersave"),
    "ppd-balanced": Arm("power-profiles-daemon", "power-profiles-daemon"),
    "ppd-power-saver": Arm("power-profiles-daemon", "power-profiles-daemon", "powerprofilesctl set power-saver"),
    "tlp": Arm("tlp/trixie-backports", "tlp", daemon=False),
    "tlp-power-saver": Arm("tlp/trixie-backports", "tlp", "tlp power-saver", daemon=False),
    "auto-cpufreq": Arm("auto-cpufreq/sid", "auto-cpufreq"),
    "scx-lavd-powersave": lavd("powersave"),
    "scx-lavd-autopilot": lavd("autopilot"),
}
LIMITED = ("idled-balanced", "idled-power-saver")  # that --arms also takes as ARM+LIMIT (profiles.py)


def arm_of(name):
    """One of ARMS, or a profile of idled with another contract for all units, such as idled-balanced+0."""
    base, plus, limit = name.partition("+")
    arm = ARMS[base]
    if not plus:
        return arm
    command = profiles.limit_command(base.removeprefix("idled-"), limit)
    return dataclasses.replace(arm, choose=f"{command} && systemctl reload idled && {arm.choose or 'true'}")


# Those of coreidle, and programs that users run, with the packages that they need.
LOADS = experiment.LOADS | {
    "web": "sh /root/server nginx poisson 1 400 /root/load.histograms/all",
    "make": "sh /root/build /root/load.done",
}
NEEDED = {"web": ["nginx"], "make": ["gcc", "libc6-dev", "make"]}

# The names of tables and their options of the module. With one frequency, sleeps alone decide; "slow": work takes
# longer at lower frequencies.
TABLES = experiment.TABLES | {f"{name}-{kind}": f"{option} {options}".strip()
                              for kind, option in {"fixed": "freqs_khz=3600000", "slow": "slows=Y"}.items()
                              for name, options in experiment.TABLES.items()}


def prepare(lab, machine, table, package, loads):
    """A guest that has just booted, with this package and what the loads need, and its states' names."""
    lab.shut_down()
    guest, names = experiment.prepare(lab, machine, TABLES[table], governor="schedutil")
    experiment.compile_load(guest.share / "load", HERE.parent / "contract" / "load.c")
    for name, path in {"server": HERE.parent / "server", "build": HERE / "build"}.items():
        (guest.share / name).write_text(path.read_text())
    guest.run("cp /share/load /share/server /share/build /root")
    if "@" in package:
        crate.install(guest, package)
    elif package:
        packages.install(guest, package)
    for load in loads:
        if load in NEEDED:
            packages.install(guest, *NEEDED[load])
    return guest, names


def measure(guest, machine, placement, arm, load, names):
    """One run, at the end of which the arm's program is stopped and has forgotten everything."""
    if arm.unit:
        guest.run(f"systemctl start {arm.unit} && {arm.choose or 'true'}")
    guest.run(f"sleep {IDLE}")
    where = dataclasses.replace(placement, name="default")
    try:
        run = experiment.measure(guest, machine, where, LOADS[load], names, arm.unit if arm.daemon else "")
        guest.run(arm.active or "true")
        return run
    finally:
        guest.run(f"systemctl stop {arm.unit or 'load'}; rm -rf /etc/idled/apps /etc/idled/profiles /var/lib/idled",
                  check=False)


def measured(arguments, title, placement):
    if not arguments.results.exists():
        return 0
    return len(experiment.read_results(arguments.results).get(title, {}).get(placement, ()))


def bench(lab, arguments, machine, table, package):
    """All runs of the arms of one package, in turn, but for those that the file of results has; True if none failed."""
    guest, names, good = None, None, True
    release = (lab.supplies()[0] / "release").read_text()
    arms = {name: Placement(name, 1, arguments.settle, arguments.seconds)
            for name in arguments.arms if arm_of(name).package == package}
    for load in arguments.loads:
        title = experiment.title_of(release, machine, table, load)
        missing = [(i, name) for name, placement in arms.items()
                   for i in range(measured(arguments, title, placement), arguments.runs)]
        for i, name in sorted(missing, key=lambda run: run[0]):
            if not guest:
                guest, names = prepare(lab, machine, table, package, arguments.loads)
            began, what = time.monotonic(), f"{title}, {name} #{i + 1}"
            try:
                run = measure(guest, machine, arms[name], arm_of(name), load, names)
            except (ValueError, AssertionError) as failure:  # the latter: a command in the guest
                lab.settings.say(f"{what} failed: {failure}")
                good = False
                continue
            experiment.record(arguments.results, title, arms[name], run)
            lab.settings.say(f"{what}: {run.watts:.2f} W, late {run.latencies} ({time.monotonic() - began:.0f} s)")
    return good


HEAD = ["program", "runs", "s", "W", "% of the kernel alone", "MB/s or cycles/s", "p99 us", "wake-ups/s", "its RSS, MB",
        "its CPU, ms/min", "its wake-ups/s"]


def row(placement, runs, kernel):
    """kernel: the runs of the kernel alone in the same seconds, because loads differ from minute to minute."""
    own = ["-"] * 3
    arm = arm_of(placement.name)
    if arm.unit and arm.daemon:
        own = [report.spread([r.memory / 1024 for r in runs], 1),
               report.spread([r.own_cost * 60e3 for r in runs], 1), report.spread([r.own_wakeups for r in runs])]
    watts, late = [r.watts for r in runs], [r.latencies["99"] for r in runs if r.latencies]
    return [placement.name, str(len(runs)), placement.timing(), report.spread(watts),
            f"{100 * mean(watts) / mean(r.watts for r in kernel):.1f}" if kernel else "-",
            report.done(runs), report.spread(late, 0) if late else "-",
            report.spread([r.wakeups for r in runs], 0), *own]


def text(everything):
    """A table for each load."""
    lines = []
    for title, arms in everything.items():
        order = sorted(arms.items(), key=lambda arm: list(ARMS).index(arm[0].name.partition("+")[0]))
        rows = [row(placement, runs, arms.get(dataclasses.replace(placement, name="kernel")))
                for placement, runs in order]
        lines += [f"### {title}", "", *report.table(HEAD, rows), ""]
    return "\n".join(lines)


def choice(offered, limited=()):
    """Some of those that are offered; of the limited ones also with a contract for all units."""
    def chosen(words):
        unknown = {word for word in words.split(",") if word not in offered and
                   not (word.partition("+")[0] in limited and profiles.checked(word))}
        if unknown:
            raise argparse.ArgumentTypeError(f"found {', '.join(sorted(unknown))}, expected {', '.join(offered)}")
        return words.split(",")
    return chosen


def parse(words, build):
    parser = argparse.ArgumentParser(prog="tools/vm --suite backports bench rivals", description=__doc__)
    defaults = {"machines": (experiment.MACHINES, "4"), "tables": (TABLES, "snb"), "arms": (ARMS, ",".join(ARMS)),
                "loads": (LOADS, "idle,cyclictest,light,batchy,mixed,tbench,web,make")}
    for name, (offered, default) in defaults.items():
        parser.add_argument(f"--{name}", type=choice(offered, LIMITED if name == "arms" else ()), default=default,
                            help=", ".join(offered))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--settle", type=int, default=60, help="seconds of load before a measurement (60)")
    parser.add_argument("--seconds", type=int, default=30, help="that are measured (30)")
    parser.add_argument("--results", type=Path, metavar="FILE", default=Path(build) / "rivals.jsonl",
                        help="with all figures, to which what is missing is added; default: rivals.jsonl in the build")
    parser.add_argument("--report", action="store_true", help="measure nothing, show that file")
    return parser.parse_args(words)


def main(lab, words):
    arguments, good = parse(words, lab.settings.build), True
    for machine in arguments.machines if not arguments.report else ():
        for table in arguments.tables:
            for package in dict.fromkeys(arm_of(name).package for name in arguments.arms):
                good = bench(lab, arguments, machine, table, package) and good
    print(text(experiment.read_results(arguments.results)))
    return 0 if good else 1
