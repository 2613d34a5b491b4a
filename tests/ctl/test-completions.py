#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Completions: bash's is driven; all three know every verb and option that --help knows."""
import os
import re
import subprocess
import unittest
from pathlib import Path

from ctltest import IDLECTL, TestCase, environment

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


class Completions(TestCase):
    def complete(self, *words):
        """What bash offers for the last of the words."""
        stub = Path(self.directory) / "idlectl"
        body = 'if [ "$1" = profile ]; then cat <<END; exit; fi\n' + PROFILES + 'END\n' \
               '[ "$1" = settings ] || exit 1\ncat <<END | ' \
               '{ [ "$2" ] && grep -E "^(Section|$2|     ) " || cat; }\n' + SETTINGS + "END\n"
        stub.write_text("#!/bin/bash\n" + body)
        stub.chmod(0o755)
        quoted = " ".join("'" + word + "'" for word in ("idlectl",) + words)
        script = f"""source {COMPLETIONS}/idlectl
            COMP_WORDS=({quoted}) COMP_CWORD={len(words)}
            _idlectl 2>/dev/null
            printf '%s\\n' "${{COMPREPLY[@]}}" """
        env = environment()
        env["PATH"] = self.directory + ":" + env["PATH"]
        result = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True,
                                env=env, cwd=self.directory, check=True)
        return result.stdout.split()

    def options(self, *arguments):
        text = subprocess.run([IDLECTL, *arguments, "--help"], capture_output=True, text=True,
                              check=True).stdout
        return set(re.findall(r"(?m)^  (--[a-z-]+)", text))

    def verbs(self):
        text = subprocess.run([IDLECTL, "--help"], capture_output=True, text=True,
                              check=True).stdout
        return re.findall(r"(?m)^  ([a-z]+) ", text)

    def test_verbs(self):
        self.assertEqual(sorted(self.complete("")), sorted(self.verbs()))
        self.assertEqual(self.complete("se"), ["set", "settings"])
        self.assertEqual(self.complete("--json", "ver"), ["verify"])
        self.assertEqual(self.complete("--bus-address", "x", "che"), ["check"])

    def test_options(self):
        self.assertEqual(set(self.complete("--")), self.options())
        for verb in self.verbs():
            self.assertEqual(set(self.complete(verb, "--")), self.options(verb), verb)
        self.assertEqual(self.complete("nonsense", "--"), [])

    def test_profiles(self):
        self.assertEqual(self.complete("profile", ""), ["list", "get", "set"])
        self.assertEqual(self.complete("profile", "set", ""), ["auto", "balanced", "night"])
        self.assertEqual(self.complete("profile", "set", "n"), ["night"])
        self.assertEqual(self.complete("profile", "get", ""), [])
        self.assertEqual(self.complete("hold", "--profile", "b"), ["balanced"])

    def test_settings(self):
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
        self.assertIn("0", self.complete("why", ""))
        self.assertEqual(self.complete("status", ""), [])

    def test_zsh_is_complete(self):
        zsh = (COMPLETIONS / "_idlectl").read_text()
        self.assertIn(" run) _arguments $everywhere ", zsh)  # without --json
        for verb in self.verbs():
            self.assertIn(f"'{verb}:", zsh)
        for option in self.options():
            self.assertIn(option, zsh)

    def test_fish_is_complete(self):
        """Each verb has its own options, and those without condition."""
        fish = (COMPLETIONS / "idlectl.fish").read_text()
        options = re.findall(r'^complete -c idlectl (?:-n "(not )?__fish_seen_subcommand_from ([a-z ]+)" )?'
                             r"-l ([a-z-]+) ", fish, re.MULTILINE)
        for verb in self.verbs():
            self.assertRegex(fish, rf"-a {verb} -d")
            self.assertEqual({"--" + option for but, verbs, option in options
                              if not verbs or (verb in verbs.split()) != bool(but)}, self.options(verb), verb)


if __name__ == "__main__":
    unittest.main()
