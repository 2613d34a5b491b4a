# SPDX-License-Identifier: LGPL-2.1-or-later
"""What tests of parking share: tenants in all places of the hierarchy, where they may run, and where they do.

A tenant sleeps, and works for a second of CPU time on SIGUSR1. Counters of sleeping CPUs stand still, and a
task cannot run on parked CPUs to wake them: reading vm.stat_refresh has the kernel wake all CPUs.
"""

import lab
from kernel import CPU, STATES

TIMES, SHORT_TIMES = 10, 2  # how often a program starts

HIERARCHY = "/sys/fs/cgroup"
MANAGER = "org.idled1 /org/idled1 org.idled1.Manager"
SESSION = "user@1000"  # a user's own systemd
AS_USER = "runuser -u user -- env XDG_RUNTIME_DIR=/run/user/1000"
OWN = "t-theirs"  # a service of that one
OWN_GROUP = f"{HIERARCHY}/user.slice/user-1000.slice/{SESSION}.service/app.slice/{OWN}.service"

TENANT_PATH = "/usr/local/lib/tenant"
WORKED = "/run/worked"  # a pipe; each tenant of any user writes a line to it after its work
TENANT = f"""trap 'sh -c "ulimit -t 1; while :; do :; done"; echo >{WORKED}' USR1
while :; do
        sleep infinity &
        wait
        kill $!
done
"""

# Prints what it finds, has the processes work, and prints that again when all of them have.
WORK = f"""print_counters() {{
        cat /proc/sys/vm/stat_refresh
        awk '/^cpu[0-3] / {{ print $2 + $3 }}' /proc/stat
        for cpu in {CPU}/cpu[0-3]; do
                awk '{{ t += $1 }} END {{ print t }}' $cpu/cpuidle/state*/time
                cat $cpu/cpuidle/state{len(STATES) - 1}/time
        done
}}
exec 3<>{WORKED}
print_counters
tenants=$(pids)
kill -USR1 $tenants
for pid in $tenants; do
        read -rt 120 <&3 || {{ echo "not all tenants have worked" >&2; exit 1; }}
done
print_counters
"""

# Where it runs, at once or as soon as that is CPU 3.
WHERE = """for n in $(seq $1); do
        grep -q 'Cpus_allowed_list:.3$' /proc/$$/status && break
        sleep 0.1
done
grep Cpus_allowed_list /proc/$$/status
cut -d' ' -f39 /proc/self/stat
"""


def emulated(counted, slow):
    """A bound: an emulated guest on a busy host is slower than a machine, but not if its time is counted."""
    return slow if lab.settings.icount is None else counted


def rounds(times):
    """How often something is tried: with --short, less often."""
    return range(SHORT_TIMES if lab.settings.short else times)


class ParkingTest(lab.IdledTest):
    """Tests of one back end."""

    backend = None

    def setUp(self):
        self.configure(f"[Daemon]\nPolicies=userspace\n[Park]\nBackend={self.backend}\n")

    def kernel(self):
        return tuple(int(n) for n in self.guest.read("uname -r").split(".")[:2])

    def run_unit(self, name, options="", command="sleep infinity"):
        self.guest.run(f"systemd-run -q --unit={name} {options} {command}")
        self.addCleanup(self.guest.run, f"systemctl stop {name}; systemctl reset-failed {name}; "
                        "systemctl stop custom.slice late.slice", check=False)

    def run_session(self):
        self.change(f"systemctl start {SESSION}", f"systemctl stop {SESSION} user-runtime-dir@1000")

    def run_tenants(self, tenants):
        """A name each, and options of systemd-run; that of the user's own systemd has none."""
        self.write(TENANT_PATH, TENANT)
        self.change(f"mkfifo -m 666 {WORKED}", f"rm {TENANT_PATH} {WORKED}")
        for name, options in tenants.items():
            if name == OWN:
                self.guest.run(f"cd /; {AS_USER} systemd-run --user -q --unit={OWN} sh {TENANT_PATH}")
            else:
                self.run_unit(name, options, f"sh {TENANT_PATH}")

    def pids(self, *units):
        """A function of the guest's shell: the main processes of units, a line each."""
        asked = " ".join(unit for unit in units if unit != OWN)
        last = f"head -n 1 {OWN_GROUP}/cgroup.procs;" if OWN in units else ""
        assert OWN not in units[:-1]
        return f"pids() {{ systemctl show -P MainPID {asked} | grep .; {last} }}\n"

    def cpus_of(self, *units):
        """Where the main processes of units may run."""
        return self.guest.read(self.pids(*units) + "for pid in $(pids); do "
                               "awk '/^Cpus_allowed_list:/ { print $2 }' /proc/$pid/status; done").split("\n")

    def work(self, *units):
        """Has tenants work for a while. Returns for each CPU the ticks that it spent for programs, and of its
        sleep the share in the deepest idle state."""
        numbers = [float(n) for n in self.guest.read(self.pids(*units) + WORK).split()]
        half = len(numbers) // 2
        grown = [b - a for a, b in zip(numbers[:half], numbers[half:])]
        self.assertEqual(len(grown), 12)
        return grown[:4], [deep / (sleep or 1) for sleep, deep in zip(grown[4::2], grown[5::2])]

    def set_idle_mask(self, cpus):
        """Without waiting for it to be so."""
        self.guest.run(f"busctl -q call {MANAGER} SetOptions 'a(sss)' 1 userspace IdleMask '{cpus}'")

    def make_rival(self, cpus):
        """A top-level slice with CPUs of its own."""
        self.write("/etc/systemd/system/rival.slice", f"[Slice]\nAllowedCPUs={cpus}\n")
        self.guest.run("systemctl daemon-reload")
        self.addCleanup(self.guest.run, "systemctl stop rival.slice; "
                        "rm /etc/systemd/system/rival.slice; systemctl daemon-reload")
        self.run_unit("t-rival", "--slice=rival.slice")


class OndemandTest(ParkingTest):
    """Programs start while CPUs 2-3 are parked by the load, again and again."""

    patience = 0, 0  # tenths of seconds until a service has the CPUs that idled set in systemd: emulated()

    def setUp(self):
        self.configure(f"[Park]\nBackend={self.backend}\nTerminalWindow=5s\n",
                       {"ondemand": "Dwell=1s\nMinCores=1\nMaxCores=1\n"})

    def wait_parked(self, cpus="2-3"):
        try:
            self.wait_for(f"parking {cpus}", lambda: self.string("Parked") == cpus)
        except AssertionError:
            print(self.guest.run("idlectl why; idlectl why --history | tail -20", check=False).output)
            raise

    def explained(self):
        return self.guest.read(f"busctl call {MANAGER} Explain")

    def times(self, times=TIMES):
        """While CPUs are parked, again and again."""
        self.start()
        for n in rounds(times):
            self.wait_parked()
            yield n

    def each_time(self, command, check, times=TIMES):
        """Runs a command and checks what came of it."""
        for n in self.times(times):
            result = self.guest.run(command, check=False)
            with self.subTest(n=n):
                check(result)

    def assert_output(self, expected):
        return lambda result: self.assertEqual((result.output.split(), result.errors), (expected, ""))
