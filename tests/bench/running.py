# SPDX-License-Identifier: LGPL-2.1-or-later
"""What benchmarks of the daemon as it runs share: a bus of their own, and a daemon that is ready."""
import os
import socket
import subprocess

TIMEOUT = 20
CONFIG = '''<busconfig><type>system</type><listen>{address}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/>
<allow send_destination="*" eavesdrop="true"/><allow receive_sender="*"/></policy></busconfig>
'''


def start_bus(directory):
    """Its process and its address."""
    address = 'unix:path=%s/bus' % directory
    config = os.path.join(directory, 'bus.conf')
    with open(config, 'w', encoding='ascii') as file:
        file.write(CONFIG.format(address=address))
    bus = subprocess.Popen(['dbus-daemon', '--config-file=' + config, '--nofork',
                            '--print-address'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    bus.stdout.readline()
    return bus, address


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
