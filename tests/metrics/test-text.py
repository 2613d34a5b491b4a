#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What idlectl metrics prints: OpenMetrics as the standard has it, and what promtool makes of the
file for node_exporter. Names and texts of the daemon may be anything."""
import os
import shutil
import stat
import subprocess
import unittest
from pathlib import Path

import openmetrics
from ctltest import TestCase, machine
from scenarios import SCENARIOS

# (family, labels, value) of scenario fleet.
FLEET = [
    ("idled_up", {}, 1),
    ("idled_build", {"version": "9.8"}, 1),
    ("idled_profile", {"idled_profile": "power-saver"}, 1),
    ("idled_profile", {"idled_profile": "game"}, 0),
    ("idled_profile_inhibited", {}, 1),
    ("idled_process_cpu_seconds", {}, 0.012345),
    ("idled_wakeups", {}, 55),
    ("idled_refused_affinities", {}, 7),
    ("idled_refused_affinity", {"unit": "mpi.service", "cpus": "2-3", "program": "mpirun"}, 3),
    *((f"idled_contract_{name}", {"unit": "nginx.service", "cgroup": "/system.slice/nginx.service"}, value)
      for name, value in (("limit_seconds", 0.005), ("p99_seconds", 0.00325), ("infeasible", 0), ("measured", 1),
                          ("cores", 2), ("idle_latency_seconds", 1e-05), ("highest_frequency", 1),
                          ("windows_kept", 58), ("windows_broken", 2))),
    ("idled_contract_measured", {}, 0),  # of all other units
    ("idled_uptime_seconds", {}, 18000),
    ("idled_tick_delay_max_seconds", {}, 0.0015),
    ("idled_cpu_online", {"cpu": "3"}, 1),
    ("idled_cpu_parked", {"cpu": "1"}, 0),
    ("idled_cpu_parked", {"cpu": "2"}, 1),
    ("idled_cpu_parking_planned", {"cpu": "3"}, 1),
    ("idled_cpu_busy_seconds", {"cpu": "3"}, 90.000003),
    ("idled_cpu_parked_seconds", {"cpu": "2"}, 12960),
    ("idled_cpu_idle_seconds", {"cpu": "0", "state": "C6"}, 4.5),
    ("idled_cpu_idle_entries", {"cpu": "0", "state": "C6"}, 30),
    ("idled_cpu_idle_above", {"cpu": "0", "state": "C6"}, 3),
    ("idled_cpu_idle_below", {"cpu": "0", "state": "C6"}, 2),
    ("idled_cpu_idle_rejected", {"cpu": "0", "state": "C6"}, 1),
    ("idled_cpu_idle_disabled", {"cpu": "0", "state": "C6"}, 1),
    ("idled_cpu_latency_limit_seconds", {"cpu": "0"}, 50e-6),
    ("idled_cpu_frequency_limit_max_hertz", {"cpu": "0"}, 2.4e9),
    ("idled_cpu_boost", {"cpu": "0"}, 1),
    ("idled_cpu_tuning", {"cpu": "0", "governor": "powersave", "preference": "balance_power"}, 1),
    ("idled_cpu_tuning", {"cpu": "1", "governor": "performance"}, 1),
    ("idled_energy_joules", {"zone": "package-0"}, 5000),
    ("idled_energy_joules", {"zone": "core", "parent": "package-0"}, 3000),
    ("idled_power_watts", {"zone": "package-0"}, 12.3),
    ("idled_energy_source", {"zone": "package-0", "source": "rapl"}, 1),
    ("idled_energy_source", {"zone": "core", "parent": "package-0", "source": "rapl"}, 1),
    ("idled_policy_saved_joules", {"policy": "ondemand"}, 1234567.25),
    ("idled_policy_saved_low_joules", {"policy": "ondemand"}, -1000.5),
    ("idled_policy_saved_high_joules", {"policy": "ondemand"}, 2500000.75),
    ("idled_policy_effective_ratio", {"policy": "ondemand"}, 0.99),
    ("idled_policy_saved_ratio", {"policy": "ondemand"}, 0.03),
    ("idled_policy_saved_low_ratio", {"policy": "ondemand"}, -0.01),
    ("idled_policy_saved_high_ratio", {"policy": "ondemand"}, 0.07),
    ("idled_policy_waiting_change_ratio", {"policy": "ondemand"}, -0.002),
    ("idled_policy_waiting_change_low_ratio", {"policy": "ondemand"}, -0.004),
    ("idled_policy_waiting_change_high_ratio", {"policy": "ondemand"}, 0),
    ("idled_policy_work_unit", {"policy": "ondemand", "unit": "10^4 context switches"}, 1),
    ("idled_policy_blocks", {"policy": "ondemand"}, 120),
    ("idled_policy_verdict", {"policy": "ondemand", "idled_policy_verdict": "unknown"}, 1),
    ("idled_policy_verdict", {"policy": "ondemand", "idled_policy_verdict": "saves"}, 0),
    ("idled_transitions", {"cause": "ondemand"}, 6),
    ("idled_transitions", {"cause": "none"}, 1),
    ("idled_degraded", {"kind": "cpufreq"}, 1),
    ("idled_degraded", {"kind": "cgroup"}, 0),
    ("idled_knobs", {"kind": "cgroup", "state": "ours"}, 2),
    ("idled_load5", {}, 0.25),
    ("idled_pressure_seconds", {}, 2.5),
    ("idled_battery_ratio", {}, 0.755),
]
# What is absent in fleet: CPU 1 has no limit, and a power that is not known is none.
ABSENT = [("idled_cpu_latency_limit_seconds", {"cpu": "1"}),
          ("idled_power_watts", {"zone": "core", "parent": "package-0"}),
          ("idled_policy_saved_joules", {"policy": "userspace"}),
          ("idled_policy_energy_source", {"policy": "userspace", "source": "none"}),
          ("idled_policy_verdict", {"policy": "userspace", "idled_policy_verdict": "unknown"})]


class Metrics(TestCase):
    def families(self, *arguments):
        run = self.run_ctl("metrics", *arguments)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return openmetrics.parse(run.stdout.encode())

    def test_values(self):
        self.start("fleet")
        families = self.families()
        for name, labels, value in FLEET:
            with self.subTest(name=name, labels=labels):
                self.assertAlmostEqual(families[name].get(**labels), value, places=9)
        for name, labels in ABSENT:
            with self.subTest(name=name, labels=labels):
                self.assertNotIn(tuple(sorted(labels.items())), families[name].samples)

    def test_hostile_names(self):
        """They arrive as they are, and make no line of their own."""
        self.start("hostile")
        families, evil = self.families(), SCENARIOS["hostile"]()["manager"]["Version"]
        self.assertEqual(list(families["idled_build"].samples), [(("version", evil),)])
        self.assertEqual(families["idled_profile"].get(idled_profile=evil), 1)
        self.assertEqual(families["idled_up"].samples, {(): 1})
        states = {dict(key)["state"]: value
                  for key, value in families["idled_cpu_idle_entries"].samples.items()}
        self.assertEqual(states, {"C1": 1, "C1#2": 2, evil: 3})
        self.assertEqual(families["idled_transitions"].get(cause=evil), 2**63)
        self.assertNotIn("idled_policy_saved_joules", families)
        self.assertNotIn("idled_policy_effective_ratio", families)

    def test_backend(self):
        """Why idled cannot park is a label of its own: queries match "none"."""
        for scenario, labels in (
                ("fleet", {"backend": "cgroup v1 cpuset"}),
                ("unparkable", {"backend": "none", "reason": "Operation not supported"}),
                ("fresh", {"backend": "none", "reason": "cgroup: none (a mask); systemd: old"})):
            with self.subTest(scenario=scenario):
                self.start(scenario)
                samples = self.families()["idled_park_backend"].samples
                self.assertEqual(samples, {tuple(sorted(labels.items())): 1})

    def test_no_transition(self):
        """There is no sample of a cause that does not exist."""
        self.start("fresh")
        self.assertNotIn("idled_transitions", self.families())

    def test_scenarios(self):
        """Whatever a daemon says is well-formed; one without Sample() is an older one."""
        for scenario in ("normal", "unparked", "paused", "degraded", "dry", "held", "strange"):
            with self.subTest(scenario=scenario):
                self.start(scenario)
                families = self.families()
                self.assertEqual(families["idled_up"].get(), 1)
                self.assertNotIn("idled_cpu_idle_seconds", families)

    def test_no_daemon(self):
        """That is an answer, not a failure: monitoring must show it."""
        self.start()
        families = self.families()
        self.assertEqual({n: f.samples for n, f in families.items()}, {"idled_up": {(): 0}})

    def test_no_bus(self):
        run = self.run_ctl("metrics", "--bus-address", "unix:path=/nonexistent")
        self.assertEqual(openmetrics.parse(run.stdout.encode())["idled_up"].get(), 0)

    def test_another_root(self):
        """With --root no bus is asked; the tree's machine has no daemon."""
        root = machine(self.directory, "synthetic-bare")
        self.assertEqual(self.families("--root", root)["idled_up"].get(), 0)

    def test_wrong_usage(self):
        for arguments in (["--json"], ["--http", "--textfile", "a.prom"], ["--textfile", "a.txt"],
                          ["--textfile"], ["x"]):
            with self.subTest(arguments=arguments):
                run = self.run_ctl("metrics", *arguments)
                self.assertEqual((run.returncode, run.stdout), (2, ""))
                self.assertTrue(run.stderr.startswith("idlectl"))


class Textfile(TestCase):
    def write(self, path):
        return self.run_ctl("metrics", "--textfile", str(path))

    def test_replaced(self):
        """Readers see the old file or the new one; no other file is left."""
        self.start("fleet")
        place = Path(self.directory) / "node"
        place.mkdir()
        path = place / "idled.prom"
        path.write_text("old\n")
        with path.open(encoding="utf-8") as reader:
            run = self.write(path)
            self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))
            self.assertEqual(reader.read(), "old\n")
        self.assertIn('idled_cpu_parked{cpu="2"} 1\n', path.read_text())
        self.assertNotIn("EOF", path.read_text())
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o644)
        self.assertEqual(os.listdir(place), ["idled.prom"])

    def test_no_place(self):
        self.start("fleet")
        run = self.write(Path(self.directory) / "none" / "idled.prom")
        self.assertEqual(run.returncode, 1)
        self.assertIn("none/idled.prom", run.stderr)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_output_full(self):
        self.start("fleet")
        with open("/dev/full", "w", encoding="ascii") as full:
            run = subprocess.run([os.environ["IDLECTL"], "--bus-address", self.bus.address,
                                  "metrics"], stdout=full, stderr=subprocess.PIPE, text=True,
                                 check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("standard output", run.stderr)

    @unittest.skipUnless(shutil.which("promtool"), "no promtool")
    def test_promtool(self):
        """Prometheus' own opinion, also about names and units."""
        for scenario in ("fleet", "hostile", "normal"):
            with self.subTest(scenario=scenario):
                self.start(scenario)
                path = Path(self.directory) / "idled.prom"
                self.write(path)
                with path.open("rb") as text:
                    run = subprocess.run(["promtool", "check", "metrics"], stdin=text,
                                         capture_output=True, text=True, check=False)
                self.assertEqual((run.returncode, run.stdout + run.stderr), (0, ""))


class Parser(unittest.TestCase):
    """The parser of these tests is strict."""

    GOOD = ("# TYPE a_seconds counter\n# UNIT a_seconds seconds\n# HELP a_seconds H.\n"
            'a_seconds_total{b="c\\n\\"\\\\"} 1\n# EOF\n')
    BAD = [("# EOF\n", ""), ("# EOF\n", "# EOF"), ("# EOF\n", "# EOF\n\n"), ("_total", ""),
           ("} 1", "} -1"), ("} 1", "} NaN"), ("} 1", "}  1"), ("UNIT a_seconds seconds",
           "UNIT a_seconds joules"), ("\\n", "\\t"), ("# HELP a_seconds H.\n", ""),
           ("b=", "__b="), ('{b="', '{b="x",b="'), ("counter", "untyped"),
           ("# HELP", "# TYPE a_seconds counter\n# HELP"), ("# EOF", "\n# EOF"),
           ("# EOF", "# HELP x\n# EOF"), ("# EOF", "# TYPE z gauge\n# HELP z H.\n# EOF"),
           ("# EOF", '# TYPE x gauge\n# HELP x H.\nx 1\n# TYPE a_seconds counter\n# EOF'),
           ("H.", 'H "x"'), ("# EOF", 'a_seconds_total{b="c\\n\\"\\\\"} 1\n# EOF')]

    def test_strict(self):
        family = openmetrics.parse(self.GOOD.encode())["a_seconds"]
        self.assertEqual(family.get(b='c\n"\\'), 1)
        for old, new in self.BAD:
            with self.subTest(old=old, new=new):
                text = self.GOOD.replace(old, new, 1)
                self.assertNotEqual(text, self.GOOD)
                with self.assertRaises(openmetrics.Wrong):
                    openmetrics.parse(text.encode())


unittest.main(verbosity=2)
