/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The chosen profile: which of those that are asked for is taken, and how it is kept.
 */
#include "config-tree.h"
#include "manager/active-profile.h"

#define HELD_MAX 4

/* Choices among the profiles that choice() makes, and balanced. */
static const struct {
        const char *name, *expected;
        HeldProfile held[HELD_MAX];
        uint64_t hold;
        const char *chosen;
        bool on_battery;
        const char *mains, *battery; /* NULL: no default */
        ProfileWhy why;
        const char *absent;
} choices[] = {
        { "nothing", "balanced", .why = PROFILE_UNASKED },
        { "on battery without default", "balanced", .on_battery = true, .why = PROFILE_UNASKED },
        { "mains", "performance", .mains = "performance", .battery = "power-saver",
          .why = PROFILE_ON_MAINS },
        { "battery", "power-saver", .on_battery = true, .mains = "performance",
          .battery = "power-saver", .why = PROFILE_ON_BATTERY },
        { "mains is not for battery", "balanced", .on_battery = true, .mains = "performance",
          .why = PROFILE_UNASKED },
        { "chosen over defaults", "mine", .chosen = "mine", .on_battery = true,
          .mains = "performance", .battery = "power-saver", .why = PROFILE_CHOSEN },
        { "balanced can be chosen", "balanced", .chosen = "balanced", .on_battery = true,
          .battery = "power-saver", .why = PROFILE_CHOSEN },
        { "hold over chosen", "game", .held = { { 1, "game" } }, .hold = 1, .chosen = "mine",
          .on_battery = true, .battery = "power-saver", .why = PROFILE_HELD },
        { "hold of balanced", "balanced", .held = { { 1, "balanced" } }, .hold = 1,
          .chosen = "performance", .why = PROFILE_HELD },
        { "power-saver before performance", "power-saver",
          .held = { { 1, "power-saver" }, { 2, "performance" } }, .hold = 1, .why = PROFILE_HELD },
        { "in any order", "power-saver",
          .held = { { 2, "performance" }, { 3, "game" }, { 1, "power-saver" } }, .hold = 1,
          .why = PROFILE_HELD },
        { "performance before others", "performance",
          .held = { { 1, "performance" }, { 2, "game" } }, .hold = 1, .why = PROFILE_HELD },
        { "newest of others", "game", .held = { { 7, "mine" }, { 9, "game" }, { 8, "balanced" } },
          .hold = 9, .why = PROFILE_HELD },
        { "newest of the same", "performance",
          .held = { { 4, "performance" }, { 9, "performance" } }, .hold = 9, .why = PROFILE_HELD },
        { "held: latency includes performance", "latency",
          .held = { { 1, "latency" }, { 2, "performance" } }, .hold = 1 },
        { "held: performance is older", "latency",
          .held = { { 1, "performance" }, { 2, "latency" } }, .hold = 2 },
        { "held: one that includes power-saver", "night",
          .held = { { 1, "night" }, { 2, "latency" }, { 3, "performance" } }, .hold = 1 },
        { "held: it is more than power-saver", "night",
          .held = { { 1, "night" }, { 2, "power-saver" } }, .hold = 1 },
        { "held: no family, and balanced", "balanced", .held = { { 1, "game" }, { 2, "balanced" } },
          .hold = 2 },
        { "held one is gone", "mine", .held = { { 1, "gone" } }, .chosen = "mine",
          .why = PROFILE_CHOSEN, .absent = "gone" },
        { "one of those held is gone", "game", .held = { { 1, "gone" }, { 2, "game" } }, .hold = 2,
          .chosen = "mine", .why = PROFILE_HELD },
        { "chosen one is gone", "performance", .chosen = "gone", .mains = "performance",
          .why = PROFILE_ON_MAINS, .absent = "gone" },
        { "all are gone", "balanced", .held = { { 1, "gone" } }, .chosen = "vanished",
          .on_battery = true, .battery = "lost", .why = PROFILE_UNASKED, .absent = "gone" },
};

TEST_EACH(choice, choices)
{
        static const struct {
                const char *name, *text;
        } profiles[] = {
                { "power-saver", "" },
                { "performance", "" },
                { "game", "" },
                { "mine", "" },
                { "latency", "[Profile]\nInclude=performance\n" },
                { "night", "[Profile]\nInclude=power-saver\n" },
        };
        ProfileInput input = { c->held,         0, c->chosen, c->on_battery, c->mains ?: "",
                               c->battery ?: "" };
        ProfileChoice found;

        put(IDLED, "[Daemon]\nPolicies=alpha\n");
        for (size_t i = 0; i < G_N_ELEMENTS(profiles); i++) {
                g_autofree char *path = g_strdup_printf("etc/idled/profiles/%s.conf",
                                                        profiles[i].name);

                put(path, profiles[i].text);
        }
        load_good();
        while (input.n_held < HELD_MAX && c->held[input.n_held].id)
                input.n_held++;
        found = profile_choose(config, &input);
        ck_case(c->name, g_str_equal(found.profile->name, c->expected), "%s", found.profile->name);
        ck_case(c->name, found.why == c->why, "why %d", (int)found.why);
        ck_case(c->name, found.hold == c->hold, "hold %" PRIu64, found.hold);
        ck_case(c->name, g_strcmp0(found.absent, c->absent) == 0, "absent %s", found.absent);
}

static const struct {
        const char *text; /* in the file; NULL: there is none */
        int error;
        const char *name;
} kept[] = {
        { NULL, -ENOENT, NULL },
        { "night\n", 0, "night" },
        { "night", 0, "night" },
        { "a-b_C9\n", 0, "a-b_C9" },
        { "", -EBADMSG, NULL },
        { "\n", -EBADMSG, NULL },
        { "night\nday\n", -EBADMSG, NULL },
        { " night\n", -EBADMSG, NULL },
        { "../night\n", -EBADMSG, NULL },
        { "auto\n", -EBADMSG, NULL },
        { "night\001\n", -EBADMSG, NULL },
        { "0123456789012345678901234567890123456789012345678901234567890123\n", 0,
          "0123456789012345678901234567890123456789012345678901234567890123" },
        { "01234567890123456789012345678901234567890123456789012345678901234\n", -EBADMSG, NULL },
        { "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234"
          "01234567890123456789012345678901234567890123456789012345678901234567890123456789\n",
          -EBADMSG, NULL },
};

TEST_EACH(kept_text, kept)
{
        g_autofree char *dir = g_build_filename(scratch, "state", NULL), *name = NULL;

        if (c->text)
                put("state/profile", c->text);
        ck_assert_int_eq(profile_state_read(dir, &name), c->error);
        ck_assert_pstr_eq(name, c->name);
}

static void check_kept(const char *dir, const char *expected)
{
        g_autofree char *name = NULL;
        int r = profile_state_read(dir, &name);

        ck_assert_int_eq(r, expected ? 0 : -ENOENT);
        ck_assert_pstr_eq(name, expected);
}

TEST(keep)
{
        g_autofree char *dir = g_build_filename(scratch, "var/lib/state", NULL);
        g_autofree char *left = g_build_filename(dir, "profile.new", NULL);

        ck_assert_int_eq(profile_state_write(dir, NULL), 0);
        ck_assert(!g_file_test(dir, G_FILE_TEST_EXISTS));
        ck_assert_int_eq(profile_state_write(dir, "night"), 0);
        check_kept(dir, "night");
        /* What a daemon that died in between left behind, or a link somewhere else. */
        ck_assert_int_eq(symlink("/dev/full", left), 0);
        ck_assert_int_eq(profile_state_write(dir, "day"), 0);
        check_kept(dir, "day");
        ck_assert(!g_file_test(left, G_FILE_TEST_EXISTS));
        ck_assert_int_eq(profile_state_write(dir, NULL), 0);
        check_kept(dir, NULL);
        ck_assert_int_eq(profile_state_write(dir, NULL), 0);
}

/* Waiting for the other end of a FIFO would be for ever. */
TEST(no_file)
{
        g_autofree char *dir = g_build_filename(scratch, "state", NULL), *name = NULL;
        g_autofree char *file = g_build_filename(dir, "profile", NULL);

        put("state/other", "");
        ck_assert_int_eq(mkfifo(file, 0600), 0);
        ck_assert_int_eq(profile_state_read(dir, &name), -EBADMSG);
        ck_assert_int_eq(profile_state_write(dir, "night"), 0);
        check_kept(dir, "night");
}

/* What cannot be written leaves the old one. */
TEST(cannot_keep)
{
        g_autofree char *dir = g_build_filename(scratch, "state", NULL);
        g_autofree char *file = g_build_filename(dir, "profile", NULL);
        g_autofree char *left = g_build_filename(dir, "profile.new/x", NULL);

        put("state/profile", "night\n");
        ck_assert_int_eq(profile_state_write(file, "day"), -ENOTDIR);
        ck_assert_int_eq(g_mkdir_with_parents(left, 0755), 0);
        ck_assert_int_eq(profile_state_write(dir, "day"), -EEXIST);
        check_kept(dir, "night");
}

UNIT("profile-state", .setup = set_up, .teardown = tear_down)
