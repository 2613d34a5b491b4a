# SPDX-License-Identifier: LGPL-2.1-or-later
"""coreidle's experiment: what confining a light load to a few cores saves, by hand and by idled.

Of every machine, table of idle states and load each placement is measured several times in one guest, in
turn. The guest's time is counted in instructions (--icount), so that what else this machine does makes
no difference.
"""

import argparse
import dataclasses
import json
import re
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
}

# Shape, and the CPUs that nobody has in the ideal: all but the threads of one core.
MACHINES = {"4": ("2x2", "2-3"), "8": ("2x2x2", "2-7"), "4-cores": ("4x1", "1-3")}

LOADS = {
    "cyclictest": "cyclictest --default-system -q -t 30 -i 4000 -d 487 -h 20000 -D 100000",
    "tbench": "tbench -R 10 -t 100000 1 127.0.0.1",
    "tbench-full": "tbench -t 100000 1 127.0.0.1",
}

PLACEMENTS = ("default", "ideal", "ondemand")


@dataclasses.dataclass
class Run:
    """What one measurement found."""

    watts: float
    residency: dict  # by CPU: share of each state, and "busy"
    wakeups: float   # a second, of all CPUs
    work: float      # MB a second over the loopback device
    latencies: dict  # of cyclictest, in microseconds, by percentile
    transitions: int  # of idled, from some seconds before
    own_cost: float  # CPU time of idled, of one CPU
    own_wakeups: float  # of idled, a second
    parked: str
    why: str


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


def residency(change, names, usec):
    """Shares of CPUs' states; what is left is busy."""
    result = {}
    for key, value in change.items():
        match = re.search(r"/cpu(\d+)/cpuidle/state(\d+)/time$", key)
        if match:
            row = result.setdefault(match[1], {})
            row[names[int(match[2])]] = value / usec
    for row in result.values():
        row["busy"] = max(0.0, 1 - sum(row.values()))
    return dict(sorted(result.items(), key=lambda item: int(item[0])))


def percentiles(reports):
    """From cyclictest's histograms, all threads together: microseconds by percentile."""
    histogram, longest = {}, []
    for line in (line for lines in reports for line in lines):
        if re.match(r"\d{6}\s", line):
            numbers = [int(n) for n in line.split()]
            histogram[numbers[0]] = histogram.get(numbers[0], 0) + sum(numbers[1:])
        elif line.startswith("# Max Latencies:"):
            longest += [int(n) for n in line.split(":")[1].split()]
    result, seen, total = {}, 0, sum(histogram.values())
    wanted = [50, 95, 99, 99.9]
    for usec in sorted(histogram):
        seen += histogram[usec]
        while wanted and total and seen >= total * wanted[0] / 100:
            result[f"{wanted.pop(0):g}"] = usec
    if longest:
        result["max"] = max(longest)
    return result


def growth(befores, afters, read):
    """What counters grew by, in all rounds together."""
    result = {}
    for before, after in zip(map(read, befores), map(read, afters)):
        for key, value in before.items():
            result[key] = result.get(key, 0) + after[key] - value
    return result


def read_own(lines):
    """idled's own counters, and when it was asked."""
    values = read_snapshot(lines)
    own = {key: values["idled"]["daemon"][key] for key in ("transitions", "cpu_usec", "wakeups")}
    return own | {"time": values["time"]}


def read_run(text, names):
    """Raises ValueError if the load did nothing that could be measured."""
    parts = sections(text)
    change = growth(parts["before"], parts["after"], read_snapshot)
    status = parts.get("status", [])
    own = growth(status[::2], status[1::2], read_own)
    seconds = change["time"] / 1e6
    latencies, work = percentiles(parts["load"]), change["loopback"] / 1e6 / seconds
    if not latencies and work < 0.1:
        raise ValueError("the load did nothing:\n" + text[-2000:])
    return Run(
        watts=sum(v for k, v in change.items() if k.endswith("energy_uj")) / 1e6 / seconds,
        residency=residency(change, names, change["time"]),
        wakeups=sum(v for k, v in change.items() if k.endswith("/usage")) / seconds,
        work=work,
        latencies=latencies,
        transitions=own.get("transitions", 0),
        own_cost=own["cpu_usec"] / own["time"] if own else 0,
        own_wakeups=own["wakeups"] * 1e6 / own["time"] if own else 0,
        parked=read_snapshot(status[-1])["idled"]["cpus"]["parked"] if status else "",
        why="\n".join(parts["history"][0]) if "history" in parts else "")


def measure(guest, arguments, placement, load, names):
    guest.run("cp /share/measure /root/measure", timeout=600)
    timing = f"{arguments.rounds} {arguments.settle} {arguments.seconds}"
    text = guest.read(f"bash /root/measure {placement} {timing} {load}", timeout=3600)
    return read_run(text, names)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tools/vm bench coreidle", description=__doc__)
    parser.add_argument("--machines", default=",".join(MACHINES), help="numbers of CPUs")
    parser.add_argument("--tables", default=",".join(TABLES), help="of idle states")
    parser.add_argument("--loads", default="cyclictest,tbench", help=", ".join(LOADS))
    parser.add_argument("--placements", default=",".join(PLACEMENTS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=1, help="starts of the load in each run")
    parser.add_argument("--seconds", type=int, default=120, help="that are measured in each round")
    parser.add_argument("--settle", type=int, default=30, help="seconds before that; idled has to find out")
    parser.add_argument("--set", default="", metavar="KEY=VALUE,...", help="options of ondemand")
    parser.add_argument("--results", type=Path, metavar="FILE", help="add all figures to this file")
    parser.add_argument("--report", action="store_true", help="measure nothing, show that file")
    return parser.parse_args(arguments)


def prepare(lab, arguments, machine, table):
    """The guest with idled installed, and its states' names."""
    guest = lab.boot(MACHINES[machine][0], f"exit_wait=Y {TABLES[table]}".strip())
    lab.install(guest)
    (guest.share / "measure").write_text((HERE / "measure").read_text())
    options = arguments.set.replace(",", "\n")
    (guest.share / "options").write_text(f"[Policy]\n{options}\n")
    guest.run("install -D -m 644 /share/options /etc/idled/policies/ondemand.conf.d/bench.conf")
    guest.run("for f in /sys/devices/system/cpu/cpufreq/policy*/scaling_governor; do "
              "echo performance >$f; done; systemctl is-system-running --wait", check=False)
    names = guest.read("cat /sys/devices/system/cpu/cpu0/cpuidle/state*/name").split("\n")
    return guest, names


def record(path, title, placement, run):
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"title": title, "placement": placement,
                               "run": dataclasses.asdict(run)}) + "\n")


def experiment(lab, arguments, machine, table, load):
    """All runs of one load on one machine, by placement."""
    title = f"`{machine}`, `{table}`, {load}"
    guest, names = prepare(lab, arguments, machine, table)
    runs = {placement: [] for placement in arguments.placements.split(",")}
    for i in range(arguments.runs):
        for placement, results in runs.items():
            began = time.monotonic()
            where = MACHINES[machine][1] if placement == "ideal" else placement
            run = measure(guest, arguments, where, LOADS[load], names)
            results.append(run)
            lab.settings.say(f"{title}, {placement} #{i + 1}: {run.watts:.2f} W, "
                             f"parked '{run.parked}', {run.transitions} changes "
                             f"({time.monotonic() - began:.0f} s)")
            lab.settings.say(run.why)
            if arguments.results:
                record(arguments.results, title, placement, run)
    print(report.text({title: runs}), flush=True)


def show(path):
    """All that was measured at any time, by title."""
    everything = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        placements = everything.setdefault(one["title"], {p: [] for p in PLACEMENTS})
        placements[one["placement"]].append(Run(**one["run"]))
    print(report.text({title: {k: v for k, v in runs.items() if v}
                       for title, runs in everything.items()}))


def main(lab, words):
    arguments = parse(words)
    if arguments.report:
        show(arguments.results)
        return 0
    for machine in arguments.machines.split(","):
        for table in arguments.tables.split(","):
            for load in arguments.loads.split(","):
                experiment(lab, arguments, machine, table, load)
    return 0
