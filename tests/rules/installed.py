#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`meson install` puts every file where it belongs, and what it puts there fits together.

usage: installed.py BUILD-DIR NAME=DIRECTORY..., the directories below as the build has them
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

from source import TOP, finish

EXPECTED = """
    {sbindir}/idled
    {bindir}/idlectl
    {bindir}/idlelab
    {includedir}/idled/idled-policy.h
    {includedir}/idled/base/cpuset.h
    {includedir}/idled/base/setting.h
    {includedir}/idled/model/contract.h
    {includedir}/idled/model/frequency.h
    {includedir}/idled/model/hold.h
    {includedir}/idled/model/idle-table.h
    {includedir}/idled/model/octaves.h
    {includedir}/idled/model/snapshot.h
    {includedir}/idled/model/topology.h
    {includedir}/idled/model/wakeups.h
    {includedir}/idled/model/wish.h
    {libdir}/pkgconfig/idled-policy.pc
    {policydir}/contract.so
    {policydir}/cpufreq.so
    {policydir}/cstates.so
    {policydir}/latency.so
    {policydir}/ondemand.so
    {policydir}/quiet.so
    {policydir}/userspace.so
    {vendordir}/apps/example.conf
    {vendordir}/idled.conf
    {vendordir}/policies/contract.conf
    {vendordir}/policies/cpufreq.conf
    {vendordir}/policies/cstates.conf
    {vendordir}/policies/latency.conf
    {vendordir}/policies/ondemand.conf
    {vendordir}/policies/quiet.conf
    {vendordir}/policies/userspace.conf
    {vendordir}/power/coreidle.conf
    {vendordir}/profiles/balanced.conf
    {vendordir}/profiles/latency.conf
    {vendordir}/profiles/performance.conf
    {vendordir}/profiles/power-saver.conf
    {unitdir}/idled.service
    {unitdir}/idled-advise.service
    {prefix}/lib/sysusers.d/idled-metrics.conf
    {unitdir}/idled-metrics.socket
    {unitdir}/idled-metrics@.service
    {datadir}/dbus-1/interfaces/org.idled1.xml
    {datadir}/dbus-1/system-services/org.idled1.service
    {datadir}/dbus-1/system.d/org.idled1.conf
    {datadir}/dbus-1/system.d/org.idled1.power-profiles.conf
    {datadir}/doc/idled/ansible/.ansible-lint
    {datadir}/doc/idled/ansible/.yamllint
    {datadir}/doc/idled/ansible/README.md
    {datadir}/doc/idled/ansible/hosts.example.yml
    {datadir}/doc/idled/ansible/roles/idled/defaults/main.yml
    {datadir}/doc/idled/ansible/roles/idled/handlers/main.yml
    {datadir}/doc/idled/ansible/roles/idled/meta/main.yml
    {datadir}/doc/idled/ansible/roles/idled/tasks/files.yml
    {datadir}/doc/idled/ansible/roles/idled/tasks/install.yml
    {datadir}/doc/idled/ansible/roles/idled/tasks/main.yml
    {datadir}/doc/idled/ansible/roles/idled/tasks/metrics.yml
    {datadir}/doc/idled/ansible/roles/idled/tasks/service.yml
    {datadir}/doc/idled/ansible/roles/idled/tasks/validate.yml
    {datadir}/doc/idled/ansible/roles/idled/templates/metrics.conf.j2
    {datadir}/doc/idled/ansible/roles/idled/templates/sections.conf.j2
    {datadir}/doc/idled/ansible/roles/idled/vars/main.yml
    {datadir}/doc/idled/ansible/site.yml
    {datadir}/doc/idled/idled-grafana.json
    {datadir}/doc/idled/idled.rules.yml
    {datadir}/doc/idled/fork-events.conf
    {datadir}/doc/idled/no-app-rules.conf
    {datadir}/doc/idled/no-ledger.conf
    {datadir}/doc/idled/no-terminals.conf
    {datadir}/doc/idled/power-profiles.conf
    {datadir}/doc/idled/quiet.conf
    {datadir}/polkit-1/actions/org.idled1.policy
    {datadir}/bash-completion/completions/idlectl
    {datadir}/bash-completion/completions/idlelab
    {datadir}/fish/vendor_completions.d/idlectl.fish
    {datadir}/fish/vendor_completions.d/idlelab.fish
    {datadir}/zsh/vendor-completions/_idlectl
    {mandir}/man1/idlectl.1
    {mandir}/man1/idlelab.1
    {mandir}/man5/idled.conf.5
    {mandir}/man5/org.idled1.5
    {mandir}/man7/idled-policy.7
    {mandir}/man8/idled.8
""".split()

UNITS = ("idled.service", "idled-metrics.socket", "idled-metrics@.service")

# With the sleep ledger.
LEDGER = "{libdir}/idled/ledger.so"

# With the page for Cockpit.
COCKPIT = {"{datadir}/metainfo/org.idled.cockpit.metainfo.xml"} | {
    "{datadir}/cockpit/idled/" + name for name in (
        "cpus.js", "daemon.js", "dom.js", "format.js", "holds.js", "idled.css", "idled.js",
        "index.html", "manifest.json", "options.js", "power.js", "profiles.js", "theme.js", "waits.js")}

# With -Dpower_profiles=true.
TOGETHER = {"{vendordir}/idled.conf.d/power-profiles.conf",
            "{unitdir}/idled.service.d/power-profiles.conf",
            "{datadir}/dbus-1/system-services/net.hadess.PowerProfiles.service",
            "{datadir}/dbus-1/system-services/org.freedesktop.UPower.PowerProfiles.service"}


def check_files(dest, places):
    """What is missing, what is too much, and what others could write."""
    expected = {e.format(**places) for e in EXPECTED if places["lab"] == "true" or "idlelab" not in e}
    found = {"/" + str(p.relative_to(dest)) for p in dest.rglob("*") if not p.is_dir()}
    if places["power_profiles"] == "true":
        expected |= {t.format(**places) for t in TOGETHER}
    if places["cockpit"] == "true":
        expected |= {c.format(**places) for c in COCKPIT}
    if places["bpf"] == "true":
        expected.add(LEDGER.format(**places))
    problems = [f"{f}: is not installed" for f in sorted(expected - found)]
    problems += [f"{f}: is installed, but not in the list of tests/rules/installed.py"
                 for f in sorted(found - expected)]
    return problems + [f"{p}: can be written by others" for p in sorted(found & expected)
                       if (dest / p[1:]).stat().st_mode & 0o022]


def check_unit(dest, places):
    """systemd's own opinion, with the paths of the units moved below `dest`."""
    if not shutil.which("systemd-analyze"):
        print("no systemd-analyze: the units are not verified")
        return []
    problems, moved = [], dest / "moved"
    moved.mkdir()
    for name in UNITS:
        text = (dest / places["unitdir"][1:] / name).read_text()
        for directory in (places["sbindir"], places["bindir"]):
            text = text.replace(f"={directory}/idle", f"={dest}{directory}/idle")
        (moved / name).write_text(text)
        for page, section in re.findall(r"man:([\w.-]+)\((\d)\)", text):
            if not (dest / places["mandir"][1:] / f"man{section}" / f"{page}.{section}").exists():
                problems.append(f"{name}: refers to {page}({section}), which is not installed")
    run = subprocess.run(["systemd-analyze", "verify", "--man=no",
                          *(str(moved / n.replace("@", "@1")) for n in UNITS)],
                         text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    shutil.rmtree(moved)
    problems += [f"units: {line}" for line in run.stdout.splitlines()]
    if run.returncode != 0 and not problems:
        problems = [f"units: systemd-analyze verify ends with {run.returncode}"]
    return problems


# What "systemd-analyze security" may say, without drop-ins and with them.
OTHERS = {"idled-metrics@.service": 1.2, "idled-advise.service": 0.8}
OPTIONAL = ("no-app-rules", "no-ledger", "no-terminals")
EXPOSURE = {(): 1.8, OPTIONAL[:1]: 1.5, OPTIONAL[1:2]: 1.7, OPTIONAL[2:]: 1.6, OPTIONAL: 1.2,
            ("fork-events",): 2.0, ("quiet",): 2.0}


def exposure_of(directory, text, dropins):
    """The overall exposure of the unit with these drop-ins; None: this systemd cannot say."""
    unit = directory / "exposed.service"
    unit.write_text("\n[Service]\n".join([text.replace("[Install]", "[X-Install]"), *dropins]))
    run = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager",
                          str(unit)], text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
    unit.unlink()
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", run.stdout)
    return float(found[1]) if found else None


def check_exposure(dest, places):
    """The drop-ins lower the exposure as far as idled(8) says."""
    if not shutil.which("systemd-analyze"):
        return []
    text = (dest / places["unitdir"][1:] / "idled.service").read_text()
    docs = dest / places["datadir"][1:] / "doc/idled"
    problems = []
    for names, most in EXPOSURE.items():
        level = exposure_of(dest, text, [(docs / f"{name}.conf").read_text() for name in names])
        if level is None:
            print("this systemd-analyze does not know --offline: exposure is not checked")
            return []
        if level > most:
            problems.append(f"idled.service with {names}: found an exposure of {level}, expected "
                            f"at most {most}")
    return problems


def check_other_exposures(dest, places):
    problems = []
    for name, most in OTHERS.items() if shutil.which("systemd-analyze") else ():
        level = exposure_of(dest, (dest / places["unitdir"][1:] / name).read_text(), [])
        if level is not None and level > most:
            problems.append(f"{name}: found an exposure of {level}, expected at most {most}")
    return problems


def check_xml(dest, places):
    """Well-formed, about our name, and polkit's actions are those that the daemon asks about."""
    problems = []
    data = dest / places["datadir"][1:]
    bus = xml.parse(data / "dbus-1/system.d/org.idled1.conf").getroot()
    owners = [p.get("user") for p in bus.iter("policy") for a in p.iter("allow")
              if a.get("own") == "org.idled1"]
    if owners != ["root"]:
        problems.append(f"org.idled1.conf: lets {owners} own the name, expected root only")
    actions = xml.parse(data / "polkit-1/actions/org.idled1.policy").getroot()
    declared = {a.get("id") for a in actions.iter("action")}
    asked = {action for p in TOP.glob("daemon/**/*.c")
             for action in re.findall(r'"(org\.idled1\.[a-z]+(?:-[a-z]+)*)"', p.read_text())}
    problems += [f"org.idled1.policy: has no action {a}" for a in sorted(asked - declared)]
    problems += [f"org.idled1.policy: no source uses {a}" for a in sorted(declared - asked)]
    service = (data / "dbus-1/system-services/org.idled1.service").read_text()
    alias = re.search(r"^SystemdService=(.*)$", service, re.MULTILINE)
    unit = (dest / places["unitdir"][1:] / "idled.service").read_text()
    if not alias or f"Alias={alias[1]}\n" not in unit:
        problems.append("org.idled1.service: starts a unit that is no alias of idled.service")
    return problems


def main():
    places = dict(a.split("=", 1) for a in sys.argv[2:])
    with tempfile.TemporaryDirectory(prefix="idled-installed.") as directory:
        dest = Path(directory)
        subprocess.run(["meson", "install", "-C", sys.argv[1], "--no-rebuild", "--quiet"],
                       check=True, env={**os.environ, "DESTDIR": directory},
                       stdout=subprocess.DEVNULL)
        problems = check_files(dest, places)
        if not problems:
            problems = [*check_unit(dest, places), *check_exposure(dest, places),
                        *check_other_exposures(dest, places), *check_xml(dest, places)]
    finish(problems, len(EXPECTED))


main()
