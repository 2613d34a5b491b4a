/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Power tables: files in power/ below the directories of the configuration.
 */
#include "config/power-table.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "config/config-files.h"
#include "config/config-parse.h"

static void state_clear(gpointer data)
{
        g_free(((PowerState *)data)->name);
}

PowerTable *power_table_new(const char *name)
{
        PowerTable *table = g_new0(PowerTable, 1);

        table->name = g_strdup(name);
        table->description = g_strdup("");
        table->states = g_array_new(FALSE, FALSE, sizeof(PowerState));
        g_array_set_clear_func(table->states, state_clear);
        return table;
}

void power_table_free(PowerTable *table)
{
        if (!table)
                return;
        g_free(table->name);
        g_free(table->path);
        g_free(table->description);
        g_array_unref(table->states);
        g_free(table);
}

static PowerState *find(const PowerTable *table, const char *name)
{
        for (guint i = 0; i < table->states->len; i++) {
                PowerState *state = &g_array_index(table->states, PowerState, i);

                if (strcmp(state->name, name) == 0)
                        return state;
        }
        return NULL;
}

void power_table_add(PowerTable *table, const char *name, double watts, double error)
{
        PowerState *there = find(table, name), state = { NULL, watts, error };

        if (there) {
                there->watts = watts;
                there->error = error;
                return;
        }
        state.name = g_strdup(name);
        g_array_append_val(table->states, state);
}

double power_table_find(const PowerTable *table, const char *state)
{
        const PowerState *found = find(table, state);

        if (!found && idle_state_polls(state))
                found = find(table, "C0");
        return found ? found->watts : NAN;
}

double power_table_price(const PowerTable *table, const char *const *states, const double *shares,
                         size_t n, double *ret_unknown)
{
        double watts = 0, unknown = 0;

        for (size_t i = 0; i < n; i++) {
                double price = power_table_find(table, states[i]);

                if (isnan(price))
                        unknown += shares[i];
                else
                        watts += shares[i] * price;
        }
        if (ret_unknown)
                *ret_unknown = unknown;
        return watts;
}

/* The watts of a package of which one CPU alone is seen. */
static double cpu_watts(const PowerTable *table, const IdleTable *idle, const Residency *seen,
                        double *ret_unknown)
{
        const char *names[IDLE_STATES_MAX + 1] = { "C0" };
        double shares[IDLE_STATES_MAX + 1] = { (double)seen->busy };

        for (int s = 0; s < seen->n_states; s++) {
                names[s + 1] = idle->states[s].name;
                shares[s + 1] = (double)seen->share[s];
        }
        return power_table_price(table, names, shares, (size_t)seen->n_states + 1, ret_unknown);
}

double power_table_package_watts(const PowerTable *table, const Topology *topology,
                                 const IdleTable *idle, const Snapshot *snapshot, int package)
{
        double watts = 0, without = 0, unknown;
        int n = 0;

        CPUSET_FOREACH(cpu, &snapshot->cpus) {
                const Residency *seen = &snapshot->residency[cpu];

                if (topology->cpus[cpu].package != package || seen->n_states == 0 ||
                    seen->n_states != idle[cpu].n_states)
                        continue;
                watts += cpu_watts(table, &idle[cpu], seen, &unknown);
                without += unknown;
                n++;
        }
        return n > 0 && without <= POWER_TABLE_UNKNOWN_MAX * n ? watts / n : NAN;
}

double power_table_watts(const PowerTable *table, const Topology *topology, const IdleTable *idle,
                         const Snapshot *snapshot)
{
        double sum = 0;

        for (int package = 0; package < topology->n_packages; package++)
                sum += power_table_package_watts(table, topology, idle, snapshot, package);
        return sum;
}

char *power_table_unknown(const PowerTable *table, const IdleTable *idle, int n_cpus)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new();

        if (isnan(power_table_find(table, "C0")))
                g_ptr_array_add(names, (gpointer) "C0");
        for (int cpu = 0; cpu < n_cpus; cpu++)
                for (int s = 0; s < idle[cpu].n_states; s++) {
                        const char *name = idle[cpu].states[s].name;

                        if (isnan(power_table_find(table, name)) &&
                            !g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
                                g_ptr_array_add(names, (gpointer)name);
                }
        if (names->len == 0)
                return NULL;
        g_ptr_array_add(names, NULL);
        return g_strjoinv(", ", (char **)names->pdata);
}

/* Says which sections and keys there are: any state's name may be one. */
static char *check_key(const char *section, const char *key, void *userdata)
{
        if (!g_str_equal(section, "Power") && !g_str_equal(section, "States"))
                return g_strdup_printf("found the section [%s], expected [Power] or [States]",
                                       section);
        if (key && g_str_equal(section, "Power") && !g_str_equal(key, "Description"))
                return g_strdup_printf("%s: not an option of [Power], expected Description", key);
        return NULL;
}

/* Takes one line. */
static void take_line(PowerTable *table, const char *file, const ConfigLine *line,
                      GPtrArray *errors)
{
        double watts;

        if (line->problem) {
                config_error_add(errors, file, line->number, "%s", line->problem);
        } else if (g_str_equal(line->section, "Power")) {
                g_free(table->description);
                table->description = g_strdup(line->value);
        } else if (real_parse(line->value, &watts) < 0 || watts > POWER_TABLE_WATTS_MAX) {
                config_error_add(errors, file, line->number,
                                 "%s: found \"%s\", expected a number of watts from 0 to %.0f, "
                                 "such as 12.5",
                                 line->key, line->value, POWER_TABLE_WATTS_MAX);
        } else {
                power_table_add(table, line->key, watts, NAN);
        }
}

int power_table_parse(const char *file, const char *text, size_t length, PowerTable *table,
                      GPtrArray *errors)
{
        g_autoptr(GPtrArray) lines = config_parse(text, length, check_key, NULL);
        guint before = errors->len;

        for (guint i = 0; i < lines->len; i++)
                take_line(table, file, g_ptr_array_index(lines, i), errors);
        if (errors->len == before && table->states->len == 0)
                config_error_add(errors, file, 0,
                                 "found no state, expected lines such as C1=12.5 "
                                 "in [States]");
        return errors->len == before ? 0 : -EINVAL;
}

/* A table in a file of its own, wherever that is. */
static int load_file(const char *path, PowerTable *table, GPtrArray *errors)
{
        const char *file = g_intern_string(path);
        g_autoptr(GError) error = NULL;
        g_autofree char *text = NULL;
        gsize length;
        bool absent;

        if (g_file_get_contents(path, &text, &length, &error))
                return power_table_parse(file, text, length, table, errors);
        absent = g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
        config_error_add(errors, file, 0, "cannot be read: %s",
                         absent ? g_strerror(ENOENT) : error->message);
        return absent ? -ENOENT : -EINVAL;
}

int power_table_load(const ConfigPaths *paths, const char *name, PowerTable **ret_table,
                     GPtrArray *errors)
{
        g_autofree char *relative = g_strdup_printf("power/%s.conf", name);
        g_autoptr(PowerTable) table = power_table_new(name);
        g_autoptr(GPtrArray) files = NULL;
        guint before = errors->len;
        int r = 0;

        if (strchr(name, '/')) {
                r = load_file(name, table, errors);
                table->path = g_strdup(name);
        } else {
                files = config_files_read(paths, relative, errors);
                for (guint i = 0; i < files->len; i++) {
                        const ConfigFile *file = g_ptr_array_index(files, i);

                        power_table_parse(file->path, file->text, file->length, table, errors);
                        g_free(table->path);
                        table->path = g_strdup(file->path);
                }
                r = errors->len > before ? -EINVAL : files->len == 0 ? -ENOENT : 0;
        }
        if (r < 0)
                return r;
        *ret_table = g_steal_pointer(&table);
        return 0;
}

char **power_tables_list(const ConfigPaths *paths)
{
        g_autoptr(GPtrArray) errors = config_errors_new();

        return config_files_list(paths, "power", errors);
}

char *power_table_format(const PowerTable *table)
{
        GString *text = g_string_new("[Power]\n");

        g_string_append_printf(text, "Description=%s\n\n[States]\n", table->description);
        for (guint i = 0; i < table->states->len; i++) {
                const PowerState *state = &g_array_index(table->states, PowerState, i);

                if (!isnan(state->error))
                        g_string_append_printf(text, "# standard error %.3g W\n", state->error);
                g_string_append_printf(text, "%s=%.4f\n", state->name, state->watts);
        }
        return g_string_free(text, FALSE);
}
