/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Values of settings: from text into an options struct and back.
 *
 * A value is parsed into a Value first and stored only when all is well, so that a struct never
 * holds half of one. Each type has one case in value_parse(), value_store() and setting_format().
 */
#include "base/setting-value.h"

#include <errno.h>
#include <glib.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/cpuset-text.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/number.h"

typedef struct Value {
        int choice; /* of a bool: of its word */
        uint64_t whole;
        double real;
        CpuSet cpus;
        char *string;
        char **list;
} Value;

static void *field(const Setting *row, const void *options)
{
        return (char *)options + row->offset;
}

/* Each no before its yes. */
static const char *const truths[] = { "no", "yes", "false", "true", "off", "on", "0", "1", NULL };

static int choice_parse(const char *text, const char *const *choices, int *ret_value)
{
        for (int i = 0; choices[i]; i++)
                if (g_str_equal(text, choices[i])) {
                        *ret_value = i;
                        return 0;
                }
        return -EINVAL;
}

static int list_parse(const char *text, const char *const *choices, char ***ret_list)
{
        static const char white[] = " \t\n\v\f\r";
        g_autoptr(GStrvBuilder) words = g_strv_builder_new();

        for (text += strspn(text, white); *text; text += strspn(text, white)) {
                g_autofree char *word = g_strndup(text, strcspn(text, white));

                if (choices && !g_strv_contains(choices, word))
                        return -EINVAL;
                g_strv_builder_add(words, word);
                text += strlen(word);
        }
        *ret_list = g_strv_builder_end(words);
        return 0;
}

static int check_bounds(const Setting *row, double value)
{
        bool bounded = row->min != 0 || row->max != 0;

        return bounded && (value < row->min || value > row->max) ? -ERANGE : 0;
}

static int value_parse(const Setting *row, const char *text, Value *ret_value)
{
        int r = 0;

        switch (row->type) {
        case SETTING_BOOL:
                return choice_parse(text, truths, &ret_value->choice);
        case SETTING_COUNT:
                if (row->choices && g_str_equal(text, row->choices[0])) {
                        ret_value->whole = (uint64_t)row->max;
                        return 0;
                }
                r = u64_parse(text, &ret_value->whole);
                return r < 0 ? r : check_bounds(row, (double)ret_value->whole);
        case SETTING_DURATION:
                r = duration_parse(text, &ret_value->whole);
                return r < 0 ? r : check_bounds(row, (double)ret_value->whole);
        case SETTING_REAL:
                r = real_parse(text, &ret_value->real);
                return r < 0 ? r : check_bounds(row, ret_value->real);
        case SETTING_PERCENT:
                r = percent_parse(text, &ret_value->real);
                return r < 0 ? r : check_bounds(row, ret_value->real);
        case SETTING_CPUSET:
                return cpuset_parse(text, &ret_value->cpus);
        case SETTING_CHOICE:
                return choice_parse(text, row->choices, &ret_value->choice);
        case SETTING_STRING:
                ret_value->string = g_strdup(text);
                return 0;
        case SETTING_LIST:
                return list_parse(text, row->choices, &ret_value->list);
        }
        return -EINVAL;
}

static void value_store(const Setting *row, const Value *value, void *place)
{
        switch (row->type) {
        case SETTING_BOOL:
                *(bool *)place = value->choice % 2;
                break;
        case SETTING_COUNT:
        case SETTING_DURATION:
                *(uint64_t *)place = value->whole;
                break;
        case SETTING_REAL:
        case SETTING_PERCENT:
                *(double *)place = value->real;
                break;
        case SETTING_CPUSET:
                *(CpuSet *)place = value->cpus;
                break;
        case SETTING_CHOICE:
                *(int *)place = value->choice;
                break;
        case SETTING_STRING:
                g_free(*(char **)place);
                *(char **)place = value->string;
                break;
        case SETTING_LIST:
                g_strfreev(*(char ***)place);
                *(char ***)place = value->list;
                break;
        }
}

int setting_parse(const Setting *row, const char *text, void *options, char **ret_error)
{
        g_autofree char *stripped = g_strstrip(g_strdup(text));
        g_autofree char *expected = NULL, *found = NULL;
        Value value = { 0 };
        int r = -EINVAL;

        if (g_utf8_validate(stripped, -1, NULL))
                r = value_parse(row, stripped, &value);
        if (r == 0) {
                value_store(row, &value, field(row, options));
                return 0;
        }
        expected = setting_expectation(row);
        found = log_clean(stripped);
        *ret_error = g_strdup_printf("found \"%s\", expected %s", found, expected);
        return r;
}

/* The shortest decimal, without exponent, that `parse` reads as exactly `value`. `near` is that
 * decimal up to rounding: its neighbours are tried as well. */
static char *decimal_format(double value, double near, const char *suffix,
                            int (*parse)(const char *text, double *ret_value))
{
        const double tries[] = { near, nextafter(near, INFINITY), nextafter(near, 0) };
        /* The largest double has 309 digits, the smallest needs 340 behind the point. */
        char digits[700], format[8];

        for (size_t i = 0; i < G_N_ELEMENTS(tries); i++)
                for (int precision = 0; precision <= 340; precision++) {
                        g_autofree char *text = NULL;
                        double back;

                        g_snprintf(format, sizeof(format), "%%.%df", precision);
                        g_ascii_formatd(digits, sizeof(digits), format, tries[i]);
                        text = g_strconcat(digits, suffix, NULL);
                        if (parse(text, &back) == 0 && back == value)
                                return g_steal_pointer(&text);
                }
        return g_strconcat(digits, suffix, NULL);
}

char *setting_format(const Setting *row, const void *options)
{
        const void *place = field(row, options);
        double real;

        switch (row->type) {
        case SETTING_BOOL:
                return g_strdup(*(const bool *)place ? "yes" : "no");
        case SETTING_COUNT:
                if (row->choices && *(const uint64_t *)place == (uint64_t)row->max)
                        return g_strdup(row->choices[0]);
                return g_strdup_printf("%" G_GUINT64_FORMAT, *(const uint64_t *)place);
        case SETTING_DURATION:
                return duration_format(*(const uint64_t *)place);
        case SETTING_REAL:
                real = *(const double *)place;
                return decimal_format(real, real, "", real_parse);
        case SETTING_PERCENT:
                real = *(const double *)place;
                return decimal_format(real, real * 100, "%", percent_parse);
        case SETTING_CPUSET:
                return cpuset_format(place);
        case SETTING_CHOICE:
                return g_strdup(row->choices[*(const int *)place]);
        case SETTING_STRING:
                return g_strdup(*(char *const *)place);
        case SETTING_LIST:
                break;
        }
        return g_strjoinv(" ", *(char **const *)place);
}

int settings_new(const Setting *rows, size_t size, void **ret_options, char **ret_error)
{
        /* One byte at least: a struct of no options is still an object. */
        void *options = g_malloc0(MAX(size, 1));

        for (const Setting *row = rows; row->key; row++) {
                g_autofree char *error = NULL;
                int r = setting_parse(row, row->fallback, options, &error);

                if (r == 0)
                        continue;
                settings_free(rows, options);
                *ret_error = g_strdup_printf("the default of %s: %s", row->key, error);
                return -EINVAL;
        }
        *ret_options = options;
        return 0;
}

void *settings_copy(const Setting *rows, size_t size, const void *options)
{
        char *copy = g_malloc0(MAX(size, 1));

        memcpy(copy, options, size);
        for (const Setting *row = rows; row->key; row++) {
                if (row->type == SETTING_STRING) {
                        char **place = field(row, copy);

                        *place = g_strdup(*place);
                } else if (row->type == SETTING_LIST) {
                        char ***place = field(row, copy);

                        *place = g_strdupv(*place);
                }
        }
        return copy;
}

void settings_free(const Setting *rows, void *options)
{
        if (!options)
                return;
        for (const Setting *row = rows; row->key; row++) {
                if (row->type == SETTING_STRING)
                        g_free(*(char **)field(row, options));
                else if (row->type == SETTING_LIST)
                        g_strfreev(*(char ***)field(row, options));
        }
        g_free(options);
}

bool settings_equal(const Setting *rows, const void *a, const void *b)
{
        for (const Setting *row = rows; row->key; row++) {
                g_autofree char *x = setting_format(row, a);
                g_autofree char *y = setting_format(row, b);

                if (!g_str_equal(x, y))
                        return false;
        }
        return true;
}

const Setting *setting_find(const Setting *rows, const char *section, const char *key)
{
        for (const Setting *row = rows; row->key; row++)
                if (g_str_equal(row->section, section) && g_str_equal(row->key, key))
                        return row;
        return NULL;
}

const char *setting_nearest(const Setting *rows, const char *section, const char *key)
{
        g_autoptr(GPtrArray) keys = g_ptr_array_new();

        for (const Setting *row = rows; row->key; row++)
                if (g_str_equal(row->section, section))
                        g_ptr_array_add(keys, (char *)row->key);
        g_ptr_array_add(keys, NULL);
        return word_nearest(key, (const char *const *)keys->pdata);
}

static char *bound_format(const Setting *row, double bound)
{
        switch (row->type) {
        case SETTING_DURATION:
                return duration_format((uint64_t)bound);
        case SETTING_PERCENT:
                return decimal_format(bound, bound * 100, "%", percent_parse);
        default:
                return decimal_format(bound, bound, "", real_parse);
        }
}

/* " from 1 to 64", " of at least 1" for a maximum of INFINITY, "" without bounds. For a duration
 * that may be 0 " of 0 or from 1us to 1s": there is none in between. */
static char *range_format(const Setting *row)
{
        g_autofree char *min = NULL, *max = NULL;

        if (row->min == 0 && row->max == 0)
                return g_strdup("");
        min = bound_format(row, row->min);
        if (isinf(row->max))
                return g_strdup_printf(" of at least %s", min);
        max = bound_format(row, row->max);
        if (row->type == SETTING_DURATION && row->min == 0)
                return g_strdup_printf(" of 0 or from 1us to %s", max);
        return g_strdup_printf(" from %s to %s", min, max);
}

/* "one of a, b or c". */
static char *choices_format(const char *const *choices)
{
        GString *text = g_string_new("one of ");

        for (int i = 0; choices[i]; i++) {
                if (i > 0)
                        g_string_append(text, choices[i + 1] ? ", " : " or ");
                g_string_append(text, choices[i]);
        }
        return g_string_free(text, FALSE);
}

char *setting_expectation(const Setting *row)
{
        static const char *const nouns[] = {
                [SETTING_COUNT] = "a whole number",
                [SETTING_REAL] = "a number",
                [SETTING_PERCENT] = "a percentage",
                [SETTING_DURATION] = "a duration",
                [SETTING_CPUSET] = "a list of CPUs",
                [SETTING_STRING] = "a text",
                [SETTING_LIST] = "words separated by white space",
        };
        const char *example = row->fallback;
        g_autofree char *range = NULL;

        if (row->type == SETTING_BOOL)
                return g_strdup("yes or no");
        if (row->type == SETTING_CHOICE)
                return choices_format(row->choices);
        if (row->type == SETTING_STRING && row->choices)
                return g_strdup(row->choices[0]);
        if (row->type == SETTING_LIST && row->choices) {
                g_autofree char *choices = choices_format(row->choices);

                return g_strconcat("words, each ", choices, NULL);
        }
        if (row->type == SETTING_CPUSET && !*example)
                example = "2-5,9";
        range = range_format(row);
        if (row->type == SETTING_COUNT && row->choices)
                return g_strconcat(row->choices[0], " or ", nouns[row->type], range, NULL);
        return g_strconcat(nouns[row->type], range, *example ? ", such as " : "", example, NULL);
}
