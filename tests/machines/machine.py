# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a NAME.machine file says, and the files of sysfs and procfs that follow from it.

The description holds facts: which CPUs make a core, a cluster, a package; which idle states each
has and how long they take. From these the kernel would derive a few dozen files for each CPU, and
so does Machine.tree(), which touches no disk. README.md describes the format.
"""
import re
import shlex

CPU = "sys/devices/system/cpu/"
UPTIME_SEC = 1000  # how long every built machine has been up, each CPU asleep for 99 % of it
GROUPS = ("package", "die", "cluster", "core", "l1", "l2", "l3", "node", "policy")
CPU_SETS = ("present", "possible", "offline", "isolated", "nohz_full", "hotplug")
FORMS = {  # the other keywords: how many words at least, and which
    "state": (5, "CPUS NAME LATENCY_US RESIDENCY_US DESC [FILE=VALUE...]"),
    "cpu": (2, "CPUS FILE=VALUE..."), "cpufreq": (2, "CPUS FILE=VALUE..."),
    "common": (1, "FILE=VALUE..."), "file": (1, "FILE=VALUE..."), "pmu": (2, "NAME CPUS"),
    "rapl": (4, "ZONE NAME MAX_UJ ENERGY_UJ [FILE=VALUE...]"), "supply": (2, "NAME FILE=VALUE...")}
CACHES = (("index0", "l1", 1, "Data"), ("index1", "l1", 1, "Instruction"),
          ("index2", "l2", 2, "Unified"), ("index3", "l3", 3, "Unified"))


class Wrong(Exception):
    """The description cannot be understood; the message says where and why."""


def list_parse(text):
    """'0-2,8,16-20:2' -> [0, 1, 2, 8, 16, 18, 20], in the order given; '-' is the empty list."""
    numbers = []
    for part in text.split(",") if text != "-" else ():
        match = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part)
        if not match:
            raise Wrong(f"'{part}' is not a number or a range A-B or A-B:STEP")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or not step:
            raise Wrong(f"'{part}' is an empty range")
        numbers.extend(range(first, last + 1, step))
    return numbers


def list_format(numbers):
    """The kernel's %*pbl: {0, 1, 2, 8} -> '0-2,8'."""
    runs = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def pairs_parse(words):
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise Wrong(f"'{word}' is not FILE=VALUE")
        yield key, value


class Machine:
    def __init__(self, path):
        self.sets = {}  # "present" -> set of CPUs
        self.groups = {kind: [] for kind in GROUPS}  # -> [(id, CPUs in the order given)]
        self.states = {}  # CPU -> [{file: value}], by index
        self.files = {}  # path below the root -> text
        self.links = {}
        self.pmus = {}  # "cpu_core" -> CPUs
        self.policy_files = []  # (CPUs, file, value)
        with open(path, encoding="ascii") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    self.line_parse(shlex.split(line, comments=True))
                except (Wrong, ValueError) as error:
                    raise Wrong(f"{path}:{number}: {error}") from None
        try:
            self.sets_complete()
        except Wrong as error:
            raise Wrong(f"{path}: {error}") from None

    def line_parse(self, words):
        if not words:
            return
        kind, words = words[0], words[1:]
        least, form = FORMS.get(kind, (1, "CPUS"))
        if kind not in GROUPS + CPU_SETS and kind not in FORMS:
            raise Wrong(f"unknown keyword '{kind}'")
        if len(words) < least or len(words) > 1 and kind in CPU_SETS:
            raise Wrong(f"expected '{kind} {form}'")
        if kind in GROUPS:
            self.group_parse(kind, words)
        elif kind in CPU_SETS:
            self.sets[kind] = set(list_parse(words[0]))
        else:
            getattr(self, "parse_" + kind)(*words)

    def group_parse(self, kind, words):
        """CPUS[/WIDTH] [+OFFSET...] [= IDS]: runs of WIDTH CPUs, each with its shifted copies."""
        ids = None
        if "=" in words:
            ids = list_parse("".join(words[words.index("=") + 1:]))
            words = words[:words.index("=")]
        match = re.fullmatch(r"([^/ ]+)(?:/(all|\d+))?((?: \+\d+)*)", " ".join(words))
        if not match:
            raise Wrong(f"expected '{kind} CPUS[/WIDTH|/all] [+OFFSET...] [= IDS]'")
        cpus = list_parse(match[1])
        width = len(cpus) if match[2] == "all" else int(match[2] or 1)
        if width < 1 or len(cpus) % width:
            raise Wrong(f"{len(cpus)} CPUs do not divide into runs of {width}")
        runs = [cpus[i:i + width] for i in range(0, len(cpus), width)] or [[]]
        ids = ids if ids is not None else list(range(len(runs)))
        if len(ids) != len(runs):
            raise Wrong(f"{len(runs)} {kind}s but {len(ids)} ids")
        for number, run in zip(ids, runs):
            shifted = [cpu + int(offset) for offset in match[3].split() for cpu in run]
            self.groups[kind].append((number, run + shifted))

    def parse_state(self, cpus, name, latency_us, residency_us, desc, *rest):
        state = {"name": name, "latency": latency_us, "residency": residency_us, "desc": desc,
                 "power": "4294967295" if name == "POLL" else "0", "disable": "0",
                 "default_status": "enabled", "above": "0", "below": "0", "rejected": "0",
                 "time": "0", "usage": "0"}
        for number in latency_us, residency_us:
            if not number.isdecimal():
                raise Wrong(f"'{number}' is not a number of microseconds")
        state.update(pairs_parse(rest))
        for cpu in list_parse(cpus):
            self.states.setdefault(cpu, []).append(dict(state))

    def parse_cpu(self, cpus, *words):
        for file, value in pairs_parse(words):
            self.files.update((f"{CPU}cpu{cpu}/{file}", value) for cpu in list_parse(cpus))

    def parse_cpufreq(self, cpus, *words):
        self.policy_files += [(set(list_parse(cpus)), *pair) for pair in pairs_parse(words)]

    def parse_common(self, *words):
        self.files.update((CPU + file, value) for file, value in pairs_parse(words))

    def parse_file(self, *words):
        self.files.update(pairs_parse(words))

    def parse_pmu(self, name, cpus, *_):
        self.pmus[name] = set(list_parse(cpus))

    def parse_rapl(self, zone, name, max_uj, energy_uj, *words):
        """A powercap zone lies in its parent (intel-rapl:0:1 in intel-rapl:0), its link beside."""
        parts = zone.split(":")
        parents = [":".join(parts[:i]) for i in range(1, len(parts) + 1)]
        place = "devices/virtual/powercap/" + "/".join(parents)
        values = {"name": name, "enabled": "1", "energy_uj": energy_uj,
                  "max_energy_range_uj": max_uj}
        values.update(pairs_parse(words))
        self.files.update((f"sys/{place}/{file}", value) for file, value in values.items())
        self.links[f"sys/class/powercap/{zone}"] = "../../" + place
        control = f"devices/virtual/powercap/{parts[0]}"
        self.files[f"sys/{control}/enabled"] = "1"
        self.links[f"sys/class/powercap/{parts[0]}"] = "../../" + control

    def parse_supply(self, name, *words):
        place = f"devices/platform/{name}/power_supply/{name}"
        self.files.update((f"sys/{place}/{file}", value) for file, value in pairs_parse(words))
        self.links[f"sys/class/power_supply/{name}"] = "../../" + place

    def sets_complete(self):
        """Fill in what was not said, and refuse what cannot be: a CPU in no core or in two."""
        present = self.sets.get("present")
        if not present:
            raise Wrong("no 'present' CPUs")
        self.sets.setdefault("possible", present)
        self.sets.setdefault("hotplug", present - {min(present)})
        self.sets.setdefault("isolated", set())
        self.online = present - self.sets.setdefault("offline", set())
        if not self.online:
            raise Wrong("no CPU is online")
        for kind in CPU_SETS:
            where = "possible" if kind in ("present", "possible") else "present"
            outside = self.sets.get(kind, set()) - self.sets[where]
            if outside:
                raise Wrong(f"{kind}: CPUs {list_format(outside)} are not {where}")
        for kind, groups in self.groups.items():
            members = [cpu for _, cpus in groups for cpu in cpus]
            twice = {cpu for cpu in members if members.count(cpu) > 1}
            if twice:
                raise Wrong(f"CPUs {list_format(twice)} are in more than one {kind}")
            if set(members) - present:
                raise Wrong(f"{kind}: CPUs {list_format(set(members) - present)} are not present")
            if kind in ("package", "core") and present - set(members):
                raise Wrong(f"CPUs {list_format(present - set(members))} are in no {kind}")

    def tree(self):
        """All regular files, {path below the root: text without its last newline}."""
        sets, files = self.sets, {}
        for name in ("present", "possible", "isolated", "nohz_full"):
            if name in sets:
                files[CPU + name] = list_format(sets[name])
        files[CPU + "online"] = list_format(self.online)
        files[CPU + "offline"] = list_format(sets["possible"] - self.online)
        files[CPU + "kernel_max"] = "8191"
        for cpu in sets["present"]:
            files[f"{CPU}cpu{cpu}/power/pm_qos_resume_latency_us"] = "0"
            if cpu in sets["hotplug"]:
                files[f"{CPU}cpu{cpu}/online"] = "1" if cpu in self.online else "0"
        self.topology_tree(files)
        self.cpuidle_tree(files)
        self.cpufreq_tree(files)
        self.proc_tree(files)
        files.update(self.files)
        return files

    def topology_tree(self, files):
        """An offline CPU has no topology and no cache, and is in no one else's lists."""
        names = {"package": ("physical_package_id", "package_cpus_list", "core_siblings_list"),
                 "die": ("die_id", "die_cpus_list"), "cluster": ("cluster_id", "cluster_cpus_list"),
                 "core": ("core_id", "core_cpus_list", "thread_siblings_list")}
        for kind, (id_name, *list_names) in names.items():
            for number, cpus in self.online_groups(kind):
                text = list_format(cpus)
                for cpu in cpus:
                    place = f"{CPU}cpu{cpu}/topology/"
                    files[place + id_name] = str(number)
                    files.update((place + name, text) for name in list_names)
        for index, kind, level, content in CACHES:
            for number, cpus in self.online_groups(kind):
                values = {"id": str(number), "level": str(level), "type": content,
                          "shared_cpu_list": list_format(cpus)}
                for cpu in cpus:
                    place = f"{CPU}cpu{cpu}/cache/{index}/"
                    files.update((place + name, value) for name, value in values.items())
        for number, cpus in self.online_groups("node"):
            files[f"sys/devices/system/node/node{number}/cpulist"] = list_format(cpus)
        for name, cpus in self.pmus.items():
            files[f"sys/devices/{name}/cpus"] = list_format(cpus & self.online)
        if self.groups["node"]:
            numbers = [number for number, _ in self.groups["node"]]
            files["sys/devices/system/node/online"] = list_format(numbers)

    def online_groups(self, kind):
        return [(number, [cpu for cpu in cpus if cpu in self.online])
                for number, cpus in self.groups[kind]]

    def cpuidle_tree(self, files):
        for cpu, states in self.states.items():
            usable = [state for state in states if state["disable"] == "0"]
            if cpu in self.online and usable:
                usable[-1].update(time=str(UPTIME_SEC * 990000), usage=str(UPTIME_SEC * 10))
            for index, state in enumerate(states):
                place = f"{CPU}cpu{cpu}/cpuidle/state{index}/"
                files.update((place + file, value) for file, value in state.items())

    def cpufreq_tree(self, files):
        """A policy is named after its first CPU, and every CPU in it links to it."""
        for _, cpus in self.groups["policy"]:
            values = {"related_cpus": " ".join(map(str, sorted(cpus))),
                      "affected_cpus": " ".join(map(str, sorted(set(cpus) & self.online))),
                      "scaling_setspeed": "<unsupported>"}
            values.update((file, value) for of, file, value in self.policy_files if min(cpus) in of)
            for end in ("min", "max"):
                values.setdefault(f"scaling_{end}_freq", values.get(f"cpuinfo_{end}_freq", "0"))
            values.setdefault("scaling_cur_freq", values["scaling_min_freq"])
            place = f"cpufreq/policy{min(cpus)}"
            files.update((f"{CPU}{place}/{file}", value) for file, value in values.items())
            self.links.update((f"{CPU}cpu{cpu}/cpufreq", "../" + place) for cpu in cpus)

    def proc_tree(self, files):
        """Load of a machine that slept for 99 % of its life, in ticks of 10 ms."""
        ticks = UPTIME_SEC * 100
        each = [ticks * 6 // 1000, 0, ticks * 4 // 1000, ticks * 99 // 100, 0, 0, 0, 0, 0, 0]
        rows = ["cpu  " + " ".join(str(value * len(self.online)) for value in each)]
        rows += [f"cpu{cpu} " + " ".join(map(str, each)) for cpu in sorted(self.online)]
        rows += ["intr 0", "ctxt 1000000", "btime 1700000000", "processes 1000", "procs_running 1",
                 "procs_blocked 0", "softirq 0 0 0 0 0 0 0 0 0 0 0"]
        files["proc/stat"] = "\n".join(rows)
        files["proc/loadavg"] = "0.00 0.00 0.00 1/100 1000"
        files["proc/uptime"] = f"{UPTIME_SEC}.00 {UPTIME_SEC * 99 * len(self.online) // 100}.00"
        pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0"
        files["proc/pressure/cpu"] = pressure + "\n" + pressure.replace("some", "full")
        files["proc/self/cgroup"] = "0::/"
