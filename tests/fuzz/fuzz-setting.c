/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any text is a value of a setting or is refused with an explanation; one that is accepted is
 * written back as a text that means exactly the same. The first byte chooses the type.
 */
#include <errno.h>
#include <stdbool.h>

#include "base/cpuset.h"
#include "base/setting-value.h"
#include "fuzz.h"

static const char *const choices[] = { "one", "two", "three", NULL };
static const char *const fallbacks[] = { "yes", "1", "1", "1%", "1s", "", "one", "", "" };

static Setting row_of(unsigned type)
{
        return (Setting){ .section = "Policy",
                          .key = "Key",
                          .type = (SettingType)type,
                          .fallback = fallbacks[type],
                          .choices = choices,
                          .help = "For tests" };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        Setting rows[2] = { row_of(size > 0 ? data[0] % G_N_ELEMENTS(fallbacks) : 0) };
        g_autofree char *text = size > 0 ? g_strndup((const char *)data + 1, size - 1)
                                         : g_strdup("");
        g_autofree char *first = NULL, *second = NULL, *error = NULL;
        void *a = NULL, *b = NULL;
        int r;

        g_assert(settings_new(rows, sizeof(CpuSet), &a, &error) == 0);
        b = settings_copy(rows, sizeof(CpuSet), a);
        r = setting_parse(rows, text, a, &error);
        first = setting_format(rows, a);
        if (r == 0) {
                g_assert(setting_parse(rows, first, b, &error) == 0);
        } else {
                g_assert(r == -EINVAL || r == -ERANGE);
                g_assert(g_str_has_prefix(error, "found \"") && strstr(error, "\", expected "));
                g_assert(g_utf8_validate(error, -1, NULL));
        }
        second = setting_format(rows, b);
        g_assert(g_str_equal(first, second));
        if (rows[0].type != SETTING_STRING && rows[0].type != SETTING_LIST)
                g_assert(memcmp(a, b, sizeof(CpuSet)) == 0);
        settings_free(rows, a);
        settings_free(rows, b);
        return 0;
}
