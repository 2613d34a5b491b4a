/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of the configuration share: a temporary root with files, and loading from it. The
 * policies are those of tests/modules; USE puts "alpha" to work.
 */
#ifndef IDLED_TESTS_CONFIG_TREE_H
#define IDLED_TESTS_CONFIG_TREE_H

#include "base/file.h"
#include "config/config.h"
#include "scratch.h"
#include "table.h"

/* Stands in for the table of act/park.c: these tests need no actuator. */
const Setting park_settings[] = {
        { .section = "Park",
          .key = "Exclude",
          .type = SETTING_LIST,
          .offset = offsetof(ParkOptions, exclude),
          .fallback = "",
          .help = "For tests" },
        { .section = "Park",
          .key = "Units",
          .type = SETTING_LIST,
          .offset = offsetof(ParkOptions, units),
          .fallback = "*",
          .help = "For tests" },
        { .key = NULL },
};

const char *park_check(const void *options, const char **ret_key)
{
        return NULL;
}

static ConfigPaths paths;
static Config *config; /* as the test loads it; freed after it */

static inline void set_up(void)
{
        scratch_open();
        paths = (ConfigPaths){ root_open(scratch), "/", "usr/lib/idled", "etc/idled",
                               g_getenv("MODULES") };
        ck_assert_int_ge(paths.root, 0);
}

static inline void tear_down(void)
{
        g_clear_pointer(&config, config_free);
        close(paths.root);
        scratch_close();
}

/* Makes a file below the root; the byte 1 in the text stands for NUL. */
static inline void put(const char *path, const char *text)
{
        g_autofree char *full = scratch_path(path), *data = g_strdup(text);
        size_t length = strlen(text);

        for (size_t i = 0; i < length; i++)
                if (data[i] == '\001')
                        data[i] = '\0';
        ck_assert(g_file_set_contents(full, data, (gssize)length, NULL));
}

/* Makes files that are written as USE and PUT(path, text), one after the other. */
static inline void put_all(const char *files)
{
        g_auto(GStrv) all = g_strsplit(files, "\002", -1);

        for (int i = 1; all[0] && all[i]; i++) {
                g_auto(GStrv) file = g_strsplit(all[i], "\n", 2);

                put(file[0], file[1]);
        }
}

/* All errors, a line each, with MODULES for the directory of plugins; NULL: it loaded. */
static inline char *load(void)
{
        g_autoptr(GPtrArray)
                errors = g_ptr_array_new_with_free_func((GDestroyNotify)config_error_free);
        g_autoptr(GString) text = g_string_new("");
        int r;

        g_clear_pointer(&config, config_free);
        r = config_load(&paths, errors, &config);

        ck_assert_int_eq(r, errors->len > 0 ? -EINVAL : 0);
        ck_assert((r == 0) == !!config);
        for (guint i = 0; i < errors->len; i++) {
                g_autofree char *line = config_error_format(g_ptr_array_index(errors, i));

                g_string_append_printf(text, "%s%s", i > 0 ? "\n" : "", line);
        }
        g_string_replace(text, paths.policy_dir, "MODULES", 0);
        return r < 0 ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

static inline void load_good(void)
{
        g_autofree char *errors = load();

        ck_assert_msg(!errors, "%s", errors);
}

#define IDLED           "etc/idled/idled.conf"
#define ALPHA           "etc/idled/policies/alpha.conf"
#define AT_IDLED        "/etc/idled/idled.conf"
#define AT_ALPHA        "/etc/idled/policies/alpha.conf"
#define PUT(path, text) "\002" path "\n" text
#define USE_TEXT        "[Daemon]\nPolicies=alpha\n"
#define USE             PUT("usr/lib/idled/idled.conf", USE_TEXT)
#define POLICY(lines)   USE PUT(ALPHA, "[Policy]\n" lines)
#define DAEMON(lines)   PUT(IDLED, USE_TEXT lines)

/* The modules of the tests. */
#define ALL                                                                                        \
        "alpha, beta, wrong-abi, wrong-align, wrong-bounds, wrong-check, wrong-choices, "          \
        "wrong-decide, wrong-default, wrong-end, wrong-help, wrong-key, wrong-name, "              \
        "wrong-offset, wrong-section, wrong-size, wrong-symbol, wrong-twice, wrong-type"

/* True if `errors` has all `parts` (says()), in so many lines (0: one), and these begin with places
 * that `parts` has in the same order. */
static inline bool says_lines(const char *errors, const char *parts, unsigned n)
{
        g_auto(GStrv) lines = g_strsplit(errors, "\n", -1);
        const char *at = parts;

        for (char **line = lines; at && *line; line++) {
                g_auto(GStrv) place = g_strsplit(*line, ": ", 2);

                at = strstr(at, place[0]);
        }
        return at && says(errors, parts) && g_strv_length(lines) == MAX(n, 1);
}

#endif
