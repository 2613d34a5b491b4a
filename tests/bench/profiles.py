# SPDX-License-Identifier: LGPL-2.1-or-later
"""What experiments in guests share: profiles of idled with another contract for all units, PROFILE+LIMIT.

balanced+0 is without one, power-saver+20ms with one of 20 ms.
"""

import argparse
import re


def limit_command(profile, limit):
    """Writes the drop-in of PROFILE+LIMIT in the guest; without a limit nothing. The caller removes /etc/idled/profiles
    after the run."""
    if not limit:
        return "true"
    drop_ins = f"/etc/idled/profiles/{profile}.conf.d"
    return f"mkdir -p {drop_ins} && printf '[contract]\\nWakeupP99={limit}\\n' >{drop_ins}/limit.conf"


def checked(words):
    """PROFILE or PROFILE+LIMIT; raises ArgumentTypeError for any other."""
    if not re.fullmatch(r"[a-z-]+(\+(0|\d+(us|ms|s)))?", words):
        raise argparse.ArgumentTypeError(f"found {words}, expected PROFILE or PROFILE+LIMIT, such as balanced+0 or "
                                         "power-saver+20ms")
    return words
