# SPDX-License-Identifier: LGPL-2.1-or-later
"""What systemd does for idled-metrics.socket: accepts, starts a process with the connection as its
standard input and output, and closes connections at once while MaxConnections= of them run."""
import os
import re
import socket
import subprocess
import threading
from pathlib import Path

UNIT = Path(__file__).resolve().parents[2] / "units" / "idled-metrics.socket"
MAX_CONNECTIONS = int(re.search(r"^MaxConnections=(\d+)$", UNIT.read_text(), re.MULTILINE)[1])


class Inetd:
    """Serves a free port of the loopback address until close(); `command` as a list."""

    def __init__(self, command, limit=MAX_CONNECTIONS):
        self.command, self.limit = command, limit
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.port = self.socket.getsockname()[1]
        self.running, self.most, self.refused, self.statuses = 0, 0, 0, []
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection, self.changed:
                if self.running >= self.limit:
                    self.refused += 1
                    continue
                process = subprocess.Popen(self.command, stdin=connection, stdout=connection)
                self.running += 1
                self.most = max(self.most, self.running)
            threading.Thread(target=self._reap, args=(process,), daemon=True).start()

    def _reap(self, process):
        status = process.wait()
        with self.changed:
            self.running -= 1
            self.statuses.append(status)
            self.changed.notify_all()

    def wait_idle(self, timeout):
        """True once no process runs."""
        with self.changed:
            return self.changed.wait_for(lambda: self.running == 0, timeout)

    def wait_ended(self, count, timeout):
        """True once so many processes have run and ended."""
        with self.changed:
            return self.changed.wait_for(lambda: len(self.statuses) >= count, timeout)

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()
        self.wait_idle(30)


def command(address, *prefix):
    return [*prefix, os.environ["IDLECTL"], "metrics", "--http", "--bus-address", address]


def fetch(port, request=b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", timeout=60):
    """The whole answer, b"" if the connection was closed without one."""
    with socket.create_connection(("127.0.0.1", port), timeout) as client:
        answer = b""
        try:
            client.sendall(request)
            while True:
                block = client.recv(65536)
                if not block:
                    return answer
                answer += block
        except (ConnectionResetError, BrokenPipeError):
            return answer


def split(answer):
    """(status, headers by lower-case name, body) of an answer, which must be complete."""
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode("ascii").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in
               (line.partition(":") for line in lines[1:])}
    if int(headers["content-length"]) != len(body) and body:
        raise AssertionError(f"{len(body)} bytes, the head says {headers['content-length']}")
    return int(lines[0].split()[1]), headers, body
