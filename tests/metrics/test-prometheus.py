#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A real Prometheus scrapes two machines, with our rules loaded, and runs every query of the
dashboard for Grafana.

One machine is a real idled on a described laptop, served by systemd-socket-activate where there is
one; the other only says what a scenario has it say, so that there are savings, limits and a
degraded knob. A third one cannot be reached. It ends with 77, which is "skipped", where Prometheus
is not installed.
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import unittest
import urllib.parse
import urllib.request
from pathlib import Path

import ctltest
import idledtest
from inetd import Inetd, command

TOP = Path(__file__).resolve().parents[2]
RULES = TOP / "conf/prometheus/idled.rules.yml"
DASHBOARD = TOP / "conf/grafana/idled.json"
TIMEOUT = 60
SKIPPED = 77
# What Grafana puts in; the interval must contain some scrapes.
VARIABLES = {"$job": ".*", "$instance": ".*", "$__rate_interval": "10s", "${datasource}": "x"}
CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: idled
    static_configs:
      - targets: ["127.0.0.1:{real}", "127.0.0.1:{fake}", "127.0.0.1:{closed}"]
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def expressions():
    """(panel, expression, variables put in) of all targets of the dashboard."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", []):
            text = target["expr"]
            for name, value in VARIABLES.items():
                text = text.replace(name, value)
            yield panel["title"], text


class Prometheus:
    def __init__(self, directory, **ports):
        self.port = free_port()
        config = Path(directory) / "prometheus.yml"
        config.write_text(CONFIG.format(rules=RULES, **ports))
        self.log = open(Path(directory) / "prometheus.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={directory}/tsdb",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log)

    def get(self, path, **parameters):
        """The data of an answer; None as long as there is none."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it starts
                return None
            raise AssertionError(f"{parameters}: {error.read().decode()}") from None
        except OSError:
            return None

    def query(self, expression):
        data = self.get("query", query=expression)
        return data["result"] if data else []

    def text_of_log(self):
        self.log.flush()
        return Path(self.log.name).read_text(encoding="utf-8")

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


class Scrapes(idledtest.TestCase):
    CONFIG = "[Daemon]\nPolicies=userspace latency\n[Park]\nBackend=none\n"

    def setUp(self):
        super().setUp()
        self.start()
        other = os.path.join(self.directory, "other")
        os.mkdir(other)
        bus = ctltest.Bus(other)
        bus.start()
        self.addCleanup(bus.stop)
        self.addCleanup(ctltest.Fake(bus, "fleet").close)
        inetd = Inetd(command(bus.address))
        self.addCleanup(inetd.close)
        self.prometheus = Prometheus(self.directory, real=self.activate(), fake=inetd.port,
                                     closed=self.closed_port())
        self.addCleanup(self.prometheus.close)

    def closed_port(self):
        """A port that refuses connections, and that no other program can take."""
        bound = socket.socket()
        self.addCleanup(bound.close)
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]

    def activate(self):
        """A port behind which systemd's own program starts idlectl."""
        if not shutil.which("systemd-socket-activate"):
            inetd = Inetd(command(self.bus.address))
            self.addCleanup(inetd.close)
            return inetd.port
        port = free_port()
        process = subprocess.Popen(["systemd-socket-activate", "--accept", "--inetd", "--listen",
                                    f"127.0.0.1:{port}", *command(self.bus.address)],
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return port

    def wait(self, what, condition):
        end = time.monotonic() + TIMEOUT
        while not condition():
            if time.monotonic() > end:
                self.fail(f"timed out: {what}\n{self.prometheus.text_of_log()}")
            time.sleep(0.2)

    def test_all(self):
        ask = self.prometheus
        self.wait("two machines", lambda: len(ask.query("idled_up == 1")) == 2)
        self.work()
        self.check_targets()
        self.check_rules()
        self.check_dashboard()
        self.check_metadata()
        self.assertNotRegex(ask.text_of_log(), r"level=(warn|error).*(scrape|rule|sample)")

    def work(self):
        """Something of everything that the real machine can have: changes, energy, a hold."""
        self.set_idle_mask("4-7")
        zone = Path(self.root, "sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj")
        files = [zone] if zone.exists() else sorted(Path(self.root).glob("sys/**/energy_uj"))
        for file in files:
            file.write_text(f"{int(file.read_text()) + 50 * 10**6}\n")
        stat = Path(self.root, "proc/stat")
        stat.write_text(re.sub(r"^cpu0 (\d+)", lambda m: f"cpu0 {int(m[1]) + 100}",
                               stat.read_text(), flags=re.MULTILINE))
        self.wait("the back end that an alert asks for", lambda: self.prometheus.query(
            'idled_park_backend_info{backend="none", reason="Backend=none"}'))
        self.wait("energy", lambda: self.prometheus.query(
            'idled_energy_joules_total{zone="package-0"} > 0'))
        self.wait("time that CPU 0 was busy", lambda: self.prometheus.query(
            'idled_cpu_busy_seconds_total{cpu="0"} > 0.5 < 80'))

    def check_targets(self):
        targets = self.prometheus.get("targets")["activeTargets"]
        self.assertEqual(sorted(t["health"] for t in targets), ["down", "up", "up"])
        for target in targets:
            if target["health"] == "up":
                self.assertEqual(target["lastError"], "")
                self.assertLess(target["lastScrapeDuration"], 1)

    def check_rules(self):
        """All are evaluated without error, the recorded ones have data, and the degraded knob is
        seen."""
        def rules():
            return [r for g in self.prometheus.get("rules")["groups"] for r in g["rules"]]
        self.wait("rules", lambda: all(r["health"] != "unknown" for r in rules()))
        self.assertEqual([r["name"] for r in rules() if r["health"] != "ok"], [])
        for rule in rules():
            if rule["type"] == "recording":
                self.wait(f"data of {rule['name']}", lambda: self.prometheus.query(rule["name"]))
        for alert in ('alertname="IdledDegraded", kind="cpufreq"', 'alertname="IdledUnreachable"'):
            self.wait(alert, lambda a=alert: self.prometheus.query(f"ALERTS{{{a}}}"))

    def check_dashboard(self):
        """Every query has data, except that of firing alerts: none fires so soon."""
        seen, without = 0, []
        for title, expression in expressions():
            seen += 1
            if title == "Machines without idled":
                without += [r["value"][1] for r in self.prometheus.query(expression)]
            with self.subTest(panel=title, expression=expression):
                if "ALERTS" in expression:
                    self.assertEqual(self.prometheus.query(expression), [])
                    expression = expression.replace("firing", "pending")
                self.wait(f"{title}: {expression}", lambda e=expression: self.prometheus.query(e))
        self.assertGreater(seen, 40)
        self.assertEqual(without, ["1"])

    def check_metadata(self):
        """Prometheus chose OpenMetrics, and every metric has type, unit and help there."""
        found = self.prometheus.get("metadata")
        expected = {"idled_cpu_parked": ("gauge", ""), "idled_profile": ("stateset", ""),
                    "idled_energy_joules": ("counter", "joules"), "idled_build": ("info", "")}
        for name, (kind, unit) in expected.items():
            self.assertEqual([(m["type"], m["unit"]) for m in found[name]], [(kind, unit)])
        self.assertFalse([n for n, rows in found.items() if n.startswith("idled") and
                          not all(m["help"] for m in rows)])


if not shutil.which("prometheus"):
    print("needs prometheus")
    sys.exit(SKIPPED)
unittest.main(verbosity=2)
