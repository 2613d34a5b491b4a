# SPDX-License-Identifier: LGPL-2.1-or-later
"""idled on other machines than the usual one: it reads their hardware, parks accordingly, and restores
everything."""

import contextlib
import json

import lab
from kernel import BURN, CPU, PARAMETERS, STATES, KernelTest

C3 = STATES.index("C3")
GOVERNORS = f"cat {CPU}/cpufreq/policy*/scaling_governor"
ENERGY = [("Power", f"/org/idled1/energy/package_2d{n}", "org.idled1.Energy") for n in (0, 1)]


class Machine(lab.IdledTest, KernelTest):
    pack_order = "efficiency"

    def begin(self, options):
        self.load_module(options)
        self.configure("", {"ondemand": f"Dwell=1s\nPackOrder={self.pack_order}\n"})

    def cpu_property(self, cpu, name):
        return self.property(name, f"/org/idled1/cpu/{cpu}", "org.idled1.Cpu")

    def idle_and_busy(self, parked):
        """Parks what is not needed, unparks it under load, and leaves no trace."""
        before = self.dump()
        n = int(self.guest.read("nproc --all"))
        self.start()
        self.wait_for(f"parking {parked}", lambda: self.string("Parked") == parked)
        self.guest.run(f"for i in {{1..{n}}}; do systemd-run -q --unit=burner$i {BURN}; done")
        try:
            self.wait_for("unparking", lambda: self.string("Parked") == "", 10)
        finally:
            self.guest.run(f"systemctl stop burner{{1..{n}}}")
        self.assertEqual(self.property("Degraded"), "a(sss) 0")
        self.assert_restored(before)


class FourCpus(Machine):
    def test_slow_cores_are_kept(self):
        self.begin("capacity=1024,1024,512,512")
        self.idle_and_busy("0-1")

    def test_fast_cores_are_kept_if_configured(self):
        self.pack_order = "performance"
        self.begin("capacity=512,512,1024,1024")
        self.idle_and_busy("0-1")

    def test_other_idle_states(self):
        self.begin("state_names=C1,C3 latency_us=1,50 residency_us=1,90 gated_from=2")
        self.start()
        self.assertEqual(self.cpu_property(3, "IdleStates"),
                         'a(suu) 3 "POLL" 0 0 "C1" 1 1 "C3" 50 90')
        self.wait_for("sleeping", lambda: self.residency(3)["C3"][0] > 0.5)

    def residency(self, cpu):
        """By state: share, entries, and above, below and rejected."""
        rows = json.loads(self.guest.read(
            f"busctl --json=short get-property org.idled1 /org/idled1/cpu/{cpu} org.idled1.Cpu "
            "Residency"))["data"]
        self.assertAlmostEqual(sum(row[1] for row in rows), 1, places=6)
        return {row[0]: row[1:] for row in rows}

    def test_a_state_that_is_refused(self):
        self.begin("reject_state=5")
        self.start()
        self.wait_for("being refused", lambda: self.residency(3)["C7"][4] > 0)

    def test_a_state_that_is_off(self):
        """The kernel does not enter a state that is switched off, and idled's figures show that."""
        self.begin("")
        self.start()
        with self.knob(f"{CPU}/cpu3/cpuidle/state5/disable", 1):
            self.wait_for("sleeping in C6", lambda: self.residency(3)["C6"][0] > 0.5)
            self.assertEqual(self.residency(3)["C7"][1], 0)
        self.wait_for("sleeping in C7", lambda: self.residency(3)["C7"][0] > 0.5)

    def test_nothing_of_all_that(self):
        self.configure("", {"ondemand": "Dwell=1s\n"})
        self.change("rmmod pmlab", "insmod /share/pmlab.ko")
        self.start()
        missing = self.property("Missing")
        for what in "energy counters", "idle states":
            self.assertIn(f'"{what}"', missing)
        self.assertEqual(self.cpu_property(3, "IdleStates"), "a(suu) 0")
        self.wait_for("parking", lambda: self.string("Parked") == "2-3")

    def test_errors_of_everything(self):
        """idled reports a file that cannot be written or read, carries out the rest, writes the file once
        that works, and restores it."""
        self.load_module("reject_state=5")
        self.configure("[Daemon]\nPolicies=ondemand cpufreq cstates\n",
                       {"ondemand": "Dwell=1s\n", "cpufreq": "Governor=performance\n",
                        "cstates": "DeepestState=80us\n"})
        before = self.dump()
        self.guest.run(f"for f in {PARAMETERS}/fail_*; do echo 5 >$f; done")
        self.addCleanup(self.guest.run, f"for f in {PARAMETERS}/fail_*; do echo 0 >$f; done")
        self.start()
        self.wait_for("parking", lambda: self.string("Parked") == "2-3")
        self.wait_for("the report", lambda: self.property("Degraded").count(
            "scaling_governor") == 2)
        self.assertIn("Input/output error", self.property("Degraded"))
        self.wait_for("no energy", lambda: float(self.string(*ENERGY[0])) < 0)
        self.assertEqual(self.lines(GOVERNORS), ["schedutil"] * 2)
        self.wait_shallow(0)
        self.assertEqual(self.guest.read("systemctl is-active idled"), "active")
        self.guest.run(f"for f in {PARAMETERS}/fail_*; do echo 0 >$f; done; systemctl reload idled")
        self.wait_for("the governor", lambda: self.lines(GOVERNORS) == ["performance"] * 2)
        self.wait_for("energy", lambda: float(self.string(*ENERGY[0])) > 0)
        self.assertEqual(self.property("Degraded"), "a(sss) 0")
        self.wait_shallow(0)
        self.assert_restored(before)

    def wait_shallow(self, cpu):
        """Not deeper than C3."""
        self.wait_for("sleeping as limited", lambda: (
            lambda entered: entered[C3] and not sum(entered[C3 + 1:]))(self.entered(cpu)))


class TwoPackages(Machine):
    """Two packages of two cores of two threads."""

    shape = "2x2x2"
    long = True

    def test_a_whole_package_is_parked(self):
        self.begin("")
        self.idle_and_busy("2-7")

    def test_energy_of_each(self):
        """With all work in one package the other one's cores are power gated."""
        self.configure("[Daemon]\nPolicies=userspace\n")
        self.start()

        def powers():
            return [float(self.string(*power)) for power in ENERGY]

        with contextlib.ExitStack() as burning:
            for n in range(8):
                burning.enter_context(self.unit(f"burner{n}", BURN))
            self.wait_for("both packages' drawing much", lambda: min(powers()) > 25)
            self.park("2-7")
            self.wait_for("one package's drawing less", lambda: (
                lambda used, parked: 0 < parked < 25 < used)(*powers()))
            self.park("")
            self.wait_for("both packages' drawing much", lambda: min(powers()) > 25)


class OneCpu(Machine):
    shape = "1x1"
    long = True

    def test_it_is_kept(self):
        self.begin("")
        self.start()
        with self.unit("burner", BURN):
            self.wait_for("its being busy", lambda: float(self.string("Utilization")) > 0.9)
        self.assertEqual(self.string("Parked"), "")
        self.assertEqual(self.property("Degraded"), "a(sss) 0")
