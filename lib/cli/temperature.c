/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Temperatures.
 *
 * hwmon devices have names of drivers: those of CPUs are known. coretemp has one label "Package id
 * N" among those of cores; the others' first input is that of the package. Without any of them the
 * zones of type x86_pkg_temp say the same. Both come in the order of packages.
 */
#include "cli/temperature.h"

#include <math.h>

#include "base/file.h"

#define HWMON      "sys/class/hwmon"
#define THERMAL    "sys/class/thermal"
#define INPUTS_MAX 16

static bool file_is(int root, const char *directory, const char *file, const char *const *texts)
{
        g_autofree char *path = g_strdup_printf("%s/%s", directory, file);
        char text[64];

        return file_read_value(root, path, text, sizeof(text)) >= 0 && g_strv_contains(texts, text);
}

/* The input of the package in a coretemp device; NULL if there is none. */
static char *labelled_input(int root, const char *directory)
{
        for (int i = 1; i <= INPUTS_MAX; i++) {
                g_autofree char *label = g_strdup_printf("%s/temp%d_label", directory, i);
                char text[64];

                if (file_read_value(root, label, text, sizeof(text)) >= 0 &&
                    g_str_has_prefix(text, "Package id "))
                        return g_strdup_printf("%s/temp%d_input", directory, i);
        }
        return NULL;
}

void temperatures_init(Temperatures *temperatures, int root)
{
        static const char *const labelled[] = { "coretemp", NULL };
        static const char *const plain[] = { "k10temp", "zenpower", "cpu_thermal", NULL };
        static const char *const zone[] = { "x86_pkg_temp", NULL };
        g_auto(GStrv) devices = dir_list(root, HWMON, "hwmon");
        g_auto(GStrv) zones = dir_list(root, THERMAL, "thermal_zone");

        bool from_hwmon;

        temperatures->paths = g_ptr_array_new_with_free_func(g_free);
        for (char **name = devices; *name; name++) {
                g_autofree char *device = g_build_filename(HWMON, *name, NULL);
                char *input = NULL;

                if (file_is(root, device, "name", labelled))
                        input = labelled_input(root, device);
                else if (file_is(root, device, "name", plain))
                        input = g_strdup_printf("%s/temp1_input", device);
                if (input)
                        g_ptr_array_add(temperatures->paths, input);
        }
        from_hwmon = temperatures->paths->len > 0;
        for (char **name = zones; *name && !from_hwmon; name++) {
                g_autofree char *path = g_build_filename(THERMAL, *name, NULL);

                if (file_is(root, path, "type", zone))
                        g_ptr_array_add(temperatures->paths, g_strdup_printf("%s/temp", path));
        }
}

void temperatures_done(Temperatures *temperatures)
{
        g_ptr_array_unref(temperatures->paths);
}

void temperatures_read(const Temperatures *temperatures, int root, double *celsius, int n)
{
        for (int i = 0; i < n; i++) {
                uint64_t millidegrees;

                celsius[i] = NAN;
                if (i < (int)temperatures->paths->len &&
                    file_read_u64(root, temperatures->paths->pdata[i], &millidegrees) == 0 &&
                    millidegrees < 200000)
                        celsius[i] = (double)millidegrees / 1000;
        }
}
