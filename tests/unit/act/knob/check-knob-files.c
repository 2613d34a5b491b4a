/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Many knobs that are files, changed together, and kept open where there are very many: whatever
 * becomes of the files meanwhile.
 */
#include "base/file.h"
#include "knobs.h"

#define MANY 300 /* more than can be open without being kept */
#define SOME 70  /* more than go together */

static char names[MANY][8];
static KnobChange changes[MANY];

static int read_plain(const ActContext *context, const char *name, char **ret_value)
{
        g_autofree char *path = g_strconcat("tree/", name, NULL);

        return file_read(context->root, path, ret_value);
}

static int write_plain(const ActContext *context, const char *name, const char *value)
{
        g_autofree char *path = g_strconcat("tree/", name, NULL);

        return file_write(context->root, path, value);
}

static const KnobKind plain_kind = {
        .name = "plain", .read = read_plain, .write = write_plain, .dir = "tree/"
};
static const KnobKind *const kinds[] = { &plain_kind, NULL };

static void put(const char *name, const char *value)
{
        g_autofree char *path = g_strconcat("tree/", name, NULL);

        scratch_file(path, value);
}

static void expect(const char *name, const char *value)
{
        g_autofree char *text = NULL;

        ck_assert_int_eq(read_plain(&knobs_context, name, &text), 0);
        ck_assert_msg(g_str_equal(text, value), "%s is \"%s\", expected \"%s\"", name, text, value);
}

static void expect_all(int n, const char *value)
{
        for (int i = 0; i < n; i++)
                expect(names[i], value);
}

static void setup(void)
{
        scratch_open();
        scratch_file("proc/sys/kernel/random/boot_id", "this-boot\n");
        for (int i = 0; i < MANY; i++) {
                snprintf(names[i], sizeof(names[i]), "f%d", i);
                put(names[i], "found\n");
        }
        knobs_begin(scratch_fd, NULL);
}

static void teardown(void)
{
        knobs_end();
        scratch_close();
}

/* Sets the first `n`, or restores them. */
static void try_all(int n, const char *value)
{
        for (int i = 0; i < n; i++)
                changes[i] = (KnobChange){ &plain_kind, names[i], value, -1 };
        knobs_set(knobs, changes, (unsigned)n);
}

static void set_all(int n, const char *value, int result)
{
        try_all(n, value);
        for (int i = 0; i < n; i++)
                ck_assert_msg(changes[i].result == result, "%s: %d, expected %d", names[i],
                              changes[i].result, result);
}

static int count_descriptors(void)
{
        _dir_ DIR *dir = dir_open(AT_FDCWD, "/proc/self/fd");
        int n = 0;

        while (readdir(dir))
                n++;
        return n;
}

static const int together_counts[] = { 1, SOME, MANY };

TEST_EACH(together, together_counts)
{
        int n = together_counts[_i], before = count_descriptors();
        const Knob *const *list;

        set_all(n, "something longer", 1);
        expect_all(n, "something longer");
        set_all(n, "something longer", 0);
        set_all(n, "short", 1);
        expect_all(n, "short");
        ck_assert_int_eq(knobs_verify(knobs), 0);
        ck_assert_int_eq(knobs_list(knobs, &list), n);
        for (int i = 0; i < n; i++)
                ck_assert_str_eq(list[i]->name, names[i]);
        set_all(n, NULL, 1);
        expect_all(n, "found");
        set_all(n, NULL, 0);
        ck_assert_int_eq(knobs_list(knobs, &list), 0);
        ck_assert_int_lt(faccessat(scratch_fd, "undo", F_OK, 0), 0);
        ck_assert_int_eq(count_descriptors(), before);
}

TEST(same_knob_twice)
{
        KnobChange twice[] = {
                { &plain_kind, "f0", "first", -1 },
                { &plain_kind, "f1", "other", -1 },
                { &plain_kind, "f0", "second", -1 },
                { &plain_kind, "f0", NULL, -1 },
        };

        knobs_set(knobs, twice, 4);
        for (int i = 0; i < 4; i++)
                ck_assert_int_eq(twice[i].result, 1);
        expect("f0", "found");
        expect("f1", "other");
}

/* Puts another file with this text in the place of f2. */
static void replace_file(const char *text)
{
        g_autofree char *path = g_build_filename(scratch, "tree", "f2", NULL);
        g_autofree char *other = g_build_filename(scratch, "tree", "other", NULL);

        put("other", text);
        ck_assert_int_eq(rename(other, path), 0);
}

/* Another program writes to a file that idled may have open, replaces it, or removes it. */
TEST_RANGE(changed_meanwhile, 0, 2)
{

        set_all(MANY, "ours", 1);
        set_all(MANY, "ours again", 1);
        ck_assert_int_eq(write_plain(&knobs_context, "f1", "another program's"), 0);
        replace_file("replaced\n");
        ck_assert_int_eq(unlinkat(scratch_fd, "tree/f3", 0), 0);
        if (_i) {
                ck_assert_int_eq(knobs_verify(knobs), 2);
                ck_assert_ptr_null(knob_find(knobs, &plain_kind, "f3"));
        }
        ck_assert_int_eq(knob_set(knobs, &plain_kind, "f1", "again"), -ESTALE);
        ck_assert_int_eq(knob_set(knobs, &plain_kind, "f2", "again"), -ESTALE);
        ck_assert_int_eq(knob_set(knobs, &plain_kind, "f3", "again"), -ENOENT);
        ck_assert_int_eq(knob_set(knobs, &plain_kind, "f4", "again"), 1);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect("f1", "another program's");
        expect("f2", "replaced");
        expect("f4", "found");
        expect(names[MANY - 1], "found");
}

/* Once idled has read or written another file with our value, it knows that file. An original that
 * appears in it comes from another program; in a third file, idled sets its value again. */
TEST_RANGE(replaced_and_seen, 0, 6)
{
        int n = _i < 3 ? SOME : MANY;

        set_all(n, "ours", 1);
        replace_file("ours\n");
        if (_i % 3 == 0)
                ck_assert_int_eq(knobs_verify(knobs), 0);
        else if (_i % 3 == 1)
                set_all(n, "ours", 0);
        set_all(n, "again", 1);
        replace_file("found\n");
        ck_assert_int_eq(knob_set(knobs, &plain_kind, "f2", "again"), 1);
        ck_assert_int_eq(knobs_verify(knobs), 0);
        ck_assert_int_eq(write_plain(&knobs_context, "f2", "found"), 0);
        ck_assert_int_eq(knob_set(knobs, &plain_kind, "f2", "again"), -ESTALE);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
}

/* The same when nothing is written any more. */
TEST_RANGE(replaced_and_verified, 0, 2)
{

        set_all(_i ? MANY : SOME, "ours", 1);
        replace_file("ours\n");
        ck_assert_int_eq(knobs_verify(knobs), 0);
        ck_assert_int_eq(write_plain(&knobs_context, "f2", "found"), 0);
        ck_assert_int_eq(knobs_verify(knobs), 1);
        ck_assert_int_eq(knob_find(knobs, &plain_kind, "f2")->state, KNOB_FOREIGN);
}

/* A file of sysfs that reads as empty is one whose driver is busy or gone: the empty text is no
 * value that could be restored. */
TEST(empty_is_no_value)
{
        g_autofree char *text = NULL;

        put("f0", "");
        put("f1", "\n");
        ck_assert_int_eq(knob_set(knobs, &plain_kind, "f0", "ours"), -ENODATA);
        ck_assert_int_eq(knob_set(knobs, &plain_kind, "f1", "ours"), -ENODATA);
        ck_assert_int_eq(read_plain(&knobs_context, "f0", &text), 0);
        ck_assert_str_eq(text, "");
        ck_assert_int_eq(knob_set(knobs, &plain_kind, "f2", "ours"), 1);
        put("f2", "");
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), -ENODATA);
        put("f2", "ours\n");
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect("f2", "found");
}

/* Writing to a knob that disturbs others, and adopting, read the files that are open. */
TEST(kept_while_disturbed)
{
        const KnobKind disturber = { .name = "disturber",
                                     .read = read_plain,
                                     .write = write_plain,
                                     .dir = "tree/",
                                     .disturbs = &plain_kind };
        int before = count_descriptors(), kept;

        put("other-kind", "found\n");
        set_all(MANY, "ours", 1);
        kept = count_descriptors();
        ck_assert_int_gt(kept, before);
        ck_assert_int_eq(knob_set(knobs, &disturber, "other-kind", "ours"), 1);
        ck_assert_int_eq(knob_adopt(knobs, &plain_kind, "f3"), 0);
        ck_assert_int_eq(count_descriptors(), kept + 1); /* its own */
        replace_file("the kernel's\n");
        ck_assert_int_eq(knob_adopt(knobs, &plain_kind, "f2"), 0);
        ck_assert_str_eq(knob_find(knobs, &plain_kind, "f2")->ours, "the kernel's");
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_all(MANY, "found");
}

/* Nothing is changed that is not on record; what fits is. */
TEST(full_record)
{
        int done = 0;

        for (int i = 0; i < SOME; i++)
                changes[i] = (KnobChange){ &plain_kind, names[i], "ours", -1 };
        scratch_limit("undo", 500);
        knobs_set(knobs, changes, SOME);
        scratch_limit("undo", 100000);
        for (int i = 0; i < SOME; i++) {
                expect(names[i], changes[i].result == 1 ? "ours" : "found");
                done += changes[i].result == 1;
        }
        ck_assert_int_gt(done, 0);
        ck_assert_int_lt(done, SOME);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_all(SOME, "found");
}

static void live_and_die(void)
{
        set_all(SOME, "ours", 1);
        set_all(4, "again", 1);
        set_all(SOME, NULL, 1);
}

static void expect_found(void)
{
        expect_all(SOME, "found");
}

TEST(killed_anywhere)
{
        ck_assert_int_gt(kill_everywhere(live_and_die, kinds, expect_found), 2 * 3 * SOME);
}

/* Calls that write to files or to the record fail, one or two of them: nothing is lost. */
TEST_RANGE(calls_fail, 0, 8)
{
        static const int errors[] = { EINTR, EIO, EBUSY, ENOSPC };

        for (int n = 0; calls_failing.times == 0; n++) {
                int skipped;

                knobs_renew();
                calls_failing = (typeof(calls_failing)){ n, 1 + _i % 2, errors[_i / 2] };
                try_all(5, "ours");
                try_all(3, "again");
                try_all(4, NULL);
                knobs_restore(knobs, NULL, NULL);
                if (calls_failing.times > 0)
                        break;
                ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
                expect_all(5, "found");
                knobs_renew();
                ck_assert_int_eq(knobs_recover(knobs, kinds, &skipped), 0);
                ck_assert_int_eq(skipped, 0);
        }
        calls_failing.times = 0;
}

UNIT("knob-files", .setup = setup, .teardown = teardown, .timeout = 60)
