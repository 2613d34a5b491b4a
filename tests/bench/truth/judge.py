# SPDX-License-Identifier: LGPL-2.1-or-later
"""Were intervals and verdicts true? Tables of the figures from experiment.py.

A row is a dictionary. "prove": kind, asked (pairs), pairs, low, value, high, verdict, odds, seed, and drawn: of each
pair of blocks watts less, watts without parking, and seconds, by what the module drew. "truth": the same of a run that is
not judged. "trials": the same without asked and drawn, and the seconds until there was a verdict.
"""

import dataclasses

PAYS = 0.05  # share of the power; savings from here on need the verdict "saves"
COVERED = 0.93
PATIENCE = 1800  # seconds
LEAST_PAIRS = 12  # for a truth


@dataclasses.dataclass
class Truth:
    """What parking saves in watts, its standard error, and watts without parking."""

    value: float
    error: float
    watts: float


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


def truth_of(rows, row):
    """What was drawn in all other runs of the same kind; None if there are not enough."""
    pairs = [pair for one in rows if one["kind"] == row["kind"] and one is not row for pair in one.get("drawn", [])]
    if len(pairs) < LEAST_PAIRS:
        return None
    total = sum(seconds for _, _, seconds in pairs)
    value = sum(less * seconds for less, _, seconds in pairs) / total
    error = sum(((less - value) * seconds) ** 2 for less, _, seconds in pairs) ** 0.5 / total
    return Truth(value, error, sum(watts * seconds for _, watts, seconds in pairs) / total)


def is_covered(row, truth):
    return row["low"] <= truth.value <= row["high"]


def cannot_pay(truth):
    return truth.value <= 2 * truth.error


def pays(truth):
    return truth.value - 2 * truth.error >= PAYS * truth.watts


def runs_of(rows, what, kind=None):
    """Each run with its truth."""
    runs = [(row, truth_of(rows, row)) for row in rows
            if row["what"] == what and kind in (None, row["kind"]) and row.get("low") is not None]
    return [run for run in runs if run[1]]


def share(runs):
    return sum(is_covered(*run) for run in runs) / len(runs) if runs else float("nan")


def table(heads, lines):
    return "\n".join(["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)] +
                     ["| " + " | ".join(map(str, line)) + " |" for line in lines])


def kinds_of(rows):
    return list(dict.fromkeys(row["kind"] for row in rows))


def verdicts(runs):
    counts = {}
    for row, _ in runs:
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    return ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())) or "-"


def coverage_table(rows):
    lines = []
    for kind in kinds_of(rows):
        runs = runs_of(rows, "prove", kind)
        if not runs:
            continue
        truth = truth_of(rows, {"kind": kind})
        lines.append((kind, f"{truth.value:.2f} ±{truth.error:.2f}",
                      f"{100 * truth.value / truth.watts:.1f} %", len(runs),
                      sum(is_covered(*run) for run in runs), verdicts(runs)))
    runs = runs_of(rows, "prove")
    lines.append(("all", "", "", len(runs), f"{sum(is_covered(*run) for run in runs)} ({100 * share(runs):.0f} %)",
                  verdicts(runs)))
    return table(("table/load", "truth, W", "of the power", "runs", "contained", "verdicts of prove"), lines)


def widths(rows):
    """By pairs, the mean of half widths, each as a share of those of the fewest pairs of its kind."""
    result = {}
    for kind in kinds_of(rows):
        by_pairs = {}
        for row, _ in runs_of(rows, "prove", kind):
            by_pairs.setdefault(row["asked"], []).append((row["high"] - row["low"]) / 2)
        for pairs, values in by_pairs.items():
            result.setdefault(pairs, []).append((mean(values), mean(values) / mean(by_pairs[min(by_pairs)])))
    return {pairs: (mean(one[0] for one in values), mean(one[1] for one in values))
            for pairs, values in sorted(result.items())}


def width_table(rows):
    found = widths(rows)
    return table(("blocks", "interval, W", "of the first", "1/sqrt(blocks)"),
                 [(2 * pairs, f"±{width:.2f}", f"{ratio:.2f}", f"{(min(found) / pairs) ** 0.5:.2f}")
                  for pairs, (width, ratio) in found.items()])


def trials_table(rows):
    lines = []
    for kind in kinds_of(rows):
        runs = runs_of(rows, "trials", kind)
        if runs:
            truth = truth_of(rows, {"kind": kind})
            lines.append((kind, f"{100 * truth.value / truth.watts:.1f} %", len(runs), verdicts(runs),
                          sum(is_covered(*run) for run in runs), max(row["seconds"] for row, _ in runs)))
    return table(("table/load", "saving", "runs", "verdicts of the daemon", "contained", "s until then"), lines)


def false_saves(rows):
    """Where parking cannot pay: runs that say "saves", and all."""
    runs = [row for row, truth in runs_of(rows, "prove") + runs_of(rows, "trials") if cannot_pay(truth)]
    return sum(row["verdict"] == "saves" for row in runs), len(runs)


def wrong(rows):
    """What is not as demanded, each a sentence."""
    result = []
    proved, tried = runs_of(rows, "prove"), runs_of(rows, "trials")
    if proved and share(proved) < COVERED:
        result.append(f"{100 * share(proved):.0f} % of the intervals of prove contain the truth")
    for row, truth in proved + tried:
        if cannot_pay(truth) and row["verdict"] == "saves":
            result.append(f"{row['kind']}: \"saves\" where parking cannot pay: {row}")
        if pays(truth) and row["verdict"] == "costs":
            result.append(f"{row['kind']}: \"costs\" where parking pays: {row}")
    for row, truth in tried:
        if pays(truth) and (row["verdict"] != "saves" or row["seconds"] > PATIENCE):
            result.append(f"{row['kind']}: {row['verdict']} after {row['seconds']} s where parking pays")
    return result


def is_true(rows):
    return not wrong(rows)


def text(rows):
    false = '"saves" in %d of %d runs where parking cannot pay' % false_saves(rows)
    parts = [coverage_table(rows), false, width_table(rows), trials_table(rows)]
    return "\n\n".join(parts + ["\n".join(wrong(rows))]).rstrip()
