#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Scrapes over HTTP: good ones, wrong ones, slow ones, hostile ones, and a thousand at a time."""
import concurrent.futures
import json
import os
import shutil
import socket
import subprocess
import time
import unittest

import ctltest
import idledtest
import openmetrics
from inetd import MAX_CONNECTIONS, Inetd, command, fetch, split

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PLAIN = "text/plain; version=0.0.4; charset=utf-8"
PROMETHEUS = (b"application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
              b"version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
GET = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
LIMIT = 5  # seconds that a client has for its request, and for the answer


class Http(ctltest.TestCase):
    def setUp(self):
        super().setUp()
        self.start("fleet")
        self.inetd = Inetd(command(self.bus.address))
        self.addCleanup(self.inetd.close)

    def ask(self, request):
        return split(fetch(self.inetd.port, request))

    def test_formats(self):
        for accept, expected in ((PROMETHEUS, OPENMETRICS), (b"*/*", PLAIN), (b"text/plain", PLAIN)):
            with self.subTest(accept=accept):
                status, headers, body = self.ask(GET + b"Accept: " + accept + b"\r\n\r\n")
                self.assertEqual((status, headers["content-type"]), (200, expected))
                self.assertIn(b'idled_cpu_parked{cpu="2"} 1\n', body)
                self.assertEqual(body.endswith(b"# EOF\n"), expected == OPENMETRICS)
        openmetrics.parse(self.ask(GET + b"Accept: " + PROMETHEUS + b"\r\n\r\n")[2])

    def test_refused(self):
        for request, status in ((b"GET / HTTP/1.1\r\n\r\n", 404),
                                (b"POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde", 405),
                                (b"nonsense\r\n\r\n", 400), (b"\x16\x03\x01\x02\x00\n\n", 400),
                                (GET + b"X: " + b"x" * 20000 + b"\r\n\r\n", 431),
                                (b"GET /metrics HTTP/3\r\n\r\n", 505)):
            with self.subTest(request=request[:40]):
                found, headers, body = self.ask(request)
                self.assertEqual(found, status)
                self.assertTrue(headers["content-type"].startswith("text/plain"))
                self.assertNotIn(b"idled", body)
                self.assertEqual(b"/metrics" in body, status == 404)
                if status == 405:
                    self.assertEqual(headers["allow"], "GET, HEAD")

    def test_rebound(self):
        """A web page whose domain leads to the loopback address reads nothing."""
        for request, status in ((b"GET /metrics HTTP/1.1\r\nHost: evil.example:10980\r\n\r\n", 421),
                                (b"GET /metrics HTTP/1.1\r\nHost: localhost:10980\r\n\r\n", 200)):
            found, _, body = self.ask(request)
            self.assertEqual((found, b"idled_" in body), (status, status == 200))

    @unittest.skipUnless(shutil.which("ip"), "needs ip of iproute2")
    def test_names_where_an_administrator_listens(self):
        """A Prometheus on another machine may use any name. So may what is no TCP connection."""
        addresses = json.loads(subprocess.run(["ip", "-json", "-4", "address"], stdout=subprocess.PIPE,
                                              check=True).stdout)
        outside = [info["local"] for link in addresses for info in link["addr_info"]
                   if not info["local"].startswith("127.")]
        if not outside:
            self.skipTest("needs an address other than the loopback address")
        with socket.create_server((outside[0], 0)) as server, socket.create_connection(server.getsockname()) as client:
            connection, _ = server.accept()
            with connection:
                client.sendall(b"GET /metrics HTTP/1.1\r\nHost: node.example\r\n\r\n")
                subprocess.run(command(self.bus.address), stdin=connection, stdout=connection, check=True, timeout=30)
            self.assertEqual(split(client.recv(65536))[0], 200)

    def test_head(self):
        status, headers, body = self.ask(b"HEAD /metrics HTTP/1.1\r\n\r\n")
        self.assertEqual((status, body), (200, b""))
        self.assertGreater(int(headers["content-length"]), 1000)

    def test_no_daemon(self):
        """A scrape that works says that idled does not."""
        inetd = Inetd(command("unix:path=/nonexistent"))
        self.addCleanup(inetd.close)
        status, _, body = split(fetch(inetd.port))
        self.assertEqual(status, 200)
        self.assertTrue(body.endswith(b"idled_up 0\n"))

    def test_leaves(self):
        """A client that closes without a request, or half-way, is no failure."""
        for text in (b"", b"GET /met", GET):
            with socket.create_connection(("127.0.0.1", self.inetd.port)) as client:
                client.sendall(text)
        self.assertTrue(self.inetd.wait_ended(3, 30))
        self.assertEqual(self.inetd.statuses, [0, 0, 0])

    def test_pipe(self):
        """Standard input and output need not be a socket."""
        run = subprocess.run(command(self.bus.address), input=GET + b"\r\n", capture_output=True,
                             timeout=30, check=False)
        self.assertEqual(run.returncode, 0)
        self.assertEqual(split(run.stdout)[0], 200)

    def test_slow(self):
        """A client that sends slowly, sends nothing, or does not read holds its process for some
        seconds, and does not delay the scrapes of others."""
        began = time.monotonic()
        silent = socket.create_connection(("127.0.0.1", self.inetd.port))
        dripping = socket.create_connection(("127.0.0.1", self.inetd.port))
        self.addCleanup(silent.close)
        self.addCleanup(dripping.close)
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        with theirs:
            deaf = subprocess.Popen(command(self.bus.address), stdin=theirs, stdout=theirs)
        ours.sendall(GET + b"\r\n")
        try:
            for number, byte in enumerate(GET * 100):
                dripping.sendall(bytes([byte]))
                self.assertEqual(self.ask(GET + b"\r\n")[0], 200)
                if number == 10:
                    self.assertIsNone(deaf.poll())
                time.sleep(0.2)
        except (BrokenPipeError, ConnectionResetError):
            pass
        silent.settimeout(30)
        self.assertEqual(split(silent.recv(65536))[0], 408)
        self.assertEqual(deaf.wait(30), 0)
        self.assertTrue(self.inetd.wait_idle(30))
        self.assertGreater(time.monotonic() - began, LIMIT - 1)
        self.assertEqual(set(self.inetd.statuses), {0})


class Thousand(idledtest.TestCase):
    """A real daemon is scraped, by another user if this is root."""

    CLIENTS = 1000

    def scrape(self, port):
        """As a Prometheus that tries again; how often it was refused."""
        refused = 0
        while True:
            answer = fetch(port, GET + b"Accept: " + PROMETHEUS + b"\r\n\r\n")
            if answer:
                status, _, body = split(answer)
                if status != 200 or openmetrics.parse(body)["idled_up"].get() != 1:
                    raise AssertionError(answer[:200])
                return refused
            refused += 1
            time.sleep(0.05)

    def test_parallel(self):
        """All are answered in full, at most so many at a time as the unit says, and another
        client of idled does not wait for them."""
        self.start()
        user = idledtest.NOBODY if os.geteuid() == 0 else None
        inetd = Inetd(idledtest.command_as(user, *command(self.bus.address)))
        self.addCleanup(inetd.close)
        waits = []
        with concurrent.futures.ThreadPoolExecutor(self.CLIENTS) as pool:
            scrapes = [pool.submit(self.scrape, inetd.port) for _ in range(self.CLIENTS)]
            while not all(s.done() for s in scrapes):
                began = time.monotonic()
                self.get("Parked")
                waits.append(time.monotonic() - began)
                concurrent.futures.wait(scrapes, 0.5)
            refused = sum(s.result() for s in scrapes)
        self.assertTrue(inetd.wait_idle(30))
        self.assertEqual((len(inetd.statuses), set(inetd.statuses)), (self.CLIENTS, {0}))
        self.assertLessEqual(inetd.most, MAX_CONNECTIONS)
        self.assertEqual(inetd.refused, refused)
        self.assertLess(max(waits), 10)
        print(f"{self.CLIENTS} scrapes, {refused} times refused; another client waited for "
              f"{max(waits) * 1000:.0f} ms at most, {sorted(waits)[len(waits) // 2] * 1000:.1f} ms "
              f"in the median")


unittest.main(verbosity=2)
