/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A file has the text that a client set, which is checked again when it is read.
 */
#include "config/kept.h"

#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "config/config-section.h"

static void read_value(Config *config, const char *dir, const Section *section, const char *key)
{
        g_autofree char *path = g_strdup_printf("%s/%s-%s", dir, section->name, key);
        g_autofree char *text = NULL, *error = NULL;
        int r;

        r = file_read_regular(path, &text);
        if (r == -ENOENT)
                return;
        if (r < 0)
                log_error_errno(r, "Failed to read %s: %m", path);
        else if (config_set(config, section->name, key, text, &error) < 0)
                log_warning("%s: ignored: %s", path, error);
}

void kept_read(Config *config, const char *dir)
{
        for (guint i = 0; dir && i < config->sections->len; i++) {
                const Section *section = g_ptr_array_index(config->sections, i);

                for (const Setting *row = section->rows; row->key; row++)
                        if (section_state_row(section, row->key) &&
                            !g_hash_table_contains(section->runtime, row->key))
                                read_value(config, dir, section, row->key);
        }
}

void kept_write(const Config *config, const char *dir, const char *section, const char *key,
                const char *value)
{
        g_autofree char *path = NULL;
        int r;

        if (!dir || !section_state_row(config_section(config, section), key))
                return;
        path = g_strdup_printf("%s/%s-%s", dir, section, key);
        if (*value)
                r = file_replace(dir, path, value);
        else
                r = unlink(path) < 0 && errno != ENOENT ? -errno : 0;
        if (r < 0)
                log_error_errno(r, "Failed to write %s: %m; it has an effect until idled ends",
                                path);
}
