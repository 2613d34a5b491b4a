# SPDX-License-Identifier: LGPL-2.1-or-later
"""A message bus for a test, on which every user may do everything."""
import os
import subprocess

CONFIG = '''<busconfig><type>system</type><listen>{address}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/>
<allow send_destination="*" eavesdrop="true"/><allow receive_sender="*"/></policy></busconfig>
'''


class Bus:
    """At an address that stays the same when it is started again."""

    def __init__(self, directory):
        self.socket = os.path.join(directory, 'bus')
        self.address = 'unix:path=' + self.socket
        self.config = os.path.join(directory, 'bus.conf')
        self.process = None
        with open(self.config, 'w', encoding='utf-8') as file:
            file.write(CONFIG.format(address=self.address))

    def start(self):
        self.process = subprocess.Popen(
            ['dbus-daemon', '--config-file=' + self.config, '--nofork', '--print-address'],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.process.stdout.readline()

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
        self.process = None
