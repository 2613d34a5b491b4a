# SPDX-License-Identifier: LGPL-2.1-or-later
"""idled as its users have it: installed, enabled, asked, configured, killed, rebooted, stopped."""

import json
import re

import lab
from kernel import CPU

CALL = "busctl --system call org.idled1 /org/idled1 org.idled1.Manager"
ONLY_USERSPACE = "[Daemon]\nPolicies=userspace\n"


class Service(lab.IdledTest):
    def test_enable_now(self):
        self.change("systemctl enable --now idled", "systemctl disable idled")
        self.assertEqual(self.guest.read("systemctl is-enabled idled; systemctl is-active idled"),
                         "enabled\nactive")
        self.assertEqual(self.guest.read("systemctl show -P Type -P NRestarts idled"), "notify\n0")

    def test_started_by_who_asks(self):
        self.change("systemctl enable idled", "systemctl disable idled")
        self.assertEqual(self.string("Online"), "0-3")
        self.assertEqual(self.guest.read("systemctl is-active idled"), "active")

    def test_journal(self):
        self.start()
        since = "-u idled -b --no-pager -o cat _SYSTEMD_INVOCATION_ID=" + \
            self.guest.read("systemctl show -P InvocationID idled")
        self.assertRegex(self.guest.read(f"journalctl {since}"), r"(?m)^idled [0-9.]+$")
        self.assertEqual(self.guest.read(f"journalctl -p warning {since}"), "")

    def test_doctor_and_other_daemons(self):
        """A unit that leaves no process counts as running until it is stopped."""
        self.addCleanup(self.guest.run, "systemctl stop tlp; rm /run/systemd/system/tlp.service; "
                                        "systemctl daemon-reload")
        self.write("/run/systemd/system/tlp.service",
                   "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n")

        def found():
            answer = json.loads(self.guest.run("idlectl doctor --json", check=False).output)
            return {(f["check"], f["level"]) for f in answer["findings"]}
        rival, absent = ("other power daemons", "wrong"), ("idled", "wrong")
        self.guest.run("systemctl daemon-reload")
        self.assertNotIn(rival, found())
        self.assertIn(absent, found())
        self.guest.run("systemctl start tlp")
        self.assertIn(rival, found())
        self.guest.run("systemctl stop tlp")
        self.start()
        self.assertFalse({rival, absent} & found())

    def test_try_of_the_manual(self):
        """The example of idled(8) that changes nothing decides, and finds how CPUs are parked here."""
        page = (lab.HERE.parents[1] / "man/idled.8.scd.in").read_text(encoding="utf-8")
        result = self.guest.run(re.search(r"(?m)^# (idled --once.*)$", page)[1])
        self.assertRegex(result.errors, "(?m)^park: (?!not available)")
        self.assertRegex(result.output, "(?m)^online 0-3, load ")

    def test_own_libraries(self):
        """idled uses the guest's libraries, and its own copies only of those that the guest lacks."""
        name, path = self.guest.read("ldd $(type -P idled /usr/*/idled | head -n 1) | "
                                     "awk '/libcgroup/ { print $1, $3 }'").split()
        own = self.guest.run(f"ls /usr/lib/*/{name}", check=False).status == 0
        self.assertNotEqual(path.startswith("/usr/local/"), own, path)

    def test_reload(self):
        self.start()
        self.write("/etc/idled/policies/ondemand.conf", "[Policy]\nMinCores=2\n")
        self.guest.run("systemctl reload idled")
        options = "/org/idled1/policy/ondemand", "org.idled1.Policy"
        self.assertIn('"MinCores" "2"', self.property("Options", *options))
        with self.subTest("with a mistake"):
            self.write("/etc/idled/policies/ondemand.conf", "[Policy]\nMinCores=1\nDwell=soon\n")
            result = self.guest.run("systemctl reload idled", check=False)
            self.assertNotEqual(result.status, 0)
            self.assertIn('"MinCores" "2"', self.property("Options", *options))
            where = r"/etc/idled/policies/ondemand\.conf:3: Dwell"
            self.assertRegex(self.guest.read("journalctl -u idled -b --no-pager -o cat"), where)
            self.assertRegex(self.guest.run(f"{CALL} Reload", check=False).errors, where)
        self.assertEqual(self.guest.read("systemctl is-active idled"), "active")

    def test_mistake_at_the_start(self):
        """systemd starts it once, not again and again."""
        self.write("/etc/idled/policies/ondemand.conf", "[Policy]\nDwell=soon\n")
        self.guest.run("systemctl start idled", check=False)
        self.wait_for("the end of the start",
                      lambda: self.guest.read("systemctl show -P ActiveState idled") == "failed")
        self.assertEqual(self.guest.read("systemctl show -P ExecMainStatus idled"), "78")
        self.assertEqual(self.guest.read("systemctl show -P NRestarts idled"), "0")

    def test_parks_when_idle_and_unparks_under_load(self):
        self.configure("", {"ondemand": "Dwell=1s\n"})
        self.start()
        self.wait_for("parking", lambda: self.string("Parked") == "2-3")
        self.guest.run("for i in 1 2 3 4; do systemd-run -q --unit=burner$i "
                       "sh -c 'while :; do :; done'; done")
        try:
            self.wait_for("unparking", lambda: self.string("Parked") == "", 10)
        finally:
            self.guest.run("systemctl stop burner{1..4}")
        self.assertIn("ondemand", self.guest.read(f"{CALL} History tu 0 64"))

    def ticks(self):
        return int(self.string("Ticks"))

    def test_clock_is_set(self):
        """Policies that decide by the time of day are asked again at once, although nothing else wakes idled."""
        self.configure("[Daemon]\nPolicies=userspace\n")
        self.start()

        def rests():
            before = self.ticks()
            self.guest.run("sleep 5")
            return self.ticks() == before

        self.wait_for("five seconds without a tick", rests, 60)
        for step in "2 hours", "2 hours ago":
            before = self.ticks()
            self.guest.run(f"date -s '{step}'")
            self.wait_for("a tick", lambda: self.ticks() > before, 20)

    def test_no_network(self):
        """idled has a network namespace of its own, and still the kernel's events: of CPUs that come and go, and of
        processes for application rules; also after a reload, and after it was killed."""
        self.configure(ONLY_USERSPACE.replace("userspace", "userspace latency"))
        self.addCleanup(self.guest.run, "rm -f /usr/local/bin/t-sleep; echo 1 >/sys/devices/system/cpu/cpu3/online")
        self.guest.run("cp /usr/bin/sleep /usr/local/bin/t-sleep")
        self.write("/etc/idled/apps/sleep.conf", "[Match]\nExecutable=/usr/local/bin/t-sleep\n[Ask]\nLatency=20us\n")
        self.start()

        def hear():
            self.assertEqual(self.guest.read("systemctl show -P NFileDescriptorStore idled"), "4")
            for online, cpus in (0, "0-2"), (1, "0-3"):
                self.guest.run(f"echo {online} >/sys/devices/system/cpu/cpu3/online")
                self.wait_for(f"CPUs {cpus}", lambda cpus=cpus: self.string("Online") == cpus)
            self.guest.run("systemd-run -q --unit t-sleep /usr/local/bin/t-sleep 600")
            self.wait_for("the hold of a rule", lambda: self.property("Holds").startswith("ao 1 "))
            self.guest.run("systemctl stop t-sleep")
            self.wait_for("its end", lambda: self.property("Holds") == "ao 0")
            self.assertNotRegex(self.property("Missing"), "process events|fork events")

        hear()
        self.guest.run("systemctl reload idled")
        hear()
        pid = self.guest.read("systemctl show -P MainPID idled")
        self.assertNotEqual(*self.guest.read(f"readlink /proc/1/ns/net /proc/{pid}/ns/net").split())
        self.guest.run("systemctl kill -s KILL idled")
        self.wait_for("the restart", lambda: self.guest.run("systemctl is-active -q idled", check=False).status == 0
                      and self.guest.read("systemctl show -P MainPID idled") != pid)
        hear()


class Hardened(lab.IdledTest):
    dropins = ("no-app-rules", "no-ledger", "no-terminals")

    def test_hardened(self):
        """With all drop-ins that remove privileges, idled parks and serves holds, also for all CPUs."""
        self.configure("[Daemon]\nPolicies=latency userspace\n[Park]\nTerminalWindow=0\n")
        self.start()
        self.guest.run("idlectl set userspace IdleMask=2-3")
        self.wait_for("parking", lambda: self.string("Parked") == "2-3")
        self.guest.run("idlectl run --cores 2 true")
        self.guest.run("idlectl run --latency 50us --global true")
        self.guest.run(f"echo 0 >{CPU}/cpu3/online")
        self.wait_for("CPU 3 gone", lambda: self.string("Online") == "0-2")
        self.guest.run(f"echo 1 >{CPU}/cpu3/online")
        self.wait_for("CPU 3 back", lambda: self.string("Online") == "0-3")
        self.assertEqual(json.loads(self.guest.read("idlectl verify --json"))["problems"], [])
        status = self.guest.read("cat /proc/$(systemctl show -P MainPID idled)/status")
        self.assertIn("CapBnd:\t0000000001200000", status)  # CAP_SYS_ADMIN, CAP_SYS_RESOURCE

    def test_own_files(self):
        """Only root reads them."""
        self.configure(ONLY_USERSPACE)
        self.start()
        self.addCleanup(self.guest.run, "rm -f /var/lib/idled/profile")
        self.guest.run("idlectl profile power-saver; idlectl set userspace IdleMask=2-3")
        self.wait_for("parking", lambda: self.string("Parked") == "2-3")
        files = "find /run/idled /var/lib/idled -type f"
        self.assertIn("/var/lib/idled/profile", self.guest.read(files))
        self.assertIn("/run/idled/undo", self.guest.read(files))
        self.assertEqual(self.guest.read(f"{files} -perm /077"), "")


class Polkit(lab.IdledTest):
    """Rights that an administrator gives to a user."""

    rules = "/etc/polkit-1/rules.d/10-test.rules"

    def allow(self, *actions):
        # It comes whole and with another name, so that polkit cannot read it while it is being written.
        written = self.rules + ".new"
        self.write(written, "polkit.addRule(function(action, subject) { if (subject.user == 'user' "
                   f"&& {list(actions)}.indexOf(action.id) >= 0) return polkit.Result.YES; }});\n")
        self.change(f"mv {written} {self.rules}", f"rm -f {self.rules}")

    def ask(self, call):
        """As the user: whether it was done."""
        result = self.guest.run(f"cd /; runuser -u user -- busctl --system call org.idled1 /org/idled1 "
                                f"org.idled1.Manager {call}", check=False)
        if result.status:
            self.assertRegex(result.errors, "(?i)access denied|authentication required|not allowed")
        return result.status == 0

    def test_one_action(self):
        """This one and no other, and not for longer than the rule is there."""
        self.configure("[Daemon]\nPolicies=latency userspace\n")
        self.start()
        self.assertFalse(self.ask("SetOptions 'a(sss)' 1 userspace IdleMask 3"))
        self.allow("org.idled1.set-option")
        self.wait_for("polkit's reading that", lambda: self.ask("SetOptions 'a(sss)' 1 userspace IdleMask 3"))
        self.wait_for("parking", lambda: self.string("Parked") == "3")
        for call in "Reload", "GetEnergy", "SetProfile s performance", "Hold a{sv} 1 latency_us u 50":
            with self.subTest(call):
                self.assertFalse(self.ask(call))
        self.guest.run(f"rm {self.rules}")
        self.wait_for("polkit's forgetting it", lambda: not self.ask("SetOptions 'a(sss)' 1 userspace IdleMask 2"))
        self.assertEqual(self.string("IdleMask"), "3")

    def test_hold(self):
        """A hold for a user's own processes."""
        self.configure("[Daemon]\nPolicies=latency\n")
        self.start()
        self.allow("org.idled1.hold")
        limits = "cat /sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us"
        self.wait_for("polkit's reading that", lambda: self.guest.run(
            f"cd /; runuser -u user -- taskset -c 3 idlectl run --latency 50us -- {limits}",
            check=False).output == "0\n0\n0\n50\n")
        self.wait_for("restoring", lambda: self.guest.read(limits) == "0\n0\n0\n0")
        result = self.guest.run("cd /; runuser -u user -- idlectl run --latency 50us --global -- true",
                                check=False)
        self.assertEqual(result.status, 125)


class Reboot(lab.IdledTest):
    def values(self):
        """Values of knobs, and CPUs where tasks may run, without the names of units and tasks."""
        lines = self.dump()
        tasks = {line.rsplit(" ", 1)[1] for line in lines if line.startswith("task ")}
        return [line for line in lines if ":" in line], tasks

    def test_enabled_it_starts(self):
        """After a reboot idled starts, and nothing that was in effect before is."""
        self.configure(ONLY_USERSPACE)
        self.guest.run("systemctl enable idled; systemctl is-system-running --wait", check=False)
        self.addCleanup(self.guest.run, "systemctl disable idled")
        knobs = self.values()
        self.start()
        self.park("2-3")
        self.assertNotEqual(self.values(), knobs)
        before = self.guest.read("cat /proc/sys/kernel/random/boot_id")
        self.guest.reboot()
        self.assertNotEqual(self.guest.read("cat /proc/sys/kernel/random/boot_id"), before)
        self.assertEqual(self.guest.run("systemctl is-system-running --wait", check=False).output,
                         "running\n")
        self.assertEqual(self.guest.read("systemctl is-active idled"), "active")
        self.assertEqual(self.property("Degraded"), "a(sss) 0")
        self.assertEqual(self.string("Parked"), "")
        self.guest.run("systemctl stop idled")
        self.assertEqual(self.values(), knobs)
