#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Completions: bash's, zsh's and fish's are driven; each offers what --help lists."""
import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from ctltest import IDLECTL, IDLELAB, POLICIES, TestCase, environment

COMPLETIONS = Path(os.environ["COMPLETIONS"])
SETTINGS = """idled is not running (no bus)
Section    Key       Value
Daemon     Policies  userspace
      Policies to load
userspace  IdleMask  -
      Expects CPUs
"""
PROFILES = """night (chosen)
   Profile   Summary
   balanced  As the machine was found
*  night     -
"""


CONF = os.environ["CONF"]
PROGRAMS = {"idlectl": IDLECTL, **({"idlelab": IDLELAB} if IDLELAB else {})}


class Completions(TestCase):
    def setUp(self):
        super().setUp()
        self.tools = self.directory + "/bin"
        os.mkdir(self.tools)
        for program in filter(None, PROGRAMS.values()):
            os.symlink(program, os.path.join(self.tools, os.path.basename(program)))

    def stub(self):
        """An idlectl whose settings and profiles are those above."""
        stub = Path(self.tools) / "idlectl"
        body = f'for word; do if [ "$word" = --help ]; then exec {IDLECTL} "$@"; fi; done\n' \
               'if [ "$1" = profile ]; then cat <<END; exit; fi\n' + PROFILES + 'END\n' \
               '[ "$1" = settings ] || exit 1\ncat <<END | ' \
               '{ [ "$2" ] && grep -E "^(Section|$2|     ) " || cat; }\n' + SETTINGS + "END\n"
        stub.unlink()
        stub.write_text("#!/bin/bash\n" + body)
        stub.chmod(0o755)

    def complete(self, *words, program="idlectl"):
        """What bash offers for the last of the words."""
        quoted = " ".join("'" + word + "'" for word in (program,) + words)
        script = f"""source {COMPLETIONS}/idlectl
            COMP_WORDS=({quoted}) COMP_CWORD={len(words)}
            _idlectl 2>/dev/null
            printf '%s\\n' "${{COMPREPLY[@]}}" """
        env = environment()
        env["PATH"] = self.tools + ":" + env["PATH"]
        result = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True,
                                env=env, cwd=self.directory, check=True)
        return result.stdout.split()

    def options(self, *verb, program="idlectl"):
        """Those of --help of the verb, and those of all verbs."""
        def listed(*arguments):
            text = subprocess.run([PROGRAMS[program], *arguments, "--help"], capture_output=True, text=True,
                                  check=True).stdout
            return set(re.findall(r"(?m)^  (--[a-z0-9-]+)", text))
        return listed(*verb) | (listed() - {"--json"} if verb else set())

    def verbs(self, program="idlectl"):
        text = subprocess.run([PROGRAMS[program], "--help"], capture_output=True, text=True,
                              check=True).stdout
        return re.findall(r"(?m)^  ([a-z]+) ", text)

    def test_verbs(self):
        for program in PROGRAMS:
            self.assertEqual(sorted(self.complete("", program=program)), sorted(self.verbs(program)))
        self.assertEqual(self.complete("se"), ["set", "settings"])
        self.assertEqual(self.complete("--json", "veri"), ["verify"])
        self.assertEqual(self.complete("--bus-address", "x", "che"), ["check"])

    def test_options(self):
        for program in PROGRAMS:
            self.assertEqual(set(self.complete("--", program=program)), self.options(program=program))
            for verb in self.verbs(program):
                self.assertEqual(set(self.complete(verb, "--", program=program)),
                                 self.options(verb, program=program), verb)
        self.assertEqual(self.complete("nonsense", "--"), [])

    def test_profiles(self):
        self.stub()
        self.assertEqual(self.complete("profile", ""), ["list", "get", "set"])
        self.assertEqual(self.complete("profile", "set", ""), ["auto", "balanced", "night"])
        self.assertEqual(self.complete("profile", "set", "n"), ["night"])
        self.assertEqual(self.complete("profile", "get", ""), [])
        self.assertEqual(self.complete("hold", "--profile", "b"), ["balanced"])

    def test_settings(self):
        self.stub()
        self.assertEqual(self.complete("set", ""), ["Daemon", "userspace"])
        self.assertEqual(self.complete("settings", "us"), ["userspace"])
        self.assertEqual(self.complete("set", "userspace", "I"), ["IdleMask="])
        self.assertEqual(self.complete("set", "Daemon", ""), ["Policies="])
        self.assertEqual(self.complete("settings", "Daemon", ""), [])

    def test_values(self):
        os.mkdir(os.path.join(self.directory, "conf"))
        self.assertEqual(self.complete("check", "co"), ["conf"])
        self.assertEqual(self.complete("check", "--config-dir", "co"), ["conf"])
        self.assertIn("1s", self.complete("cpus", "--interval", ""))
        self.assertEqual(self.complete("run", "--kind", "e"), ["efficient"])
        self.assertIn("0", self.complete("why", ""))
        self.assertEqual(self.complete("status", ""), [])

    def places(self):
        """Where a configuration is: the shipped one with a policy and an option of the administrator's."""
        config = Path(self.directory, "etc")
        (config / "idled.conf.d").mkdir(parents=True)
        (config / "idled.conf.d/mine.conf").write_text("[Daemon]\nPolicies=userspace quiet\n")
        (config / "profiles").mkdir()
        (config / "profiles/night.conf").write_text("[Profile]\n")
        return ("--config-dir", str(config), "--vendor-dir", CONF, "--policy-dir", POLICIES)

    def test_without_daemon(self):
        """Names and values are those of the files of configuration and policies."""
        places = self.places()
        sections = self.complete(*places, "set", "")
        self.assertIn("quiet", sections)
        self.assertNotIn("ondemand", sections)
        self.assertEqual(self.complete(*places, "set", "Park", "Ba"), ["Backend="])
        self.assertEqual(self.complete(*places, "set", "Daemon", "LogDecisions", "="), ["yes", "no"])
        self.assertEqual(self.complete(*places, "set", "Daemon", "LogLevel", "=", "n"), ["notice"])
        self.assertEqual(self.complete(*places, "set", "Daemon", "Policies", "=", "o"), ["ondemand"])
        self.assertEqual(self.complete(*places, "set", "Recording", "MaxMegabytes", "=", ""), ["16"])
        self.assertEqual(self.complete(*places, "set", "Daemon", "ProfileAC", "=", "n"), ["night"])
        if IDLELAB:
            self.assertIn("ondemand", self.complete(*places, "prove", "--policy", "", program="idlelab"))
        self.assertIn("night", self.complete(*places, "profile", "set", ""))

    def run_shell(self, shell, script):
        """What a shell prints that has the built idlectl in its PATH."""
        if not shutil.which(shell):
            self.skipTest(f"{shell} is not installed")
        env = environment()
        env["PATH"] = self.tools + ":" + env["PATH"]
        result = subprocess.run([shell, "-c", script], capture_output=True, text=True, env=env,
                                cwd=self.directory, check=True)
        self.assertEqual(result.stderr, "")
        return result.stdout.splitlines()

    def test_fish(self):
        def offers(text):
            lines = self.run_shell("fish", f"source {COMPLETIONS}/idlectl.fish; "
                                           f"complete -C '{text}'")
            return {line.split("\t")[0] for line in lines}
        for program in PROGRAMS:
            self.assertEqual(offers(program + " "), set(self.verbs(program)))
            for verb in self.verbs(program):
                self.assertEqual(offers(f"{program} {verb} --"), self.options(verb, program=program), verb)
        places = " ".join(self.places())
        self.assertEqual(offers(f"idlectl {places} set Daemon LogDecisions="),
                         {"LogDecisions=yes", "LogDecisions=no"})
        self.assertEqual(offers("idlectl run --kind "), {"efficient", "fast", "cache", "island"})
        if IDLELAB:
            self.assertIn("ondemand", offers(f"idlelab prove {places} --policy "))

    def test_zsh(self):
        """The specifications that zsh is given: each option, and what its argument is."""
        for program, verb in [(name, verb) for name in PROGRAMS for verb in self.verbs(name)]:
            lines = self.run_shell("zsh", f"source <(sed '$d' {COMPLETIONS}/_idlectl); program={program}; "
                                          f"_idlectl_options {verb}; print -l -- $specs")
            self.assertEqual({line.split("[")[0] for line in lines}, self.options(verb, program=program), verb)
            self.assertIn("--root[the machine is below DIR instead of /]:DIR:_files -/", lines)


if __name__ == "__main__":
    unittest.main()
