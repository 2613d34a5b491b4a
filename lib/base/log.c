/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Messages: one line each, with a priority.
 *
 * Under systemd standard error is the journal, which reads a "<N>" in front of a line as its
 * priority; this costs no second socket and works in a container without a journal as well.
 */
#include "base/log.h"

#include <errno.h>
#include <glib.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/private-text.h"

const char *const log_level_names[] = { "emerg",  "alert", "crit",  "err", "warning",
                                        "notice", "info",  "debug", NULL };
static const char *const targets[] = { "console", "journal", "null" };

static int max_level = LOG_INFO;
static const char *target = "console";

void log_set_level(int level)
{
        max_level = level;
}

int log_get_level(void)
{
        return max_level;
}

int log_set_target(const char *name)
{
        for (size_t i = 0; i < G_N_ELEMENTS(targets); i++)
                if (g_str_equal(targets[i], name)) {
                        target = targets[i];
                        return 0;
                }
        return -EINVAL;
}

const char *log_get_target(void)
{
        return target;
}

int log_level_parse(const char *name, int *ret_level)
{
        for (int i = 0; log_level_names[i]; i++)
                if (g_str_equal(log_level_names[i], name)) {
                        *ret_level = i;
                        return 0;
                }
        return -EINVAL;
}

const char *log_level_name(int level)
{
        return log_level_names[CLAMP(level, LOG_EMERG, LOG_DEBUG)];
}

static const char *level_colour(int level)
{
        if (level <= LOG_ERR)
                return "\033[31m";
        if (level == LOG_WARNING)
                return "\033[33m";
        return level == LOG_DEBUG ? "\033[2m" : "";
}

/* As idlectl decides it for standard output. */
static bool has_colours(void)
{
        const char *no = g_getenv("NO_COLOR"), *term = g_getenv("TERM");

        return isatty(STDERR_FILENO) && !(no && *no) && term && !g_str_equal(term, "dumb");
}

__attribute__((format(printf, 3, 0))) static void put_message(int level, int error,
                                                              const char *format, va_list arguments)
{
        int saved = errno;
        g_autofree char *marked = NULL, *text = NULL;

        if (level > max_level || g_str_equal(target, "null"))
                return;
        errno = error;
        marked = g_strdup_vprintf(format, arguments);
        text = private_text_for(marked, 0);
        if (g_str_equal(target, "journal"))
                fprintf(stderr, "<%d>%s\n", level, text);
        else if (*level_colour(level) && has_colours())
                fprintf(stderr, "%s%s\033[0m\n", level_colour(level), text);
        else
                fprintf(stderr, "%s\n", text);
        errno = saved;
}

void log_message(int level, const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        put_message(level, errno, format, arguments);
        va_end(arguments);
}

void log_limited(LogLimit *limit, const char *format, ...)
{
        uint64_t now = (uint64_t)g_get_monotonic_time();
        va_list arguments;
        bool more;

        if (limit->n == 0 || now - limit->since_usec >= LOG_LIMIT_USEC)
                *limit = (LogLimit){ .since_usec = now };
        limit->n++;
        more = limit->n > LOG_LIMIT_MESSAGES;
        if (limit->n == LOG_LIMIT_MESSAGES + 1)
                log_message(LOG_INFO, "More messages like the last one are at level debug");
        va_start(arguments, format);
        put_message(more ? LOG_DEBUG : LOG_INFO, errno, format, arguments);
        va_end(arguments);
}

int log_error_errno(int error, const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        put_message(LOG_ERR, -error, format, arguments);
        va_end(arguments);
        return error;
}

char *log_clean(const char *text)
{
        GString *clean = g_string_new(NULL);

        while (*text && clean->len < 256) {
                gunichar c = g_utf8_get_char_validated(text, -1);
                const char *next = text + 1;

                if (c != (gunichar)-1 && c != (gunichar)-2 && g_unichar_isprint(c)) {
                        next = g_utf8_next_char(text);
                        g_string_append_len(clean, text, next - text);
                } else {
                        g_string_append_printf(clean, "\\x%02x", (unsigned char)*text);
                }
                text = next;
        }
        return g_string_free(clean, FALSE);
}
