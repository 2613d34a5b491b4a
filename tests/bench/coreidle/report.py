# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables of the experiment, for people and for README.md."""

from math import hypot
from statistics import mean


LEAST = 0.01  # share of the default's power that counts as a saving, or a loss


def half(values):
    """How far the extremes are from their middle."""
    return (max(values) - min(values)) / 2


def spread(values, digits=2):
    """The mean and its error, which one value does not have."""
    error = f" ±{half(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{error}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def share(default, ideal, watts):
    """Its saving in percent of the ideal's; each argument is the watts of some runs.

    With the means D, I and W that is S = (D - W) / (D - I). Their errors d, i and w are half the
    distance of the extremes and have nothing to do with each other; so S has, to first order, the error
    sqrt(w^2 + ((1 - S) d)^2 + (S i)^2) / (D - I).
    """
    gain = mean(default) - mean(ideal)
    if gain <= LEAST * mean(default):
        return "-"
    part = (mean(default) - mean(watts)) / gain
    if watts == ideal or min(map(len, (default, ideal, watts))) < 2:
        return f"{100 * part:.0f}"
    error = hypot(half(watts), (1 - part) * half(default), part * half(ideal)) / gain
    return f"{100 * part:.0f} ±{100 * error:.0f}"


def missed(runs):
    """What is asked of ondemand and not met, as a sentence; "" if it is."""
    default, ideal, own = (only(runs, name) for name in ("default", "ideal", "ondemand"))
    if not (default and ideal and own):
        return "default, ideal and ondemand were not all measured, each in one way"
    before, after = (amounts(of(runs, name)) for name in ("default", "ondemand"))
    if before and after and mean(after) < (1 - LEAST) * mean(before):
        return f"with ondemand the load did {100 * mean(after) / mean(before):.0f} % of its work without"
    saved, kept = mean(default) - mean(ideal), mean(default) - mean(own)
    if saved > LEAST * mean(default):
        return "" if kept >= 0.9 * saved else f"ondemand kept {100 * kept / saved:.0f} % of the ideal's saving"
    return "" if -kept < LEAST * mean(default) else f"ondemand lost {-100 * kept / mean(default):.1f} %"


def moves_data(runs):
    """Rather than being a cyclictest, which puts next to nothing on the loopback device."""
    return mean(r.work for r in runs) > 0.1


def amounts(runs):
    """What the load did: MB/s, or cycles/s of cyclictest, of those runs of which it is known."""
    done = [r.work if moves_data(runs) else r.cycles for r in runs]
    return [amount for amount in done if amount > 0]


def done(runs):
    known = amounts(runs)
    return spread(known, 2 if moves_data(runs) else 0) if known else "-"


def latencies(runs):
    keys = [key for key in ("50", "95", "99") if any(key in r.latencies for r in runs)]
    means = [mean(r.latencies[key] for r in runs if key in r.latencies) for key in keys]
    return ", ".join(f"{value:.0f}" for value in means) or "-"


def own(runs):
    """What idled itself did, and what that cost: the latter in percent of one CPU."""
    return (f"{mean(r.transitions for r in runs):.1f}, {100 * mean(r.own_cost for r in runs):.2f}, "
            f"{mean(r.own_wakeups for r in runs):.1f}")


HEAD = ["machine, states, load", "placement", "runs", "s", "W", "%", "of the ideal's saving %",
        "MB/s or cycles/s", "MB/s/W", "wake-ups/s", "p50, p95, p99 us", "idled's changes, CPU %, wake-ups/s"]


def of(runs, name):
    """The runs of this placement, unless it was measured in several ways: which to compare with?"""
    found = [results for placement, results in runs.items() if placement.name == name and results]
    return found[0] if len(found) == 1 else []


def only(runs, name):
    """The watts of those; None if there are none."""
    return [r.watts for r in of(runs, name)] or None


def row(placement, runs, default, ideal):
    """default, ideal: the watts of those, None if there are none to compare with."""
    watts, work = [r.watts for r in runs], mean(r.work for r in runs)
    compared = default and placement.name != "default"
    saved = 100 * (mean(watts) / mean(default) - 1) if compared else 0
    return [
        placement.label(), str(len(runs)), placement.timing(), spread(watts),
        f"{saved:+.1f}" if compared else "-",
        share(default, ideal, watts) if compared and ideal else "-",
        done(runs),
        f"{work / mean(watts):.3f}" if work > 0.1 else "-",
        f"{mean(r.wakeups for r in runs):.0f}", latencies(runs),
        own(runs) if placement.name == "ondemand" else "-"]


def rows(title, runs):
    """A row for each placement that was measured: its power, and its saving in percent of the default's
    power."""
    default, ideal = only(runs, "default"), only(runs, "ideal")
    result = [row(placement, some, default, ideal) for placement, some in runs.items() if some]
    return [["" if i else title, *cells] for i, cells in enumerate(result)]


def residencies(runs):
    head, lines = ["placement", "s", "CPU"], []
    for placement, results in runs.items():
        for cpu, states in (results[0].residency if results else {}).items():
            names = ["busy"] + [s for s in states if s != "busy"]
            head = ["placement", "s", "CPU", "Busy%"] + [s + "%" for s in names[1:]]
            lines.append([placement.label(), placement.timing(), cpu] + [
                f"{100 * mean(r.residency[cpu][s] for r in results):.1f}" for s in names])
    return table(head, lines)


def text(everything):
    """One table of all that was measured, by title and placement; then the residencies of each."""
    lines = table(HEAD, [row for title, runs in everything.items() for row in rows(title, runs)])
    for title, runs in everything.items():
        lines += ["", f"### {title}", "", *residencies(runs)]
    return "\n".join(lines)
