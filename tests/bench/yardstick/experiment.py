# SPDX-License-Identifier: LGPL-2.1-or-later
"""How much of the idleness that a load leaves is in long periods, compared with queueing theory?

A guest counts its time (--icount). Tasks arrive at random (Poisson), and compute for exponential times. idlelab
records every idle period without idled, with it as installed, and with a contract. Theory has two bounds: a queue for
each CPU, and one queue for all whose first idle CPU takes the next task. See docs/contract.md, "A yardstick".
"""

import argparse
import math
import subprocess
import sys
from pathlib import Path

import theory

HERE = Path(__file__).resolve().parent
TIMES = [10 ** (exponent / 8) for exponent in range(-36, 1)]  # 30 us to 1 s
SHOWN = [0.0001, 0.001, 0.01, 0.1]

MEASURE = """set -e
mkdir -p /etc/idled/apps
case $1 in
kernel) ;;
idled) systemctl start idled ;;
*) printf '[Match]\\nUnit=load.service\\n[Ask]\\nWakeupP99=%s\\n' "$1" >/etc/idled/apps/load.conf; systemctl start idled ;;
esac
systemd-run -q --unit=load -p StandardOutput=null /root/load poisson 1 "$4" "$5"
sleep "$2"
idlelab record --idle /root/periods --seconds "$3" >&2
systemctl is-active -q load
systemctl stop load idled 2>/dev/null || :
rm -rf /etc/idled/apps
cat /root/periods
"""


def periods(trace):
    """The lengths in seconds of the idle periods of a recording."""
    rows = (line.split(",") for line in trace.splitlines() if line[:1].isdigit())
    return [int(row[3]) / 1e9 for row in rows]


def curves(rows, rate, work, cpus):
    """(name, [(time, share of the possible idleness in longer periods)]) of theory, then of the measurements."""
    times = sorted({*TIMES, *SHOWN})
    found = [(f"{cpus} separate queues (M/M/1)", [(t, theory.separate(rate, cpus, t)) for t in times]),
             (f"one queue (M/M/{cpus})", [(t, theory.consolidated(rate, work, cpus, t)) for t in times])]
    for row in rows:
        possible = (cpus - work) * row["seconds"]
        found.append((row["arm"], [(t, theory.measured(row["periods"], t, possible)) for t in times]))
    return found


def table(found):
    lines = ["share of the possible idleness".ljust(34) + "".join(f"> {1000 * t:g} ms".rjust(12) for t in SHOWN)]
    for name, points in found:
        lines.append(name.ljust(34) + "".join(f"{100 * dict(points)[t]:.1f} %".rjust(12) for t in SHOWN))
    return "\n".join(lines)


def svg(found):
    """Shares by the length of periods, whose axis is logarithmic."""
    colors = ["#888888", "#000000", "#c03030", "#2060c0", "#209040", "#a050a0"]
    left, top, width, height = 50, 20, 560, 300

    def x(time):
        return left + width * (math.log10(time) - math.log10(TIMES[0])) / -math.log10(TIMES[0])

    def y(share):
        return top + height * (1 - min(share, 1))

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 40}" height="{top + height + 50}" '
             'font-family="sans-serif" font-size="12">',
             f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="white" stroke="#888888"/>']
    for time in (*SHOWN, 1):
        parts.append(f'<path d="M{x(time):.1f} {top}v{height}" stroke="#dddddd"/><text x="{x(time):.1f}" '
                     f'y="{top + height + 16}" text-anchor="middle">{1000 * time:g} ms</text>')
    for percent in range(0, 101, 25):
        parts.append(f'<text x="{left - 6}" y="{y(percent / 100) + 4:.1f}" text-anchor="end">{percent} %</text>')
    for i, (name, points) in enumerate(found):
        line = " ".join(f"{x(t):.1f},{y(share):.1f}" for t, share in points)
        dash = ' stroke-dasharray="5 3"' if i < 2 else ""
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colors[i % len(colors)]}" stroke-width="2"{dash}/>'
                     f'<text x="{left + width - 8}" y="{top + 18 + 16 * i}" text-anchor="end" '
                     f'fill="{colors[i % len(colors)]}">{name}</text>')
    parts.append(f'<text x="{left + width / 2}" y="{top + height + 38}" text-anchor="middle">'
                 "idleness in idle periods longer than this</text></svg>")
    return "\n".join(parts) + "\n"


def parse(words):
    parser = argparse.ArgumentParser(prog="tools/vm bench yardstick", description=__doc__)
    parser.add_argument("--rate", type=float, default=4000, help="arrivals a second")
    parser.add_argument("--work-us", type=float, default=150, help="that each computes on average")
    parser.add_argument("--contract", default="5ms", help="WakeupP99= of the third arm")
    parser.add_argument("--settle", type=int, default=60, help="seconds before each recording")
    parser.add_argument("--seconds", type=int, default=20, help="of each recording")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="plot the shares")
    return parser.parse_args(words)


def main(lab, words):
    arguments = parse(words)
    guest = lab.boot("2x2", "exit_wait=Y state_names=C1,C2 latency_us=1,100 residency_us=2,300")
    lab.install(guest)
    subprocess.run(["cc", "-O2", "-static", "-std=gnu17", "-D_GNU_SOURCE", "-o", guest.share / "load",
                    HERE.parent / "contract" / "load.c", "-lm"], check=True)
    (guest.share / "arm").write_text(MEASURE)
    guest.run("cp /share/load /share/arm /root; systemctl is-system-running --wait", check=False)
    rows = []
    for arm, name in (("kernel", "kernel alone"), ("idled", "idled"), (arguments.contract,
                                                                      f"idled, contract of {arguments.contract}")):
        trace = guest.read(f"bash /root/arm {arm} {arguments.settle} {arguments.seconds} {arguments.rate:g} "
                           f"{arguments.work_us:g}", timeout=7200)
        rows.append({"arm": name, "seconds": arguments.seconds, "periods": periods(trace)})
        print(f"{name}: {len(rows[-1]['periods'])} idle periods", file=sys.stderr, flush=True)
    found = curves(rows, arguments.rate, arguments.rate * arguments.work_us / 1e6, 4)
    print(table(found))
    if arguments.svg:
        arguments.svg.write_text(svg(found), encoding="utf-8")
    return 0
