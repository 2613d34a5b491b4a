# SPDX-License-Identifier: LGPL-2.1-or-later
"""Idle periods of queues with Poisson arrivals and exponential work: which share of the idleness is in periods that
are longer than a time. docs/contract.md, "A yardstick", has the derivation.

`rate` is of arrivals, a second; `work` the CPUs that are busy on average; `cpus` how many there are.
"""

import math


def separate(rate, cpus, longer):
    """One queue for each CPU (M/M/1): idle periods are exponential, and longer ones have more of the time."""
    x = rate / cpus * longer
    return (1 + x) * math.exp(-x)


def solve(matrix, right):
    """x of matrix x = right, by Gauss's elimination with pivots."""
    rows = [[*row, value] for row, value in zip(matrix, right)]
    size = len(rows)
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(size):
            if r != i and rows[r][i]:
                by = rows[r][i] / rows[i][i]
                rows[r] = [a - by * b for a, b in zip(rows[r], rows[i])]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def stationary(work, lower):
    """The probabilities of (n of the `lower` first CPUs busy, next CPU busy) with arrivals that go to the first idle
    CPU, in the unit of time 1 / (rate of the work of a CPU). They do not depend on the CPUs behind."""
    states = [(n, b) for n in range(lower + 1) for b in (0, 1)]
    index = {state: i for i, state in enumerate(states)}
    flow = [[0.0] * len(states) for _ in states]

    def add(begin, end, rate):
        flow[index[end]][index[begin]] += rate
        flow[index[begin]][index[begin]] -= rate

    for n, b in states:
        if n < lower:
            add((n, b), (n + 1, b), work)
        elif b == 0:
            add((n, b), (n, 1), work)
        if n > 0:
            add((n, b), (n - 1, b), n)
        if b:
            add((n, b), (n, 0), 1)
    flow[-1] = [1.0] * len(states)
    found = solve(flow, [0.0] * (len(states) - 1) + [1.0])
    return {state: found[index[state]] for state in states}


def idle_period(work, lower, longer):
    """(share of its idleness in periods longer than this, share of time idle) of the CPU behind the `lower` first ones:
    its idle period ends with the first arrival that finds all of these busy (a phase-type distribution)."""
    probability = stationary(work, lower)
    phases = range(lower + 1)
    begin = [probability[n, 1] for n in phases]
    begin = [p / sum(begin) for p in begin]
    # (-T)^-1 1: the time that is left, by the number of the lower CPUs that are busy
    rates = [[0.0] * len(phases) for _ in phases]
    for n in phases:
        rates[n][n] = work + n
        if n < lower:
            rates[n][n + 1] = -work
        if n > 0:
            rates[n][n - 1] = -float(n)
    left = solve(rates, [1.0] * len(phases))
    # exp(T longer) by uniformisation
    fastest = work + lower
    jumps, now = fastest * longer, begin
    survivors = [0.0] * len(phases)
    for j in range(int(jumps + 12 * math.sqrt(jumps) + 30)):
        weight = math.exp(j * math.log(jumps) - jumps - math.lgamma(j + 1)) if jumps > 0 else float(j == 0)
        survivors = [s + weight * p for s, p in zip(survivors, now)]
        following = [0.0] * len(phases)
        for n in phases:
            following[n] += now[n] * (1 - rates[n][n] / fastest)
            if n < lower:
                following[n + 1] += now[n] * work / fastest
            if n > 0:
                following[n - 1] += now[n] * n / fastest
        now = following
    mean = sum(p * t for p, t in zip(begin, left))
    rest = sum(p * t for p, t in zip(survivors, left))
    return (longer * sum(survivors) + rest) / mean, sum(probability[n, 0] for n in phases)


def consolidated(rate, work, cpus, longer):
    """One queue for all CPUs (M/M/c), of which the first idle one takes the next arrival."""
    if work >= cpus:
        raise ValueError(f"work for {work} CPUs does not fit on {cpus}")
    rows = [idle_period(work, lower, longer * rate / work) for lower in range(cpus)]
    # A queue adds time in which no CPU is idle, which cancels out.
    return sum(share * idle for share, idle in rows) / sum(idle for _, idle in rows)


def measured(periods, longer, possible):
    """The same of periods in seconds that were observed, as a share of the idleness that was possible."""
    return sum(period for period in periods if period > longer) / possible
