# SPDX-License-Identifier: LGPL-2.1-or-later
"""tools/vm demo: a light load in one guest, first with the kernel alone and then with idled as installed, as a
table, and as the page that idlelab report makes of a recording of both."""

import shutil
from pathlib import Path

import experiment
from experiment import Placement

MACHINE, TABLE, LOAD = "4", "far", "many"
ALONE = Placement("default", 1, 5, 20)
# The evaluator's first trials, which unpark, are over by then.
WITH_IDLED = Placement("ondemand", 1, 60, 30)


def mean_sleep(run, cpus):
    """The mean sleep of these CPUs, in seconds; None if no sleep ended."""
    sleeps = sum(run.sleeps[cpu] for cpu in cpus)
    return sum(1 - run.residency[cpu]["busy"] for cpu in cpus) / sleeps if sleeps else None


def duration(seconds):
    if seconds is None:
        return "no end"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


def deepest(run, cpus):
    """Share of the time that these CPUs spent in their deepest state."""
    return sum(run.residency[cpu][[name for name in run.residency[cpu] if name != "busy"][-1]]
               for cpu in cpus) / len(cpus)


def table(alone, own):
    """Rows of a name and two values. The same CPUs are compared: those that idled parks, and the others."""
    listed = experiment.MACHINES[MACHINE][1]
    first, last = map(int, listed.split("-"))
    parked = [cpu for cpu in own.residency if first <= int(cpu) <= last]
    active = [cpu for cpu in own.residency if cpu not in parked]
    groups = ((f"CPUs {listed}", parked), (f"CPUs {active[0]}-{active[-1]}", active))
    both = alone, own
    rows = [["", "kernel alone", "with idled"],
            ["CPUs parked", "none", own.parked or "none"],
            ["power, modelled", *(f"{run.watts:.1f} W" for run in both)]]
    rows += [[f"{name}: mean sleep, in the deepest state",
              *(f"{duration(mean_sleep(run, cpus))}, {100 * deepest(run, cpus):.0f} %" for run in both)]
             for name, cpus in groups]
    rows += [["work done, a second", *(f"{run.cycles:.0f}" for run in both)],
             ["lateness, p99", *(f"{run.latencies['99']} us" for run in both)]]
    return "".join(f"        {name:<41} {left:>14} {right:>16}\n" for name, left, right in rows)


def measure(lab):
    """Both runs; the page is demo.html in the guest's share."""
    guest, names = experiment.prepare(lab, MACHINE, experiment.TABLES[TABLE])
    guest.run("systemd-run -q --unit=record idlelab record /root/demo.rec")
    runs = []
    for placement, title in ((ALONE, "the kernel alone"), (WITH_IDLED, "the same load with idled")):
        lab.settings.say(f"{title}: {placement.seconds} s of the guest's time are measured")
        runs.append(experiment.measure(guest, MACHINE, placement, LOAD, names))
    guest.run("systemctl stop record; idlelab report --output /share/demo.html /root/demo.rec")
    return guest, *runs


def main(lab, build):
    """Its exit status: 1 if idled saved nothing, or the load did less work than chance explains."""
    try:
        guest, alone, own = measure(lab)
    except (ValueError, AssertionError) as failure:  # the latter: a command in the guest
        lab.settings.say(f"tools/vm: {failure}")
        return 1
    page = Path(build).resolve() / "demo.html"
    shutil.copy(guest.share / "demo.html", page)
    print(f"\n{table(alone, own)}\n"
          "Thirty threads sleep for 40 ms and compute for 0.1 ms, on average. The guest's kernel module models\n"
          f"the power.\nThe page with plots of both: {page}", flush=True)
    return 0 if own.watts < alone.watts and own.cycles >= 0.95 * alone.cycles else 1
