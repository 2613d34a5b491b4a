/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Platform profiles: of drivers with different words, of ACPI alone, and chosen by a person.
 */
#include "tuning.h"

#define FIRST  "sys/class/platform-profile/platform-profile-0/"
#define SECOND "sys/class/platform-profile/platform-profile-1/"
#define ACPI   "sys/firmware/acpi/platform_profile"

static void start(void)
{
        tuning_start(&actuator_platform, &options);
}

static int request(const char *profile)
{
        plan.platform = profile;
        return apply();
}

static void expect_file(const char *where, const char *file, const char *value)
{
        g_autofree char *text = scratch_text(file);

        *strchrnul(text, '\n') = '\0';
        ck_case(where, g_str_equal(text, value), "%s: \"%s\", expected \"%s\"", file, text, value);
}

static void put_handlers(const char *first, const char *second)
{
        scratch_file(FIRST "choices", first);
        scratch_file(FIRST "profile", "balanced\n");
        scratch_file(SECOND "choices", second);
        scratch_file(SECOND "profile", "balanced\n");
        scratch_file(ACPI, "balanced\n");
        scratch_file(ACPI "_choices", "low-power balanced performance\n");
}

static const struct {
        const char *profile, *first_choices, *second_choices, *first, *second;
} mappings[] = {
        { "low-power", "low-power balanced performance\n", "quiet balanced performance\n",
          "low-power", "quiet" },
        { "low-power", "cool balanced\n", "balanced performance\n", "cool", "balanced" },
        { "quiet", "low-power cool balanced\n", "low-power balanced\n", "cool", "low-power" },
        { "cool", "quiet low-power balanced\n", "performance\n", "quiet", "balanced" },
        { "performance", "quiet balanced balanced-performance\n",
          "balanced performance max-power\n", "balanced-performance", "performance" },
        { "balanced", "balanced-performance\n", "balanced custom\n", "balanced-performance",
          "balanced" },
        { "custom", "balanced custom\n", "balanced performance\n", "custom", "balanced" },
        { "custom", "", "\n", "balanced", "balanced" },
};

TEST_EACH(mapping, mappings)
{
        put_handlers(c->first_choices, c->second_choices);
        start();
        ck_assert_int_eq(request(c->profile), 0);
        expect_file(c->profile, FIRST "profile", c->first);
        expect_file(c->profile, SECOND "profile", c->second);
        expect_file("ACPI's file stands for the others", ACPI, "balanced");
        ck_assert_int_eq(request(NULL), 0);
        expect_file("restored", FIRST "profile", "balanced");
        expect_file("restored", SECOND "profile", "balanced");
        ck_assert(!record_exists());
}

TEST(acpi_alone)
{
        scratch_file(ACPI, "balanced\n");
        scratch_file(ACPI "_choices", "low-power balanced performance\n");
        start();
        ck_assert_int_eq(request("quiet"), 0);
        expect_file("the nearest", ACPI, "low-power");
        restore(knobs);
        expect_file("restored", ACPI, "balanced");
}

/* A key changes the profile: neither the next request nor the end changes that. */
TEST(chosen_by_key)
{
        put_handlers("low-power balanced performance\n", "low-power balanced performance\n");
        start();
        ck_assert_int_eq(request("low-power"), 0);
        scratch_file(FIRST "profile", "performance\n");
        ck_assert_int_eq(request("balanced"), 0);
        expect_file("the person's", FIRST "profile", "performance");
        expect_file("ours", SECOND "profile", "balanced");
        ck_assert_int_eq(request("low-power"), 0);
        expect_file("the person's", FIRST "profile", "performance");
        restore(knobs);
        expect_file("the person's", FIRST "profile", "performance");
        expect_file("restored", SECOND "profile", "balanced");
}

TEST(refused)
{
        put_handlers("low-power balanced\n", "low-power balanced\n");
        start();
        tuning_refusal = EIO;
        ck_assert_int_eq(request("low-power"), -EIO);
        tuning_refusal = 0;
        ck_assert_int_eq(request("low-power"), 0);
        expect_file("again", FIRST "profile", "low-power");
}

TEST(killed)
{
        put_handlers("low-power balanced\n", "low-power balanced\n");
        start();
        ck_assert_int_eq(request("low-power"), 0);
        recover_all(actuator_platform.kinds);
        expect_file("restored", FIRST "profile", "balanced");
        expect_file("restored", SECOND "profile", "balanced");
}

TEST(not_managed)
{
        put_handlers("low-power balanced\n", "low-power balanced\n");
        options.manage = false;
        start();
        ck_assert_int_eq(request("low-power"), 0);
        expect_file("left alone", FIRST "profile", "balanced");
        ck_assert(strstr(actuator_platform.describe(state), "Manage="));
}

/* The driver is loaded after idled has started. */
TEST(late)
{
        start();
        ck_assert_int_eq(request("low-power"), 0);
        ck_assert(strstr(actuator_platform.describe(state), "no profile"));
        put_handlers("low-power balanced\n", "quiet balanced\n");
        ck_assert_int_eq(request("low-power"), 0);
        expect_file("late", FIRST "profile", "low-power");
        expect_file("late", SECOND "profile", "quiet");
        ck_assert(!strstr(actuator_platform.describe(state), "no profile"));
        restore(knobs);
}

UNIT("platform", .setup = tuning_setup, .teardown = tuning_teardown)
