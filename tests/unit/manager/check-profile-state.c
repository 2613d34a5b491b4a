/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The chosen profile: which of those that are asked for is taken, and how it is kept.
 */
#include <sys/stat.h>

#include "config-tree.h"
#include "manager/active-profile.h"
#include "manager/profile-keeper.h"

#define HELD_MAX 4

/* Choices among the profiles that choice() makes, and balanced. */
static const struct {
        const char *name;
        HeldProfile held[HELD_MAX];
        const char *chosen;
        bool on_battery;
        const char *mains, *battery;
        const char *expected;
        ProfileWhy why;
        uint64_t hold;
        const char *absent;
} choices[] = {
        { "nothing", {}, NULL, false, "", "", "balanced", PROFILE_UNASKED, 0, NULL },
        { "on battery without default",
          {},
          NULL,
          true,
          "",
          "",
          "balanced",
          PROFILE_UNASKED,
          0,
          NULL },
        { "mains",
          {},
          NULL,
          false,
          "performance",
          "power-saver",
          "performance",
          PROFILE_ON_MAINS,
          0,
          NULL },
        { "battery",
          {},
          NULL,
          true,
          "performance",
          "power-saver",
          "power-saver",
          PROFILE_ON_BATTERY,
          0,
          NULL },
        { "mains is not for battery",
          {},
          NULL,
          true,
          "performance",
          "",
          "balanced",
          PROFILE_UNASKED,
          0,
          NULL },
        { "chosen over defaults",
          {},
          "mine",
          true,
          "performance",
          "power-saver",
          "mine",
          PROFILE_CHOSEN,
          0,
          NULL },
        { "balanced can be chosen",
          {},
          "balanced",
          true,
          "",
          "power-saver",
          "balanced",
          PROFILE_CHOSEN,
          0,
          NULL },
        { "hold over chosen",
          { { 1, "game" } },
          "mine",
          true,
          "",
          "power-saver",
          "game",
          PROFILE_HELD,
          1,
          NULL },
        { "hold of balanced",
          { { 1, "balanced" } },
          "performance",
          false,
          "",
          "",
          "balanced",
          PROFILE_HELD,
          1,
          NULL },
        { "power-saver before performance",
          { { 1, "power-saver" }, { 2, "performance" } },
          NULL,
          false,
          "",
          "",
          "power-saver",
          PROFILE_HELD,
          1,
          NULL },
        { "in any order",
          { { 2, "performance" }, { 3, "game" }, { 1, "power-saver" } },
          NULL,
          false,
          "",
          "",
          "power-saver",
          PROFILE_HELD,
          1,
          NULL },
        { "performance before others",
          { { 1, "performance" }, { 2, "game" } },
          NULL,
          false,
          "",
          "",
          "performance",
          PROFILE_HELD,
          1,
          NULL },
        { "newest of others",
          { { 7, "mine" }, { 9, "game" }, { 8, "balanced" } },
          NULL,
          false,
          "",
          "",
          "game",
          PROFILE_HELD,
          9,
          NULL },
        { "newest of the same",
          { { 4, "performance" }, { 9, "performance" } },
          NULL,
          false,
          "",
          "",
          "performance",
          PROFILE_HELD,
          9,
          NULL },
        { "held: latency includes performance",
          { { 1, "latency" }, { 2, "performance" } },
          .mains = "",
          .battery = "",
          .expected = "latency",
          .hold = 1 },
        { "held: performance is older",
          { { 1, "performance" }, { 2, "latency" } },
          .mains = "",
          .battery = "",
          .expected = "latency",
          .hold = 2 },
        { "held: one that includes power-saver",
          { { 1, "night" }, { 2, "latency" }, { 3, "performance" } },
          .mains = "",
          .battery = "",
          .expected = "night",
          .hold = 1 },
        { "held: it is more than power-saver",
          { { 1, "night" }, { 2, "power-saver" } },
          .mains = "",
          .battery = "",
          .expected = "night",
          .hold = 1 },
        { "held: no family, and balanced",
          { { 1, "game" }, { 2, "balanced" } },
          .mains = "",
          .battery = "",
          .expected = "balanced",
          .hold = 2 },
        { "held one is gone",
          { { 1, "gone" } },
          "mine",
          false,
          "",
          "",
          "mine",
          PROFILE_CHOSEN,
          0,
          "gone" },
        { "one of those held is gone",
          { { 1, "gone" }, { 2, "game" } },
          "mine",
          false,
          "",
          "",
          "game",
          PROFILE_HELD,
          2,
          NULL },
        { "chosen one is gone",
          {},
          "gone",
          false,
          "performance",
          "",
          "performance",
          PROFILE_ON_MAINS,
          0,
          "gone" },
        { "all are gone",
          { { 1, "gone" } },
          "vanished",
          true,
          "",
          "lost",
          "balanced",
          PROFILE_UNASKED,
          0,
          "gone" },
};

TEST_EACH(choice, choices)
{
        typeof(choices[0]) *c = &choices[_i];
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
        g_autoptr(Config) config = NULL;
        ProfileInput input = { c->held, 0, c->chosen, c->on_battery, c->mains, c->battery };
        ProfileChoice found;

        put(IDLED, "[Daemon]\nPolicies=alpha\n");
        for (size_t i = 0; i < G_N_ELEMENTS(profiles); i++) {
                g_autofree char *path = g_strdup_printf("etc/idled/profiles/%s.conf",
                                                        profiles[i].name);

                put(path, profiles[i].text);
        }
        config = load_good();
        while (input.n_held < HELD_MAX && c->held[input.n_held].id)
                input.n_held++;
        found = profile_choose(config, &input);
        ck_assert_str_eq(found.profile->name, c->expected);
        ck_assert_int_eq(found.why, c->why);
        ck_assert_uint_eq(found.hold, c->hold);
        ck_assert_pstr_eq(found.absent, c->absent);
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
        typeof(kept[0]) *c = &kept[_i];
        g_autofree char *dir = g_build_filename(temp, "state", NULL), *name = NULL;

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

/* The names of the files that were synced to the disk. */
static GString *forced;
static int forcing_fails;

int fsync(int fd)
{
        g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
        g_autofree char *path = g_file_read_link(link, NULL);

        if (forced)
                g_string_append_printf(forced, "%s ", strrchr(path, '/') + 1);
        errno = forcing_fails;
        return forcing_fails ? -1 : 0;
}

TEST(forced_to_disk)
{
        g_autofree char *dir = g_build_filename(temp, "state", NULL);

        forced = g_string_new(NULL);
        ck_assert_int_eq(profile_state_write(dir, "night"), 0);
        ck_assert_str_eq(forced->str, "profile.new state ");
        ck_assert_int_eq(profile_state_write(dir, NULL), 0);
        ck_assert_str_eq(forced->str, "profile.new state state ");
        forcing_fails = EINVAL; /* there is no disk */
        ck_assert_int_eq(profile_state_write(dir, "night"), 0);
        check_kept(dir, "night");
        forcing_fails = EIO;
        ck_assert_int_eq(profile_state_write(dir, "day"), -EIO);
        check_kept(dir, "night");
        g_string_free(forced, TRUE);
        forced = NULL;
}

TEST(keep)
{
        g_autofree char *dir = g_build_filename(temp, "var/lib/state", NULL);
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
        g_autofree char *dir = g_build_filename(temp, "state", NULL), *name = NULL;
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
        g_autofree char *dir = g_build_filename(temp, "state", NULL);
        g_autofree char *file = g_build_filename(dir, "profile", NULL);
        g_autofree char *left = g_build_filename(dir, "profile.new/x", NULL);

        put("state/profile", "night\n");
        ck_assert_int_eq(profile_state_write(file, "day"), -ENOTDIR);
        ck_assert_int_eq(g_mkdir_with_parents(left, 0755), 0);
        ck_assert_int_eq(profile_state_write(dir, "day"), -EEXIST);
        check_kept(dir, "night");
}

UNIT("profile-state", .setup = set_up, .teardown = tear_down)
