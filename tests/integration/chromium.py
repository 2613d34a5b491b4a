# SPDX-License-Identifier: LGPL-2.1-or-later
"""A headless Chromium, driven through its DevTools protocol.

The protocol is spoken over a pair of pipes (--remote-debugging-pipe): one JSON text after another, each
ended by a zero byte. No port is opened and nothing but Python is needed.
"""
import base64
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import time

PROGRAM = shutil.which('chromium')
TIMEOUT = 60
# Requests that fail because the daemon under test is stopped on purpose are not among these.
FAULTS = ('Runtime.exceptionThrown', 'Runtime.consoleAPICalled', 'Log.entryAdded')


class Browser:
    """One page of a browser whose files are below `directory`. Call stop() at the end."""

    def __init__(self, directory):
        os.makedirs(directory, exist_ok=True)
        from_us, self.output = os.pipe()
        self.input, to_us = os.pipe()

        def give_pipes():
            """As descriptors 3 and 4, which may be what the pipes have now."""
            first, second = os.dup(from_us), os.dup(to_us)
            os.dup2(first, 3)
            os.dup2(second, 4)
            os.closerange(5, 256)

        self.process = subprocess.Popen(
            [PROGRAM, '--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run',
             '--disable-dev-shm-usage', '--remote-debugging-pipe', '--lang=en-US',
             '--user-data-dir=' + os.path.join(directory, 'profile'), 'about:blank'],
            preexec_fn=give_pipes, close_fds=False, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, HOME=directory, XDG_CONFIG_HOME=directory,
                     XDG_CACHE_HOME=directory))
        os.close(from_us)
        os.close(to_us)
        self.numbers = itertools.count(1)
        self.buffer = b''
        self.faults = []  # errors and warnings on the page's console
        target = self.send('Target.createTarget', url='about:blank', session=None)['targetId']
        self.session = None
        self.session = self.send('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.send(domain + '.enable')

    def stop(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.input)
        os.close(self.output)

    def read(self):
        end = time.monotonic() + TIMEOUT
        while b'\0' not in self.buffer:
            if not select.select([self.input], [], [], max(end - time.monotonic(), 0))[0]:
                raise AssertionError('Chromium does not answer')
            data = os.read(self.input, 1 << 20)
            if not data:
                raise AssertionError('Chromium has ended')
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b'\0')
        return json.loads(message)

    def send(self, method, **parameters):
        """Calls a method of the protocol and returns its result."""
        session = parameters.pop('session', getattr(self, 'session', None))
        number = next(self.numbers)
        message = {'id': number, 'method': method, 'params': parameters}
        if session:
            message['sessionId'] = session
        data = json.dumps(message).encode() + b'\0'
        while data:
            data = data[os.write(self.output, data):]
        while True:
            answer = self.read()
            if answer.get('id') == number:
                if 'error' in answer:
                    raise AssertionError('%s: %s' % (method, answer['error']))
                return answer['result']
            self.note(answer)

    def note(self, event):
        """Keeps what is wrong with the page."""
        name, details = event.get('method'), event.get('params', {})
        bad = name == 'Runtime.exceptionThrown' or \
            name == 'Runtime.consoleAPICalled' and details['type'] in ('error', 'warning', 'assert') \
            or name == 'Log.entryAdded' and details['entry']['level'] in ('error', 'warning')
        if bad:
            self.faults.append(json.dumps(details))

    def open(self, url):
        self.send('Page.navigate', url=url)

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page; of a promise, what it becomes."""
        result = self.send('Runtime.evaluate', expression=expression, returnByValue=True,
                           awaitPromise=True)
        if 'exceptionDetails' in result:
            raise AssertionError('%s: %s' % (expression, result['exceptionDetails']))
        return result['result'].get('value')

    def resize(self, width, height, scale=1):
        """In units of CSS; pictures have `scale` times as many pixels."""
        self.send('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=scale, mobile=False)

    def prefer(self, scheme):
        """light or dark"""
        self.send('Emulation.setEmulatedMedia',
                  features=[{'name': 'prefers-color-scheme', 'value': scheme}])

    def press(self, key, **more):
        for kind in ('keyDown', 'keyUp'):
            self.send('Input.dispatchKeyEvent', type=kind, key=key, **more)

    def type(self, text):
        """Into what has the focus."""
        self.send('Input.insertText', text=text)

    def picture(self, path):
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.send('Page.captureScreenshot', format='png')['data']))
