/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The terminal.
 *
 * Answers contain what others chose: reasons of pauses, names of units, paths. Control characters
 * in them are shown as '?' and never sent.
 */
#include "cli/screen.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/number.h"

int screen_width(void)
{
        const char *columns = g_getenv("COLUMNS");
        struct winsize size;
        int width;

        if (columns && int_parse(columns, &width) == 0 && width > 0)
                return width;
        for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
                if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
                        return size.ws_col;
        return 80;
}

void progress_draw(double share, const char *text)
{
        char bar[] = "[----------] ";

        if (!isatty(STDERR_FILENO))
                return;
        for (int i = 0; i < 10 && i < share * 10; i++)
                bar[i + 1] = '#';
        if (isnan(share))
                bar[0] = '\0';
        fprintf(stderr, "\r%s%.*s\033[K", bar, screen_width() - 1 - (int)strlen(bar), text);
}

Screen screen_look(bool no_colour)
{
        const char *no = g_getenv("NO_COLOR"), *term = g_getenv("TERM");
        Screen screen = { .terminal = isatty(STDOUT_FILENO) };

        if (!screen.terminal)
                return screen;
        screen.colour = !no_colour && !(no && *no) && term && !g_str_equal(term, "dumb");
        screen.unicode = setlocale(LC_CTYPE, "") && g_str_equal(nl_langinfo(CODESET), "UTF-8");
        screen.width = screen_width();
        return screen;
}

static int char_columns(gunichar c)
{
        return g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
}

/* Most texts are; a table of 576 CPUs has 20000. */
static bool is_printable_ascii(const char *text)
{
        while (*text >= ' ' && *text <= '~')
                text++;
        return !*text;
}

int text_columns(const char *text)
{
        int n = 0;

        if (is_printable_ascii(text))
                return (int)strlen(text);

        for (; *text; text = g_utf8_next_char(text))
                n += char_columns(g_utf8_get_char(text));
        return n;
}

static char *text_clean(const char *text)
{
        g_autofree char *valid = NULL;
        GString *clean;

        if (is_printable_ascii(text))
                return g_strdup(text);
        valid = g_utf8_make_valid(text, -1);
        clean = g_string_new(NULL);
        for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
                gunichar c = g_utf8_get_char(p);

                g_string_append_unichar(clean, g_unichar_isprint(c) ? c : '?');
        }
        return g_string_free(clean, FALSE);
}

void csv_field_print(const char *text)
{
        g_autofree char *clean = text_clean(text);
        bool formula = *text && strchr("=+-@\t\r", *text);

        if (!formula && !strpbrk(clean, ",\"")) {
                fputs(clean, stdout);
                return;
        }
        fputs(formula ? "\"'" : "\"", stdout);
        for (const char *p = clean; *p; p++) {
                if (*p == '"')
                        putchar('"');
                putchar(*p);
        }
        putchar('"');
}

char *text_fit(const Screen *screen, const char *text, int width)
{
        char *clean = text_clean(text), *p = clean;
        const char *mark = screen->unicode ? "…" : ">";
        int n = 0;

        if (width <= 0 || text_columns(clean) <= width)
                return clean;
        while (n + char_columns(g_utf8_get_char(p)) < width) {
                n += char_columns(g_utf8_get_char(p));
                p = g_utf8_next_char(p);
        }
        *p = '\0';
        p = g_strconcat(clean, mark, NULL);
        g_free(clean);
        return p;
}

void screen_print(const Screen *screen, Style style, const char *text)
{
        static const char *const codes[] = {
                [STYLE_TITLE] = "1", [STYLE_GOOD] = "32", [STYLE_WARN] = "33",
                [STYLE_BAD] = "31",  [STYLE_DIM] = "2",
        };

        if (screen->colour && codes[style])
                printf("\033[%sm%s\033[0m", codes[style], text);
        else
                fputs(text, stdout);
}

void screen_line(const Screen *screen, Style style, const char *format, ...)
{
        g_autofree char *text = NULL, *fit = NULL;
        va_list arguments;

        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        fit = text_fit(screen, text, screen->width);
        screen_print(screen, style, fit);
        putchar('\n');
}

/* How many bytes of the text, which is not empty, stand on a line of so many columns. */
static size_t line_bytes(const char *text, int columns)
{
        const char *end = text, *blank = NULL;
        int n = 0;

        for (; *end && n + char_columns(g_utf8_get_char(end)) <= columns;
             end = g_utf8_next_char(end)) {
                if (*end == ' ')
                        blank = end;
                n += char_columns(g_utf8_get_char(end));
        }
        if (*end && *end != ' ' && blank > text)
                end = blank;
        return (size_t)(MAX(end, g_utf8_next_char(text)) - text);
}

void screen_wrapped(const Screen *screen, Style style, int column, const char *text)
{
        g_autofree char *clean = text_clean(text);
        int columns = screen->width ? MAX(screen->width - column, 1) : G_MAXINT;
        int indent = MIN(column, screen->width ? screen->width - 1 : column);

        for (const char *p = clean; *p; p += strspn(p, " ")) {
                g_autofree char *line = g_strndup(p, line_bytes(p, columns));

                if (p > clean)
                        printf("\n%*s", indent, "");
                screen_print(screen, style, line);
                p += strlen(line);
        }
        putchar('\n');
}

void screen_sentence(const Screen *screen, Style style, const char *text)
{
        screen_wrapped(screen, style, 0, text);
}

void screen_sentencef(const Screen *screen, Style style, const char *format, ...)
{
        g_autofree char *text = NULL;
        va_list arguments;

        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        screen_sentence(screen, style, text);
}

void screen_paragraph(const Screen *screen, Style style, int indent, const char *text)
{
        if (!*text)
                return;
        printf("%*s", MIN(indent, screen->width ? screen->width - 1 : indent), "");
        screen_wrapped(screen, style, indent, text);
}

char *text_duration(double seconds)
{
        if (seconds < 60)
                return g_strdup_printf("%.0f s", floor(MAX(seconds, 0)));
        if (seconds < 3600)
                return g_strdup_printf("%.0f min", floor(seconds / 60));
        if (seconds < 48 * 3600)
                return g_strdup_printf("%.0f h", floor(seconds / 3600));
        return g_strdup_printf("%.0f days", floor(seconds / 86400));
}

#define BAR_COLUMNS 5

char *text_bar(const Screen *screen, double share)
{
        static const char *const eighths[] = { " ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" };
        GString *bar = g_string_new(NULL);
        int left = screen->terminal && share > 0 ? (int)lround(MIN(share, 1) * BAR_COLUMNS * 8) : 0;

        for (int i = 0; i < BAR_COLUMNS; i++, left -= MIN(left, 8))
                if (screen->unicode)
                        g_string_append(bar, eighths[MIN(left, 8)]);
                else
                        g_string_append_c(bar, left >= 4 ? '#' : ' ');
        return g_string_free(bar, FALSE);
}
