#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlectl without a daemon: it reads sysfs and files, and says that idled does not run."""
import json
import os
import re
import unittest
from pathlib import Path

from ctltest import POLICIES, TestCase, machine

WITHOUT = ["status", "cpus", "settings", "verify", "status --dump"]
NOT_RUNNING = "idled is not running"


class Absent(TestCase):
    """No daemon, for different reasons."""

    def check_all(self, *parts):
        """All verbs give the same reason, which has all these parts."""
        sentence = json.loads(self.run_ctl("status", "--json").stdout)["daemon_error"]
        for part in (NOT_RUNNING, *parts):
            self.assertIn(part, sentence)
        config = os.path.join(self.directory, "etc")
        settings = ["--vendor-dir", config, "--config-dir", config, "--policy-dir", POLICIES]
        os.mkdir(config)
        Path(config, "idled.conf").write_text("[Daemon]\nPolicies=userspace\n")
        for verb in WITHOUT:
            more = settings if verb in ("settings", "status --dump") else []
            more = ["--run", self.directory] if verb == "verify" else more
            result = self.run_ctl(*verb.split(), *more)
            self.assertEqual((result.returncode, result.stderr), (0, ""), verb)
            self.assertEqual(result.stdout.splitlines()[0], sentence)
            answer = json.loads(self.run_ctl(*verb.split(), "--json", *more).stdout)
            self.assertIsNone(answer["daemon"])
            self.assertEqual(answer["daemon_error"], sentence)
        for arguments in (["why"], ["why", "1"], ["why", "--history"],
                          ["set", "userspace", "IdleMask=1"]):
            result = self.run_ctl(*arguments)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertEqual(result.stderr, f"idlectl: {sentence}\n")

    def test_no_bus(self):
        self.check_all("unix:path=/nonexistent/system", "No such file or directory")

    def test_no_daemon(self):
        self.start()
        self.check_all("no owner")

    def test_refused(self):
        Path(self.directory, "socket").touch()
        address = f"unix:path={self.directory}/socket"
        result = self.run_ctl("status", "--bus-address", address)
        self.assertEqual(result.returncode, 0)
        for part in NOT_RUNNING, address, "Connection refused":
            self.assertIn(part, result.stdout)

    def test_no_address(self):
        """It is wrong usage: nothing is known about idled, and idled may run."""
        for verb in "status", "verify":
            for arguments, env in ((["--bus-address", "nonsense"], {}), ([], {"IDLED_BUS_ADDRESS": "nonsense"})):
                self.assert_refused(self.run_ctl(verb, *arguments, env=env), "nonsense", "unix:path=", status=2)

    def test_address_of_environment(self):
        """It names a bus, and options are stronger."""
        for name in ("/nonexistent", "/other"):
            env = {"IDLED_BUS_ADDRESS": f"unix:path={name}"}
            for arguments in ([], ["--root", "/"]):
                self.assertIn(f"(no bus at unix:path={name}: ",
                              self.run_ctl("status", *arguments, env=env).stdout)
        self.assertIn("(no bus at unix:path=/x: ",
                      self.run_ctl("status", "--bus-address", "unix:path=/x", env=env).stdout)
        self.assertIn("no session bus",
                      self.run_ctl("status", "--session-bus", env=env).stdout)
        self.assertIn("/nonexistent/system",
                      self.run_ctl("status", env={"IDLED_BUS_ADDRESS": ""}).stdout)

    def test_no_session(self):
        result = self.run_ctl("why", "--session-bus")
        self.assertEqual(result.returncode, 1)
        for part in "no session bus", "XDG_RUNTIME_DIR":
            self.assertIn(part, result.stderr)


class Machine(TestCase):
    def setUp(self):
        super().setUp()
        self.root = machine(self.directory, "synthetic-laptop")

    def test_status(self):
        result = self.run_ctl("status", "--root", self.root)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertTrue(result.stdout.startswith(NOT_RUNNING), result.stdout)
        self.assertIn("--root", result.stdout.splitlines()[0])
        self.assertIn("\nCPUs        online 0-7, isolated none\nCores       6\n", result.stdout)
        self.assertIn("Power       on battery, battery at 76%\n", result.stdout)

    def test_cpus(self):
        rows = json.loads(self.run_ctl("cpus", "--root", self.root, "--json", "--interval",
                                       "10ms").stdout)["cpus"]
        self.assertEqual([row["cpu"] for row in rows], list(range(8)))
        self.assertEqual([row["core"] for row in rows], [0, 0, 1, 1, 2, 3, 4, 5])
        self.assertEqual({row["state"] for row in rows}, {"active"})
        self.assertEqual([s["name"] for s in rows[7]["states"]], ["POLL", "C1E", "C6S"])
        self.assertEqual(rows[7]["states"][2]["exit_latency_us"], 270)

    def test_cpus_on_a_narrow_terminal(self):
        """A column of numbers is there or left out, and no cut number looks like one."""
        whole = self.run_ctl("cpus", "--root", self.root, "--interval", "10ms").stdout
        titles = whole.splitlines()[1].split()
        for width in range(50, 130, 3):
            lines = self.run_terminal("cpus", "--no-colour", "--root", self.root, "--interval",
                                      "10ms", width=width).splitlines()
            table = lines[next(i for i, line in enumerate(lines) if line.startswith("CPU")):]
            self.assertLessEqual(max(map(len, table)), width)
            self.assertEqual(re.findall(r"[^\s…]…", "\n".join(table)), [], width)
            self.assertLessEqual(set(table[0].split()), {*titles, "…"})

    def test_parked_by_the_daemon(self):
        """With --interval idlectl reads the machine itself, but asks idled which CPUs are parked."""
        self.start("normal")
        answer = json.loads(self.run_ctl("cpus", "--root", self.root, "--json", "--interval",
                                         "10ms").stdout)
        self.assertEqual([row["state"] for row in answer["cpus"]],
                         ["active"] * 2 + ["parked"] * 2 + ["active"] * 4)
        self.assertEqual(answer["daemon"]["version"], "9.8")
        self.assertGreaterEqual(answer["interval_usec"], 10000)

    def test_knobs(self):
        base = Path(self.root, "sys/fs/cgroup")
        for name, value in (("b.slice", "0-3"), ("a.slice", ""), ("a.slice/x", "2\t3")):
            (base / name).mkdir(parents=True, exist_ok=True)
            (base / name / "cpuset.cpus").write_text(value + "\n")
        (base / "a.slice/x/cpuset.cpus.partition").write_text("member\n")
        result = self.run_ctl("status", "--knobs", "--root", self.root)
        groups = "".join(line for line in result.stdout.splitlines(True) if "/cgroup/" in line)
        self.assertIn("/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us\t0\n",
                      result.stdout)
        self.assertEqual(groups,
                         "/sys/fs/cgroup/a.slice/cpuset.cpus\t\n"
                         "/sys/fs/cgroup/a.slice/x/cpuset.cpus\t2\\t3\n"
                         "/sys/fs/cgroup/a.slice/x/cpuset.cpus.partition\tmember\n"
                         "/sys/fs/cgroup/b.slice/cpuset.cpus\t0-3\n")
        values = json.loads(self.run_ctl("status", "--knobs", "--json", "--root",
                                         self.root).stdout)
        self.assertEqual(values["/sys/fs/cgroup/b.slice/cpuset.cpus"], "0-3")

    def test_no_machine(self):
        self.assert_refused(self.run_ctl("status", "--root", self.directory), "sys/devices/system/cpu: No such file")


class Verify(TestCase):
    def setUp(self):
        super().setUp()
        self.boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    def write(self, boot_id, *lines):
        Path(self.directory, "undo").write_text(
            "".join(line + "\n" for line in (f"idled-undo\t1\t{boot_id}",) + lines))

    def verify(self, *more):
        return self.run_ctl("verify", "--run", self.directory, *more)

    def test_left(self):
        self.write(self.boot_id, "found\tcgroup\t/work\t0-3", "write\tcgroup\t/work\t0-1")
        result = self.verify()
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout.splitlines()[1:],
                         ['1 knob is left to restore by "idled --restore":',
                          'cgroup /work: was "0-3"'])
        self.assertEqual(json.loads(self.verify("--json").stdout)["to_restore"],
                         [{"kind": "cgroup", "name": "/work", "original": "0-3",
                           "ours": "0-1"}])

    def test_run_of_environment(self):
        self.write(self.boot_id, "found\tcgroup\t/work\t0-3")
        env = {"IDLED_RUN": self.directory}
        self.assertEqual(self.run_ctl("verify", env=env).returncode, 1)
        self.assertEqual(self.run_ctl("verify", "--run", "/nonexistent", env=env).returncode, 0)

    def test_given_back(self):
        self.write(self.boot_id, "found\tcgroup\t/work\t0-3", "write\tcgroup\t/work\t0-1",
                   "done\tcgroup\t/work")
        before = Path(self.directory, "undo").read_bytes()
        self.assertEqual(self.verify().returncode, 0)
        self.assertEqual(Path(self.directory, "undo").read_bytes(), before)

    def test_damaged(self):
        """A record that cannot be read is a problem; reading it does not change it."""
        record = Path(self.directory, "undo")
        for text, lines, rest in (
                (b"rubbish\nfound\tcgroup\t/work\t0-3\n", 2, []), (b"rubbish", 1, []),
                (b"idled-undo\t1\t%s\nfound\tk\ta\t\0\nfound\tcgroup\t/work\t0-3\n"
                 % self.boot_id.encode(), 1, ["/work"])):
            record.write_bytes(text)
            result = self.verify()
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("1 line of the record is not readable" if lines == 1 else
                          "2 lines of the record are not readable", result.stdout)
            self.assertNotIn("nothing is left", result.stdout)
            answer = json.loads(self.verify("--json").stdout)
            self.assertEqual((answer["fine"], answer["damaged_lines"]), (False, lines))
            self.assertEqual([row["name"] for row in answer["to_restore"]], rest)
            self.assertEqual(os.listdir(self.directory), ["undo"])
            self.assertEqual(record.read_bytes(), text)

    def test_kept(self):
        """What idled could not read and kept: that nothing is left is not known."""
        kept = Path(self.directory, "undo.damaged")
        kept.write_text("rubbish\n")
        result = self.verify()
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{kept} has lines that idled could not read", " ".join(result.stdout.split()))
        self.assertNotIn("nothing is left", result.stdout)
        self.assertEqual(json.loads(self.verify("--json").stdout)["damaged_record"], str(kept))

    def test_no_boot_id(self):
        """The daemon writes a record all the same, which must not be taken for none."""
        root = machine(self.directory, "synthetic-laptop")
        self.assertEqual(self.verify("--root", root).returncode, 0)
        self.write("unknown", "found\tcgroup\t/work\t0-3")
        result = self.verify("--root", root)
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        self.assertIn('1 knob is left to restore by "idled --restore":', result.stdout)
        self.write(self.boot_id, "found\tcgroup\t/work\t0-3")
        self.assertEqual(self.verify("--root", root).returncode, 0)

    def test_of_another_boot(self):
        """Its values ended with its kernel; and looking changes nothing."""
        self.write("0" * 36, "found\tcgroup\t/work\t0-3")
        before = Path(self.directory, "undo").read_bytes()
        result = self.verify()
        self.assertEqual(result.returncode, 0)
        self.assertIn("nothing is left to restore", result.stdout)
        self.assertEqual(Path(self.directory, "undo").read_bytes(), before)

    def test_no_record(self):
        for run in (self.directory, "/nonexistent"):
            self.assertEqual(self.run_ctl("verify", "--run", run).returncode, 0)

    def test_unreadable(self):
        os.mkdir(os.path.join(self.directory, "undo"))
        self.assert_refused(self.verify(), "record of changes cannot be read: Is a directory")


class Configuration(TestCase):
    def write(self, name, text):
        path = Path(self.directory, "etc", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def check(self, *arguments):
        vendor = os.path.join(self.directory, "vendor")
        os.makedirs(vendor, exist_ok=True)
        return self.run_ctl("check", "--policy-dir", POLICIES, "--vendor-dir", vendor, *arguments)

    def test_valid(self):
        self.write("idled.conf", "[Daemon]\nPolicies=userspace\n")
        self.write("policies/userspace.conf", "[Policy]\nIdleMask=0\n")
        for arguments in ([f"{self.directory}/etc"], ["--config-dir", f"{self.directory}/etc"]):
            result = self.check(*arguments)
            self.assertEqual((result.returncode, result.stdout, result.stderr),
                             (0, "The configuration is valid (2 files).\n", ""))
        answer = json.loads(self.check(f"{self.directory}/etc", "--json").stdout)
        self.assertEqual(answer["errors"], [])
        self.assertIs(answer["valid"], True)
        self.assertEqual([os.path.basename(f) for f in answer["files"]],
                         ["idled.conf", "userspace.conf"])

    def test_one_file(self):
        self.write("idled.conf", "[Daemon]\nPolicies=userspace\n")
        self.assertEqual(self.check(f"{self.directory}/etc").stdout,
                         "The configuration is valid (1 file).\n")

    def test_every_error(self):
        daemon = self.write("idled.conf", "[Daemon]\nPolicies=userspace\nLogLevl=info\n")
        policy = self.write("policies/userspace.conf", "[Policy]\nIdleMask=1o0\n")
        result = self.check(f"{self.directory}/etc")
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertTrue(lines[0].startswith(f"{daemon}:3: LogLevl: "), lines[0])
        self.assertTrue(lines[1].startswith(f"{policy}:2: IdleMask: "), lines[1])
        answer = json.loads(self.check(f"{self.directory}/etc", "--json").stdout)
        self.assertIs(answer["valid"], False)
        self.assertEqual([e["line"] for e in answer["errors"]], [3, 2])

    def test_what_is_never_read(self):
        self.write("idled.conf", "[Daemon]\nPolicies=userspace\n")
        file = self.write("policies/usrspace.conf", "[Policy]\n")
        result = self.check(f"{self.directory}/etc")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, rf"\A{file}: is never read, .*userspace\.conf\?\)\nThe config")
        answer = json.loads(self.check(f"{self.directory}/etc", "--json").stdout)
        self.assertIs(answer["valid"], True)
        self.assertEqual([w["file"] for w in answer["warnings"]], [str(file)])
        self.assertEqual(self.run_ctl("settings", "--config-dir", f"{self.directory}/etc",
                                      "--policy-dir", POLICIES).stderr, "", "unused files do no harm")

    def test_no_directory(self):
        file = self.write("idled.conf", "")
        for path in ("/nonexistent", str(file)):
            for arguments in ([path], ["--config-dir", path], ["--vendor-dir", path]):
                self.assert_refused(self.check(*arguments), f"{path}: found no directory")
            for verb in "settings", "profile list", "status":
                result = self.run_ctl(*verb.split(), "--config-dir", path, "--policy-dir", POLICIES)
                self.assert_refused(result, f"{path}: found no directory")

    def test_settings(self):
        path = self.write("idled.conf", "[Daemon]\nPolicies=userspace\n")
        where = ["--config-dir", f"{self.directory}/etc", "--policy-dir", POLICIES,
                 "--vendor-dir", f"{self.directory}/vendor"]
        rows = json.loads(self.run_ctl("settings", "Daemon", "--json", *where).stdout)["settings"]
        policies = [row for row in rows if row["key"] == "Policies"][0]
        self.assertEqual(policies["value"], "userspace")
        self.assertEqual(policies["source"], f"{path}:2")
        self.write("idled.conf", "[Demon]\n")
        self.assert_refused(self.run_ctl("settings", *where), "idled.conf:1: ")


if __name__ == "__main__":
    unittest.main()
