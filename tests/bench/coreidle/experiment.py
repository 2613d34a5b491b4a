# SPDX-License-Identifier: LGPL-2.1-or-later
"""coreidle's experiment: what confining a light load to a few cores saves, manually and by idled.

For every machine, table of idle states and load each placement is measured several times in one guest, in
turn. The guest's time is counted in instructions (--icount), so that other load of this machine makes no
difference.
"""

import argparse
import dataclasses
import json
import re
import subprocess
import time
from pathlib import Path

import report

HERE = Path(__file__).resolve().parent

# What a package draws, running and in each state, is the same in all: 90 W running, 63 W in C1, 55 W in
# C3, 20 W in C6, which are the figures of coreidle's model.
TABLES = {
    # The module's own: long residencies.
    "long": "",
    # intel_idle's table for Sandy Bridge, the paper's machine.
    "snb": "latency_us=2,10,80,104,109 residency_us=2,20,211,345,345",
    # Deep sleep is reached in spite of a load that is spread out.
    "flat": "state_names=C1,C6 latency_us=1,30 residency_us=1,60 pkg_power_mw=90000,63000,20000 "
            "gated_from=2",
    # And leaving it takes no time at all: there is nothing that consolidation could save.
    "free": "state_names=C1,C6 latency_us=1,30 residency_us=1,60 pkg_power_mw=90000,63000,20000 "
            "gated_from=2 exit_wait=N",
    # A deep state that a spread load does not reach.
    "far": "latency_us=2,10,80,400,400 residency_us=2,20,200,5000,5000",
    # Like intel_idle's for Sapphire Rapids.
    "spr": "state_names=C1,C1E,C6 latency_us=1,2,290 residency_us=1,4,800 "
           "pkg_power_mw=90000,63000,55000,20000 gated_from=3",
    # Like ACPI's of an AMD server.
    "amd": "state_names=C1,C2 latency_us=1,100 residency_us=2,300 pkg_power_mw=90000,63000,20000 "
           "gated_from=2",
}

# Shape, and the CPUs that are unused in the ideal: all but the threads of one core.
MACHINES = {"4": ("2x2", "2-3"), "8": ("2x2x2", "2-7"), "4-cores": ("4x1", "1-3")}

LOADS = {
    "cyclictest": "bash /root/cyclictests /root/load.histograms 4000",
    "cyclictest-fast": "bash /root/cyclictests /root/load.histograms 2000",
    "tbench": "tbench -R 10 -t 100000 1 127.0.0.1",
    "tbench-full": "tbench -t 100000 1 127.0.0.1",
    # Threads that sleep and compute (bursts.c): seldom and long, often and short, and both together
    # with one that is busy half of the time.
    "batchy": "/root/bursts /root/load.histograms/all 1 6:300:30",
    "light": "/root/bursts /root/load.histograms/all 1 12:100:2",
    "many": "/root/bursts /root/load.histograms/all 1 30:40:0.1",
    "often": "/root/bursts /root/load.histograms/all 1 24:10:0.4",
    "mixed": "/root/bursts /root/load.histograms/all 1 1:10:10 4:300:30 8:50:1",
    # Nothing: what idled itself costs a machine that has nothing to do.
    "idle": "sleep 100000",
}

# How long a load settles, and for how long it is measured then. idled needs a minute to settle because it
# limits its changes per minute; the power of the other placements is stable after 10 s.
SECONDS = {"default": (10, 20), "ideal": (10, 20), "ondemand": (90, 30)}


@dataclasses.dataclass(frozen=True)
class Placement:
    """Where a load may run, and how that was measured; 0 rounds: the file does not say."""

    name: str
    rounds: int = 0
    settle: int = 0
    seconds: int = 0
    options: str = ""  # of ondemand

    def label(self):
        return f"{self.name}, {self.options}" if self.options else self.name

    def timing(self):
        if not self.rounds:
            return "?"
        rounds = f"{self.rounds} x " if self.rounds > 1 else ""
        return f"{rounds}{self.seconds} after {self.settle}"


@dataclasses.dataclass
class Run:
    """What one measurement found."""

    watts: float
    residency: dict  # by CPU: share of each state, and "busy"
    wakeups: float   # a second, of all CPUs
    work: float      # MB a second over the loopback device
    latencies: dict  # of cyclictest, in microseconds, by percentile
    transitions: int  # of idled, from some seconds before
    own_cost: float  # CPU time of idled or another daemon, of one CPU
    own_wakeups: float  # of it, a second
    parked: str
    why: str
    cycles: float = 0.0  # of cyclictest, or files that were compiled, a second; 0 also if the file does not say
    waited: float = 0.0  # share of the time in which some task waited for a CPU (PSI)
    switches: float = 0.0  # of tasks, a second
    sleeps: dict = dataclasses.field(default_factory=dict)  # by CPU: how many a second
    memory: int = 0  # of another daemon, in KiB


def sections(text):
    """What follows each of the headings, by its name: one list of lines for each time it is there."""
    result, lines = {}, []
    for line in text.splitlines():
        if line.startswith("== "):
            lines = []
            result.setdefault(line[3:], []).append(lines)
        else:
            lines.append(line)
    return result


def read_snapshot(lines):
    values = {}
    for line in lines:
        key, _, value = line.partition(":") if line.startswith("idled:") else line.rpartition(":")
        if key:
            values[key] = json.loads(value) if key == "idled" else int(value)
    return values


def residency(change, names, longest):
    """Shares of CPUs' states; what is left is busy.

    Counters are read one after the other, each at its own distance from "time": a CPU that sleeps all
    the time may have slept longer than that says, but never longer than from the beginning of the
    first reading to the end of the second. More than that raises ValueError.
    """
    result = {}
    for key, value in change.items():
        match = re.search(r"/cpu(\d+)/cpuidle/state(\d+)/time$", key)
        if match:
            result.setdefault(match[1], {})[names[int(match[2])]] = value
    for cpu, row in result.items():
        slept = sum(row.values())
        if slept > longest:
            raise ValueError(f"CPU {cpu} slept for {slept} us of at most {longest} us")
        for name, usec in row.items():
            row[name] = usec / change["time"]
        row["busy"] = max(0.0, 1 - slept / change["time"])
    return dict(sorted(result.items(), key=lambda item: int(item[0])))


def sleeps(change):
    """By CPU: how many idle states it entered a second."""
    result = {}
    for key, value in change.items():
        match = re.search(r"/cpu(\d+)/cpuidle/state\d+/usage$", key)
        if match:
            result[match[1]] = result.get(match[1], 0) + value * 1e6 / change["time"]
    return result


def percentiles(reports):
    """From cyclictest's histograms, all threads together: microseconds by percentile.

    What was longer than a histogram is wide counts as its width. Raises ValueError if one has no end.
    """
    histogram, begun, ended, beyond = {}, 0, 0, 0
    for line in (line for lines in reports for line in lines):
        begun += len(re.findall("# Histogram(?! Overflow)", line))
        row = re.fullmatch(r"(\d{6,})((?:\s+\d+)+)\s*", line)
        if row:
            histogram[int(row[1])] = histogram.get(int(row[1]), 0) + sum(map(int, row[2].split()))
        overflows = re.fullmatch(r"# Histogram Overflows:((?: \d+)+)", line)
        if overflows:
            ended, beyond = ended + 1, beyond + sum(map(int, overflows[1].split()))
    if begun != ended:
        raise ValueError(f"of {begun} histograms of cyclictest {ended} are complete")
    if beyond:
        histogram[max(histogram) + 1] = beyond
    result, seen, total = {}, 0, sum(histogram.values())
    wanted = [50, 95, 99]
    for usec in sorted(histogram):
        seen += histogram[usec]
        while wanted and total and seen >= total * wanted[0] / 100:
            result[str(wanted.pop(0))] = usec
    return result


def growth(pairs):
    """What counters grew by, in all rounds together. Those of energy say where they begin again; ValueError if another
    one has."""
    result = {}
    for before, after in pairs:
        for key, value in before.items():
            more = after[key] - value
            if more < 0 and key.endswith("/energy_uj"):
                more += before.get(key.replace("energy_uj", "max_energy_range_uj"), 0)
            if more < 0:
                raise ValueError(f"{key} went from {value} to {after[key]}")
            result[key] = result.get(key, 0) + more
    return result


def read_own(lines):
    """idled's own counters, and when it was asked."""
    values = read_snapshot(lines)
    own = {key: values["idled"]["daemon"][key] for key in ("transitions", "cpu_usec", "wakeups")}
    return own | {"time": values["time"]}


def read_run(text, names, idle=False):
    """Raises ValueError if figures cannot be, or if the load did nothing that could be measured, which
    is right for an idle machine only."""
    parts = sections(text)
    rounds = list(zip(map(read_snapshot, parts["before"]), map(read_snapshot, parts["after"])))
    change = growth(rounds)
    status = parts.get("status", [])
    own = growth(zip(map(read_own, status[::2]), map(read_own, status[1::2])))
    if "own_usec" in change:
        own = {"cpu_usec": change["own_usec"], "wakeups": change["own_wakeups"], "time": change["time"]}
    seconds = change["time"] / 1e6
    latencies, work = percentiles(parts["load"]), change["loopback"] / 1e6 / seconds
    if not idle and not latencies and work < 0.1 and not change.get("cycles"):
        raise ValueError("the load did nothing:\n" + text[-2000:])
    slept = sleeps(change)
    return Run(
        watts=sum(v for k, v in change.items() if k.endswith("energy_uj")) / 1e6 / seconds,
        residency=residency(change, names, sum(b["ended"] - a["began"] for a, b in rounds)),
        wakeups=sum(slept.values()),
        work=work,
        latencies=latencies,
        transitions=own.get("transitions", 0),
        own_cost=own["cpu_usec"] / own["time"] if own else 0,
        own_wakeups=own["wakeups"] * 1e6 / own["time"] if own else 0,
        parked=read_snapshot(status[-1])["idled"]["cpus"]["parked"] if status else "",
        why="\n".join(parts["history"][0]) if "history" in parts else "",
        cycles=change.get("cycles", 0) / seconds,
        waited=change.get("waited", 0) / change["time"],
        switches=change.get("switches", 0) / seconds,
        sleeps=slept,
        memory=sum(map(int, parts["memory"][0])) if "memory" in parts else 0)


def measure(guest, machine, placement, command, names, daemon=""):
    where = MACHINES[machine][1] if placement.name == "ideal" else placement.name
    guest.run("cp /share/measure /share/cyclictests /share/bursts /root", timeout=600)
    timing = f"{placement.rounds} {placement.settle} {placement.seconds}"
    environment = f"DAEMON={daemon} " if daemon else ""
    text = guest.read(f"{environment}bash /root/measure {where} {timing} {command}", timeout=3600)
    return read_run(text, names, command == LOADS["idle"])


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tools/vm bench coreidle", description=__doc__)
    choices = {"machines": MACHINES, "tables": TABLES, "loads": LOADS, "placements": SECONDS}
    for name, offered in choices.items():
        parser.add_argument(f"--{name}", default=",".join(offered), help=", ".join(offered))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=1, help="starts of the load in each run")
    parser.add_argument("--seconds", type=int, help="that are measured in each round (20; ondemand: 30)")
    parser.add_argument("--settle", type=int, help="seconds before that (10; ondemand: 90)")
    parser.add_argument("--set", default="", metavar="KEY=VALUE,...", help="options of ondemand")
    parser.add_argument("--results", type=Path, metavar="FILE", help="add all figures to this file")
    parser.add_argument("--report", action="store_true", help="measure nothing, show that file")
    parser.add_argument("--demand", action="store_true",
                        help="fail unless ondemand keeps 90 %% of the ideal's saving, or loses less than "
                        "1 %% where that saves nothing, and the load does 99 %% of its work")
    result = parser.parse_args(arguments)
    for name, offered in choices.items():
        for word in getattr(result, name).split(","):
            if word not in offered:
                parser.error(f"--{name}: '{word}' is none of {', '.join(offered)}")
    if result.report and not result.results:
        parser.error("--report: which file, --results FILE?")
    if result.results:
        needed = result.results if result.report else result.results.absolute().parent
        if not needed.exists():
            parser.error(f"--results: there is no {needed}")
    return result


def compile_load(path, source=HERE / "bursts.c"):
    """Static, so that it runs whatever the guest's C library is."""
    subprocess.run(["cc", "-O2", "-static", "-std=gnu17", "-D_GNU_SOURCE", "-o", path, source, "-lm"], check=True)


def prepare(lab, machine, table, options="", governor="performance"):
    """The guest with idled installed and options of ondemand, and its states' names."""
    guest = lab.boot(MACHINES[machine][0], f"exit_wait=Y {table}".strip())
    lab.install(guest)
    for name in ("measure", "cyclictests"):
        (guest.share / name).write_text((HERE / name).read_text())
    compile_load(guest.share / "bursts")
    options = options.replace(",", "\n")
    (guest.share / "options").write_text(f"[Policy]\n{options}\n")
    guest.run("install -D -m 644 /share/options /etc/idled/policies/ondemand.conf.d/bench.conf")
    guest.run("for f in /sys/devices/system/cpu/cpufreq/policy*/scaling_governor; do "
              f"echo {governor} >$f; done; systemctl is-system-running --wait", check=False)
    names = guest.read("cat /sys/devices/system/cpu/cpu0/cpuidle/state*/name").split("\n")
    return guest, names


def planned(arguments):
    """The placements to measure."""
    result = []
    for name in arguments.placements.split(","):
        settle, seconds = SECONDS[name]
        options = ", ".join(sorted(filter(None, arguments.set.split(","))))
        result.append(Placement(
            name, arguments.rounds,
            settle if arguments.settle is None else arguments.settle,
            seconds if arguments.seconds is None else arguments.seconds,
            options if name == "ondemand" else ""))
    return result


def title_of(release, machine, table, load):
    kernel = re.match(r"\d+\.\d+", release)[0]
    return f"`{machine}`, `{table}`, {load}, Linux {kernel}"


def record(path, title, placement, run):
    conditions = dataclasses.asdict(placement)
    name = conditions.pop("name")
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"title": title, "placement": name, "conditions": conditions,
                               "run": dataclasses.asdict(run)}) + "\n")


def judge(arguments, title, runs):
    """True if nothing is demanded, or it is met; says what is not."""
    missed = report.missed(runs) if arguments.demand else ""
    if missed:
        print(f"{title}: {missed}", flush=True)
    return not missed


def experiment(lab, arguments, machine, table, load):
    """All runs of one load on one machine, by placement; True if none failed and what is demanded is
    met. Whatever ends it, what was measured is shown."""
    guest, names = prepare(lab, machine, TABLES[table], arguments.set)
    title = title_of(guest.read("uname -r"), machine, table, load)
    runs, good = {placement: [] for placement in planned(arguments)}, True
    try:
        for i in range(arguments.runs):
            for placement, results in runs.items():
                began, what = time.monotonic(), f"{title}, {placement.label()} #{i + 1}"
                try:
                    run = measure(guest, machine, placement, LOADS[load], names)
                except (ValueError, AssertionError) as failure:  # the latter: a command in the guest
                    lab.settings.say(f"{what} failed: {failure}")
                    good = False
                    continue
                results.append(run)
                lab.settings.say(f"{what}: {run.watts:.2f} W, parked '{run.parked}', "
                                 f"{run.transitions} changes, "
                                 f"waited {100 * run.waited:.1f} %, {run.switches:.0f} switches/s, "
                                 f"late {run.latencies} ({time.monotonic() - began:.0f} s)")
                lab.settings.say(run.why)
                if arguments.results:
                    record(arguments.results, title, placement, run)
    finally:
        if any(runs.values()):
            print(report.text({title: runs}), flush=True)
    return judge(arguments, title, runs) and good


def read_results(path):
    """All runs in the file, by title and placement. Only runs that were measured in the same way form a
    group; lines that do not say how form one of their own."""
    everything = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        placement = Placement(one["placement"], **one.get("conditions", {}))
        placements = everything.setdefault(one["title"], {})
        placements.setdefault(placement, []).append(Run(**one["run"]))
    order = list(SECONDS)
    return {title: dict(sorted(runs.items(), key=lambda item: (
        order.index(item[0].name) if item[0].name in order else len(order), item[0].label())))
            for title, runs in everything.items()}


def main(lab, words):
    arguments = parse(words)
    if arguments.report:
        everything = read_results(arguments.results)
        print(report.text(everything))
        return 0 if all([judge(arguments, title, runs) for title, runs in everything.items()]) else 1
    good = True
    for machine in arguments.machines.split(","):
        for table in arguments.tables.split(","):
            for load in arguments.loads.split(","):
                good = experiment(lab, arguments, machine, table, load) and good
    return 0 if good else 1
