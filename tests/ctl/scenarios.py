# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the daemon of the tests says: plain values, whose D-Bus types are in fakedaemon.py."""
import copy
import time

import measured as measured_properties

BY = {
    "cause": "policy", "policy": "ondemand", "because": "the load needs fewer cores",
    "inputs": [("filtered load", 0.4, "CPUs"), ("wanted", 1, "cores")],
    "option": "TargetUtilization", "threshold": 70.0, "threshold_unit": "%",
    "effective": 70.0, "effective_because": "",
    "source": "/etc/idled/policies/ondemand.conf:12",
}
NOBODY = {"cause": "", "policy": "", "because": "", "inputs": [], "option": "", "threshold": 0.0,
          "threshold_unit": "", "effective": 0.0, "effective_because": "", "source": ""}

NAN = float("nan")
UNKNOWN = (NAN, NAN, NAN)
NOT_MEASURED = {"SavedJoules": UNKNOWN, "SavedWatts": UNKNOWN, "SavedShare": UNKNOWN, "WaitingChange": UNKNOWN,
                "MeanWatts": (NAN, NAN), "EffectiveShare": NAN, "Blocks": 0, "BlocksDropped": 0, "Verdict": "",
                "EnergySource": "", "WorkUnit": ""}


def usec_ago(seconds):
    return int((time.time() - seconds) * 1e6)


def cpu(number, parked=False, core=None, **more):
    states = [("POLL", 0, 0), ("C1", 2, 2), ("C6", 133, 600)]
    busy = 0.0 if parked else 0.25
    return dict({
        "Number": number, "Online": True, "Parked": parked, "Isolated": False,
        "Core": number // 2 if core is None else core, "Cluster": 0, "Die": 0, "Package": 0,
        "Node": 0, "Thread": number % 2, "Capacity": 1024, "Kinds": [], "Utilization": busy,
        "IdleStates": states,
        "ParkedUSec": 12960000000 if parked else 0,
        "Residency": [("C0", busy, 0, 0, 0, 0), ("POLL", 0.0, 1, 0, 1, 0),
                      ("C1", 0.125, 20, 2, 3, 0), ("C6", 0.875 - busy, 5, 1, 0, 4)],
        "ResidencyUSec": 12000000, "Estimated": "C6" if parked else "", "Reason": f"CPU {number} is reported.",
    }, **more)


def normal():
    return {
        "manager": {
            "Version": "9.8", "DryRun": False, "Pauses": [],
            "Online": "0-3", "Isolated": "", "Parked": "2-3", "Allowed": "0-1",
            "IdleMask": "2-3", "WantedCores": 1, "ActiveCores": 1, "Cores": 2,
            "Policies": ["userspace", "ondemand"], "ParkBackend": "cgroup v1 cpuset",
            "KeepsAffinities": (True, "Linux 6.12.0, tried"),
            "Missing": [], "Degraded": [],
            "Knobs": [("cgroup", "/work.slice", "0-3", "0-1", "ours"),
                      ("cgroup", "/user.slice", "0-3", "0-1", "ours")],
            "Transitions": 7, "ConfigFiles": ["/etc/idled/idled.conf"],
            **measured_properties.EXAMPLE,
            "ObservedUSec": 2500000, "UptimeUSec": 18000000000, "TransitionsLastMinute": 2, "Ticks": 40, "CpuUSec": 12345,
            "Wakeups": 55, "PeriodUSec": 250000, "Profile": "power-saver",
            "ProfileReason": "the default on battery power",
            "Profiles": [("power-saver", "Less power, less speed", ""),
                         ("balanced", "As the machine was found, with the cores parked that the "
                          "load does not need, and everything else left alone", ""),
                         ("game", "", "/etc/idled/profiles/game.conf")],
            "ChosenProfile": "game",
            "ProfileInhibited": "profile game contradicts the option MaxCores= of ondemand, which "
                                "was set over D-Bus while idled ran",
        },
        "cpus": [cpu(0), cpu(1), cpu(2, True), cpu(3, True)],
        "policies": [
            {"Name": "userspace", "Summary": "keeps the CPUs idle that are named", "Rank": 0,
             "Allowed": "0-3", "Reason": "Requests all CPUs.", "Settled": True,
             "PeriodUSec": 0, "Options": {"IdleMask": ""}, **NOT_MEASURED},
            {"Name": "ondemand", "Summary": "parks cores that the load does not need", "Rank": 1,
             "Allowed": "0-1", "Reason": "Requests CPUs 0-1.", "Settled": False,
             "PeriodUSec": 250000, "Options": {"Period": "250ms"}, **NOT_MEASURED},
        ],
        "energy": [
            {"Name": "package-0", "Parent": "", "RangeUJ": 262143328850, "Power": 12.3,
             "Dropped": 0, "Source": "rapl", "Sampled": False},
            {"Name": "package-0-core", "Parent": "package-0", "RangeUJ": 262143328850,
             "Power": -1.0, "Dropped": 0, "Source": "rapl", "Sampled": False},
            {"Name": "ina226", "Parent": "", "RangeUJ": 0, "Power": 4.0, "Dropped": 0,
             "Source": "hwmon", "Sampled": True},
        ],
        "explain": [dict(NOBODY, cpu=0, parked=False, since_usec=0, text="CPU 0 is active."),
                    dict(NOBODY, cpu=1, parked=False, since_usec=0, text="CPU 1 is active."),
                    dict(BY, cpu=2, parked=True, since_usec=usec_ago(210), parked_usec=12960000000, text="CPU 2."),
                    dict(BY, cpu=3, parked=True, since_usec=usec_ago(210), parked_usec=12960000000, text="CPU 3.")],
        "history": [dict(BY, time_usec=usec_ago(210), parked="2-3", text="2-3 are parked."),
                    dict(NOBODY, time_usec=usec_ago(7300), parked="", text="Nothing is parked.")],
        "settings": [
            {"section": "Daemon", "key": "LogLevel", "value": "info", "default": "info",
             "source": "default", "expects": "err or info", "help": "Which messages are dropped",
             "runtime": False},
            {"section": "ondemand", "key": "MaxCores", "value": "4", "default": "0",
             "source": "/etc/idled/policies/ondemand.conf:3", "expects": "a whole number",
             "help": "Most cores in use", "runtime": False},
            {"section": "ondemand", "key": "MinCores", "value": "2", "default": "1",
             "source": "set over D-Bus", "expects": "a whole number",
             "help": "Fewest cores in use", "runtime": True},
            {"section": "userspace", "key": "IdleMask", "value": "", "default": "",
             "source": "default", "expects": "CPUs such as 2-5,9", "help": "CPUs to keep idle",
             "runtime": False},
        ],
        "verify": [],
    }


def long():
    """A history of 150 changes, and settings with a long value and a long path."""
    says = normal()
    says["history"] = [dict(BY, time_usec=usec_ago(60 * i), parked="2-3" if i % 2 else "",
                            text="A change.") for i in range(150)]
    says["settings"] += [
        {"section": "Daemon", "key": "Policies",
         "value": "userspace ondemand cpufreq cstates latency quiet", "default": "ondemand",
         "source": "/etc/idled/idled.conf:2", "expects": "a list", "help": "Policies to load",
         "runtime": False},
        {"section": "ondemand", "key": "Dwell", "value": "7s", "default": "5s",
         "source": "/etc/idled/policies/ondemand.conf.d/zz-idlectl.conf:3",
         "expects": "a duration", "help": "How long the load must be low", "runtime": False},
    ]
    return says


def absent():
    """Nothing is parked, and the machine has no battery, no PSI and no idle states."""
    says = normal()
    says["manager"].update(Parked="", Allowed="0-3", IdleMask="", WantedCores=2, ActiveCores=2,
                           Knobs=[], Transitions=0, TransitionsLastMinute=0, PeriodUSec=0,
                           OnBattery=False, BatteryLevel=-1.0, ObservedUSec=0,
                           Profile="balanced", ProfileReason="no other one is chosen",
                           Missing=[("battery", "this machine does not have it"),
                                    ("pressure", "this machine does not have it"),
                                    ("idle states", "it is not usable here")])
    says["cpus"] = [cpu(i, IdleStates=[], Residency=[], Estimated="") for i in range(4)]
    for row in says["explain"]:
        row.update(NOBODY, parked=False, since_usec=0, parked_usec=0)
    says["history"] = []
    says["energy"] = []
    return says


def unparked():
    says = absent()
    without_measured(says)
    return says


def unparkable():
    says = unparked()
    says["manager"].update(ParkBackend="none (Operation not supported)",
                           Missing=[("park", "it is not usable here")])
    return says


def hold(number, **more):
    return dict({
        "Id": number, "Owner": "user 1000 (:1.7)", "User": 1000, "Pid": 0, "Bound": False,
        "SinceUSec": usec_ago(150), "Reason": "no reason given", "Request": {}, "Unit": "", "CPUs": "0-3",
        "Obstacle": "",
    }, **more)


def held():
    says = unparked()
    says["hold"] = [
        hold(2, Request={"latency_us": 50, "wakeup_p99_us": 5000}, Reason="audio", CPUs="2"),
        hold(10, User=0, Request={"latency_us": 0, "global": True}, Reason="a test\x1b[31m"),
        hold(9, Request={"min_cores": 2, "min_frequency_khz": 2400000, "kind": "cache",
                         "profile": "performance"},
             Reason="a game", Bound=True, Unit="/user.slice/game.scope", Obstacle="a client requested a pause"),
    ]
    says["manager"]["Knobs"].append(("kinds", "game.scope", "", "0-1", "ours"))
    says["manager"]["Contracts"] = CONTRACTS[:1]
    says["manager"]["Holds"] = [f"/org/idled1/hold/{h['Id']}" for h in says["hold"]]
    return says


def ailing():
    """Holds whose limits are in effect and one whose is not, a knob that was taken over, one that failed, and an
    actuator that did."""
    says = unparked()
    says["hold"] = [hold(2, Request={"latency_us": 50}, Reason="audio", CPUs="2", Pid=77),
                    hold(3, Request={"latency_us": 0}, CPUs="0-1"),
                    hold(4, Request={"latency_us": 1}, CPUs="3-4"),
                    hold(5, Request={"latency_us": 1000000}, CPUs="0")]
    says["manager"]["Knobs"] = [("pmqos", f"cpu{n}/power/pm_qos_resume_latency_us", "0", "50", "ours")
                                for n in range(3)]
    says["manager"]["Knobs"] += [("cgroup", "/user.slice", "0-3", "0-1", "foreign"),
                                 ("pmqos", "cpu4/power/pm_qos_resume_latency_us", "0", "50", "foreign")]
    says["manager"]["Degraded"] = [("cgroup", "/user.slice", "taken over by another program"),
                                   ("epp", "policy0", "Input/output error"),
                                   ("cpuidle", "idle states", "Invalid argument")]
    return says


def busy():
    """CPU 3 was parked and unparked, the others never parked; ondemand says why."""
    says = unparked()
    for row in says["explain"]:
        row.update(BY, because="the load uses all cores",
                   inputs=[("filtered load", 1.98, "CPUs"), ("needed cores", 2.0, "cores"),
                           ("use of active cores", 99.0, "%")],
                   option="DownThreshold", threshold=60.0, source="default")
    says["explain"][2].update(because="fewer cores would suffice, but not for long enough yet",
                              inputs=[("filtered load", 1.0, "CPUs"), ("needed cores", 1, "cores"),
                                      ("for", 7, "s")],
                              option="Dwell", threshold=5.0, threshold_unit="s", effective=20.0,
                              effective_because="after 2 reversals")
    says["explain"][3].update(since_usec=usec_ago(70), option="", source="no option",
                              because="as many tasks are runnable as there are CPUs",
                              inputs=[("filtered load", 0.5, "CPUs"), ("needed cores", 2, "cores"),
                                      ("running tasks", 4, "tasks")], threshold=4.0,
                              threshold_unit="tasks")
    return says


def measured(verdict="saves", watts=(3.2, 2.9, 3.5), joules=(12345.0, 11000.0, 13000.0), source="rapl"):
    """What ondemand saves was measured by what packages drew."""
    says = normal()
    says["policies"][1].update(
        SavedWatts=watts, SavedJoules=joules, MeanWatts=(20.0 - watts[0], 20.0 + 0 * watts[0]),
        SavedShare=(0.102, 0.091, 0.113), WaitingChange=(0.004, -0.001, 0.009), WorkUnit="busy seconds",
        EffectiveShare=0.973, Blocks=24, BlocksDropped=3, Verdict=verdict, EnergySource=source)
    return says


def single():
    """One of everything that is counted."""
    says = normal()
    says["manager"].update(Ticks=1, Wakeups=1)
    for row in says["explain"]:
        row.update(BY, because="all has its number",
                   inputs=[("wanted", 1, "cores"), ("tried", 1, "times"), ("runnable", 1, "tasks")],
                   option="MinCores", threshold=1.0, threshold_unit="cores", source="default")
    return says


def limited():
    """A policy requests limits for single CPUs, the same for 0 and 1, and counts."""
    says = unparked()
    limit = {"cause": "policy", "policy": "cstates", "because": "the deepest state within the limit",
             "inputs": [("C1", 2, "us")], "option": "DeepestState", "threshold": 0.0,
             "threshold_unit": "", "source": "/etc/idled/policies/cstates.conf:4", "text": "L."}
    busy_cpu = dict(limit, because="it is used more than a little", inputs=[("utilization", 7, "%")],
                    option="UtilizationThreshold", threshold=1.5625, threshold_unit="%",
                    source="default", text="B.")
    for row in says["explain"]:
        row.update(reasons=[limit] if row["cpu"] < 2 else [], figures=[])
    says["explain"][1].update(reasons=[limit, busy_cpu],
                              figures=[("cstates", "correct", "", 812),
                                       ("cstates", "share", "%", 93.5),
                                       ("other", "seen", "CPUs", 1)])
    return says


def dry():
    """CPU 0 is parked but should not be, 2-3 should be."""
    says = normal()
    says["manager"].update(DryRun=True, Parked="0", Allowed="1-3", Knobs=[])
    for row in says["explain"]:
        row["parked"] = row["cpu"] == 0
    return says


def paused():
    says = unparked()
    says["manager"].update(DryRun=True,
                           Pauses=[
                               {"owner": "user 1000 (:1.5)", "reason": "a backup\x1b[31m runs",
                                "user": 1000, "lasting": False, "until_usec": 0},
                               {"owner": "user 0", "reason": "measuring", "user": 0,
                                "lasting": True, "until_usec": usec_ago(-630)},
                               {"owner": "user 7", "reason": "idlectl pause", "user": 7,
                                "lasting": True, "until_usec": 0}])
    for row in says["explain"]:
        row.update(cause="pause", policy="", because="a backup runs")
    return says


def without_measured(says):
    """`normal` alone shows measured properties in a golden file: a new one changes no other."""
    for name in measured_properties.ROWS:
        del says["manager"][name]


REFUSED = [{"unit": "mpi.service", "user": 33, "program": "mpirun", "pid": 812, "cpus": "2-3", "count": 3},
           {"unit": "", "user": 1000, "program": "", "pid": 0, "cpus": "3", "count": 1}]

CONTRACTS = [
    {"contract": 3, "unit": "nginx.service", "cgroup": "/system.slice/nginx.service", "obstacle": "", "limit_us": 5000,
     "owner": "app web", "reason": "/etc/idled/apps/web.conf",
     "measured": True, "infeasible": False, "p99_us": 3250.0, "wakeups": 12000, "cores": 2, "latency_us": 10,
     "highest_frequency": True, "windows_kept": 58, "windows_broken": 2},
    {"contract": 2, "unit": "tight.service", "cgroup": "/system.slice/tight.service", "obstacle": "", "limit_us": 20,
     "owner": "user 1000 (:1.9)", "reason": "",
     "measured": True, "infeasible": True, "p99_us": 190.0, "wakeups": 200, "best_us": 180.0,
     "windows_kept": 0, "windows_broken": 9},
    {"contract": 4, "unit": "young.service", "cgroup": "/system.slice/young.service", "limit_us": 20000,
     "obstacle": "this is a dry run", "measured": True, "infeasible": False, "windows_kept": 0, "windows_broken": 0},
    {"contract": 1, "unit": "", "cgroup": "", "obstacle": "this kernel has no BTF", "limit_us": 20000,
     "measured": False, "infeasible": False, "windows_kept": 0, "windows_broken": 0}]


def degraded():
    says = normal()
    says["manager"].update(RefusedAffinities=REFUSED, Contracts=CONTRACTS)
    without_measured(says)
    says["manager"]["Degraded"] = [("cgroup", "/user.slice", "taken over by another program")]
    says["manager"]["Knobs"][1] = ("cgroup", "/user.slice", "0-3", "0-1", "foreign")
    says["verify"] = [("cgroup", "/user.slice", "0-1", "0-2", "another program changed it"),
                      ("unit", "a.slice", "0-1", "", "it cannot be read: I/O error")]
    says["cpus"][0] = cpu(0, Isolated=True)
    says["cpus"][1] = cpu(1, Online=False, Core=-1, Cluster=-1, Die=-1, Package=-1, Node=-1,
                          Thread=-1, Utilization=0.0, Residency=[])
    says["manager"].update(Online="0,2-3", Isolated="0")
    del says["explain"][1]
    return says


def strange():
    """Another version's daemon, which knows less and has other types."""
    says = normal()
    for key in ("Parked", "Cores", "LoadAverage", "Load", "Policies", "Knobs", "PeriodUSec"):
        del says["manager"][key]
    says["types"] = {"Missing": "as", "Degraded": "s", "Pauses": "s", "Online": "as",
                     "Pressure": "s", "Residency": "as", "IdleStates": "a(ss)", "Core": "s",
                     "Estimated": "d", "inputs": "as", "threshold": "s", "since_usec": "s"}
    strange_values = {"as": ["odd"], "s": "odd", "a(ss)": [("odd", "odd")], "d": 0.5}
    for row in [says["manager"], *says["cpus"], *says["explain"], *says["history"]]:
        for key in set(row) & set(says["types"]):
            row[key] = strange_values[says["types"][key]]
    del says["cpus"][2]["Capacity"]
    says["energy"] = [{"Name": "package-0"}]
    says["policies"] = [{"Name": "userspace"}]
    return says


def large():
    """288 CPUs in two packages, as 144 cores; the second package is parked."""
    says = normal()
    without_measured(says)
    says["cpus"] = [cpu(i, 144 <= i, core=i // 2, Package=i // 144, Node=i // 144)
                    for i in range(288)]
    says["manager"].update(Online="0-287", Parked="144-287", IdleMask="144-287",
                           Allowed="0-143", Cores=144, WantedCores=72, ActiveCores=72)
    says["explain"] = [copy.deepcopy(says["explain"][2 if i >= 144 else 0]) for i in range(288)]
    for i, row in enumerate(says["explain"]):
        row["cpu"] = i
    return says


def fleet():
    """All that metrics are made of: limits, energy, changes, and what a policy saves."""
    says = normal()
    says["manager"].update(RefusedAffinities=REFUSED, Contracts=CONTRACTS)
    says["manager"].update(LateUSec=1500, Degraded=[("cpufreq", "policy0 governor", "busy")])
    says["policies"][1].update(
        SavedJoules=(1234567.25, -1000.5, 2500000.75), SavedWatts=(1.5, -0.1, 3.25),
        EffectiveShare=0.99, Blocks=120, BlocksDropped=3,
        SavedShare=(0.03, -0.01, 0.07), WaitingChange=(-0.002, -0.004, 0.0), Verdict="unknown", EnergySource="rapl",
        WorkUnit="10^4 context switches")
    says["sample"] = {
        "Cpus": [(i, 90 * 10**6 + i, 12960 * 10**6 * (i > 1), i // 2, 0, 0) for i in range(4)],
        "IdleStates": [(i, name, 1500000 * (n + 1), 30, 3, 2, 1) for i in range(4)
                       for n, name in enumerate(("POLL", "C1", "C6"))],
        "Limits": [(0, 50, 800000, 2400000, 6, 1, "powersave", "balance_power"),
                   (1, -1, 0, 0, -1, -1, "performance", "")],
        "DisabledStates": [(0, "C6")],
        "Energy": [("package-0", "", 5000, 12.3, 0, "rapl"), ("core", "package-0", 3000, -1.0, 2, "rapl")],
        "Transitions": [("policy", "ondemand", 6), ("", "", 1)],
        "PressureUSec": 2500000,
        "RefusedAffinities": 7,
    }
    return says


def fresh():
    """As fleet, but nothing was ever parked, because nothing here can be."""
    says = fleet()
    says["manager"].update(Parked="", ParkBackend="none (cgroup: none (a mask); systemd: old)")
    says["sample"]["Transitions"] = []
    return says


def delays(kind, ns, n, state=0):
    """`n` wake-ups that each took somewhat longer than `ns`, where a bin begins."""
    return (kind, state, n, n * ns * 1.05, ns * 1.1, [(ns, float(n))])


def billed():
    """A server that waits, a mailer that finds its CPU asleep, and one task of a user."""
    us = 1024
    return dict(normal(), bill={
        "DurationNSec": 10 * 10**9, "Sampled": 120, "Lost": 1, "Unstored": 2, "units": [
            ("mail.service", "/system.slice/mail.service", "smtpd",
             [delays("idle", 160 * us, 400, 2), delays("other", us, 100)]),
            ("web.service", "/system.slice/web.service", "nginx",
             [delays("idle", 16 * us, 2000, 1), delays("waiting", 2048 * us, 30), delays("parked", 4096 * us, 10)]),
            ("app-x.scope", "/user.slice/user-1.slice/user@1.service/app.slice/app-x.scope", "x",
             [delays("idle", 160 * us, 5, 9)])]})


def unbilled():
    return dict(normal(), bill="NotAvailable")


def overbilled():
    return dict(normal(), bill="TooManyBills")


def hostile():
    """Names and texts that try to be more than a label, and twins among the idle states."""
    says = fleet()
    evil = 'x"} 1\n# EOF\nidled_up{a="\\'
    says["manager"].update(
        Version=evil, ParkBackend="\x1b[31m\t\u00e9\u202e" + evil, Missing=[(evil, evil), ("", "")],
        Profiles=[(evil, "", ""), ("balanced", "", "")], Profile=evil, Policies=[evil, "ondemand"],
        Knobs=[(evil, evil, "", "", "ours")], Degraded=[(evil, evil, evil)])
    says["policies"][0]["Name"] = evil
    says["policies"][1].update(Verdict=evil, EnergySource=evil, SavedJoules=UNKNOWN,
                               SavedWatts=(float("inf"),) * 3, EffectiveShare=-1.0)
    says["sample"].update(
        IdleStates=[(0, "C1", 1, 1, 1, 1, 1), (0, "C1", 2, 2, 2, 2, 2), (0, evil, 3, 3, 3, 3, 3)],
        Limits=[(0, 50, 0, 0, -1, -1, evil, evil)], DisabledStates=[(0, evil), (0, evil)],
        Energy=[(evil, evil, 1, 1.0, 0, evil)], Transitions=[("policy", evil, 2**63), ("", "", 1)])
    return says


SCENARIOS = {f.__name__: f for f in (normal, absent, unparked, unparkable, dry, paused, degraded, strange,
                                   large, busy, single, measured, limited, held, billed, unbilled,
                                   overbilled, long, fleet,
                                   fresh, hostile, ailing)}
SCENARIOS["billed-nothing"] = lambda: dict(billed(), bill=dict(billed()["bill"], units=[]))
SCENARIOS["measured-estimate"] = lambda: measured(source="estimate")
SCENARIOS["measured-costs"] = lambda: measured("costs", (-3.2, -3.5, -2.9), (-50.0, -60.0, -40.0))
SCENARIOS["measured-unclear"] = lambda: measured("unknown", (0.2, -1.1, 1.5), (5.0, -20.0, 30.0))
SCENARIOS["measured-dropped"] = lambda: measured("unknown", (NAN,) * 3, (NAN,) * 3)
