# SPDX-License-Identifier: LGPL-2.1-or-later
"""Synthetic loads for idle governors: 53 traces of one CPU each, from a seed.

A load is an iterator of (time to the next timer, length of the sleep, time that the CPU then works or None), in
nanoseconds. Timers fire late, as on real machines: by 5 to 90 us.
"""

import itertools
import random

PERIODS = 20000


def late(rand):
    return 5e3 + rand.expovariate(1 / 15e3) if rand.random() < 0.9 else rand.uniform(2e4, 9e4)


def until(rand, timer, other):
    """A sleep that a timer ends, or another wake-up before it."""
    return (timer, other if other < timer else timer + late(rand), None)


def timers(rand, period):
    """A timer with a period; one wake-up in fifty is something else."""
    while True:
        busy = rand.uniform(3e3, 0.3 * period)
        timer = period - busy
        sleep = timer + late(rand) if rand.random() < 0.98 else rand.uniform(1e3, timer)
        yield timer, sleep, busy


def interrupts(rand, period, jitter):
    """Interrupts with a period; timers are far away."""
    while True:
        busy = rand.uniform(3e3, 0.2 * period)
        yield rand.uniform(2e7, 2e8), max(500, rand.gauss(period, jitter * period) - busy), busy


def interrupt_and_timer(rand):
    """An interrupt every millisecond, and a timer every 0.7 ms."""
    now, interrupt, timer = 0, 1e6, 7e5
    while True:
        busy = rand.uniform(3e3, 5e4)
        now += busy
        while interrupt <= now:
            interrupt += 1e6 * rand.uniform(0.98, 1.02)
        while timer <= now:
            timer += 7e5
        wake = min(interrupt, timer + late(rand))
        yield timer - now, wake - now, busy
        now = max(now, wake)


def bimodal(rand, share, short, long):
    """Sleeps of two lengths."""
    while True:
        length = short if rand.random() < share else long
        yield rand.uniform(1e7, 1e8), rand.lognormvariate(0, 0.3) * length, None


def heavy_tail(rand, shape, least):
    while True:
        length = min(least * rand.paretovariate(shape), 2e8)
        yield until(rand, rand.choice([5e5, 4e6, 2e7, 1e8]) * rand.random(), length)


def exponential(rand, mean):
    while True:
        yield until(rand, rand.expovariate(1 / (8 * mean)), rand.expovariate(1 / mean))


def cancelled(rand, share):
    """Timers of which a share is cancelled."""
    while True:
        timer = rand.choice([2e5, 1e6, 4e6]) * rand.uniform(0.5, 1)
        early = rand.random() < share
        yield timer, rand.uniform(5e3, 0.9 * timer) if early else timer + late(rand), None


def moved(rand):
    """Timers that another CPU moves: the sleep outlasts them."""
    while True:
        timer = rand.uniform(2e4, 1e6)
        yield timer, timer + rand.choice([late(rand), rand.uniform(1e6, 5e6)]), None


def bursts(rand, pause):
    while True:
        for _ in range(rand.randint(3, 30)):
            yield rand.uniform(1e6, 1e8), rand.expovariate(1 / 3e4), None
        yield 2 * pause, rand.uniform(0.3, 1) * pause, None


def phase(rand, kind):
    """One of six simple loads."""
    while True:
        if kind == "steady":
            yield rand.uniform(2e7, 1e8), rand.gauss(1e5, 5e3), None
        elif kind == "long":
            yield rand.uniform(2e7, 1e8), rand.uniform(1e6, 9e6), None
        elif kind == "timer":
            timer = rand.uniform(1e5, 2e6)
            yield timer, timer + late(rand), None
        elif kind == "two":
            yield rand.uniform(2e6, 1e7), rand.choice([2e4, 4e5]), None
        elif kind == "mix":
            yield rand.uniform(1e6, 4e6), rand.expovariate(1 / 2e5), None
        else:
            yield rand.uniform(1e6, 9e6), rand.uniform(5e3, 5e4), None


def phases(rand, length):
    """Loads that change after so many sleeps, roughly."""
    while True:
        kind = rand.choice(["steady", "long", "timer", "two", "mix", "short"])
        yield from itertools.islice(phase(rand, kind), int(length * rand.uniform(0.5, 1.5)))


def all_loads():
    """(name, number of periods, function of a random generator)."""
    for period in 0.1, 0.25, 1, 4, 10:
        yield f"timers-{period}ms", PERIODS, lambda rand, p=period: timers(rand, p * 1e6)
    for period, jitter in itertools.product((0.1, 0.25, 1, 4), (0.02, 0.2)):
        yield f"interrupts-{period}ms-{jitter}", PERIODS, lambda rand, p=period, j=jitter: interrupts(rand, p * 1e6, j)
    yield "interrupt-and-timer", PERIODS, interrupt_and_timer
    for share, (short, long) in itertools.product((0.05, 0.2, 0.5, 0.8), ((2e4, 3e6), (8e4, 5e5), (3e5, 3e6))):
        yield (f"bimodal-{share}-{short / 1e3:.0f}us-{long / 1e3:.0f}us", PERIODS,
               lambda rand, s=share, a=short, b=long: bimodal(rand, s, a, b))
    for shape, least in itertools.product((0.7, 1, 1.5), (5e3, 5e4)):
        yield (f"heavy-tail-{shape}-{least / 1e3:.0f}us", PERIODS,
               lambda rand, s=shape, a=least: heavy_tail(rand, s, a))
    for mean in 1e4, 5e4, 2e5, 1e6, 5e6:
        yield f"exponential-{mean / 1e3:.0f}us", PERIODS, lambda rand, m=mean: exponential(rand, m)
    for share in 0.3, 0.9:
        yield f"cancelled-{share}", PERIODS, lambda rand, s=share: cancelled(rand, s)
    yield "moved", PERIODS, moved
    for pause in 5e5, 5e6, 5e7:
        yield f"bursts-{pause / 1e6}ms", PERIODS, lambda rand, p=pause: bursts(rand, p)
    for length in 30, 100, 1000, 5000:
        yield f"phases-{length}", PERIODS, lambda rand, n=length: phases(rand, n)
    for periods, kind in itertools.product((200, 1000), ("timer", "long", "mix")):
        yield f"brief-{periods}-{kind}", periods, lambda rand, k=kind: phase(rand, k)


def write_all(directory, seed):
    """A trace of each load; the paths."""
    paths = []
    for name, periods, load in all_loads():
        rand = random.Random(f"{name} {seed}")
        now, lines = 10**12, []
        for timer, length, busy in itertools.islice(load(rand), periods):
            timer, length = int(timer), max(int(length), 200)
            lines.append(f"0,{now},{timer},{length},{int(length >= timer)},{rand.randint(0, 80)},-1,0,1,0\n")
            now += length + int(rand.uniform(3e3, 6e4) if busy is None else busy)
        paths.append(directory / f"{name}.csv")
        paths[-1].write_text("".join(lines))
    return paths
