/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of the configuration share: a temporary root with files, and loading from it. The
 * policies are those of tests/modules; USE puts "alpha" to work.
 */
#ifndef IDLED_TESTS_CONFIG_TREE_H
#define IDLED_TESTS_CONFIG_TREE_H

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "config/config.h"
#include "table.h"
#include "temporary.h"

#define N_FILES 6

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

/* A file below the root; the byte 1 in the text stands for NUL. */
typedef struct File {
        const char *path, *text;
} File;

static char *temp;
static ConfigPaths paths;

static inline void set_up(void)
{
        temp = temporary_make(g_get_tmp_dir());
        paths = (ConfigPaths){ root_open(temp), "/", "usr/lib/idled", "etc/idled",
                               g_getenv("MODULES") };
        ck_assert_int_ge(paths.root, 0);
}

static inline void tear_down(void)
{
        close(paths.root);
        temporary_remove(temp);
        g_free(temp);
}

/* The path below the temporary root, its directory made. */
static inline char *below(const char *path)
{
        g_autofree char *full = g_build_filename(temp, path, NULL);
        g_autofree char *parent = g_path_get_dirname(full);

        ck_assert_int_eq(g_mkdir_with_parents(parent, 0755), 0);
        return g_steal_pointer(&full);
}

static inline void put(const char *path, const char *text)
{
        g_autofree char *full = below(path);
        g_autofree char *data = g_strdup(text);
        size_t length = strlen(text);

        for (size_t i = 0; i < length; i++)
                if (data[i] == '\001')
                        data[i] = '\0';
        ck_assert(g_file_set_contents(full, data, (gssize)length, NULL));
}

static inline void put_all(const File *files)
{
        for (int i = 0; i < N_FILES && files[i].path; i++)
                put(files[i].path, files[i].text);
}

/* All errors, a line each, with MODULES for the directory of plugins; NULL: it loaded. */
static inline char *load(Config **ret_config)
{
        g_autoptr(GPtrArray)
                errors = g_ptr_array_new_with_free_func((GDestroyNotify)config_error_free);
        g_autoptr(GString) text = g_string_new("");
        Config *config = NULL;
        int r = config_load(&paths, errors, &config);

        ck_assert_int_eq(r, errors->len > 0 ? -EINVAL : 0);
        ck_assert((r == 0) == !!config);
        for (guint i = 0; i < errors->len; i++) {
                g_autofree char *line = config_error_format(g_ptr_array_index(errors, i));

                g_string_append_printf(text, "%s%s", i > 0 ? "\n" : "", line);
        }
        g_string_replace(text, paths.policy_dir, "MODULES", 0);
        if (r < 0)
                return g_string_free(g_steal_pointer(&text), FALSE);
        *ret_config = config;
        return NULL;
}

static inline Config *load_good(void)
{
        Config *config = NULL;
        g_autofree char *errors = load(&config);

        ck_assert_msg(!errors, "%s", errors);
        return config;
}

#define IDLED    "etc/idled/idled.conf"
#define ALPHA    "etc/idled/policies/alpha.conf"
#define AT_IDLED "/etc/idled/idled.conf"
#define AT_ALPHA "/etc/idled/policies/alpha.conf"
#define USE                                                                                        \
        {                                                                                          \
                "usr/lib/idled/idled.conf", "[Daemon]\nPolicies=alpha\n"                           \
        }

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
