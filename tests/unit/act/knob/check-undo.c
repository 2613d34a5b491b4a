/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The record of originals: what is read back from it, whatever has become of the file. */
#include "act/knob/undo-load.h"
#include "undo-fixture.h"

static const struct {
        const char *name, *file, *entries;
        int skipped;
} load_cases[] = {
        { "empty file", "", "", 0 },
        { "header only", HEAD, "", 0 },
        { "found", HEAD "found\tk\ta\t0-3\n", "k a 0-3 - -", 0 },
        { "empty value", HEAD "found\tk\ta\t\n", "k a  - -", 0 },
        { "written", HEAD "found\tk\ta\t0-3\nwrite\tk\ta\t1\n", "k a 0-3 1 -", 0 },
        { "last two", HEAD "found\tk\ta\t0\nwrite\tk\ta\t1\nwrite\tk\ta\t2\nwrite\tk\ta\t3\n",
          "k a 0 3 2", 0 },
        { "done", HEAD "found\tk\ta\t0\nwrite\tk\ta\t1\ndone\tk\ta\n", "", 0 },
        { "again after done", HEAD "found\tk\ta\t0\ndone\tk\ta\nfound\tk\ta\t5\n", "k a 5 - -", 0 },
        { "two", HEAD "found\tk\tb\t0\nfound\tk\ta\t1\n", "k b 0 - -; k a 1 - -", 0 },
        { "escapes", HEAD "found\tk\ta\\tb\\\\\t\\303\\244\n", "k a\tb\\ \303\244 - -", 0 },
        { "cut short", HEAD "found\tk\ta\t0-3\nwrite\tk\ta\t0-", "k a 0-3 - -", 0 },
        { "header cut short", "idled-undo\t1", "", 0 },
        { "boot cut short", "idled-undo\t1\ta-boot", "", 0 },
        { "no line", "rubbish", "", 1 },
        { "first found wins", HEAD "found\tk\ta\t0-3\nfound\tk\ta\t0\n", "k a 0-3 - -", 1 },
        { "write without found", HEAD "write\tk\ta\t0\n", "", 1 },
        { "done without found", HEAD "done\tk\ta\n", "", 1 },
        { "unknown word", HEAD "fuond\tk\ta\t0\nfound\tk\tb\t1\n", "k b 1 - -", 1 },
        { "too few fields", HEAD "found\tk\ta\n\nfound\n", "", 3 },
        { "too many fields", HEAD "found\tk\ta\t0\t1\n", "", 1 },
        { "done with value", HEAD "found\tk\ta\t0\ndone\tk\ta\t0\n", "k a 0 - -", 1 },
        { "no name", HEAD "found\tk\t\t0\nfound\t\ta\t0\n", "", 2 },
        { "slash at the end", HEAD "found\tk\ta\t0\\\nfound\tk\tb\t1\n", "k b 1 - -", 1 },
        { "not escaped", HEAD "found\tk\ta\t\303\244\nfound\tk\ta\\q\t1\n", "", 2 },
        { "binary", HEAD "found\tk\ta\t\\0\n\001\002\377\n", "", 2 },
        { "no header", "found\tk\ta\t0\n", "", 1 },
        { "another version", "idled-undo\t2\tb\nfound\tk\ta\t0\n", "", 2 },
        { "another boot", "idled-undo\t1\tc\nfound\tk\ta\t0\nrubbish\n", "", 0 },
};

TEST_EACH(load, load_cases)
{
        g_autofree char *text = NULL;
        int skipped;

        scratch_file("undo", c->file);
        g_autoptr(Undo) undo = open_undo();

        text = describe(undo);
        ck_case(c->name, strcmp(text, c->entries) == 0, "read \"%s\", expected \"%s\"", text,
                c->entries);
        UndoEntry *const *entries;
        undo_entries(undo, &entries, &skipped);
        ck_case(c->name, skipped == c->skipped, "skipped %d, expected %d", skipped, c->skipped);
}

/* An entry added to a file in any state is read back, with those that made sense in it. */
TEST_EACH(load_and_add, load_cases)
{
        g_autofree char *expected = g_strdup_printf("%s%sk new 7 8 -", c->entries,
                                                    *c->entries ? "; " : "");
        g_autofree char *text = NULL;

        scratch_file("undo", c->file);
        g_autoptr(Undo) undo = open_undo();

        ck_assert_int_eq(put_found(undo, "new", "7", "8"), 0);
        g_autoptr(Undo) again = open_undo();

        text = describe(again);
        ck_case(c->name, strcmp(text, expected) == 0, "read \"%s\", expected \"%s\"", text,
                expected);
}

/* What made no sense is kept as it was found, once, and no longer in the way. */
TEST_EACH(damaged_is_set_aside, load_cases)
{
        g_autofree char *text = NULL, *kept = NULL;

        scratch_file("undo", c->file);
        scratch_file(UNDO_DAMAGED, "of long ago");
        g_autoptr(Undo) undo = open_undo();

        ck_case(c->name, undo_set_aside(undo) == (c->skipped > 0), "set aside or not");
        kept = scratch_text(UNDO_DAMAGED);
        ck_case(c->name, g_str_equal(kept, c->skipped > 0 ? c->file : "of long ago"), "kept \"%s\"",
                kept);
        ck_case(c->name, record_exists() == (*c->entries != '\0'), "record is there or not");
        ck_assert_int_eq(put_found(undo, "new", "7", "8"), 0);
        g_autoptr(Undo) again = open_undo();
        UndoEntry *const *entries;
        int skipped;

        undo_entries(again, &entries, &skipped);
        ck_case(c->name, c->skipped == 0 || skipped == 0, "skipped %d again", skipped);
        ck_assert_int_eq(c->skipped > 0 ? undo_set_aside(again) : 0, 0);
        ck_assert_ptr_nonnull(find_entry(again, "k", "new"));
        ck_assert_int_eq(put_done(again, "new"), 0);
        text = describe(again);
        ck_case(c->name, g_str_equal(text, c->entries), "left \"%s\"", text);
}

TEST(other_boot_is_dropped)
{
        scratch_file("undo", "idled-undo\t1\tother\nfound\tk\ta\t0\n");
        g_autoptr(Undo) undo = open_undo();

        ck_assert(!record_exists());
}

TEST(nul_bytes_spoil_their_line_only)
{
        static const char file[] = HEAD "found\tk\ta\t0\0\n\0\nfound\tk\tb\t1\n";
        g_autofree char *path = g_build_filename(scratch, "undo", NULL), *text = NULL;
        UndoEntry *const *entries;
        int skipped;

        ck_assert(g_file_set_contents(path, file, sizeof(file) - 1, NULL));
        g_autoptr(Undo) undo = open_undo();

        text = describe(undo);
        ck_assert_str_eq(text, "k b 1 - -");
        undo_entries(undo, &entries, &skipped);
        ck_assert_int_eq(skipped, 2);
}

/* Not even the magic can be begun with a NUL byte, nor cut short by one. */
TEST_RANGE(nul_bytes_are_no_header, 0, 4)
{
        static const struct {
                const char *text;
                gssize size;
        } files[] = { { "\0", 1 }, { "\0\1\2", 3 }, { "idled\0", 6 }, { UNDO_MAGIC "a\0b", 16 } };
        g_autofree char *path = g_build_filename(scratch, "undo", NULL);
        UndoEntry *const *entries;
        int skipped;

        ck_assert(g_file_set_contents(path, files[_i].text, files[_i].size, NULL));
        g_autoptr(Undo) undo = open_undo();

        ck_assert_int_eq(undo_entries(undo, &entries, &skipped), 0);
        ck_assert_int_eq(skipped, 1);
        ck_assert(record_exists());
}

TEST_RANGE(enormous_line_is_skipped, 0, 4)
{
        static const size_t sizes[] = { 64 << 10, 65 << 10, 128 << 10, 40 << 20 };
        g_autofree char *much = g_strnfill(sizes[_i], '1'), *text = NULL;
        g_autofree char *file = g_strdup_printf(HEAD "found\tk\ta\t%s\nfound\tk\tb\t1\n", much);
        UndoEntry *const *entries;
        int skipped;

        scratch_file("undo", file);
        g_autoptr(Undo) undo = open_undo();

        text = describe(undo);
        ck_assert_str_eq(text, "k b 1 - -");
        undo_entries(undo, &entries, &skipped);
        ck_assert_int_eq(skipped, 1);
}

TEST(values_survive)
{
        static const char *const values[] = {
                "0-3", "", " ", "a\tb", "a\nb", "\\", "\\\\n", "\"q\"", "\001\177\303\244\377",
        };
        g_autofree char *enormous = g_strnfill(40000, ',');

        for (size_t i = 0; i <= G_N_ELEMENTS(values); i++) {
                const char *value = i < G_N_ELEMENTS(values) ? values[i] : enormous;
                UndoEntry *const *entries;
                g_autoptr(Undo) undo = open_undo();

                ck_assert_int_eq(put_found(undo, "a/b c\n", value, value), 0);
                g_autoptr(Undo) again = open_undo();

                ck_assert_int_eq(undo_entries(again, &entries, NULL), 1);
                ck_assert_str_eq(entries[0]->name, "a/b c\n");
                ck_assert_str_eq(entries[0]->found, value);
                ck_assert_str_eq(entries[0]->last, value);
                ck_assert_int_eq(put_done(undo, "a/b c\n"), 0);
                ck_assert(!record_exists());
        }
}

TEST(refuses_what_makes_no_sense)
{
        g_autoptr(Undo) undo = open_undo();
        UndoStep step = { .kind = "other", .name = "a", .found = "3", .value = "4" };

        ck_assert_ptr_null(find_entry(undo, "k", "a"));
        ck_assert_int_eq(put_found(undo, "a", "1", "2"), 0);
        ck_assert_int_eq(put_found(undo, "a", "1", "2"), -EEXIST);
        ck_assert_int_eq(undo_put(undo, &step, 1), 0);
        ck_assert_ptr_nonnull(step.entry);
        ck_assert_ptr_eq(find_entry(undo, "other", "a"), step.entry);
        ck_assert_int_eq(put_done(undo, "a"), 0);
        ck_assert_ptr_null(find_entry(undo, "k", "a"));
        expect_record("other a 3 4 -");
}

TEST(kept_nowhere)
{
        g_autoptr(Undo) undo = NULL;
        g_autofree char *text = NULL;

        ck_assert_int_eq(undo_open(-1, BOOT, &undo), 0);
        ck_assert_int_eq(put_found(undo, "a", "1", "2"), 0);
        text = describe(undo);
        ck_assert_str_eq(text, "k a 1 2 -");
        ck_assert_int_eq(put_done(undo, "a"), 0);
}

/* Many at once: all of them or none. */
TEST(many)
{
        g_autoptr(Undo) undo = open_undo();
        UndoStep steps[] = {
                { .kind = "k", .name = "a", .found = "1", .value = "2" },
                { .kind = "k", .name = "b", .found = "3", .value = "4" },
        };
        UndoStep mixed[] = { { 0 },
                             { 0 },
                             { .kind = "k", .name = "c", .found = "5", .value = "6" } };
        g_autofree char *before = NULL, *after = NULL;

        ck_assert_int_eq(undo_put(undo, steps, 0), 0);
        ck_assert(!record_exists());
        ck_assert_int_eq(undo_put(undo, steps, 2), 0);
        expect_record("k a 1 2 -; k b 3 4 -");
        mixed[0] = (UndoStep){ .entry = steps[0].entry };
        mixed[1] = (UndoStep){ .entry = steps[1].entry, .value = "7" };
        ck_assert_int_eq(undo_put(undo, mixed, 3), 0);
        ck_assert_ptr_null(mixed[0].entry);
        expect_record("k b 3 7 4; k c 5 6 -");
        before = scratch_text("undo");
        mixed[0] = (UndoStep){ .kind = "k", .name = "b", .found = "8", .value = "9" };
        mixed[1].value = mixed[2].value = NULL;
        ck_assert_int_eq(undo_put(undo, mixed, 2), -EEXIST);
        after = scratch_text("undo");
        ck_assert_str_eq(before, after);
        ck_assert_int_eq(undo_put(undo, &mixed[1], 2), 0);
        ck_assert(!record_exists());
}

static size_t count_lines(const char *text)
{
        size_t n = 0;

        for (; *text; text++)
                n += *text == '\n';
        return n;
}

TEST(does_not_grow_for_ever)
{
        g_autoptr(Undo) undo = open_undo();
        size_t most = 0;

        ck_assert_int_eq(put_found(undo, "a", "x", "-1"), 0);
        ck_assert_int_eq(put_found(undo, "b", "y", "z"), 0);
        for (int i = 0; i < 2000; i++) {
                g_autofree char *value = g_strdup_printf("%d", i), *file = NULL;

                ck_assert_int_eq(put_write(undo, "a", value), 0);
                file = scratch_text("undo");
                most = MAX(most, count_lines(file));
        }
        g_autoptr(Undo) again = open_undo();
        g_autofree char *text = describe(again);

        ck_assert_str_eq(text, "k a x 1999 1998; k b y z -");
        ck_assert_uint_gt(most, 200);
        ck_assert_uint_lt(most, 300);
        ck_assert_int_lt(faccessat(scratch_fd, "undo.new", F_OK, 0), 0);
}

TEST(file_taken_away_is_made_again)
{
        g_autoptr(Undo) undo = open_undo();
        g_autofree char *text = NULL;

        ck_assert_int_eq(put_found(undo, "a", "1", "2"), 0);
        ck_assert_int_eq(unlinkat(scratch_fd, "undo", 0), 0);
        ck_assert_int_eq(put_write(undo, "a", "3"), 0);
        g_autoptr(Undo) again = open_undo();

        text = describe(again);
        ck_assert_str_eq(text, "k a 1 3 2");
}

UNIT("undo", .setup = scratch_open, .teardown = scratch_close, .timeout = 60)
