/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Error messages: one clean line on standard error.
 */
#include <stdio.h>

#include "cli/verb.h"

static const char *name = "idlectl";
static const Verb *about; /* NULL: the program itself */

void complain_about(const Program *program, const Verb *verb)
{
        name = program->name;
        about = verb;
}

static int complain_text(const char *format, va_list arguments, const char *hint)
{
        g_autofree char *text = g_strdup_vprintf(format, arguments);
        g_autofree char *clean = text_fit(&(Screen){ 0 }, text, 0);

        return fprintf(stderr, "%s: %s%s\n", name, clean, hint);
}

int complain(const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        complain_text(format, arguments, "");
        va_end(arguments);
        return EXIT_FAILED;
}

int complain_cpus(const Ctl *ctl, int error)
{
        return complain("failed to read the CPUs of %s/sys/devices/system/cpu: %s",
                        ctl->root_path ?: "", g_strerror(-error));
}

int complain_usage(const Verb *verb, const char *format, ...)
{
        const Verb *which = verb ? verb : about;
        g_autofree char *hint = g_strdup_printf("; try \"%s %s%s--help\"", name,
                                                which ? which->name : "", which ? " " : "");
        va_list arguments;

        va_start(arguments, format);
        complain_text(format, arguments, hint);
        va_end(arguments);
        return EXIT_USAGE;
}
