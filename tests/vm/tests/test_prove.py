# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlelab prove on a kernel with idle states and RAPL, compared with what the module knows it drew."""

import json

import lab
from kernel import CPU, PARAMETERS, KernelTest

QUICK = "--json --block 4s --wash-out 1s"


class Prove(lab.IdledTest, KernelTest):
    def drawn(self):
        """Joules of cores and uncore, and seconds since boot."""
        rows = self.lines(f"cat {PARAMETERS}/drawn; cut -d' ' -f1 /proc/uptime")
        joules = sum(sum(map(int, row.split()[:2])) for row in rows[:-1]) / 1e6
        return joules, float(rows[-1])

    def test_idle_states(self):
        """Without idled: shallow idle states draw more, by as much as the module says."""
        self.load_module("")
        self.guest.run(f"for p in {CPU}/cpufreq/policy*; do echo performance >$p/scaling_governor; done")
        self.guest.run("systemctl stop idled", check=False)
        before = self.dump()
        joules, begin = self.drawn()
        answer = json.loads(self.guest.read(
            f"idlelab prove --knob states=C1,C7 --for 70s {QUICK}", timeout=600))
        more, end = self.drawn()
        self.assertEqual((answer["verdict"], answer["energy_source"]), ("saves", "rapl"))
        self.assertGreater(answer["saved_low_watts"], 0)
        delays = answer["delay_p99"]
        self.assertEqual((answer["delay_source"], answer["delay_problem"]), ("wakeups", None))
        self.assertIn(answer["delay_verdict"], ("longer", "shorter", "unknown"))
        self.assertTrue(delays["first_usec"] > 0 < delays["second_usec"], delays)
        self.assertLess(delays["change_low_usec"], delays["change_high_usec"])
        self.assertEqual(answer["blocks"]["dropped"], 0, answer["blocks"])
        # Both settings had half of the time each.
        mean = (answer["power"]["first_watts"] + answer["power"]["second_watts"]) / 2
        self.assertAlmostEqual(mean / ((more - joules) / (end - begin)), 1, delta=0.15)
        self.assertEqual(self.dump(), before)

    def test_policy(self):
        """Parked CPUs are back in use while the policy is ignored, and parked again afterwards, also when
        idlectl is killed."""
        self.configure("[Daemon]\nPolicies=userspace\n", {"userspace": "IdleMask=2-3\n"})
        self.start()
        self.wait_for("parking", lambda: self.string("Parked") == "2-3")
        result = self.guest.run(f"idlelab prove --policy userspace --for 45s {QUICK}", check=False,
                                timeout=600)
        answer = json.loads(result.output)
        self.assertIn(answer["verdict"], ("saves", "costs", "unknown"))
        self.assertGreaterEqual(answer["blocks"]["used"], 2, answer)
        self.wait_for("parking again", lambda: self.string("Parked") == "2-3")
        self.guest.run("systemd-run -q --unit=prover idlelab prove --policy userspace --for 1h "
                       f"{QUICK}")
        self.wait_for("unparking", lambda: self.string("Parked") == "")
        self.guest.run("systemctl kill -s KILL prover")
        self.wait_for("parking again", lambda: self.string("Parked") == "2-3")
        self.guest.run("systemctl reset-failed prover", check=False)
