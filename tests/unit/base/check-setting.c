/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values of settings: what each type accepts, how it is stored, written back and explained. */
#include <stdint.h>

#include "base/cpuset.h"
#include "base/nearest.h"
#include "base/setting-value.h"
#include "table.h"

typedef struct Options {
        bool yes;
        int order;
        uint64_t cores, some, anything, period;
        double factor, target, tiny;
        CpuSet cpus;
        char *name;
        char **words;
} Options;

static const char *const all[] = { "all", NULL };
static const char *const orders[] = { "efficiency", "performance", "package", NULL };

#define ROW(key_, type_, member, fallback_, ...)                                                   \
        {                                                                                          \
                .section = "Policy", .key = key_, .type = type_,                                   \
                .offset = offsetof(Options, member), .fallback = fallback_, .help = "Help",        \
                __VA_ARGS__                                                                        \
        }

static const Setting rows[] = {
        ROW("Yes", SETTING_BOOL, yes, "yes"),
        ROW("Order", SETTING_CHOICE, order, "package", .choices = orders),
        ROW("Cores", SETTING_COUNT, cores, "16", .min = 1, .max = 64),
        ROW("Some", SETTING_COUNT, some, "0", .max = 64, .choices = all),
        ROW("Anything", SETTING_COUNT, anything, "0"),
        ROW("Period", SETTING_DURATION, period, "250ms", .min = 10000, .max = 10000000),
        ROW("Factor", SETTING_REAL, factor, "1.5", .min = 0.5, .max = INFINITY),
        ROW("Target", SETTING_PERCENT, target, "80%", .min = 0.01, .max = 1),
        ROW("Tiny", SETTING_REAL, tiny, "0"),
        ROW("Cpus", SETTING_CPUSET, cpus, ""),
        ROW("Name", SETTING_STRING, name, ""),
        ROW("Words", SETTING_LIST, words, "one two"),
        { .key = NULL },
};

static Options *options_new(void)
{
        g_autofree char *error = NULL;
        void *options = NULL;

        ck_assert_msg(settings_new(rows, sizeof(Options), &options, &error) == 0, "%s", error);
        return options;
}

/* `formatted` NULL: the same as `text`. */
static const struct {
        const char *key, *text, *formatted;
} good[] = {
        { "Yes", "yes", NULL },
        { "Yes", "true", "yes" },
        { "Yes", "on", "yes" },
        { "Yes", "1", "yes" },
        { "Yes", "no", NULL },
        { "Yes", "false", "no" },
        { "Yes", "off", "no" },
        { "Yes", "0", "no" },
        { "Order", "efficiency", NULL },
        { "Cores", "1", NULL },
        { "Cores", "64", NULL },
        { "Cores", " 8\t", "8" },
        { "Some", "2", NULL },
        { "Some", "all", NULL },
        { "Some", "64", "all" },
        { "Anything", "18446744073709551615", NULL },
        { "Period", "10ms", NULL },
        { "Period", "10s", NULL },
        { "Period", "0.5s", "500ms" },
        { "Period", "10001us", NULL },
        { "Factor", "0.5", NULL },
        { "Factor", "1.1234567890123456789", "1.1234567890123457" },
        { "Factor", "3000000", NULL },
        { "Target", "1%", NULL },
        { "Target", "100%", NULL },
        { "Target", "1.56%", NULL },
        { "Target", "33.333333333333336%", NULL },
        { "Target", "29%", NULL },
        { "Tiny", "0.00000000000000000000000000000000123", NULL },
        { "Cpus", "", NULL },
        { "Cpus", "2-5,9", NULL },
        { "Cpus", "9,2,3,4,5", "2-5,9" },
        { "Cpus", "8191", NULL },
        { "Name", "", NULL },
        { "Name", " a text: with = and # ", "a text: with = and #" },
        { "Name", "größer", NULL },
        { "Words", "", NULL },
        { "Words", "one", NULL },
        { "Words", " one\t\ttwo \n three ", "one two three" },
};

TEST_EACH(accepted, good)
{
        const Setting *row = setting_find(rows, "Policy", c->key);
        Options *options = options_new(), *again = options_new();
        g_autofree char *error = NULL, *text = NULL, *text2 = NULL;
        int r;

        r = setting_parse(row, c->text, options, &error);
        ck_case(c->text, r == 0, "%s", error);
        text = setting_format(row, options);
        ck_assert_str_eq(text, c->formatted ? c->formatted : c->text);
        ck_assert_int_eq(setting_parse(row, text, again, &error), 0);
        text2 = setting_format(row, again);
        ck_assert_str_eq(text, text2);
        if (row->type == SETTING_REAL || row->type == SETTING_PERCENT)
                ck_assert(memcmp((char *)options + row->offset, (char *)again + row->offset,
                                 sizeof(double)) == 0);
        settings_free(rows, options);
        settings_free(rows, again);
}

static const struct {
        const char *key, *text;
        int error;
        const char *message;
} bad[] = {
        { "Yes", "YES", -EINVAL, "found \"YES\", expected yes or no" },
        { "Yes", "", -EINVAL, "found \"\", expected yes or no" },
        { "Order", "Package", -EINVAL,
          "found \"Package\", expected one of efficiency, performance or package" },
        { "Cores", "0", -ERANGE, "found \"0\", expected a whole number from 1 to 64, such as 16" },
        { "Cores", "65", -ERANGE,
          "found \"65\", expected a whole number from 1 to 64, such as 16" },
        { "Cores", "1o0", -EINVAL,
          "found \"1o0\", expected a whole number from 1 to 64, such as 16" },
        { "Cores", "-1", -EINVAL,
          "found \"-1\", expected a whole number from 1 to 64, such as 16" },
        { "Some", "All", -EINVAL, "found \"All\", expected all or a whole number from 0 to 64" },
        { "Some", "65", -ERANGE, "found \"65\", expected all or a whole number from 0 to 64" },
        { "Anything", "18446744073709551616", -ERANGE,
          "found \"18446744073709551616\", expected a whole number, such as 0" },
        { "Period", "1o0ms", -EINVAL,
          "found \"1o0ms\", expected a duration from 10ms to 10s, such as 250ms" },
        { "Period", "250", -EINVAL,
          "found \"250\", expected a duration from 10ms to 10s, such as 250ms" },
        { "Period", "9999us", -ERANGE,
          "found \"9999us\", expected a duration from 10ms to 10s, such as 250ms" },
        { "Factor", "0.4", -ERANGE,
          "found \"0.4\", expected a number of at least 0.5, such as 1.5" },
        { "Factor", "nan", -EINVAL,
          "found \"nan\", expected a number of at least 0.5, such as 1.5" },
        { "Target", "80", -EINVAL,
          "found \"80\", expected a percentage from 1% to 100%, such as 80%" },
        { "Target", "100.1%", -ERANGE,
          "found \"100.1%\", expected a percentage from 1% to 100%, such as 80%" },
        { "Cpus", "5-2", -EINVAL, "found \"5-2\", expected a list of CPUs, such as 2-5,9" },
        { "Cpus", "8192", -ERANGE, "found \"8192\", expected a list of CPUs, such as 2-5,9" },
        { "Name", "a\xff", -EINVAL, "found \"a\\xff\", expected a text" },
        { "Words", "a\xff", -EINVAL,
          "found \"a\\xff\", expected words separated by white space, such as one two" },
        { "Cores", "1\n2", -EINVAL,
          "found \"1\\x0a2\", expected a whole number from 1 to 64, such as 16" },
};

TEST_EACH(refused, bad)
{
        const Setting *row = setting_find(rows, "Policy", c->key);
        Options *options = options_new();
        g_autofree Options *before = g_memdup2(options, sizeof(*options));
        g_autofree char *error = NULL;
        int r;

        r = setting_parse(row, c->text, options, &error);
        ck_case(c->text, r == c->error, "returned %d, expected %d", r, c->error);
        ck_assert_str_eq(error, c->message);
        ck_case(c->text, memcmp(options, before, sizeof(*options)) == 0, "options were changed");
        settings_free(rows, options);
}

TEST(defaults)
{
        Options *options = options_new();

        ck_assert(options->yes);
        ck_assert_int_eq(options->order, 2);
        ck_assert_uint_eq(options->cores, 16);
        ck_assert_uint_eq(options->period, 250000);
        ck_assert_double_eq(options->factor, 1.5);
        ck_assert_double_eq(options->target, 0.8);
        ck_assert(cpuset_is_empty(&options->cpus));
        ck_assert_str_eq(options->name, "");
        ck_assert_uint_eq(g_strv_length(options->words), 2);
        settings_free(rows, options);
}

TEST(bad_default)
{
        static const Setting broken[] = {
                ROW("Name", SETTING_STRING, name, "text"),
                ROW("Period", SETTING_DURATION, period, "250"),
                { .key = NULL },
        };
        g_autofree char *error = NULL;
        void *options = &options;

        ck_assert_int_eq(settings_new(broken, sizeof(Options), &options, &error), -EINVAL);
        ck_assert_ptr_eq(options, &options);
        ck_assert_str_eq(error, "the default of Period: found \"250\", expected a duration, "
                                "such as 250");
}

TEST(copy)
{
        Options *options = options_new(), *other;
        g_autofree char *error = NULL;

        ck_assert_int_eq(
                setting_parse(setting_find(rows, "Policy", "Name"), "first", options, &error), 0);
        other = settings_copy(rows, sizeof(Options), options);
        ck_assert_int_eq(
                setting_parse(setting_find(rows, "Policy", "Name"), "second", options, &error), 0);
        ck_assert_int_eq(setting_parse(setting_find(rows, "Policy", "Words"), "", options, &error),
                         0);
        settings_free(rows, options);
        ck_assert_str_eq(other->name, "first");
        ck_assert_str_eq(other->words[1], "two");
        ck_assert_uint_eq(other->period, 250000);
        settings_free(rows, other);
        settings_free(rows, NULL);
}

TEST(no_options)
{
        static const Setting none[] = { { .key = NULL } };
        g_autofree char *error = NULL;
        void *options = NULL, *other;

        ck_assert_int_eq(settings_new(none, 0, &options, &error), 0);
        ck_assert_ptr_nonnull(options);
        other = settings_copy(none, 0, options);
        ck_assert_ptr_nonnull(other);
        settings_free(none, options);
        settings_free(none, other);
}

TEST(find)
{
        ck_assert_ptr_eq(setting_find(rows, "Policy", "Yes"), &rows[0]);
        ck_assert_ptr_null(setting_find(rows, "Policy", "yes"));
        ck_assert_ptr_null(setting_find(rows, "Park", "Yes"));
}

/* `nearest` NULL: nothing is near. */
static const struct {
        const char *word, *nearest;
} near[] = { { "Perio", "Period" },  { "Preiod", "Period" },   { "Periodd", "Period" },
             { "period", "Period" }, { "ORDER", "Order" },     { "Oredr", "Order" },
             { "Core", "Cores" },    { "MinCores", "Cores" },  { "Cpu", "Cpus" },
             { "Banana", NULL },     { "Temperature", NULL },  { "", NULL },
             { "x", NULL },          { "Anythin", "Anything" } };

TEST_EACH(nearest, near)
{
        const char *found = setting_nearest(rows, "Policy", c->word);

        ck_case(c->word, g_strcmp0(found, c->nearest) == 0, "found %s, expected %s",
                found ? found : "none", c->nearest ? c->nearest : "none");
        ck_assert_ptr_null(setting_nearest(rows, "Park", c->word));
}

TEST(nearest_long)
{
        g_autofree char *word = g_strnfill(65, 'a');
        const char *const candidates[] = { word, NULL };

        ck_assert_ptr_null(word_nearest(word, candidates));
        ck_assert_ptr_null(word_nearest(word + 1, candidates));
        ck_assert_ptr_eq(word_nearest(word + 1, (const char *const[]){ word + 2, NULL }), word + 2);
}

TEST(expectation)
{
        const Setting list = { .type = SETTING_LIST, .fallback = "" };
        const Setting cpus = { .type = SETTING_CPUSET, .fallback = "0" };
        const Setting time = { .type = SETTING_DURATION, .fallback = "5s", .max = 1e6 };
        const Setting text = { .type = SETTING_STRING,
                               .fallback = "",
                               .choices = (const char *const[]){ "a time or a name", NULL } };
        g_autofree char *four = setting_expectation(&text);
        g_autofree char *one = setting_expectation(&list);
        g_autofree char *two = setting_expectation(&cpus);
        g_autofree char *three = setting_expectation(&time);

        ck_assert_str_eq(one, "words separated by white space");
        ck_assert_str_eq(two, "a list of CPUs, such as 0");
        ck_assert_str_eq(three, "a duration of 0 or from 1us to 1s, such as 5s");
        ck_assert_str_eq(four, "a time or a name");
}

UNIT("setting")
