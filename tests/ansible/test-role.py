#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Ansible role: linted, and run for real against a directory that stands for a machine.

usage: test-role.py BUILD-DIR. It ends with 77, which is "skipped", where Ansible is not installed,
or for users other than root, whose policies idled does not load.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROLE = Path(__file__).resolve().parents[2] / "conf/ansible"
BUILD = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else None
SKIPPED = 77
HEADER = "# Written by Ansible, role idled."
PLAYBOOK = """
- hosts: all
  gather_facts: false
  roles: [idled]
"""
CANARY = """
- hosts: all
  gather_facts: false
  vars_files: [{role}/roles/idled/defaults/main.yml]
  tasks:
    - ansible.builtin.debug: {{msg: "{{{{ idled_may_park }}}}"}}
      loop: [0, 25, 50, 100]
      vars: {{idled_canary_percent: "{{{{ item }}}}"}}
"""
EXAMPLE = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.debug: {msg: "{{ idled_policy_options }}"}
"""


class Role(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = Path(tempfile.mkdtemp(prefix="idled-ansible-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.tree = cls.directory / "tree"
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir",
                        cls.tree], check=True, stdout=subprocess.DEVNULL)
        for unused in ("share", "include"):  # Ansible copies file by file
            shutil.rmtree(cls.tree / "usr" / unused)
        (cls.directory / "play.yml").write_text(PLAYBOOK)
        (cls.directory / "ansible.cfg").touch()

    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="root-", dir=self.directory))
        self.root.chmod(0o755)

    def install(self):
        """As idled_install: tree does, at once."""
        shutil.copytree(self.tree, self.root, dirs_exist_ok=True)

    def environment(self):
        home = self.directory / "home"
        home.mkdir(exist_ok=True)
        kept = {k: v for k, v in os.environ.items() if not k.startswith("ANSIBLE")}
        return {**kept, "HOME": str(home), "ANSIBLE_ROLES_PATH": str(ROLE / "roles"),
                "ANSIBLE_STDOUT_CALLBACK": "json", "ANSIBLE_LOCALHOST_WARNING": "false",
                "ANSIBLE_RETRY_FILES_ENABLED": "false", "ANSIBLE_DEPRECATION_WARNINGS": "false",
                "LC_ALL": "C.UTF-8", "ANSIBLE_CONFIG": str(self.directory / "ansible.cfg"),
                "ANSIBLE_NOCOLOR": "1", "ANSIBLE_PIPELINING": "true"}

    def playbook(self, playbook, inventory, *arguments):
        run = subprocess.run(["ansible-playbook", "-i", inventory, playbook, *arguments],
                             capture_output=True, text=True, env=self.environment(),
                             timeout=280, check=False, cwd=self.directory)
        try:
            return run.returncode, json.loads(run.stdout[run.stdout.index("{"):])
        except ValueError:
            raise AssertionError(run.stdout + run.stderr) from None

    def play(self, *arguments, **variables):
        """(exit status, changed tasks, messages of failed ones) of the role on this machine."""
        variables = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable,
                     "idled_install": "none", "idled_tree": str(self.tree),
                     "idled_manage_services": False, "idled_destination": str(self.root),
                     **variables}
        status, answer = self.playbook("play.yml", "localhost,", "-e", json.dumps(variables),
                                       *arguments)
        tasks = [(t["task"]["name"], t["hosts"]["localhost"]) for p in answer["plays"]
                 for t in p["tasks"] if "localhost" in t["hosts"]]
        changed = [name.removeprefix("idled : ") for name, result in tasks
                   if result.get("changed")]
        failed = [" ".join(str(part[key]) for part in (result, *result.get("results", []))
                           for key in ("msg", "stdout", "stderr") if key in part)
                  for _, result in tasks if result.get("failed")]
        return status, changed, failed

    def good(self, *arguments, **variables):
        status, changed, failed = self.play(*arguments, **variables)
        self.assertEqual((status, failed), (0, []))
        return changed

    def files(self):
        """What there is below the root: path, contents and time of each file."""
        return {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in sorted(self.root.rglob("*"))
                if p.is_file()}

    def config(self, name):
        return (self.root / "etc/idled" / name).read_text()

    def check(self):
        """The result of idled --check on the files that were written."""
        policies = next(self.root.glob("usr/lib/**/ondemand.so")).parent
        return subprocess.run([self.root / "usr/sbin/idled", "--check", "--config-dir",
                               self.root / "etc/idled", "--vendor-dir", self.root / "usr/lib/idled",
                               "--policy-dir", policies], capture_output=True, text=True,
                              check=False)

    OPTIONS = {
        "idled_daemon_options": {"Daemon": {"LogLevel": "notice", "LogDecisions": True}},
        "idled_policy_options": {"ondemand": {"Dwell": "10s", "MinCores": 2}},
        "idled_profiles": {"night": {"Profile": {"Summary": "At night"},
                                     "ondemand": {"Dwell": "1s"}}},
        "idled_apps": {"database": {"Match": {"Executable": ["/usr/bin/a", "/usr/bin/b"]},
                                    "Ask": {"Latency": "100us"}}},
        "idled_metrics": True, "idled_metrics_listen": "127.0.0.1:1234",
    }

    def test_run_twice(self):
        """--check changes nothing, a run does, a second one does not."""
        tree = {"idled_install": "tree", **self.OPTIONS}
        self.assertTrue(self.good("--check", "--diff", **tree))
        self.assertEqual(self.files(), {})
        self.assertTrue(self.good(**tree))
        self.assertEqual(self.config("policies/ondemand.conf.d/50-ansible.conf").split("\n", 1)[1],
                         "\n[Policy]\nDwell=10s\nMinCores=2\n")
        self.assertIn("LogDecisions=yes\nLogLevel=notice\n",
                      self.config("idled.conf.d/50-ansible.conf"))
        self.assertIn("[Match]\nExecutable=/usr/bin/a /usr/bin/b\n", self.config("apps/database.conf"))
        self.assertEqual((self.check().returncode, self.check().stderr), (0, ""))
        socket = self.root / "etc/systemd/system/idled-metrics.socket.d/50-ansible.conf"
        self.assertIn("ListenStream=\nListenStream=127.0.0.1:1234\n", socket.read_text())
        before = self.files()
        self.assertEqual(self.good("--check", "--diff", **tree), [])
        self.assertEqual(self.good(**tree), [])
        self.assertEqual(self.files(), before)
        self.change_and_remove()

    def change_and_remove(self):
        """What is no longer asked for goes, and what the administrator wrote stays."""
        own = self.root / "etc/idled/apps/own.conf"
        own.write_text("[Match]\nComm=x\n[Ask]\nLatency=1ms\n")
        changed = self.good(idled_policy_options={"ondemand": {"Dwell": "20s"}})
        self.assertIn("Remove those that are no longer asked for", changed)
        self.assertIn("Dwell=20s", self.config("policies/ondemand.conf.d/50-ansible.conf"))
        left = {p.name for d in ("apps", "profiles") for p in (self.root / "etc/idled" / d).iterdir()}
        self.assertEqual(left, {"own.conf"})

    def test_files_of_the_administrator(self):
        """One of a name that is asked for stops the run, before and after idled is installed; a destination with
        a slash at its end is the same directory."""
        self.good(**self.OPTIONS)
        self.good(idled_destination=f"{self.root}/", **self.OPTIONS)
        self.assertIn("Executable", self.config("apps/database.conf"))
        for name, target in (("apps/database.conf", None), ("profiles/night.conf", "/dev/null"),
                             ("policies/ondemand.conf.d/50-ansible.conf", None)):
            own = self.root / "etc/idled" / name
            own.unlink()
            if target:
                own.symlink_to(target)
            else:
                own.write_text("# of the administrator\n")
            for installed in (False, True):
                if installed:
                    self.install()
                before = self.files()
                with self.subTest(name=name, installed=installed):
                    status, changed, failed = self.play(idled_daemon_options={"Daemon": {"LogLevel": "info"}},
                                                        **{k: v for k, v in self.OPTIONS.items() if "apps" in k
                                                           or "profiles" in k or "policy" in k})
                    self.assertEqual((status, changed, self.files()), (2, [], before))
                    self.assertIn(f"/etc/idled has files of these names that this role did not write: {name}",
                                  "".join(failed))
            own.unlink()

    def test_names_of_files(self):
        """README.md has them."""
        readme = (ROLE / "README.md").read_text()
        self.good(idled_canary_percent=0, **self.OPTIONS)
        written = {p.relative_to(self.root / "etc/idled") for p in self.root.rglob("etc/idled/**/*.conf")
                   if p.read_text().startswith(HEADER)}
        drop_ins = {p.name for p in written if p.parent.name not in ("apps", "profiles")}
        self.assertEqual(drop_ins, {"50-ansible.conf", "95-ansible-canary.conf"})
        for name in drop_ins:
            self.assertIn(f"`{name}`", readme)

    def test_example_of_hosts(self):
        """Options of a host are added to those of its group."""
        (self.directory / "example.yml").write_text(EXAMPLE)
        _, answer = self.playbook("example.yml", str(ROLE / "hosts.example.yml"))
        found = {name.partition(".")[0]: result["msg"]
                 for name, result in answer["plays"][0]["tasks"][0]["hosts"].items()}
        self.assertEqual(found["web01"], {"ondemand": {"Dwell": "10s"}})
        self.assertEqual(found["build04"], {"ondemand": {"Dwell": "10s", "MinCores": 8}})

    def test_wrong_options(self):
        """idled's own message stops the run, before any file is written; so do wrong variables."""
        self.install()
        before = self.files()
        for arguments, options, expected in (
                ((), {"idled_policy_options": {"ondemand": {"Dwel": "5s"}}}, "Dwell"),
                (("--check",), {"idled_apps": {"a": {"Match": {"Comm": "x"},
                                                     "Ask": {"Latency": "1o0us"}}}}, "1o0us"),
                ((), {"idled_canary_percent": 101}, "idled_canary_percent"),
                ((), {"idled_install": "magic"}, "idled_install")):
            with self.subTest(options=options):
                status, changed, failed = self.play(*arguments, **options)
                self.assertNotEqual(status, 0)
                self.assertEqual(changed, [])
                self.assertIn(expected, "".join(failed))
                self.assertEqual(self.files(), before)

    def test_canary(self):
        """Outside of the share nothing is parked; the drop-in goes once the machine is in it."""
        self.install()
        name = "idled.conf.d/95-ansible-canary.conf"
        self.good(idled_canary_percent=0)
        self.assertIn("[Park]\nBackend=none\n", self.config(name))
        self.assertEqual(self.check().returncode, 0)
        self.assertTrue(self.good(idled_canary_percent=100))
        self.assertFalse((self.root / "etc/idled" / name).exists())

    def test_canary_share(self):
        """The share of machines is about the one asked for, and only grows with it."""
        (self.directory / "canary.yml").write_text(CANARY.format(role=ROLE))
        names = [f"host{i}.example.org" for i in range(40)]
        _, answer = self.playbook("canary.yml", ",".join(names) + ",")
        chosen = {percent: set() for percent in (0, 25, 50, 100)}
        for name, result in answer["plays"][0]["tasks"][0]["hosts"].items():
            for row in result["results"]:
                if row["msg"] in (True, "True"):
                    chosen[row["item"]].add(name)
        self.assertEqual((len(chosen[0]), len(chosen[100])), (0, len(names)))
        self.assertTrue(chosen[25] < chosen[50])
        self.assertTrue(4 <= len(chosen[25]) <= 16 and 12 <= len(chosen[50]) <= 28, chosen)


class Lint(unittest.TestCase):
    def lint(self, *command):
        with tempfile.TemporaryDirectory(prefix="idled-ansible-") as home:
            # It writes into the directory that it checks.
            shutil.copytree(ROLE, Path(home) / "ansible")
            run = subprocess.run(command, cwd=Path(home) / "ansible", capture_output=True, text=True,
                                 env={**os.environ, "HOME": home, "NO_COLOR": "1"}, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    @unittest.skipUnless(shutil.which("yamllint"), "no yamllint")
    def test_yamllint(self):
        self.lint("yamllint", "--strict", ".")
        rules = ROLE.parent / "prometheus"
        self.lint("yamllint", "--strict", "-c", ".yamllint", str(rules))

    @unittest.skipUnless(shutil.which("ansible-lint"), "no ansible-lint")
    def test_ansible_lint(self):
        self.lint("ansible-lint", "--offline", "--strict")

    def test_syntax(self):
        self.lint("ansible-playbook", "-i", "hosts.example.yml", "site.yml", "--syntax-check")


if not shutil.which("ansible-playbook") or os.geteuid() != 0:
    print("needs ansible-playbook, and root")
    sys.exit(SKIPPED)
unittest.main(verbosity=2)
