/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes are a message of the proc connector or are not; one that is has one of the known kinds.
 */
#include <errno.h>

#include "fuzz.h"
#include "sense/processes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        ProcessEvent event;
        int r = process_event_parse(data, size, &event);

        if (r <= 0) {
                g_assert(r == 0 || r == -EBADMSG);
                return 0;
        }
        g_assert(event.kind == PROCESS_FORK || event.kind == PROCESS_EXEC ||
                 event.kind == PROCESS_UID || event.kind == PROCESS_COMM);
        g_assert(event.kind == PROCESS_FORK || event.parent == 0);
        return 0;
}
