# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the measurements of contracts say: windows kept, the oracle, and idled's share of its saving.

A row is a dictionary: kind, setting, contract_ms or profile, watts, windows (of load.c: end, n, p50_us, p99_us,
longest_us, and late, by limit in ms), and contracts, which idled reported: [seconds, property Contracts].
"""

import json

LIMITS_MS = [1, 2, 5, 10, 20, 50]
LATE = 0.01        # share of the wake-ups of a window
WINDOW_WAKEUPS = 200
KEPT = 0.95        # share of the windows
LEAST_SAVING = 0.05
FIRST_SECONDS = 60
INFEASIBLE_SECONDS = 120


def read_window(words, settle):
    """What a line of load.c says; None: it is no such line, or was before the time."""
    if len(words) != 5 + len(LIMITS_MS):
        return None
    end, n, p50, p99, longest, *late = map(int, words)
    found = {"end": end, "n": n, "p50_us": p50, "p99_us": p99, "longest_us": longest, "late": late}
    return found if end > settle else None


def read(text, settle):
    """A run, from the output of `measure`. Raises ValueError if figures are missing."""
    windows, neighbour, contracts, drawn = [], [], [], None
    for line in text.splitlines():
        if line.startswith("contract: "):
            _, seconds, value = line.split(" ", 2)
            contracts.append([int(seconds), json.loads(value)["data"]])
        elif line.startswith("drawn: "):
            drawn = [int(word) for word in line.split()[1:]]
        elif line.startswith("neighbour: "):
            neighbour.append(read_window(line.split()[1:], settle))
        else:
            windows.append(read_window(line.split(), settle))
    windows, neighbour = [list(filter(None, some)) for some in (windows, neighbour)]
    if not drawn or not windows:
        raise ValueError("figures are missing:\n" + text[-2000:])
    return {"watts": drawn[0] / drawn[1], "windows": windows, "contracts": contracts, "neighbour": neighbour}


def judged(windows, limit_ms):
    """[end, kept] of each window, those merged that have less than 200 wake-ups."""
    result, n, late = [], 0, 0
    for window in windows:
        n += window["n"]
        late += window["late"][LIMITS_MS.index(limit_ms)]
        if n >= WINDOW_WAKEUPS:
            result.append((window["end"], late <= LATE * n))
            n = late = 0
    return result


def share_kept(windows, limit_ms):
    kept = [good for _, good in judged(windows, limit_ms)]
    return sum(kept) / len(kept) if kept else None


def infeasible_after(run):
    """Seconds until idled reported that the contract cannot be kept; None: it did not."""
    for seconds, contracts in run["contracts"]:
        if any(contract["infeasible"]["data"] for contract in contracts):
            return seconds
    return None


def neighbour_p99(run):
    """The middle one of the windows of the unit without a contract; None: there was no such unit."""
    found = sorted(window["p99_us"] for window in run.get("neighbour", []))
    return found[len(found) // 2] if found else None


def case(kind, limit_ms, statics, run):
    """One contract on one machine and load."""
    keeping = [one for one in statics if (share_kept(one["windows"], limit_ms) or 0) >= KEPT]
    oracle = min(keeping, key=lambda one: one["watts"]) if keeping else None
    default = statics[0]["watts"] if statics else None
    found = {"kind": kind, "contract_ms": limit_ms, "default_watts": default,
             "oracle_watts": oracle and oracle["watts"], "oracle": oracle and oracle["setting"],
             "feasible": bool(keeping) if statics else None, "idled_watts": None, "share_of_saving": None,
             "kept": None, "broken_after_step": None, "infeasible_seconds": None, "neighbour_adds_us": None}
    if not run:
        return found
    later = [window for window in run["windows"] if window["end"] > FIRST_SECONDS]
    found.update(idled_watts=run["watts"], kept=share_kept(later, limit_ms), infeasible_seconds=infeasible_after(run))
    if kind.endswith("/step"):
        found["broken_after_step"] = sum(not good for _, good in judged(later, limit_ms))
    if statics and neighbour_p99(run) is not None and neighbour_p99(statics[0]) is not None:
        found["neighbour_adds_us"] = neighbour_p99(run) - neighbour_p99(statics[0])
    if oracle and default - oracle["watts"] >= LEAST_SAVING * default:
        found["share_of_saving"] = (default - run["watts"]) / (default - oracle["watts"])
    return found


def cases(rows, contracts):
    """All contracts of all kinds, in the order in which they were measured."""
    result = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        of_kind = [row for row in rows if row["kind"] == kind]
        statics = [row for row in of_kind if "setting" in row]
        for limit in contracts:
            runs = [row for row in of_kind if row.get("contract_ms") == limit]
            result.append(case(kind, limit, statics, runs[-1] if runs else None))
    return result


def profiles(rows):
    """What idled's profiles drew, and the p99 of the windows, from the lowest to the highest."""
    runs = [(row, [window["p99_us"] for window in row["windows"]]) for row in rows if "profile" in row]
    return [{"kind": row["kind"], "profile": row["profile"], "watts": row["watts"], "p99_us": [min(p99), max(p99)]}
            for row, p99 in runs]


def summary(found):
    """What is asked, of all cases together: [name, asked, measured or None]."""
    kept = [one["kept"] for one in found if one["feasible"] and one["kept"] is not None
            and not one["kind"].endswith("/step")]
    shares = [one["share_of_saving"] for one in found if one["share_of_saving"] is not None]
    steps = [one["broken_after_step"] for one in found if one["feasible"] and one["broken_after_step"] is not None]
    infeasible = [one for one in found if one["feasible"] is False and one["idled_watts"] is not None]
    added = [one["neighbour_adds_us"] for one in found if one["neighbour_adds_us"] is not None]
    known = [one for one in infeasible if (one["infeasible_seconds"] or 1e9) <= INFEASIBLE_SECONDS]
    return [["windows that keep a feasible contract, after the first minute, worst case", "95 %",
             f"{100 * min(kept):.0f} % ({len(kept)} cases)" if kept else None],
            ["share of the oracle's saving, mean over cases with 5 % to save", "80 %",
             f"{100 * sum(shares) / len(shares):.0f} % ({len(shares)} cases)" if shares else None],
            ["the same, worst case", "60 %", f"{100 * min(shares):.0f} %" if shares else None],
            ["broken windows after a step by four", "3", str(max(steps)) if steps else None],
            ["infeasible contracts recognised within 2 minutes", "all",
             f"{len(known)} of {len(infeasible)}" if infeasible else None],
            ["p99 of a unit without a contract, against the kernel alone, worst case", "as balanced",
             f"{max(added) / 1e3:+.2f} ms ({len(added)} cases)" if added else None]]


def aligned(heads, rows):
    rows = [heads, *[["-" if cell is None else str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows)


def number(value, form):
    return None if value is None else format(value, form)


def text(found, of_profiles=()):
    heads = ["case", "contract", "default W", "oracle W", "setting", "idled W", "of saving", "kept", "after step",
             "infeasible"]
    rows = [[one["kind"], f"{one['contract_ms']} ms", number(one["default_watts"], ".1f"),
             number(one["oracle_watts"], ".1f"), one["oracle"], number(one["idled_watts"], ".1f"),
             number(one["share_of_saving"], ".0%"), number(one["kept"], ".0%"), one["broken_after_step"],
             f"after {one['infeasible_seconds']} s" if one["infeasible_seconds"] else
             "unnoticed" if one["feasible"] is False and one["idled_watts"] is not None else None] for one in found]
    tables = [aligned(heads, rows), aligned(["", "asked", "measured"], summary(found))]
    if of_profiles:
        tables.insert(1, aligned(["case", "profile", "W", "p99 of the windows, ms"], [
            [one["kind"], one["profile"], number(one["watts"], ".1f"),
             " to ".join(f"{us / 1e3:.1f}" for us in one["p99_us"])] for one in of_profiles]))
    return "\n\n".join(tables)
