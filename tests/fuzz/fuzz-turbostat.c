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
        for (guint i = 0; i < found->samples->len; i++) {
                const TurbostatSample *sample = g_ptr_array_index(found->samples, i);

                for (int s = 0; s < sample->n_packages * found->n_states; s++)
                        if (!(sample->shares[s] >= 0 && isfinite(sample->shares[s])))
                                abort();
        }
        return 0;
}
