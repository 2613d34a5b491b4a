# SPDX-License-Identifier: LGPL-2.1-or-later
"""Is it true what idled says that parking saves? Many measurements, each with a seed of its own.

A guest counts its time (--icount), and its module knows what was drawn. On each machine and load `idlectl
prove` compares ondemand ignored with ondemand active, again and again and for different times. `watch` reads what
the module drew, and the bus says when ondemand was active: a run is judged by what was drawn in all others.
Then the daemon's own trials run until they have a verdict.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import judge

HERE = Path(__file__).resolve().parent
sys.path.insert(1, str(HERE.parent))

import results  # noqa: E402

BURSTS = HERE.parent / "coreidle" / "bursts.c"

# Idle states, and watts of a package: running, in C1, ..., in the deepest state.
TABLES = {
    "long": "",  # the module's own: long residencies
    "snb": "latency_us=2,10,80,104,109 residency_us=2,20,211,345,345",
    # Deep sleep is reached in spite of a load that is spread over all CPUs: parking cannot pay.
    "flat": "state_names=C1,C6 latency_us=1,30 residency_us=1,60 pkg_power_mw=90000,63000,20000 gated_from=2",
    # A deep state that a spread load does not reach.
    "far": "latency_us=2,10,80,400,400 residency_us=2,20,200,5000,5000",
    # The same with wake-ups a quarter as often, which takes a third of the time to emulate.
    "farther": "latency_us=2,10,80,400,400 residency_us=2,20,200,20000,20000",
    # Leaving the deep state takes long, and no longer with more CPUs in it.
    "slow": "state_names=C1,C6 latency_us=1,400 residency_us=1,20000 pkg_power_mw=90000,63000,20000 gated_from=2",
}

# Steps of SECONDS:THREADS:SLEEP_MS:COMPUTE_MS (../coreidle/bursts.c), again and again.
LOADS = {
    "light": "1000:8:60:0.5",
    "often": "1000:12:25:0.2",
    "many": "1000:30:40:0.1",
    "some": "1000:30:160:0.2",
    # These change by themselves. They keep CPUs from the deep state of "farther".
    "steps": "3:12:160:0.2 2.5:48:160:0.2 4:20:160:0.2 3.3:36:160:0.2",
    "curve": "1.6:15:160:0.2 1.6:20:160:0.2 1.6:30:160:0.2 1.6:40:160:0.2 1.6:45:160:0.2 1.6:40:160:0.2 "
             "1.6:30:160:0.2 1.6:20:160:0.2",
    "drift": "2.1:12:160:0.2 2.1:20:160:0.2 2.1:28:160:0.2 2.1:36:160:0.2 2.1:44:160:0.2 2.1:52:160:0.2",
}

BLOCK_MS, WASHOUT_MS = 1000, 1000
PAIRS = (6, 6, 12, 6, 24, 6, 12, 6, 6, 6)  # in a measurement by idlelab prove
TRUTH = (3000, 16)                         # milliseconds of a block, and pairs, in a run for the truth alone
SETTLE = 4                                # seconds of load before anything is measured

FUNCTIONS = """
begin() { # TRIALS SEED STEP...
        mkdir -p /etc/idled/idled.conf.d /etc/idled/policies/ondemand.conf.d
        printf '[Daemon]\\nPolicies=ondemand\\n[Evaluate]\\nTrials=%s\\n' "$1" >/etc/idled/idled.conf.d/truth.conf
        printf '[Policy]\\nDwell=1s\\nMaxTransitions=60\\n' >/etc/idled/policies/ondemand.conf.d/truth.conf
        rm -f /var/lib/idled/evaluate-ondemand*
        systemctl start idled
        systemd-run -q --unit=load -p SystemCallFilter=~sched_setaffinity -p SystemCallErrorNumber=EPERM \\
                bash /share/steps "${@:2}"
}
end() {
        systemctl stop load watch arms idled 2>/dev/null
        systemctl reset-failed load watch arms idled 2>/dev/null
        rm -rf /etc/idled
}
"""


def prepare(lab, table):
    """The guest, with idled installed and idle states of this table."""
    guest = lab.boot("2x2")
    lab.install(guest)
    subprocess.run(["cc", "-O2", "-static", "-o", guest.share / "bursts", BURSTS, "-lm"], check=True)
    for name in "steps", "watch":
        (guest.share / name).write_text((HERE / name).read_text())
    (guest.share / "functions").write_text(FUNCTIONS)
    guest.run(f"rmmod pmlab; insmod /share/pmlab.ko exit_wait=Y {TABLES[table]}; "
              "for p in /sys/devices/system/cpu/cpufreq/policy*; do echo performance >$p/scaling_governor; done")
    return guest


def in_guest(guest, script, check=True):
    return guest.run(f". /share/functions\n{script}", check=check, timeout=1200).output.rstrip("\n")


def arms(lines, realtime):
    """[seconds of uptime, whether ondemand is active] from busctl's StartTrial calls; `realtime` is that of boot."""
    calls = [json.loads(line) for line in lines if line.startswith("{")]
    return [(call["timestamp-realtime"] / 1e6 - realtime, call["payload"]["data"][0]["ondemand"])
            for call in calls if call["member"] == "StartTrial"]


def drawn(lines, changes, begin, end):
    """[watts less, watts without parking, seconds] of each pair of blocks from `begin` to `end`, from the output of
    `watch`: SECONDS MICROJOULES. A change costs energy by itself: wash-outs do not count."""
    rows = [(float(words[0]), int(words[1])) for words in map(str.split, lines)
            if len(words) == 2 and words[0][0] != "{"]
    changes = [change for change in changes if begin < change[0] < end]
    blocks = []
    for (start, active), (stop, _) in zip(changes, changes[1:] + [(end - 0.5, None)]):
        block = [row for row in rows if start + WASHOUT_MS / 1000 <= row[0] <= stop]
        if len(block) < 2:
            continue
        seconds = block[-1][0] - block[0][0]
        blocks.append((start, active, (block[-1][1] - block[0][1]) / 1e6 / seconds, seconds))
    pairs = []
    while len(blocks) > 1:
        first, second, *rest = blocks
        if first[1] == second[1]:  # one of a pair is missing
            blocks = [second, *rest]
            continue
        off, on = (second, first) if first[1] else (first, second)
        pairs.append([off[2] - on[2], off[2], min(off[3], on[3])])
        blocks = rest
    return pairs


def run_prove(block_ms, pairs):
    seconds = pairs * 2 * (block_ms + WASHOUT_MS) / 1000 + 1
    return (f"idlelab prove --json --policy ondemand --block {block_ms}ms --wash-out {WASHOUT_MS}ms "
            f"--for {seconds}s | tr -d '\\n'")


def prove(guest, block_ms, pairs):
    """What idlelab prove says, and what was drawn in its blocks."""
    realtime, found, began, ended, *lines = in_guest(guest, f"""
        from=$(wc -l </root/drawn) calls=$(wc -l </root/arms)
        read -r began _ </proc/uptime
        echo "$EPOCHREALTIME $began"
        {run_prove(block_ms, pairs)}
        echo
        echo "$began"
        cut -d' ' -f1 /proc/uptime
        tail -n +$((from + 1)) /root/drawn
        tail -n +$((calls + 1)) /root/arms""").split("\n")
    boot = float(realtime.split()[0]) - float(realtime.split()[1])
    found = json.loads(found)
    return {"asked": pairs, "pairs": found["blocks"]["used"] // 2, "dropped": found["blocks"]["dropped"],
            "low": found["saved_low_watts"], "value": found["saved_watts"], "high": found["saved_high_watts"],
            "plain": found["power"]["first_watts"] - found["power"]["second_watts"],
            "verdict": found["verdict"], "odds": found["odds"], "seed": found["seed"],
            "drawn": drawn(lines, arms(lines, boot), float(began), float(ended))}


def trials(guest, minutes):
    """What the daemon's own trials find, as soon as there is a verdict, or after so many minutes."""
    text = in_guest(guest, f"""for ((i = 1; i <= {minutes * 4}; i++)); do
                sleep 15
                properties=$(busctl --json=short call org.idled1 /org/idled1/policy/ondemand \\
                        org.freedesktop.DBus.Properties GetAll s org.idled1.Policy)
                [[ $properties != *'"Verdict":{{"type":"s","data":"unknown"'* ]] && break
        done
        echo "$((i * 15))"
        echo "$properties" """)
    seconds, properties = text.split("\n")[-2:]
    found = {name: value["data"] for name, value in json.loads(properties)["data"][0].items()}
    return {"pairs": found["Blocks"] // 2, "dropped": found["BlocksDropped"], "low": found["SavedWatts"][1],
            "value": found["SavedWatts"][0], "high": found["SavedWatts"][2], "verdict": found["Verdict"],
            "seconds": int(seconds)}


def parse(arguments):
    kinds = [f"{table}/{load}" for load in LOADS for table in TABLES]
    parser = argparse.ArgumentParser(prog="tools/vm bench truth", description=__doc__)
    parser.add_argument("--kinds", default=",".join(kinds),
                        help="TABLE/LOAD,... of " + ", ".join(TABLES) + " and " + ", ".join(LOADS))
    parser.add_argument("--runs", type=int, default=len(PAIRS), help="of idlelab prove, for each kind")
    parser.add_argument("--pairs", type=int, help="of blocks in each of these runs; default: 6 to 24")
    parser.add_argument("--truths", type=int, default=0, help="longer runs for the truth alone, for each kind")
    parser.add_argument("--trials", type=int, default=1, help="of the daemon's own trials, for each kind")
    parser.add_argument("--minutes", type=int, default=30, help="that a verdict of these may take")
    parser.add_argument("--seed", type=int, default=1, help="of the loads")
    parser.add_argument("--results", type=Path, metavar="FILE", help="add all figures to this file")
    parser.add_argument("--report", action="store_true", help="measure nothing, show that file")
    result = parser.parse_args(arguments)
    result.kinds = [tuple(kind.split("/")) for kind in result.kinds.split(",")]
    for kind in result.kinds:
        if len(kind) != 2 or kind[0] not in TABLES or kind[1] not in LOADS:
            parser.error(f"--kinds: found {'/'.join(kind)}, expected TABLE/LOAD")
    if result.report and not result.results:
        parser.error("--report: expected --results FILE")
    return result


def measure(lab, arguments, kind, rows):
    """All runs of one kind."""
    guest, title, say = prepare(lab, kind[0]), "/".join(kind), lab.settings.say
    load = f"{arguments.seed} {LOADS[kind[1]]}"
    # `watch` is a load itself, which costs more while nothing is parked: it runs in all measurements.
    in_guest(guest, f"begin no {load}; systemd-run -q --unit=watch -p StandardOutput=truncate:/root/drawn "
                    "bash /share/watch; systemd-run -q --unit=arms -p StandardOutput=truncate:/root/arms "
                    "busctl monitor --json=short --match \"type='method_call',member='StartTrial'\"; "
                    f"sleep {SETTLE}")
    runs = [("truth", *TRUTH)] * arguments.truths
    runs += [("prove", BLOCK_MS, arguments.pairs or PAIRS[i % len(PAIRS)]) for i in range(arguments.runs)]
    for i, (what, *blocks) in enumerate(runs):
        found = results.attempt(say, f"{title}, {what} {i}", str, prove, guest, *blocks)
        if found:
            rows.record({"kind": title, "what": what} | found)
    in_guest(guest, "end", check=False)
    for i in range(arguments.trials):
        in_guest(guest, f"begin yes {load}")
        found = results.attempt(say, f"{title}, trials {i}", str, trials, guest, arguments.minutes)
        if found:
            rows.record({"kind": title, "what": "trials"} | found)
        in_guest(guest, "end", check=False)


def main(lab, words):
    arguments = parse(words)
    rows = results.Rows(arguments.results)
    for kind in [] if arguments.report else arguments.kinds:
        measure(lab, arguments, kind, rows)
    print(judge.text(rows))
    return 0 if judge.is_true(rows) else 1
