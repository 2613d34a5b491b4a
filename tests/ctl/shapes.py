# SPDX-License-Identifier: LGPL-2.1-or-later
"""The shape of every verb's JSON: which keys, of which types, and which may be null."""
from measured import objects
from shape import matches, number, optional

__all__ = ["SHAPES", "matches"]

DAEMON = {"version": str, "dry_run": bool, "paused": bool}
HEAD = {"daemon": optional(DAEMON), "daemon_error": optional(str)}
LIMITS = {"latency_us": optional(int), "disabled_states": [str], "governor": optional(str),
          "energy_preference": optional(str), "energy_bias": optional(int),
          "boost": optional(int), "min_khz": optional(int), "max_khz": optional(int)}
STATE = {"name": str, "exit_latency_us": int, "target_residency_us": int,
         "percent": optional(number), "estimated": bool, "entered": optional(int),
         "above": optional(int), "below": optional(int), "rejected": optional(int)}
REASON = {"cause": optional(str), "policy": optional(str), "because": optional(str), "option": optional(str),
          "source": optional(str), "text": str, "threshold": optional(number),
          "threshold_unit": optional(str), "effective": optional(number),
          "effective_because": optional(str),
          "inputs": [{"name": str, "value": number, "unit": str}]}
FIGURE = {"policy": str, "name": str, "unit": str, "value": number}
SETTING = {"section": str, "key": str, "value": str, "default": str, "source": str,
           "expects": str, "help": str, "runtime": bool}
PROFILE = {"name": str, "summary": optional(str), "file": optional(str), "active": bool}
PROBLEM = {"kind": str, "name": str, "expected": optional(str), "found": optional(str), "problem": str}
PAUSE = {"owner": str, "reason": str, "lasting": bool, "until_usec": optional(int)}
BENEFIT = {"policy": str, "verdict": str, "saved_watts": optional(number),
           "saved_watts_low": optional(number), "saved_watts_high": optional(number),
           "saved_joules": optional(number), "saved_joules_low": optional(number),
           "saved_joules_high": optional(number), "effective_watts": optional(number),
           "ignored_watts": optional(number), "effective_percent": optional(number),
           "saved_percent": optional(number), "saved_percent_low": optional(number),
           "saved_percent_high": optional(number), "waiting_change_percent": optional(number),
           "waiting_change_percent_low": optional(number), "waiting_change_percent_high": optional(number),
           "blocks": int, "blocks_dropped": int, "energy_source": str, "work_unit": str}
CONTRACT = {"contract": int, "unit": optional(str), "cgroup": optional(str), "owner": optional(str),
            "reason": optional(str), "obstacle": optional(str), "limit_us": int, "measured": bool,
            "infeasible": bool, "p99_us": optional(number), "wakeups": optional(int),
            "best_us": optional(number), "cores": optional(int), "latency_us": optional(int),
            "highest_frequency": optional(bool), "windows_kept": optional(int), "windows_broken": optional(int)}
KINDS = {"hold": int, "cgroup": str, "kind": str, "owner": str, "reason": optional(str),
         "cpus": optional(str), "cpus_before": optional(str), "obstacle": optional(str)}
SHAPES = {
    "status": {
        "daemon": optional(dict(
            DAEMON, profile=optional(str), profile_reason=optional(str),
            pauses=[PAUSE], trial=optional({"owner": str, "reason": str}), holds=int, policies=[str],
            park_backend=str, keeps_affinities=bool, keeps_affinities_because=str,
            config_files=[str], transitions=int, transitions_last_minute=int, ticks=int,
            cpu_usec=int, wakeups=int, next_tick_usec=optional(int))),
        "daemon_error": optional(str),
        "to_restore": optional(int),
        "cpus": {"online": str, "isolated": str, "parked": optional(str),
                 "allowed": optional(str), "idle_mask": optional(str), "cores": int,
                 "wanted_cores": optional(int), "active_cores": optional(int),
                 "nothing_parked_because": optional(str)},
        "load": {"interval_usec": optional(int), **objects()["load"]},
        **{name: shape for name, shape in objects().items() if name != "load"},
        "energy": [{"name": str, "parent": optional(str), "power_watts": optional(number),
                    "source": optional(str), "sampled": bool}],
        "benefits": [BENEFIT],
        "residency": {"busy_percent": optional(number), "interval_usec": optional(int),
                      "states": [{"name": str, "percent": optional(number),
                                  "estimated": bool}]},
        "refused": [{"unit": optional(str), "user": int, "program": optional(str), "pid": optional(int),
                     "cpus": str, "count": int}],
        "contracts": [CONTRACT],
        "degraded": [{"kind": str, "name": str, "why": str}],
        "missing": [{"what": str, "why": str}],
    },
    "cpus": dict(HEAD, interval_usec=optional(int), cpus=[{
        "cpu": int, "core": optional(int), "cluster": optional(int), "die": optional(int),
        "package": optional(int), "node": optional(int), "thread": optional(int),
        "capacity": optional(int), "kinds": optional([str]), "state": str, "parked_usec": optional(int), "busy_percent": optional(number),
        "states": [STATE], "limits": optional(LIMITS)}]),
    "why": dict(HEAD, benefits=[BENEFIT], cores=optional(int), contracts=[CONTRACT], kinds=[KINDS], cpus=[dict(REASON, cpu=int, parked=bool, in_idle_mask=bool,
                                 obstacle=optional(str), since_usec=optional(int),
                                 reasons=[REASON], figures=[FIGURE])]),
    "why --history": dict(HEAD, history=[dict(REASON, number=optional(int), time_usec=int,
                                              parked=str)],
                          uptime_usec=optional(int),
                          cpus=[{"cpu": int, "parked": bool, "parked_usec": optional(int)}]),
    "policies": dict(HEAD, policy_dir=str, policies=[lambda p: matches(
        {"loaded": bool, "name": str, "rank": int, "summary": str, "allowed": str,
         "reason": str, "settled": bool, "options": lambda o: isinstance(o, dict),
         "period_usec": optional(int)} if p["loaded"] else
        {"loaded": bool, "name": str, "summary": optional(str), "problem": optional(str)}, p)]),
    "settings": dict(HEAD, settings=[SETTING]),
    "profile": dict(HEAD, active=optional(str), reason=optional(str), chosen=optional(str),
                    inhibited=optional(str), not_loaded=[str], profiles=[PROFILE]),
    "holds": dict(HEAD, holds=[{
        "hold": int, "owner": str, "user": int, "pid": optional(int), "process": optional(str),
        "ends_with_process": bool, "since_usec": int, "reason": str, "latency_us": optional(int),
        "wakeup_p99_us": optional(int),
        "global": bool, "min_cores": optional(int), "min_frequency_khz": optional(int),
        "kind": optional(str), "profile": optional(str), "cpus": str, "obstacle": optional(str)}]),
    "verify": dict(HEAD, fine=bool, knobs=optional(int), problems=optional([PROBLEM]),
                   to_restore=optional([{"kind": str, "name": str, "original": str,
                                         "ours": optional(str)}]),
                   damaged_lines=optional(int), damaged_record=optional(str)),
    "status --dump": lambda d: {"daemon", "idlectl_version", "kernel", "manager", "policies", "energy",
                       "cpus", "explain", "history", "verify", "settings_in_force",
                       "configuration", "knob_values"} <= set(d),
}
