# SPDX-License-Identifier: LGPL-2.1-or-later
"""What tests of consent share: a polkit with given answers, and the questions that it gets."""
from idledtest import MOCK

POLKIT = 'org.freedesktop.PolicyKit1'
AUTHORITY_PATH = '/org/freedesktop/PolicyKit1/Authority'
AUTHORITY = 'org.freedesktop.PolicyKit1.Authority'
YES, NO, CHALLENGE = 'ret = (True, False, {})', 'ret = (False, False, {})', 'ret = (False, True, {})'


class WithPolkit:
    """For a TestCase whose daemon finds a polkit on its bus."""

    def start_polkit(self, answer):
        """The answer is what dbusmock runs for each question: YES, NO, CHALLENGE, or code."""
        self.polkit, self.authority = self.mock(POLKIT, AUTHORITY_PATH, AUTHORITY)
        self.add_method('CancelCheckAuthorization', 's', '', '')
        self.answer(answer)

    def add_method(self, *method):
        self.authority.AddMethod(AUTHORITY, *method, dbus_interface=MOCK)

    def answer(self, answer):
        self.add_method('CheckAuthorization', '(sa{sv})sa{ss}us', '(bba{ss})', answer)

    def questions(self, method='CheckAuthorization'):
        """The arguments of each."""
        return [c[2] for c in self.authority.GetCalls(dbus_interface=MOCK) if c[1] == method]

    def watch_polkit(self):
        """A list that fills with the names of calls that reach polkit, whether it is alive or not."""
        return self.monitor("interface='%s'" % AUTHORITY)
