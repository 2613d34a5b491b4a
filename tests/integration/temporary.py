# SPDX-License-Identifier: LGPL-2.1-or-later
"""Directories of tests, which are gone when their test is, however it ended.

As tests/temporary.h does it, with the same names: a directory is locked for as long as the process
that made it lives. The process that makes the next one removes those that are not locked, except
young ones, which may not be locked yet.
"""
import fcntl
import os
import shutil
import tempfile
import time

PREFIX = 'idled-scratch-'
AGE_SEC = 60


def lock(path):
    """A descriptor that holds the lock; None if another process has it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd


def sweep(base):
    for entry in os.scandir(base):
        try:
            info = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if not entry.name.startswith(PREFIX) or info.st_uid != os.geteuid() or \
                info.st_ctime > time.time() - AGE_SEC:
            continue
        fd = lock(entry.path)
        if fd is not None:
            shutil.rmtree(entry.path, ignore_errors=True)
            os.close(fd)


def make(test):
    """A directory for this test case, in memory where that is possible."""
    base = os.environ.get('TMPDIR') or ('/dev/shm' if os.access('/dev/shm', os.W_OK) else '/tmp')
    sweep(base)
    path = tempfile.mkdtemp(prefix=PREFIX, dir=base)
    test.addCleanup(os.close, lock(path))
    test.addCleanup(shutil.rmtree, path)
    return path
