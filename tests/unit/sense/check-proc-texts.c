/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* /proc/stat, load averages and pressure: odd, bad, damaged and enormous texts. */
#include "proc-texts.h"

static const struct {
        const char *name, *text;
        int error;
        const char *cpus;
        uint64_t running;
} stat_cases[] = {
        { "empty", "", -EBADMSG, "", 0 },
        { "garbage", "garbage\n", -EBADMSG, "", 0 },
        { "only the sum", "cpu  1 2 3 4\nprocs_running 5\n", -EBADMSG, "", 0 },
        { "oldest kernel", "cpu0 1 2 3 4\nprocs_running 2\n", 0, "0", 1 },
        { "CPU 0 alone", "cpu0 1 2 3 4 5 6 7 8 9 10\n", 0, "0", 0 },
        { "no CPU 0", "cpu1 1 2 3 4\ncpu3 1 2 3 4\n", 0, "1,3", 0 },
        { "cut inside a number", "cpu0 1 2 3 4 5\ncpu1 1 2 3 4", 0, "0", 0 },
        { "cut behind the name", "cpu0 1 2 3 4 5\ncpu1", 0, "0", 0 },
        { "too few numbers", "cpu0 1 2 3\ncpu1 1 2 3 4\n", 0, "1", 0 },
        { "negative", "cpu0 1 2 3 -4 5\ncpu1 1 2 3 4\n", 0, "1", 0 },
        { "no number", "cpu0 1 2 3 4 x 6 7 8\ncpu1 1 2 3 4\n", 0, "1", 0 },
        { "number too long", "cpu0 1 2 3 99999999999999999999 5\ncpu1 1 2 3 4\n", 0, "1", 0 },
        { "no such CPU", "cpu0 1 2 3 4\ncpu4 1 2 3 4\ncpu999999999999 1 2 3 4\n", 0, "0", 0 },
        { "no task runs", "cpu0 1 2 3 4\nprocs_running 0\n", 0, "0", 0 },
        { "too many run", "cpu0 1 2 3 4\nprocs_running 9000000000000000000\n", 0, "0", UINT32_MAX },
        { "running is garbage", "cpu0 1 2 3 4\nprocs_running many\n", 0, "0", 0 },
};

TEST_EACH(stat_text, stat_cases)
{
        g_autofree char *cpus = NULL;
        int r;

        tree_set(&tree, "proc/stat", c->text);
        r = counters_read(sensors, 0, counters);
        ck_case(c->name, r == c->error, "returned %d, expected %d", r, c->error);
        ck_assert_uint_eq(counters->have, r < 0 ? 0 : SENSE_LOAD);
        cpus = cpuset_format(&counters->cpus);
        ck_case(c->name, strcmp(cpus, c->cpus) == 0, "CPUs %s, expected %s", cpus, c->cpus);
        ck_case(c->name, counters->running == c->running, "%u running", counters->running);

        tree_set(&tree, "proc/stat", good_stat);
        ck_assert_msg(counters_read(sensors, 0, counters) == 0, "does not recover");
        ck_assert_int_eq(cpuset_count(&counters->cpus), 2);
}

TEST(stat_with_nul)
{
        static const char text[] = "cpu0 1 2 3 4 5\ncpu1 1 2\0 3 4 5\ncpu2 1 2 3 4 5\n";
        CpuSet expected = set_of("0,2");

        tree_rewrite(&tree, "proc/stat", text, sizeof(text) - 1);
        ck_assert_int_eq(counters_read(sensors, 0, counters), 0);
        ck_assert(cpuset_equal(&counters->cpus, &expected));
}

/* Larger than the first buffer: an `intr` line as large machines have, and one of 10 MB. */
TEST_RANGE(stat_grows, 0, 5)
{
        static const size_t sizes[] = { 4000, 4095 - 40, 100000, 10 << 20, 20 << 20 };
        size_t size = sizes[_i];
        g_autoptr(GString) text = g_string_new("cpu0 1 2 3 4\nintr 5");
        int r;

        while (text->len < size)
                g_string_append(text, " 0");
        g_string_append(text, "\nctxt 77\nprocs_running 6\n");
        tree_rewrite(&tree, "proc/stat", text->str, text->len);
        r = counters_read(sensors, 0, counters);
        if (size > FILE_SIZE_MAX) {
                ck_assert_int_eq(r, -EFBIG);
                return;
        }
        ck_assert_int_eq(r, 0);
        ck_assert_uint_eq(counters->switches, 77);
        ck_assert_uint_eq(counters->running, 5);
}

/* Bad contents of the two small files: the reading is good but does not have them. */
static const struct {
        const char *name, *path, *text;
} bad_cases[] = {
        { "empty", "proc/loadavg", "" },
        { "garbage", "proc/loadavg", "garbage\n" },
        { "negative", "proc/loadavg", "-1.00 0.00 0.00 1/80 1\n" },
        { "no fraction", "proc/loadavg", "1 2 3 1/80 1\n" },
        { "exponent", "proc/loadavg", "1e5 2.00 3.00 1/80 1\n" },
        { "three decimals", "proc/loadavg", "1.000 2.00 3.00 1/80 1\n" },
        { "no threads", "proc/loadavg", "1.00 2.00 3.00 1/\n" },
        { "cut", "proc/loadavg", "1.00 2.00" },
        { "empty", "proc/pressure/cpu", "" },
        { "garbage", "proc/pressure/cpu", "garbage\n" },
        { "no total", "proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00\n" },
        { "only full", "proc/pressure/cpu", "full avg10=0.00 total=5\n" },
        { "full has it", "proc/pressure/cpu", "some avg10=0.00\nfull avg10=0.00 total=5\n" },
        { "negative", "proc/pressure/cpu", "some avg10=0.00 total=-5\n" },
        { "no number", "proc/pressure/cpu", "some avg10=0.00 total=\n" },
        { "unit", "proc/pressure/cpu", "some avg10=0.00 total=5us\n" },
        { "too long", "proc/pressure/cpu", "some total=99999999999999999999\n" },
};

TEST_EACH(bad, bad_cases)
{
        unsigned without = ALL &
                           ~(unsigned)(strstr(c->path, "loadavg") ? SENSE_LOADAVG : SENSE_PRESSURE);

        counters->loadavg[0] = 42;
        counters->pressure_usec = 42;
        tree_set(&tree, c->path, c->text);
        ck_assert_int_eq(counters_read(sensors, ALL, counters), 0);
        ck_case(c->name, counters->have == without, "%s: have %x", c->path, counters->have);
        ck_assert(without & SENSE_LOADAVG || counters->loadavg[0] == 42);
        ck_assert(without & SENSE_PRESSURE || counters->pressure_usec == 42);
}

TEST_RANGE(huge_and_nul, 0, 2)
{
        g_autofree char *text = g_malloc0(10 << 20);

        memset(text, _i ? '1' : 0, 10 << 20);
        tree_rewrite(&tree, "proc/loadavg", text, 10 << 20);
        tree_rewrite(&tree, "proc/pressure/cpu", text, 10 << 20);
        ck_assert_int_eq(counters_read(sensors, ALL, counters), 0);
        ck_assert_uint_eq(counters->have, SENSE_LOAD);
        tree_rewrite(&tree, "proc/stat", text, 10 << 20);
        ck_assert_int_eq(counters_read(sensors, ALL, counters), -EBADMSG);
}

/* Texts with a few bytes changed, cut somewhere: the sensors say what they can make of them. */
TEST(damaged)
{
        static const struct {
                const char *path, *text;
        } files[] = {
                { "proc/stat", good_stat },
                { "proc/loadavg", good_loadavg },
                { "proc/pressure/cpu", good_pressure },
        };
        CpuSet all = set_of("0-3");

        for (guint32 seed = 0; seed < 3000; seed++) {
                g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
                size_t i = seed % 3;
                gint32 size = (gint32)strlen(files[i].text);
                g_autofree char *text = g_memdup2(files[i].text, (gsize)size);
                int r;

                for (int n = g_rand_int_range(rand, 0, 6); n > 0; n--)
                        text[g_rand_int_range(rand, 0, size)] = (char)g_rand_int_range(rand, 0,
                                                                                       256);
                if (g_rand_boolean(rand))
                        size = g_rand_int_range(rand, 0, size);
                tree_rewrite(&tree, files[i].path, text, (size_t)size);
                r = counters_read(sensors, ALL, counters);
                ck_assert_msg(r == 0 || (r == -EBADMSG && i == 0), "seed %u: %d", seed, r);
                ck_assert(cpuset_is_subset(&counters->cpus, &all));
                tree_set(&tree, files[i].path, files[i].text);
        }
        ck_assert_int_eq(counters_read(sensors, ALL, counters), 0);
        ck_assert_uint_eq(counters->have, ALL);
}

UNIT("proc-texts", .setup = setup, .teardown = sensors_end, .timeout = 60)
