# SPDX-License-Identifier: LGPL-2.1-or-later
"""Packages of Debian that a test installs into its guest, with all that they need and the guest lacks. Their
daemons are not started. Without mirrors the tests are skipped.

A name may end in a suite that the guest's mirrors have: "tlp/trixie-backports". If one ends in "/sid", packages of
unstable come with it, but only those that the guest's suite does not have."""

import hashlib
import shutil
import subprocess
import unittest

import image
import lab

# apt of this machine, with the guest's packages and mirrors.
DOWNLOAD = """set -e
"$1" "$2" >sources || exit 77
shift 2
case "$* " in *"/sid "*) sed 's/ [a-z]* main$/ sid main/; q' sources >sid; cat sid >>sources ;; esac
printf 'Package: *\\nPin: release n=sid\\nPin-Priority: 50\\n' >preferences
apt() { apt-get -qy -o Dir::State::status="$PWD/status" -o Dir::State::Lists="$PWD/lists" -o Dir::Cache="$PWD/cache" \\
        -o Dir::Etc::SourceList="$PWD/sources" -o Dir::Etc::SourceParts=- -o APT::Sandbox::User=root \\
        -o Dir::Etc::Preferences="$PWD/preferences" -o Dir::Etc::PreferencesParts=- \\
        -o APT::Install-Recommends=false -o Acquire::Languages=none "$@"; }
mkdir -p lists cache
apt update || exit 77
apt install --download-only "$@"
# An emulated guest takes minutes to decompress what this machine does in a moment.
for package in cache/archives/*.deb; do
        dpkg-deb -R "$package" tree
        dpkg-deb -Znone -b tree .
        rm -r tree
done
rm -r lists cache
"""


def fetch(guest, *names):
    """Where their files are on this machine, decompressed."""
    status = guest.read("cat /var/lib/dpkg/status")

    def download(directory):
        lab.settings.say(f"downloading {', '.join(names)}")
        (directory / "status").write_text(status + "\n")
        image.run_logged(["sh", "-c", f"cd {directory}\n{DOWNLOAD}", "sh", str(image.HERE / "image" / "sources"),
                          lab.settings.suite, *names], directory / "log", ", ".join(names))

    digest = hashlib.sha256("\0".join([DOWNLOAD, status, *names]).encode()).hexdigest()[:16]
    try:
        return image.cached(f"debs-{digest}", download)
    except image.Unavailable as why:
        raise unittest.SkipTest(str(why)) from why


def install(guest, *names):
    debs = fetch(guest, *names)
    share = guest.share / debs.name
    share.mkdir()
    for package in debs.glob("*.deb"):
        shutil.copy(package, share)
    guest.run("printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d; chmod +x /usr/sbin/policy-rc.d; "
              "DEBIAN_FRONTEND=noninteractive apt-get -qq --yes --no-install-recommends "
              f"-o Dpkg::Options::=--force-unsafe-io install /share/{debs.name}/*.deb; "
              "status=$?; rm /usr/sbin/policy-rc.d; exit $status", timeout=1200)


def copy_programs(guest, *names):
    """Only their programs, to /usr/local: an emulated guest takes minutes to install a hundred megabytes."""
    debs = fetch(guest, *names)
    for package in debs.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, guest.share / debs.name], check=True)
    guest.run(f"cd /share/{debs.name}/usr && cp -r --no-preserve=ownership bin sbin /usr/local", timeout=1200)
