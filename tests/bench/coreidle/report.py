# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables of the experiment, for people and for README.md."""

from statistics import mean


def spread(values, digits=2):
    """The mean, and how far the extremes are from it."""
    return f"{mean(values):.{digits}f} ±{(max(values) - min(values)) / 2:.{digits}f}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def saving(base, watts):
    return 100 * (base - watts) / base


def latency(runs, key):
    values = [r.latencies[key] for r in runs if key in r.latencies]
    return f"{mean(values):.0f}" if values else "-"


HEAD = ["machine, states, load", "placement", "runs", "W", "%", "of the ideal's saving %", "MB/s",
        "MB/s/W", "wake-ups/s", "p50 us", "p95", "p99", "changes"]


def rows(title, runs):
    """A row for each placement: what it drew, and what that saves of what the default draws."""
    watts = {k: mean(r.watts for r in v) for k, v in runs.items()}
    base, ideal = watts.get("default"), watts.get("ideal")
    result = []
    for name, results in runs.items():
        saved = base - watts[name] if base else 0
        work = mean(r.work for r in results)
        gain = base - ideal if base and ideal and name != "default" else 0
        share = f"{100 * saved / gain:.0f}" if gain > 0.01 * (base or 0) else "-"
        result.append([
            "" if result else title, name, str(len(results)), spread([r.watts for r in results]),
            f"{-saving(base, watts[name]):+.1f}" if base and name != "default" else "-", share,
            spread([r.work for r in results]) if work > 0.1 else "-",
            f"{work / watts[name]:.3f}" if work > 0.1 else "-",
            f"{mean(r.wakeups for r in results):.0f}",
            *(latency(results, k) for k in ("50", "95", "99")),
            f"{mean(r.transitions for r in results):.1f}" if name == "ondemand" else "-"])
    return result


def residencies(runs):
    head, rows = None, []
    for name, results in runs.items():
        for cpu, row in results[0].residency.items():
            states = [s for s in row if s != "busy"]
            head = ["placement", "CPU", "Busy%"] + [s + "%" for s in states]
            rows.append([name, cpu] + [
                f"{100 * mean(r.residency[cpu][s] for r in results):.1f}"
                for s in ["busy"] + states])
    return table(head, rows)


def text(everything):
    """One table of all that was measured, by title and placement; then the residencies of each."""
    lines = table(HEAD, [row for title, runs in everything.items() for row in rows(title, runs)])
    for title, runs in everything.items():
        lines += ["", f"### {title}", "", *residencies(runs)]
    return "\n".join(lines)
