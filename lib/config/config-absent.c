/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lists of CPUs that name some which this machine can never have.
 *
 * In a file they are only worth a warning, because one file may serve many machines, and absent
 * CPUs do no harm. A value set at run time is meant for this machine, so they are an error there. A
 * CPU that is possible but offline is valid in both: the value applies when it comes online.
 */
#include <errno.h>

#include "base/cpuset-text.h"
#include "config/config-files.h"
#include "config/config-section.h"
#include "config/profile.h"

/* What is wrong with this value, as a new string; NULL if nothing is, or if it is no such list. */
static char *complaint(const Setting *row, const char *text, const CpuSet *possible)
{
        g_autofree char *rest = NULL, *all = NULL;
        CpuSet cpus;

        if (row->type != SETTING_CPUSET || cpuset_parse(text, &cpus) < 0 ||
            cpuset_is_subset(&cpus, possible))
                return NULL;
        cpuset_subtract(&cpus, possible);
        rest = cpuset_format(&cpus);
        all = cpuset_format(possible);
        return g_strdup_printf(
                "%s: found CPU%s %s, which this machine does not have, expected some of %s",
                row->key, cpuset_count(&cpus) == 1 ? "" : "s", rest, all);
}

int config_check_cpus(const Config *config, const char *section_name, const char *key,
                      const char *text, const CpuSet *possible, char **ret_error)
{
        const Section *section = config_section(config, section_name);
        const Setting *row = section ? section_row(section, key) : NULL;
        char *error = row ? complaint(row, text, possible) : NULL;

        if (!error)
                return 0;
        *ret_error = error;
        return -EINVAL;
}

static void find_in_text(const Setting *row, const char *text, const Source *source,
                         const CpuSet *possible, GPtrArray *warnings)
{
        g_autofree char *wrong = complaint(row, text, possible);

        if (wrong)
                config_error_add(warnings, source->file, source->line, "%s", wrong);
}

static void find_in_section(const Section *section, const CpuSet *possible, GPtrArray *warnings)
{
        for (const Setting *row = section->rows; row->key; row++) {
                const Source *source = g_hash_table_lookup(section->sources, row->key);
                const char *text = g_hash_table_lookup(section->texts, row->key);

                if (source && text)
                        find_in_text(row, text, source, possible, warnings);
        }
}

/* Checks the options of the policy that the profile itself sets. */
static void find_in_profile(const Profile *profile, const Section *section, const CpuSet *possible,
                            GPtrArray *warnings)
{
        for (const Setting *row = section->rows; row->key; row++) {
                g_autofree char *id = profile_value_id(section->name, row->key);
                const ProfileValue *value = g_hash_table_lookup(profile->own, id);

                if (value && *value->text)
                        find_in_text(row, value->text, &value->source, possible, warnings);
        }
}

void config_find_absent(const Config *config, const CpuSet *possible, GPtrArray *warnings)
{
        for (guint i = 0; i < config->sections->len; i++) {
                const Section *section = config->sections->pdata[i];

                find_in_section(section, possible, warnings);
                for (guint j = 0; j < config->profiles->len; j++)
                        find_in_profile(config->profiles->pdata[j], section, possible, warnings);
        }
}
