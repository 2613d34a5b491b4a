/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The programs that write the same knobs as idled.
 */
#include "systemd/power-daemons.h"

#include <stddef.h>

const PowerDaemon power_daemons[] = {
        { "power-profiles-daemon.service", "power-profiles-", .masked = true },
        { "tuned-ppd.service", "tuned-ppd", .masked = true },
        { "tuned.service", "tuned" },
        { "tlp.service",
          .stop = "sudo systemctl disable --now tlp; udev also starts it: set TLP_ENABLE=0 "
                  "in /etc/tlp.conf" },
        { "tlp-pd.service", "tlp-pd", .masked = true },
        { "com.system76.PowerDaemon.service", "system76-power", .masked = true },
        { "auto-cpufreq.service", "auto-cpufreq" },
        { "intel_lpmd.service", "intel_lpmd", .masked = true },
        { "laptop-mode.service", "laptop_mode" },
        { "cpupower-gui.service", "cpupower-gui" },
        { "gamemoded.service", "gamemoded", .of_user = true,
          .stop = "systemctl --user mask --now gamemoded, as the user whose process it is" },
        { 0 },
};
