/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * CPU lists as the kernel writes them. The kernel also reads "0-31:1/2" (strides) and "all"; it
 * writes neither, and neither is accepted here.
 */
#include "base/cpuset-text.h"

#include <ctype.h>
#include <errno.h>
#include <glib.h>

static const char *skip_blanks(const char *text)
{
        while (isspace((unsigned char)*text))
                text++;
        return text;
}

/* The decimal number at *text, which is moved behind it. */
static int take_cpu(const char **text, int *ret_cpu)
{
        int cpu = 0;

        if (!isdigit((unsigned char)**text))
                return -EINVAL;
        for (; isdigit((unsigned char)**text); (*text)++) {
                cpu = cpu * 10 + (**text - '0');
                if (cpu >= CPUSET_MAX)
                        return -ERANGE;
        }
        *ret_cpu = cpu;
        return 0;
}

/* "3" or "3-7" at *text, which is moved behind it. */
static int take_range(const char **text, CpuSet *set)
{
        int first, last, r;

        r = take_cpu(text, &first);
        if (r < 0)
                return r;
        last = first;
        if (**text == '-') {
                (*text)++;
                r = take_cpu(text, &last);
                if (r < 0)
                        return r;
        }
        if (last < first)
                return -EINVAL;
        cpuset_add_range(set, first, last);
        return 0;
}

int cpuset_parse(const char *text, CpuSet *ret_set)
{
        CpuSet set = { 0 };
        int r;

        text = skip_blanks(text);
        for (bool more = *text; more;) {
                r = take_range(&text, &set);
                if (r < 0)
                        return r;
                more = *text == ',';
                text += more;
        }
        if (*skip_blanks(text))
                return -EINVAL;
        *ret_set = set;
        return 0;
}

char *cpuset_format(const CpuSet *set)
{
        GString *text = g_string_new(NULL);

        for (int first = cpuset_next(set, -1); first >= 0;) {
                int last = first;

                while (cpuset_has(set, last + 1))
                        last++;
                g_string_append_printf(text, "%s%d", text->len ? "," : "", first);
                if (last > first)
                        g_string_append_printf(text, "-%d", last);
                first = cpuset_next(set, last);
        }
        return g_string_free(text, FALSE);
}

/* The hexadecimal word at *text, which is moved behind it. Returns how many digits it has. */
static int take_word(const char **text, uint32_t *ret_word)
{
        int digits = 0;

        for (*ret_word = 0; isxdigit((unsigned char)**text) && digits <= 8; (*text)++, digits++)
                *ret_word = *ret_word << 4 | (uint32_t)g_ascii_xdigit_value(**text);
        return digits;
}

/* Moves all members up by 32, for one more word below them; false if they do not fit. */
static bool shift_word(CpuSet *set, uint32_t word)
{
        bool fits = !(set->bits[CPUSET_WORDS - 1] >> 32);

        for (int i = CPUSET_WORDS - 1; i > 0; i--)
                set->bits[i] = set->bits[i] << 32 | set->bits[i - 1] >> 32;
        set->bits[0] = set->bits[0] << 32 | word;
        return fits;
}

int cpuset_parse_mask(const char *text, CpuSet *ret_set)
{
        CpuSet set = { 0 };

        text = skip_blanks(text);
        for (bool first = true, more = true; more; first = false) {
                uint32_t word;
                int digits = take_word(&text, &word);

                if (digits == 0 || digits > 8 || (!first && digits < 8))
                        return -EINVAL;
                if (!shift_word(&set, word))
                        return -ERANGE;
                more = *text == ',';
                text += more;
        }
        if (*skip_blanks(text))
                return -EINVAL;
        *ret_set = set;
        return 0;
}

char *cpuset_format_mask(const CpuSet *set)
{
        GString *text = g_string_new(NULL);

        for (int i = 2 * CPUSET_WORDS; i-- > 0;) {
                uint32_t word = (uint32_t)(set->bits[i / 2] >> i % 2 * 32);

                if (text->len)
                        g_string_append_printf(text, ",%08x", word);
                else if (word || i == 0)
                        g_string_append_printf(text, "%x", word);
        }
        return g_string_free(text, FALSE);
}
