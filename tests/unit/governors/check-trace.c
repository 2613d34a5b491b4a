/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Traces: columns in any order, defaults, what is refused and where, blocks, xz and zstd that are
 * whole or not. */
#include <zstd.h>

#include "governors/memory-trace.h"
#include "table.h"

#define HEAD "cpu,t_enter_ns,sleep_len_ns,idle_ns"

static const struct {
        const char *text;
        int n; /* records; -1: refused */
        const char *where, *what;
} texts[] = {
        { "", 0, NULL, NULL },
        { "# nothing\n\n", 0, NULL, NULL },
        { HEAD, 0, NULL, NULL },
        { "0,1,2,3", 1, NULL, NULL },
        { "0,1,2,3\n", 1, NULL, NULL },
        { "0,1,2,3\r\n1,1,2,3\r\n", 2, NULL, NULL },
        { "# a\n" HEAD "\n# b\n0,1,2,3\n\n# c\n0,1,2,3\n#", 2, NULL, NULL },
        { "8191,18446744073709551615,9223372036854775807,2305843009213693951\n", 1, NULL, NULL },
        { "0,0,-9223372036854775807,0,1,1024,0,4294967295,1,1\n", 1, NULL, NULL },
        { "0,1,2\n", -1, "t:1:1: ", "3 fields" },
        { "0,1,2,3,1,1,1,1,1,1,1\n", -1, "t:1:1: ", "11 fields" },
        { "0,1,2,3\n0,1,2\n", -1, "t:2:6: ", "3 fields, expected 4" },
        { "0,1,2,3\n0,1,2,3,1\n", -1, "t:2:8: ", "5 fields, expected 4" },
        { "0,1,2,3\n\n#\n0,x,2,3\n", -1, "t:4:3: ", "found 'x', expected t_enter_ns" },
        { "8192,1,2,3\n", -1, "t:1:1: ", "cpu" },
        { "-1,1,2,3\n", -1, "t:1:1: ", "cpu" },
        { " 0,1,2,3\n", -1, "t:1:1: ", "cpu" },
        { "0,-1,2,3\n", -1, "t:1:3: ", "t_enter_ns" },
        { "0,18446744073709551616,2,3\n", -1, "t:1:3: ", "t_enter_ns" },
        { "0,99999999999999999999999,2,3\n", -1, "t:1:3: ", "t_enter_ns" },
        { "0,1,9223372036854775808,3\n", -1, "t:1:5: ", "sleep_len_ns" },
        { "0,1,--2,3\n", -1, "t:1:5: ", "sleep_len_ns" },
        { "0,1,2,-3\n", -1, "t:1:7: ", "idle_ns" },
        { "0,1,2,\n", -1, "t:1:7: found ''", "idle_ns" },
        { "0,1,2,3 \n", -1, "t:1:7: ", "idle_ns" },
        { "0,1,2,3.5\n", -1, "t:1:7: ", "idle_ns" },
        { "0,1,2,3\r0,1,2,3\n", -1, "t:1:7: ", "idle_ns" },
        { "0,1,2,3,2\n", -1, "t:1:9: ", "wake_timer" },
        { "0,1,2,3,1,1025\n", -1, "t:1:11: ", "util" },
        { "0,1,2,3,1,1,-2\n", -1, "t:1:13: ", "lat_us" },
        { "0,1,2,3,1,1,-1,-1\n", -1, "t:1:16: ", "iowait" },
        { HEAD "\n0,1,2,3,1\n", -1, "t:2:8: ", "expected 4" },
        { "cpu,t_enter_ns,sleep_len_ns,idle\n", -1, "t:1:29: found 'idle'", "idle_ns" },
        { "cpu,cpu,sleep_len_ns,idle_ns\n", -1, "t:1:5: found 'cpu'", "once" },
        { "cpu,t_enter_ns,idle_ns\n", -1, "t:1:1: ", "no sleep_len_ns" },
        { "0,1,2,3\n" HEAD "\n", -1, "t:2:1: ", "cpu" },
};

static GByteArray *zstd_pack(const char *text, size_t size)
{
        GByteArray *packed = g_byte_array_new();

        g_byte_array_set_size(packed, (guint)ZSTD_compressBound(size));
        g_byte_array_set_size(packed,
                              (guint)ZSTD_compress(packed->data, packed->len, text, size, 3));
        return packed;
}

static const struct {
        const char *name;
        GByteArray *(*pack)(const char *text, size_t size);
        guint magic; /* bytes by which it is recognised */
} formats[] = { { "xz", xz_pack, 6 }, { "zstd", zstd_pack, 4 } };

static int read_text(const void *data, size_t size, GArray *records, char **ret_error)
{
        Trace *trace = memory_trace(data, size, ret_error);
        int n = trace ? read_all(trace, records, ret_error) : -EINVAL;

        trace_free(trace);
        return n;
}

static void check_text(const char *name, int i, int n, const char *error)
{
        if (texts[i].n >= 0) {
                ck_case(name, n == texts[i].n, "%d records of \"%s\": %s", n, texts[i].text, error);
                return;
        }
        ck_case(name, n < 0, "accepted \"%s\"", texts[i].text);
        ck_case(name, g_str_has_prefix(error, texts[i].where) && strstr(error, texts[i].what),
                "\"%s\": %s", texts[i].text, error);
}

TEST_EACH(reads_and_refuses, texts)
{
        const char *text = c->text;
        g_autofree char *error = NULL;

        int n = read_text(text, strlen(text), NULL, &error);

        check_text("plain", _i, n, error);
        for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
                g_autoptr(GByteArray) packed = formats[i].pack(text, strlen(text));
                g_autofree char *packed_error = NULL;

                n = read_text(packed->data, packed->len, NULL, &packed_error);
                check_text(formats[i].name, _i, n, packed_error);
        }
}

static Record only_record(const char *text)
{
        g_autoptr(GArray) records = g_array_new(FALSE, FALSE, sizeof(Record));
        g_autofree char *error = NULL;

        ck_assert_msg(read_text(text, strlen(text), records, &error) == 1, "%s", error);
        return g_array_index(records, Record, 0);
}

static void check_equal(const Record *a, const Record *b)
{
        ck_assert_uint_eq(a->enter_ns, b->enter_ns);
        ck_assert_int_eq(a->sleep_ns, b->sleep_ns);
        ck_assert_int_eq(a->idle_ns, b->idle_ns);
        ck_assert_int_eq(a->limit_ns, b->limit_ns);
        ck_assert_uint_eq(a->iowait, b->iowait);
        ck_assert_uint_eq(a->cpu, b->cpu);
        ck_assert_uint_eq(a->util, b->util);
        ck_assert_int_eq(a->resched, b->resched);
        ck_assert_int_eq(a->got_tick, b->got_tick);
        ck_assert_int_eq(a->exit_ns, b->exit_ns);
}

TEST(columns_in_any_order)
{
        Record whole = only_record("3,1000,-20,30,1,77,50,2,0,1\n");
        Record turned = only_record("got_tick,resched,iowait,lat_us,util,wake_timer,idle_ns,sleep_"
                                    "len_ns,t_enter_ns,cpu\n"
                                    "1,0,2,50,77,1,30,-20,1000,3\n");
        Record expected = { .enter_ns = 1000,
                            .sleep_ns = -20,
                            .idle_ns = 30,
                            .limit_ns = 50000,
                            .iowait = 2,
                            .cpu = 3,
                            .util = 77,
                            .resched = false,
                            .got_tick = true };

        check_equal(&whole, &expected);
        check_equal(&turned, &expected);
        turned = only_record("exit_ns,got_tick,resched,iowait,lat_us,util,wake_timer,idle_ns,"
                             "sleep_len_ns,t_enter_ns,cpu\n"
                             "40,1,0,2,50,77,1,30,-20,1000,3\n");
        expected.exit_ns = 40;
        check_equal(&turned, &expected);
}

TEST(defaults)
{
        Record early = only_record("0,1000,20,19\n"), late = only_record("0,1000,20,20\n");
        Record expected = { .enter_ns = 1000,
                            .sleep_ns = 20,
                            .idle_ns = 19,
                            .limit_ns = NO_LATENCY_LIMIT,
                            .resched = true };

        check_equal(&early, &expected);
        expected.idle_ns = 20;
        check_equal(&late, &expected);
}

static GString *many_lines(int n)
{
        GString *text = g_string_new(HEAD "\n");

        for (int i = 0; i < n; i++)
                g_string_append_printf(text, "%d,%d,%d,%d\n", i % 576, i * 1000, i, i);
        return text;
}

/* Lines that blocks end in are read whole. */
TEST(blocks)
{
        g_autoptr(GString) text = many_lines(60000);
        g_autoptr(GByteArray) xz = xz_pack(text->str, text->len);
        g_autoptr(GByteArray) zstd = zstd_pack(text->str, text->len);
        const struct {
                const void *data;
                size_t size;
        } files[] = { { text->str, text->len }, { xz->data, xz->len }, { zstd->data, zstd->len } };

        for (size_t f = 0; f < G_N_ELEMENTS(files); f++) {
                g_autoptr(GArray) records = g_array_new(FALSE, FALSE, sizeof(Record));
                g_autofree char *error = NULL;
                int n = read_text(files[f].data, files[f].size, records, &error);

                ck_assert_msg(n == 60000, "%d: %s", n, error);
                for (int i = 0; i < n; i++)
                        ck_assert_int_eq(g_array_index(records, Record, i).idle_ns, i);
        }
}

/* Streams one behind the other are one file; rubbish behind them is an error. */
TEST_EACH(streams, formats)
{
        g_autoptr(GByteArray) packed = c->pack("0,1,2,3\n", 8);
        g_autoptr(GByteArray) second = c->pack("1,1,2,3\n", 8);
        g_autofree char *error = NULL;

        g_byte_array_append(packed, second->data, second->len);
        ck_assert_int_eq(read_text(packed->data, packed->len, NULL, &error), 2);
        g_byte_array_append(packed, (const guint8 *)"rubbish, more of it", 16);
        ck_assert_int_lt(read_text(packed->data, packed->len, NULL, &error), 0);
        ck_assert_ptr_nonnull(strstr(error, "something else follows"));
}

/* A file that ends anywhere is an error, unless it is too short to be recognised. */
TEST_EACH(truncated, formats)
{
        g_autoptr(GString) text = many_lines(300);
        g_autoptr(GByteArray) packed = c->pack(text->str, text->len);

        for (guint size = c->magic; size < packed->len; size++) {
                g_autofree char *error = NULL;
                int r = read_text(packed->data, size, NULL, &error);

                ck_assert_msg(r < 0 && strstr(error, "truncated"), "%u of %u bytes: %d %s", size,
                              packed->len, r, error);
        }
}

TEST_EACH(damaged, formats)
{
        g_autoptr(GString) text = many_lines(300);
        g_autoptr(GByteArray) packed = c->pack(text->str, text->len);
        g_autofree char *error = NULL;

        packed->data[packed->len / 2] ^= 0x10;
        ck_assert_int_lt(read_text(packed->data, packed->len, NULL, &error), 0);
        ck_assert_ptr_nonnull(strstr(error, "t: "));
}

TEST(long_line)
{
        g_autoptr(GString) text = g_string_new("0,1,2,");
        g_autofree char *error = NULL;

        for (int i = 0; i < 1 << 20; i++)
                g_string_append_c(text, '0');
        ck_assert_int_lt(read_text(text->str, text->len, NULL, &error), 0);
        ck_assert_ptr_nonnull(strstr(error, "t:1:"));
}

/* Order matters for each CPU only. */
TEST(backwards)
{
        const char *text = "0,50,1,1\n1,10,1,1\n0,40,1,1\n0,40,1,1\n1,9,1,1\n";
        g_autofree char *error = NULL;
        Trace *trace = memory_trace(text, strlen(text), &error);

        ck_assert_int_eq(read_all(trace, NULL, &error), 5);
        ck_assert_uint_eq(trace_facts(trace).backwards, 2);
        ck_assert_int_eq(trace_facts(trace).cpus, 2);
        trace_free(trace);
}

UNIT("trace", .timeout = 60)
