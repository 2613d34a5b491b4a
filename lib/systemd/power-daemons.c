/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The programs that write the same knobs as idled.
 *
 * Services that D-Bus activates must be masked: a disabled one starts again with the next client.
 */
#include "systemd/power-daemons.h"

#include <stddef.h>

const PowerDaemon power_daemons[] = {
        { .unit = "power-profiles-daemon.service",
          .process = "power-profiles-",
          .stop = "sudo systemctl mask --now power-profiles-daemon" },
        { .unit = "tuned-ppd.service",
          .process = "tuned-ppd",
          .stop = "sudo systemctl mask --now tuned-ppd" },
        { .unit = "tuned.service",
          .process = "tuned",
          .stop = "sudo systemctl disable --now tuned" },
        { .unit = "tlp.service",
          .stop = "sudo systemctl disable --now tlp; udev also starts it: set TLP_ENABLE=0 "
                  "in /etc/tlp.conf" },
        { .unit = "tlp-pd.service",
          .process = "tlp-pd",
          .stop = "sudo systemctl mask --now tlp-pd" },
        { .unit = "com.system76.PowerDaemon.service",
          .process = "system76-power",
          .stop = "sudo systemctl mask --now com.system76.PowerDaemon" },
        { .unit = "auto-cpufreq.service",
          .process = "auto-cpufreq",
          .stop = "sudo systemctl disable --now auto-cpufreq" },
        { .unit = "intel_lpmd.service",
          .process = "intel_lpmd",
          .stop = "sudo systemctl mask --now intel_lpmd" },
        { .unit = "laptop-mode.service",
          .process = "laptop_mode",
          .stop = "sudo systemctl disable --now laptop-mode" },
        { .unit = "cpupower-gui.service",
          .process = "cpupower-gui",
          .stop = "sudo systemctl disable --now cpupower-gui" },
        { .unit = "gamemoded.service",
          .process = "gamemoded",
          .of_user = true,
          .stop = "systemctl --user mask --now gamemoded, as the user whose process it is" },
        { 0 },
};
