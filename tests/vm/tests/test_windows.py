# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that start or pin themselves do not notice parking, each ten times in a row while CPUs 2-3 are
parked by the load; and idled finds a task at once that is bound to parked CPUs later."""

import re

from parking import WHERE, OndemandTest, emulated

UNIT = "t-window"

# Keys come one at a time, as a person types them, through a terminal that script(1) makes. The shell at its
# other end echoes them, so a command must print something else than was typed.
TYPIST = r"""exec 2>&1
mkfifo /run/keys
(exec 3>/run/keys; printf '' >&3; sleep 1
        for key in $(seq 0 $((${#1} - 1))); do
                printf '%s' "${1:key:1}" >&3
                sleep 0.15
        done
        printf '\r' >&3
        for try in $(seq 30); do grep -Eq '=[0-9]+=[0-9]+=' /run/typescript && break; sleep 0.5; done
        printf '\x04' >&3) &
install -m 666 /dev/null /run/typescript
TERM=dumb "${@:2}" script -qefc "${SHELL_OF_TYPIST:-bash --norc --noprofile -i}" /run/typescript </run/keys >/dev/null
rm /run/keys
cat /run/typescript
"""

# Types a command, key by key, for a shell on a console; whether CPUs were parked before the line was complete,
# and what the command found. TIOCSTI (0x5412) puts a key into the input queue of the terminal.
CONSOLE = r"""keys() {
        perl -e 'open T, "+<", $ARGV[0] or die $!;
                for (split //, $ARGV[1]) { ioctl T, 0x5412, $_ or die $!; select undef, undef, undef, 0.15 }' \
                "/dev/$1" "$2"
}
parked() { busctl get-property org.idled1 /org/idled1 org.idled1.Manager Parked; }
rm -f /run/typed
TERM=dumb setsid bash --norc --noprofile -i <>"/dev/$1" >&0 2>&0 &
shell=$!
sleep 2
[ "$(parked)" = 's "2-3"' ] || { echo "not parked: $(parked)"; kill -9 $shell; exit; }
keys "$1" 'taskset -c 3 true; echo $?=$(nproc) >/run/typed'
[ "$(parked)" = 's ""' ]
before=$?
keys "$1" $'\r'
for try in $(seq 30); do [ -s /run/typed ] && break; sleep 0.5; done
echo "before: $before after: $(cat /run/typed)"
kill -9 $shell
"""

# A program reads a line from a terminal that is older than the 8 s for which access times say nothing, while
# all CPUs are active.
INPUT = """set -e
idlectl set Park TerminalWindow=2min
idlectl set ondemand MaxCores=4
idlectl set ondemand MinCores=4
(sleep 10; printf 'x\\r'; sleep 60) | setsid script -qefc cat /dev/null >/dev/null 2>&1 &
sleep 12
idlectl set ondemand MinCores=1
idlectl set ondemand MaxCores=1
"""

CONTAINER = ("cd /sys/fs/cgroup/system.slice/%s.service && mkdir payload && "
             "echo $$ >payload/cgroup.procs && echo +cpuset >cgroup.subtree_control && "
             "echo {} >payload/cpuset.cpus && exec sleep infinity\n" % UNIT)


class Windows(OndemandTest):
    """With a partition."""

    backend = "partition"

    def setUp(self):
        super().setUp()
        self.addCleanup(self.guest.run, f"systemctl stop {UNIT}; systemctl reset-failed", check=False)

    def test_affinity_of_a_transient_unit(self):
        self.each_time("systemd-run -q --collect --wait -p CPUAffinity=3 true",
                       lambda result: self.assertEqual((result.status, result.errors), (0, "")))

    def test_allowed_cpus_of_a_service(self):
        self.write("/root/where", WHERE)
        self.each_time("systemd-run -q --collect --wait --pipe -p AllowedCPUs=3 sh /root/where "
                       f"{emulated(*self.patience)}",
                       self.assert_output(["Cpus_allowed_list:", "3", "3"]))

    def test_count_of_cpus(self):
        self.each_time("systemd-run -q --collect --wait --pipe nproc", self.assert_output(["4"]))

    def type(self, line, prefix="", shell=""):
        self.write("/root/typist", TYPIST)
        return self.guest.read(f"SHELL_OF_TYPIST='{shell}' bash /root/typist '{line}' {prefix}", timeout=300)

    def test_terminal(self):
        for n in self.times():
            with self.subTest(n=n):
                typed = self.type("taskset -c 3 true; echo =$?=$(nproc)=")
                self.assertIn("=0=4=", typed)

    def test_terminal_of_a_user(self):
        """It belongs to the user, and only that user may read from it."""
        for n in self.times():
            with self.subTest(n=n):
                typed = self.type("taskset -c 3 true; echo =$?=$(nproc)=", "runuser -u user --")
                self.assertIn("=0=4=", typed)

    def test_terminal_of_a_shell_without_line_editor(self):
        """It reads nothing before the line is complete, and idled must be faster than its start of a command."""
        for n in self.times():
            with self.subTest(n=n):
                typed = self.type("taskset -c 3 true; echo =$?=$(nproc)=", shell="dash -i")
                self.assertIn("=0=4=", typed)

    def test_input_while_nothing_is_parked(self):
        self.start()
        self.wait_parked()
        self.guest.run(INPUT)
        self.wait_for("the window", lambda: re.search("window[^.]*: input to terminal pts/", self.explained()))
        self.assertEqual(self.string("Parked"), "")
        self.guest.run("idlectl set Park TerminalWindow=0")
        self.wait_parked()

    def test_consoles(self):
        """All CPUs are active before the line is complete: the service sees consoles too, and those of users."""
        self.write("/root/console", CONSOLE)
        self.guest.run("cp --preserve=ownership --attributes-only /dev/tty3 /run/tty3; chown user /dev/tty3; "
                       "chmod 600 /dev/tty3")
        self.addCleanup(self.guest.run, "chown --reference=/run/tty3 /dev/tty3; chmod 620 /dev/tty3")
        self.start()
        for name in "tty2", "tty3", "ttyS0":
            with self.subTest(name=name):
                self.wait_parked()
                typed = self.guest.read(f"bash /root/console {name}", timeout=300)
                self.assertEqual(typed, "before: 0 after: 0=4")

    def container(self, cpus):
        self.write("/root/container", CONTAINER.format(cpus))
        self.guest.run(f"systemd-run -q --unit={UNIT} -p Delegate=yes bash /root/container")

    def where(self):
        return self.guest.read(f"awk '/^Cpus_allowed_list/ {{ print $2 }}' "
                               f"/proc/$(systemctl show -P MainPID {UNIT})/status")

    def test_container(self):
        """It makes a cpuset of its own, starts in it, and keeps it while other CPUs are parked again."""
        for n in self.times():
            with self.subTest(n=n):
                self.container("3")
                self.wait_for("its running there", lambda: self.where() == "3")
                self.wait_parked("2")
                self.assertEqual(self.where(), "3")
                self.guest.run(f"systemctl stop {UNIT}")

    def test_cpuset_that_changes(self):
        """To parked CPUs only, while nothing starts: found within a second, and said whose it is."""
        self.start()
        self.container("0-3")
        self.wait_parked()
        for _ in range(3):
            result = self.guest.read(f"""cd /sys/fs/cgroup/system.slice/{UNIT}.service/payload
                    echo 3 >cpuset.cpus; t=$(date +%s%N)
                    until [ "$(cat cpuset.cpus.effective)" = 3 ]; do sleep 0.05; done
                    echo $((($(date +%s%N) - t) / 1000000))""")
            self.assertLess(int(result), emulated(1000, 3000))
            self.wait_parked("2")
            self.assertIn(f"cgroup /system.slice/{UNIT}.service/payload (cpuset.cpus=3)", self.explained())
            self.guest.run(f"echo 0-3 >/sys/fs/cgroup/system.slice/{UNIT}.service/payload/cpuset.cpus")
            self.wait_parked()


class WindowsOfSystemd(Windows):
    """systemd writes the old list of the slice again when a unit in it gets CPUs of its own, until it handles
    idled's new one: the service is confined for a moment."""

    backend = "systemd"
    patience = 10, 100
