/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Prints a manual page, or an interface of D-Bus in XML, whose parts come from tables.
 *
 *      fill-page TEMPLATE [MODULE...]
 *
 * Replaces a line of the template by scdoc: @SETTINGS@ by all options, those of the modules
 * included; @MEASURED@ by the measured properties of the machine, <MEASURED/> by the same in XML;
 * @READS@ by the sources that idled reads. The modules are the policies as just built. Their owner
 * and mode are not checked, unlike in the daemon.
 *
 * It runs while idled is built. So it is built for the machine that builds, and links with the
 * tables alone.
 */
#include <glib.h>
#include <gmodule.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "act/park/park.h"
#include "act/tune/quiet.h"
#include "base/setting-value.h"
#include "config/app.h"
#include "config/config.h"
#include "config/profile.h"
#include "stats/evaluator.h"
#include "idled-policy.h"
#include "model/measured.h"

/* Escapes the characters that are markup in scdoc. */
static char *escape(const char *text)
{
        GString *escaped = g_string_new(NULL);

        for (; *text; text++) {
                if (strchr("\\*_", *text))
                        g_string_append_c(escaped, '\\');
                g_string_append_c(escaped, *text);
        }
        return g_string_free(escaped, FALSE);
}

/* "A duration from 10ms to 1min", without the example: the default is one. */
static char *expectation(const Setting *row)
{
        g_autofree char *text = setting_expectation(row);
        char *example = strstr(text, ", such as ");

        if (example && *row->fallback)
                *example = '\0';
        *text = g_ascii_toupper(*text);
        return escape(text);
}

/* `summary` is NULL for tables of idled.conf. */
static void print_settings(const char *file, const Setting *rows, const char *summary)
{
        g_autofree char *clean = summary ? escape(summary) : NULL;

        for (const Setting *row = rows; row->key; row++) {
                g_autofree char *help = escape(row->help), *fallback = escape(row->fallback);
                g_autofree char *expected = expectation(row);

                if (g_str_equal(row->section, "State"))
                        continue;
                if (row == rows || !g_str_equal(row->section, row[-1].section))
                        printf("## %s, section [%s]\n\n", file, row->section);
                if (row == rows && clean)
                        printf("The policy %c%s.\n\n", g_ascii_tolower(*clean), clean + 1);
                printf("*%s=*\n\t%s. %s; ", row->key, help, expected);
                if (*fallback)
                        printf("default _%s_.\n\n", fallback);
                else
                        puts("empty by default.\n");
        }
}

static int print_module(const char *path)
{
        GModule *module = g_module_open(path, G_MODULE_BIND_LOCAL);
        const IdledPolicy *policy;
        g_autofree char *file = NULL;
        gpointer symbol;

        if (!module || !g_module_symbol(module, "idled_policy", &symbol)) {
                fprintf(stderr, "%s\n", g_module_error());
                return -1;
        }
        policy = symbol;
        file = g_strdup_printf("policies/%s.conf", policy->name);
        print_settings(file, policy->settings, policy->summary);
        return 0;
}

static int print_all_settings(char **modules)
{
        int r = 0;

        print_settings("idled.conf", daemon_settings, NULL);
        print_settings("idled.conf", recording_settings, NULL);
        print_settings("idled.conf", park_settings, NULL);
        print_settings("idled.conf", evaluate_settings, NULL);
        print_settings("idled.conf", frequency_settings, NULL);
        print_settings("idled.conf", idle_states_settings, NULL);
        print_settings("idled.conf", latency_settings, NULL);
        print_settings("idled.conf", interrupt_settings, NULL);
        print_settings("idled.conf", housekeeping_settings, NULL);
        print_settings("profiles/NAME.conf", profile_settings, NULL);
        for (int i = 0; modules[i] && r == 0; i++)
                r = print_module(modules[i]);
        print_settings("apps/NAME.conf", app_settings, NULL);
        return r;
}

static int print_measured(char **modules)
{
        for (const Measured *row = measured_properties; row->property; row++)
                printf("*%s* (%s)\n\t%s\n\n", row->property, row->signature, row->help);
        return 0;
}

static int print_xml(char **modules)
{
        for (const Measured *row = measured_properties; row->property; row++)
                printf("    <property name=\"%s\" type=\"%s\" access=\"read\">\n"
                       "      <annotation "
                       "name=\"org.freedesktop.DBus.Property.EmitsChangedSignal\" "
                       "value=\"false\"/>\n"
                       "    </property>\n",
                       row->property, row->signature);
        return 0;
}

static int print_reads(char **modules)
{
        for (const SenseSource *source = sense_sources; source->sense; source++)
                if (source->reads)
                        printf("- %s\n", source->reads);
        return 0;
}

static const struct {
        const char *mark;
        int (*print)(char **modules);
} marks[] = {
        { "@SETTINGS@\n\n", print_all_settings },
        { "@MEASURED@\n\n", print_measured },
        { "    <MEASURED/>\n", print_xml },
        { "@READS@\n", print_reads },
};

static int print_page(const char *template, char **modules)
{
        g_autofree char *text = NULL;
        g_autoptr(GError) error = NULL;

        if (!g_file_get_contents(template, &text, NULL, &error)) {
                fprintf(stderr, "%s\n", error->message);
                return -1;
        }
        for (size_t i = 0; i < G_N_ELEMENTS(marks); i++) {
                const char *found = strstr(text, marks[i].mark);
                int r;

                if (!found)
                        continue;
                printf("%.*s", (int)(found - text), text);
                r = marks[i].print(modules);
                fputs(found + strlen(marks[i].mark), stdout);
                return r;
        }
        fprintf(stderr, "%s: found no line @SETTINGS@, @MEASURED@, @READS@ or <MEASURED/>\n",
                template);
        return -1;
}

int main(int argc, char **argv)
{
        int r;

        if (argc < 2) {
                fprintf(stderr, "usage: %s TEMPLATE [MODULE...]\n", argv[0]);
                return 2;
        }
        r = print_page(argv[1], argv + 2);
        return r < 0 || fflush(stdout) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
