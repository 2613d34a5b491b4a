/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* turbostat's text: whatever a file holds, it is refused with a reason, or its shares make sense.
 */
#include <math.h>

#include "lab/verbs/turbostat.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autofree char *text = g_strndup((const char *)data, size), *error = NULL;
        g_autoptr(Turbostat) found = NULL;

        if (turbostat_parse(text, &found, &error) < 0) {
                if (!error || found)
                        abort();
                return 0;
        }
        if (found->shares->len != found->watts->len * (guint)found->n_states ||
            found->watts->len != found->n_samples * found->packages->len)
                abort();
        for (guint i = 0; i < found->shares->len; i++) {
                double share = g_array_index(found->shares, double, i);

                if (!(share >= 0 && isfinite(share)))
                        abort();
        }
        return 0;
}
