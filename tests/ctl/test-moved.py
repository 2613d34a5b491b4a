#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Old names of verbs: idlectl runs idlelab, the one next to it, and dump is status --dump."""
import os
import shutil
import subprocess
import unittest

from ctltest import IDLECTL, IDLELAB, LAB, TestCase, environment, machine


class Moved(TestCase):
    def setUp(self):
        super().setUp()
        self.idlectl = shutil.copy(IDLECTL, self.directory)
        shutil.copy(IDLELAB, self.directory)

    def old(self, *arguments):
        return subprocess.run([self.idlectl, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=environment(), check=False)

    def test_verbs(self):
        for verb in LAB:
            for arguments in ([verb, "--help"], ["help", verb], ["--json", "-h", verb], [verb, "--nonsense"]):
                new = subprocess.run([IDLELAB, *arguments], capture_output=True, text=True, env=environment(),
                                     check=False)
                found = self.old(*arguments)
                self.assertEqual((found.returncode, found.stdout, found.stderr),
                                 (new.returncode, new.stdout, new.stderr), arguments)

    def test_not_verbs(self):
        """Words behind a verb of idlectl are its arguments."""
        for arguments in (["settings", "report"], ["run", "--try", "record"], ["profile", "set", "replay"]):
            self.assertNotIn("idlelab", self.old(*arguments).stderr)

    @unittest.skipIf(os.path.exists("/usr/bin/idlelab"), "idlelab is installed")
    def test_absent(self):
        os.unlink(self.directory + "/idlelab")
        result = self.old("record", "x")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(result.stderr, "idlectl: record is a verb of idlelab, which is not installed: install the "
                                        "package idled-lab\n")

    def test_dump(self):
        root = machine(self.directory, "synthetic-laptop")
        for pair in ((["status", "--dump"], ["dump"]), (["status", "--knobs"], ["dump", "--knobs"])):
            new, old = (self.run_ctl(*verb, "--json", "--root", root) for verb in pair)
            self.assertEqual((old.returncode, old.stdout != ""), (new.returncode, new.stdout != ""))
            self.assertEqual(old.stderr, "idlectl: dump is obsolete and will be removed: use idlectl status --dump\n")
            self.assertEqual(new.stderr, "")


if __name__ == "__main__":
    unittest.main()
