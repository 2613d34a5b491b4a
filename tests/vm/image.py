# SPDX-License-Identifier: LGPL-2.1-or-later
"""Images of guests and their kernel module, made when needed and kept outside of the tree.

Each lives in a directory whose name ends with a digest of all that it is made from, so a change there
makes a new one, and what is there is never written to again. One that was not used for a week is dropped.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = {"pmlab": "module", "teo": "teo"}  # where their sources are
KEPT_SECONDS = 7 * 24 * 3600
UNFINISHED = ".unfinished"  # suffix of a directory until it is complete
UNAVAILABLE = 77  # exit status of build programs: packages are not available


class Unavailable(Exception):
    """Something that is needed is not available here, and why: a reason to skip."""


class MakingError(Exception):
    """Everything needed is there, but making failed: a bug, and no reason to skip."""


def cache():
    return Path("/var/cache/idled-vm")


def sources():
    """The program that finds mirrors, for the digest of anything that is made from packages."""
    return (HERE / "image" / "sources").read_text()


def digest(directory, *words):
    """A digest of the words, and of the names, modes and contents of all files below the directory."""
    state = hashlib.sha256("\0".join(words).encode())
    for path in sorted(p for p in directory.rglob("*") if p.is_file()):
        state.update(f"{path.relative_to(directory)}\0{os.access(path, os.X_OK)}\0".encode())
        state.update(hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()[:16]


def cached(name, make):
    """The directory `name` of the cache. If it is not there, make(directory) fills it, once; nothing
    stays behind if that fails."""
    target = cache() / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if not in_use(target):
        with locked():
            if not in_use(target):
                fill(target, make)
    return target


def in_use(target):
    """From now on for as long as that is kept; false if it is not there."""
    try:
        os.utime(target)
    except FileNotFoundError:
        return False
    return True


@contextlib.contextmanager
def locked(wait=True):
    """Locks the cache. If another process has it, waits, or without `wait` raises BlockingIOError."""
    with open(cache() / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield


def fill(target, make):
    unfinished = target.with_name(target.name + UNFINISHED)
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    try:
        make(unfinished)
        unfinished.rename(target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


# Whatever a command starts or mounts ends with it, and it with this program, however that ends.
ALONE = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child",
         "--mount-proc"]


def run_logged(command, log, what):
    def run(*words):
        return subprocess.run([*ALONE, *words], stdout=output, stderr=output,
                              stdin=subprocess.DEVNULL, check=False).returncode

    with open(log, "wb") as output:
        # In some containers not even root may have that.
        status = run("nice", *command) if run("true") == 0 else UNAVAILABLE
    if status != 0:
        lines = log.read_text(errors="replace").splitlines()
        why = "\n".join([f"{what} could not be made:", *lines[-20:]])
        raise Unavailable(why) if status == UNAVAILABLE else MakingError(why)


def drop(target):
    """Removes it, so that the next use makes it again. Programs that use it have its files open."""
    with locked():
        shutil.rmtree(target, ignore_errors=True)


def drop_unused():
    """Removes what was not used for a long time, but waits for no other process that has the cache
    locked. Other checkouts use the same cache."""
    with contextlib.suppress(BlockingIOError), locked(wait=False):
        for path in cache().iterdir():
            if path.is_dir() and path.stat().st_mtime < time.time() - KEPT_SECONDS:
                shutil.rmtree(path, ignore_errors=True)


def newest(name):
    """The newest directory of this name, with a date or without."""
    made = (path.name for path in cache().glob(f"{name}*"))
    return max((other for other in made if not other.endswith(UNFINISHED)), default=name)


def guest_image(suite, say=print, newer=False):
    """The directory with disk, vmlinux, ramdisk and release of a guest of this Debian suite. `newer` makes
    at most one a day, and keeps older ones because other programs may use them."""
    def make(directory):
        began = time.monotonic()
        say(f"making an image of {suite}")
        run_logged([str(HERE / "image" / "build"), suite, str(directory)], directory / "log",
                   f"an image of {suite}")
        say(f"made in {time.monotonic() - began:.0f} s")

    if os.geteuid() != 0:
        raise Unavailable("only root can make images and use them")
    name = f"guest-{suite}-{digest(HERE / 'image', suite)}"
    path = cached(name + time.strftime("-%Y%m%d") if newer else newest(name), make)
    drop_unused()
    return path


def kernel_module(suite, image, say=print, name="pmlab"):
    """The module of this name for the image's kernel: built with headers of this machine, which are
    installed if they are missing, or, where tools of another suite would not run, in a chroot of that
    suite."""
    release = (image / "release").read_text().strip()
    directory, compiler = HERE / MODULES[name], HERE / "compile"

    def make(target):
        say(f"building the kernel module {name} for {release}")
        run_logged([str(compiler), suite, release, str(directory), str(target)], target / "log",
                   f"the kernel module {name}")

    inputs = digest(directory, release, compiler.read_text(), sources())
    return cached(f"module-{release}-{inputs}", make) / f"{name}.ko"


def image_and_module(suite, say=print):
    """An image, and the module for it. Mirrors have the headers of their newest kernel only, so an older
    image may need a replacement."""
    path = guest_image(suite, say)
    try:
        return path, kernel_module(suite, path, say)
    except Unavailable as why:
        say(f"{why}\na newer image may do")
        path = guest_image(suite, say, newer=True)
        return path, kernel_module(suite, path, say)
