/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes are a uevent or are not; the strings of one that is lie within them. */

#include "fuzz.h"
#include "sense/uevents.h"

static void check_inside(const char *text, const char *message, size_t size)
{
        g_assert(text >= message && text < message + size);
        g_assert(strnlen(text, size) < (size_t)(message + size - text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *message = (const char *)data;
        Uevent event;

        if (uevent_parse(message, size, &event) < 0)
                return 0;
        check_inside(event.action, message, size);
        check_inside(event.subsystem, message, size);
        check_inside(event.name, message, size);
        g_assert(!strchr(event.name, '/'));
        return 0;
}
