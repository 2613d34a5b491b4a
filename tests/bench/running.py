# SPDX-License-Identifier: LGPL-2.1-or-later
"""What benchmarks of the daemon as it runs share: a bus of their own, and a daemon that is ready."""
import os
import socket
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from privatebus import Bus  # pylint: disable=wrong-import-position

TIMEOUT = 20

def start_bus(directory):
    """Its process and its address."""
    bus = Bus(directory)
    bus.start()
    return bus.process, bus.address


def start_daemon(directory, *arguments, prefix=()):
    """With what it keeps in the directory; returns when it is ready. `prefix` is a command that
    runs it, such as setpriv."""
    path = os.path.join(directory, 'notify')
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(path)
        os.chmod(path, 0o666)  # the daemon may be another user's
        notify.settimeout(TIMEOUT)
        daemon = subprocess.Popen(
            [*prefix, os.environ['IDLED'], '--policy-dir', os.environ['IDLED_POLICIES'], '--run',
             os.path.join(directory, 'run'), '--log-level', 'warning', *arguments],
            env=dict(os.environ, NOTIFY_SOCKET=path))
        try:
            while b'READY=1' not in notify.recv(4096):
                pass
        except BaseException:
            stop(daemon)  # the caller does not have it yet
            raise
    return daemon


def stop(*processes):
    """One after the other."""
    for process in processes:
        process.terminate()
        process.wait()
