/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The command line. Options are rows: those below go everywhere, each verb brings its own.
 *
 * The verb is found first, because it decides which options there are. So that "--interval 1s cpus"
 * finds it too, all verbs' options are known to the parser; what the verb does not take is refused.
 */
#include "cli/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/cpuset-text.h"
#include "base/nearest.h"
#include "base/number.h"
#include "cli/offline.h"
#include "systemd/bus-connect.h"

static int take_bus(Ctl *ctl, const VerbOption *row, const char *text)
{
        if (ctl->bus)
                return complain_usage(NULL, "--session-bus and --bus-address: expected one of "
                                            "them, once");
        ctl->bus = text ? text : "session";
        return EXIT_FINE;
}

static const VerbOption json_option[] = {
        { "json", NULL, "print one JSON document", .member = offsetof(Ctl, json) },
        { 0 },
};

static const VerbOption everywhere[] = {
        { "no-colour", NULL, "no colours, as with NO_COLOR set",
          .member = offsetof(Ctl, no_colour) },
        { "session-bus", NULL, "ask the daemon on the session bus", .take = take_bus },
        { "bus-address", "ADDRESS", "ask the daemon on the bus there", .take = take_bus },
        { "root", "DIR", "the machine is below DIR instead of /",
          .member = offsetof(Ctl, root_path) },
        { "run", "DIR", "where idled keeps its record (/run/idled)",
          .member = offsetof(Ctl, run_path) },
        { "config-dir", "DIR", "the administrator's files (/etc/idled)",
          .member = offsetof(Ctl, config_dir) },
        { "vendor-dir", "DIR", "the shipped files (" VENDOR_DIR ")",
          .member = offsetof(Ctl, vendor_dir) },
        { "policy-dir", "DIR", "policies (" POLICY_DIR ")", .member = offsetof(Ctl, policy_dir) },
        { "help", NULL, "print this", .member = offsetof(Ctl, help) },
        { "version", NULL, "print the version", .member = offsetof(Ctl, version) },
        { 0 },
};

static void add_rows(GPtrArray *rows, const VerbOption *table)
{
        for (; table && table->name; table++)
                g_ptr_array_add(rows, (gpointer)table);
}

/* The options that help about the verb lists, of VerbOption. */
static GPtrArray *own_rows(const Verb *verb)
{
        GPtrArray *rows = g_ptr_array_new();

        for (size_t i = 0; i < G_N_ELEMENTS(verb->options); i++)
                add_rows(rows, verb->options[i]);
        if (!verb->mute)
                add_rows(rows, json_option);
        return rows;
}

static const VerbOption *find_row(const GPtrArray *rows, const char *name)
{
        for (guint i = 0; i < rows->len; i++) {
                const VerbOption *row = g_ptr_array_index(rows, i);

                if (g_str_equal(row->name, name))
                        return row;
        }
        return NULL;
}

/* All verbs' options, each name once. */
static GPtrArray *all_rows(const Program *program)
{
        GPtrArray *all = g_ptr_array_new();

        add_rows(all, json_option);
        add_rows(all, everywhere);
        for (const Verb *const *v = program->verbs; *v; v++)
                for (size_t i = 0; i < G_N_ELEMENTS((*v)->options); i++)
                        for (const VerbOption *row = (*v)->options[i]; row && row->name; row++)
                                if (!find_row(all, row->name))
                                        g_ptr_array_add(all, (gpointer)row);
        return all;
}

bool options_take_next(const Program *program, const char *word)
{
        g_autoptr(GPtrArray) all = all_rows(program);
        const VerbOption *row = g_str_has_prefix(word, "--") ? find_row(all, word + 2) : NULL;

        /* getopt_long() takes the beginning of a name, too. */
        for (guint i = 0; !row && i < all->len && g_str_has_prefix(word, "--") && word[2]; i++)
                if (g_str_has_prefix(((const VerbOption *)g_ptr_array_index(all, i))->name,
                                     word + 2))
                        row = g_ptr_array_index(all, i);
        return row && row->argument;
}

/* What getopt_long() refused. */
static int complain_option(const GPtrArray *all, const char *word, int what)
{
        g_autofree const char **names = g_new0(const char *, all->len + 1);
        g_autofree char *name = g_strndup(word, strcspn(word, "="));
        const char *nearest;

        if (what == ':')
                return complain_usage(NULL, "%s: expected an argument behind it", name);
        if (g_str_has_prefix(name, "--") && find_row(all, name + 2))
                return complain_usage(NULL, "%s: takes no argument", name);
        for (guint i = 0; i < all->len; i++)
                names[i] = ((const VerbOption *)g_ptr_array_index(all, i))->name;
        nearest = word_nearest(name + strspn(name, "-"), names);
        return complain_usage(NULL, "found an unknown option %s%s%s%s", name,
                              nearest ? " (did you mean --" : "", nearest ? nearest : "",
                              nearest ? "?)" : "");
}

/* The variable's value, NULL if it is not set or empty. */
static const char *environment_text(const char *name)
{
        const char *text = g_getenv(name);

        return text && *text ? text : NULL;
}

/* What the command line leaves open. */
static void take_environment(Ctl *ctl)
{
        if (!ctl->run_path)
                ctl->run_path = environment_text("IDLED_RUN");
        if (!ctl->bus)
                ctl->bus = environment_text("IDLED_BUS_ADDRESS");
}

static struct option *getopt_table(const GPtrArray *all)
{
        struct option *table = g_new0(struct option, all->len + 1);

        for (guint i = 0; i < all->len; i++) {
                const VerbOption *row = g_ptr_array_index(all, i);

                table[i] = (struct option){ row->name,
                                            row->argument ? required_argument : no_argument, NULL,
                                            'o' };
        }
        return table;
}

/* What may be meant by a verb that does not exist: one of a similar name, or an option of this name
 * and its verb, as a new string. NULL: nothing is known. */
static char *suggest_verb(const Program *program, GPtrArray *names, const char *name)
{
        const char *nearest = word_nearest(name, (const char *const *)names->pdata);

        for (const Verb *const *v = program->verbs; *v && !nearest; v++) {
                g_autoptr(GPtrArray) rows = own_rows(*v);

                if (find_row(rows, name))
                        return g_strdup_printf("%s --%s", (*v)->name, name);
        }
        return g_strdup(nearest);
}

/* NULL after a message. */
static const Verb *find_verb(const Program *program, const char *name)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        g_autofree char *meant = NULL, *hint = NULL;

        for (const Verb *const *v = program->verbs; *v; v++) {
                if (g_str_equal((*v)->name, name))
                        return *v;
                if (!(*v)->renamed)
                        g_ptr_array_add(names, (gpointer)(*v)->name);
        }
        g_ptr_array_add(names, NULL);
        meant = suggest_verb(program, names, name);
        hint = text_suggest(meant);
        complain_usage(NULL, "found an unknown verb \"%s\"%s", name, hint);
        return NULL;
}

/* Finds where in `argv` the verb is, 0: nowhere. */
static int find_index(int argc, char **argv, const GPtrArray *all, const struct option *table,
                      int *ret_at)
{
        int c;

        while ((c = getopt_long(argc, argv, "+:h", table, NULL)) >= 0)
                if (c != 'o' && c != 'h')
                        return complain_option(all, argv[optind - 1], c);
        *ret_at = optind < argc ? optind : 0;
        return EXIT_FINE;
}

static bool is_within(const VerbOption *row, double number)
{
        return number >= row->least && (row->most <= 0 || number <= row->most);
}

static int complain_value(const VerbOption *row, const char *text, const char *expected)
{
        return complain_usage(NULL, "--%s: found \"%s\", expected %s", row->name, text, expected);
}

/* Sets what the row names. */
static int take_value(Ctl *ctl, const VerbOption *row, const char *text)
{
        bool time = g_strcmp0(row->argument, "TIME") == 0;
        void *member = row->member ? (char *)ctl + row->member : NULL;
        bool *flag = member && !row->argument ? member : row->flag;
        const char **copy = member && row->argument ? member : row->text;
        uint64_t value;
        double real;

        if (flag)
                *flag = true;
        if (copy)
                *copy = text;
        if (row->cpus && (cpuset_parse(text, row->cpus) < 0 || cpuset_is_empty(row->cpus)))
                return complain_value(row, text, "CPUs such as 0-3,8");
        for (int i = 0; row->choices && row->choices[i]; i++)
                if (g_str_equal(row->choices[i], text)) {
                        *row->choice = i;
                        return EXIT_FINE;
                }
        if (row->real) {
                bool percent = g_str_equal(row->argument, "PERCENT");

                if ((percent ? percent_parse(text, &real) : real_parse(text, &real)) < 0 ||
                    real <= 0 || !is_within(row, real))
                        return complain_value(row, text, row->expected);
                *row->real = real;
        }
        if (!row->number && !row->choices)
                return EXIT_FINE;
        if (!row->number || (time ? duration_parse(text, &value) : u64_parse(text, &value)) < 0 ||
            !is_within(row, (double)value))
                return complain_value(row, text, row->expected);
        *row->number = value;
        return EXIT_FINE;
}

static int take_options(int argc, char **argv, const GPtrArray *all, const struct option *table,
                        const Verb *verb, int at, Ctl *ctl)
{
        g_autoptr(GPtrArray) rows = own_rows(verb);
        int end = argc; /* getopt_long() sees the words before it */
        int c, index, status;

        add_rows(rows, everywhere);
        for (int i = at; i < end && !verb->command; i++)
                if (g_str_equal(argv[i], "--"))
                        end = i;
        optind = 0; /* GNU's way to begin again */
        while ((c = getopt_long(end, argv, verb->command ? "+:h" : ":h", table, &index)) >= 0) {
                const VerbOption *row;

                if (c != 'o' && c != 'h')
                        return complain_option(all, argv[optind - 1], c);
                row = find_row(rows, c == 'h' ? "help" : table[index].name);
                if (!row)
                        return complain_usage(verb, "%s does not take --%s", verb->name,
                                              table[index].name);
                status = row->take ? row->take(ctl, row, optarg) : take_value(ctl, row, optarg);
                if (status != EXIT_FINE)
                        return status;
        }
        if (end < argc) {
                memmove(argv + end, argv + end + 1, sizeof(*argv) * (size_t)(argc - end));
                ctl->n_behind = --argc - end;
        }
        ctl->args = argv + optind;
        ctl->n_args = argc - optind;
        return EXIT_FINE;
}

int options_parse(int argc, char **argv, Ctl *ctl, const Verb **ret_verb, bool *ret_named)
{
        const Program *program = ctl->program;
        g_autoptr(GPtrArray) all = all_rows(program);
        g_autofree struct option *table = getopt_table(all);
        int at = 0, status;

        opterr = 0;
        status = find_index(argc, argv, all, table, &at);
        if (status != EXIT_FINE)
                return status;
        *ret_named = at > 0;
        *ret_verb = at > 0 ? find_verb(program, argv[at]) : program->usual;
        if (!*ret_verb)
                return EXIT_USAGE;
        complain_about(program, *ret_named ? *ret_verb : NULL);
        if (at > 0)
                memmove(argv + at, argv + at + 1, sizeof(*argv) * (size_t)(argc - at));
        status = take_options(at > 0 ? argc - 1 : argc, argv, all, table, *ret_verb, MAX(at, 1),
                              ctl);
        if (status == EXIT_FINE)
                take_environment(ctl);
        return status;
}

int options_check(const Ctl *ctl, const Verb *verb)
{
        if (ctl->bus && !g_str_equal(ctl->bus, "session") && !bus_is_address(ctl->bus))
                return complain_usage(NULL,
                                      "found \"%s\" as the bus, expected an address such as "
                                      "unix:path=/run/dbus/system_bus_socket",
                                      ctl->bus);
        if (ctl->n_args > verb->max_args)
                return complain_usage(verb, "%s: found an unexpected argument \"%s\"", verb->name,
                                      ctl->args[verb->max_args]);
        if (ctl->n_args < verb->min_args)
                return complain_usage(verb, "%s: expected %s", verb->name, verb->arguments);
        if (offline_check_directory(ctl->config_dir) != EXIT_FINE)
                return EXIT_FAILED;
        return verb->check ? verb->check(ctl, verb) : EXIT_FINE;
}

static void print_options(const GPtrArray *rows)
{
        if (rows->len > 0)
                puts("\nOptions:");
        for (guint i = 0; i < rows->len; i++) {
                const VerbOption *row = g_ptr_array_index(rows, i);
                g_autofree char *text = g_strconcat("--", row->name, row->argument ? " " : "",
                                                    row->argument, NULL);

                printf("  %-22s %s\n", text, row->help);
        }
}

void options_help(const Program *program, const Verb *verb)
{
        g_autoptr(GPtrArray) rows = verb ? own_rows(verb) : g_ptr_array_new();

        if (verb) {
                printf("Usage: %s %s [OPTION...]%s%s\n%s.\n", program->name, verb->name,
                       verb->arguments ? " " : "", verb->arguments ?: "", verb->summary);
                if (verb->help)
                        printf("\n%s\n", verb->help);
                print_options(rows);
                printf("\n\"%s --help\" lists the options of all verbs.\n", program->name);
                return;
        }
        printf("Usage: %s [OPTION...] [VERB [ARGUMENT...]]\n%s\n\nVerbs:\n", program->name,
               program->summary);
        for (const Verb *const *v = program->verbs; *v; v++)
                if (!(*v)->renamed)
                        printf("  %-10s %s\n", (*v)->name, (*v)->summary);
        add_rows(rows, json_option);
        add_rows(rows, everywhere);
        print_options(rows);
        printf("\nWithout a verb: %s. \"%s help VERB\" explains one; -h is --help.\n"
               "%sSee %s(1).\n",
               program->usual->name, program->name, program->more, program->name);
}

void options_version(const Ctl *ctl)
{
        printf("%s " IDLED_VERSION "\n", ctl->program->name);
}

static int help_ask(Ctl *ctl, json_object **ret_answer)
{
        const Verb *verb = ctl->n_args ? find_verb(ctl->program, ctl->args[0]) : NULL;

        if (ctl->n_args && !verb)
                return EXIT_USAGE;
        options_help(ctl->program, verb);
        return EXIT_FINE;
}

static int version_ask(Ctl *ctl, json_object **ret_answer)
{
        options_version(ctl);
        return EXIT_FINE;
}

const Verb verb_help = {
        .name = "help",
        .arguments = "[VERB]",
        .summary = "Print help about the program or a verb",
        .max_args = 1,
        .ask = help_ask,
        .mute = true,
        .alone = true,
};

const Verb verb_version = {
        .name = "version",
        .summary = "Print the version",
        .ask = version_ask,
        .mute = true,
        .alone = true,
};
