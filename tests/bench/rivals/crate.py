# SPDX-License-Identifier: LGPL-2.1-or-later
"""A program of crates.io, compiled on this machine and copied into a guest, which has no compiler."""

import shutil

import image
import lab
import packages

CLANG = "clang-19"  # scx needs 18 or later; Debian 12 and 13 have this one


def install(guest, crate):
    """NAME@VERSION. Afterwards a unit NAME@OPTION of the guest runs its program NAME with --OPTION."""
    def compile_it(directory):
        if not (shutil.which("cargo") and shutil.which(CLANG)):
            raise image.Unavailable(f"{crate} is compiled: install cargo 1.91 or later, {CLANG}, libelf-dev, "
                                    "zlib1g-dev and pkg-config")
        lab.settings.say(f"compiling {crate}")
        image.run_logged(["env", f"BPF_CLANG={CLANG}", "cargo", "install", "--locked", "--root", str(directory), crate],
                         directory / "log", crate)

    name = crate.split("@")[0]
    shutil.copy(image.cached(f"crate-{crate}-{CLANG}", compile_it) / "bin" / name, guest.share)
    (guest.share / "unit").write_text(f"[Service]\nSlice=system.slice\nExecStart=/usr/local/bin/{name} --%i\n")
    guest.run(f"install /share/{name} /usr/local/bin; install -m 644 /share/unit /etc/systemd/system/{name}@.service; "
              "systemctl daemon-reload")
    # libbpf reads the kernel's configuration, which the image does not have.
    packages.install(guest, f"linux-base-{guest.read('uname -r')}/trixie-backports")
    guest.run("cp /lib/modules/$(uname -r)/config /boot/config-$(uname -r)")
