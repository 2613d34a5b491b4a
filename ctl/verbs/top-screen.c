/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl top: tables, and the live view.
 *
 * The live view has the alternate screen of the terminal and reads keys as they are pressed. It
 * waits with a slack, so that its own wake-ups come together with others.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/observe.h"
#include "top.h"

#define FIRST_USEC  (200 * 1000) /* so that something is there soon */
#define SLACK_NSEC  (20ul * 1000 * 1000)
#define LINES_OTHER 3 /* of a screen: head, titles, keys */
#define SCREEN_ON   "\033[?1049h\033[?25l"
#define SCREEN_OFF  "\033[?25h\033[?1049l"
#define SCREEN_HOME "\033[H\033[J"

/* What a terminal does without first, where there is no room for all: patterns of titles. */
static const char *const dispensable[] = { "*+",     "*-",    "Core",    "RAMWatt", "CorWatt",
                                           "PkgTmp", "Limit", "Longest", "Bzy_MHz", "Sleep" };

GPtrArray *top_columns(const Top *top)
{
        return top->columns ? g_ptr_array_ref(top->columns) : top_columns_usual(top, false);
}

/* True for what says where a row's CPUs are. */
static bool is_place(const TopColumn *column)
{
        return column->field < TOP_BUSY;
}

/* The columns in the order in which they are shown. The first one says whose row it is, and stays;
 * other places scroll away together. Next to the first stands what the rows are sorted by, so that
 * it is always visible. */
static GPtrArray *arrange(const GPtrArray *columns, const TopView *view)
{
        const TopColumn *moved = view->height ? view->sort : NULL;
        GPtrArray *shown = g_ptr_array_new();
        guint i = 1;

        while (view->column && i < columns->len && is_place(columns->pdata[i]))
                i++;
        g_ptr_array_add(shown, columns->pdata[0]);
        if (moved && moved != columns->pdata[0])
                g_ptr_array_add(shown, (gpointer)moved);
        for (i += view->column; i < columns->len; i++)
                if (columns->pdata[i] != moved)
                        g_ptr_array_add(shown, columns->pdata[i]);
        return shown;
}

/* Hides what there is no room for. False if that is anything. */
static bool fit(const Top *top, Table *table, const TopView *view)
{
        const char *titles[G_N_ELEMENTS(dispensable) + 1] = { NULL };
        bool usual = !top->columns && view->column == 0;
        guint n = 0;

        for (size_t i = 0; usual && i < G_N_ELEMENTS(dispensable); i++)
                if (!view->sort || !g_pattern_match_simple(dispensable[i], view->sort->title))
                        titles[n++] = dispensable[i];
        return table_fit(table, &top->ctl->screen, titles);
}

bool top_print(const Top *top, const GPtrArray *columns, const TopView *view)
{
        guint last = view->height ? MIN(top->rows->len, view->row + view->height) : top->rows->len;
        g_autoptr(GPtrArray) shown = arrange(columns, view);
        g_autoptr(Table) table = table_new();
        bool fits;

        for (guint i = 0; i < shown->len; i++)
                table_column(table, ((const TopColumn *)shown->pdata[i])->title, true);
        for (guint r = 0; r < last; r = MAX(r, view->row) + 1) {
                const TopRow *row = &g_array_index(top->rows, TopRow, r);

                for (guint i = 0; i < shown->len; i++) {
                        const TopColumn *column = shown->pdata[i];
                        g_autofree char *text = column->field == TOP_CPU ? top_row_cpus(top, row)
                                                                         : NULL;

                        if (!text)
                                text = top_text(row, column);
                        table_cell(table, row->parked > 0 ? STYLE_GOOD : STYLE_PLAIN, text);
                }
        }
        fits = fit(top, table, view);
        table_print(table, &top->ctl->screen);
        return fits;
}

bool top_can_live(const Ctl *ctl)
{
        const char *term = g_getenv("TERM");

        return ctl->screen.terminal && isatty(STDIN_FILENO) && term && *term &&
               !g_str_equal(term, "dumb");
}

typedef struct Live {
        Top *top;
        GPtrArray *columns;
        TopView view;
        bool more; /* columns than there is room for */
        struct termios before;
        int signals;
        bool over;
} Live;

static int screen_height(void)
{
        struct winsize size;

        return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

/* What the keys do now, in the last line. */
static void draw_keys(const Live *live)
{
        const TopView *view = &live->view;
        const Screen *screen = &live->top->ctl->screen;
        bool below = view->row + view->height < live->top->rows->len;
        g_autofree char *text = g_strdup_printf(
                "q quit  s sort: %s%s%s%s%s", view->sort ? view->sort->title : "CPU",
                live->more ? "  Right: more columns" : "", view->column ? "  Left: back" : "",
                below ? "  Down: more rows" : "", view->row ? "  Up: back" : "");
        g_autofree char *line = text_fit(screen, text, screen->width);

        screen_print(screen, STYLE_DIM, line);
        fflush(stdout);
}

static void draw(Live *live)
{
        Top *top = live->top;
        TopView *view = &live->view;
        const Snapshot *seen = top->watch->seen;
        Screen *screen = &top->ctl->screen;

        /* Not only after SIGWINCH: su(1) begins a session that does not get the terminal's signals.
         */
        screen->width = screen_width();
        view->height = (guint)MAX(screen_height() - LINES_OTHER, 1);
        g_ptr_array_unref(live->columns);
        live->columns = top_columns(top);
        view->row = MIN(view->row, top->rows->len - MIN(top->rows->len, view->height));
        view->column = MIN(view->column, live->columns->len - 1);
        top_sort(top->rows, view->sort, view->reverse);
        fputs(SCREEN_HOME, stdout);
        screen_line(screen, STYLE_PLAIN, "%d CPUs, load %.2f over %.1f s%s%s",
                    cpuset_count(&seen->cpus), seen->load, (double)seen->interval_usec / 1e6,
                    top_needs_root(top) ? ", power: needs root" : "",
                    top->parked_known ? "" : ", idled is not running");
        live->more = !top_print(top, live->columns, view);
        draw_keys(live);
}

/* The next column that is worth sorting by; behind the last one the order of CPUs. */
static const TopColumn *next_sort(const Live *live)
{
        GPtrArray *columns = live->columns;
        guint i = 0;

        if (live->view.sort && g_ptr_array_find(columns, live->view.sort, &i))
                i++;
        for (; i < columns->len; i++)
                if (!is_place(columns->pdata[i]))
                        return columns->pdata[i];
        return NULL;
}

static void take_key(Live *live, const char *key)
{
        guint page = (guint)MAX(screen_height() - LINES_OTHER - 1, 1);

        if (g_str_equal(key, "q") || g_str_equal(key, "\003"))
                live->over = true;
        else if (g_str_equal(key, "\033[A") || g_str_equal(key, "k"))
                live->view.row -= MIN(live->view.row, 1);
        else if (g_str_equal(key, "\033[B") || g_str_equal(key, "j"))
                live->view.row++;
        else if (g_str_equal(key, "\033[5~"))
                live->view.row -= MIN(live->view.row, page);
        else if (g_str_equal(key, "\033[6~") || g_str_equal(key, " "))
                live->view.row += page;
        else if (g_str_equal(key, "\033[C") || g_str_equal(key, "l"))
                live->view.column += live->more;
        else if (g_str_equal(key, "\033[D") || g_str_equal(key, "h"))
                live->view.column -= MIN(live->view.column, 1);
        else if (g_str_equal(key, "s"))
                live->view.sort = next_sort(live);
        else if (g_str_equal(key, "r"))
                live->view.reverse = !live->view.reverse;
        else
                return;
        if (!live->over)
                draw(live);
}

/* Keys that came together: a byte each, or a sequence from ESC [ to its last byte. */
static void take_keys(Live *live, const char *keys, size_t n)
{
        for (size_t i = 0; i < n && !live->over;) {
                size_t length = 1;
                char key[16];

                if (keys[i] == '\033' && i + 1 < n && keys[i + 1] == '[')
                        for (length = 3; i + length < n && keys[i + length - 1] < '@';)
                                length++;
                length = MIN(length, n - i);
                g_strlcpy(key, keys + i, MIN(length + 1, sizeof(key)));
                take_key(live, key);
                i += length;
        }
}

/* Reads keys as they are pressed, and takes the alternate screen. In the background it stops here,
 * until the shell continues it. */
static void take_terminal(const Live *live)
{
        struct termios raw = live->before;

        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
        fputs(SCREEN_ON, stdout);
}

static void leave_terminal(const Live *live)
{
        fputs(SCREEN_OFF, stdout);
        fflush(stdout);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &live->before);
}

/* Ctrl-Z: the shell gets its screen, and we go on when it says so. */
static void stop(const Live *live)
{
        sigset_t stops;

        leave_terminal(live);
        sigemptyset(&stops);
        sigaddset(&stops, SIGTSTP);
        raise(SIGTSTP);
        sigprocmask(SIG_UNBLOCK, &stops, NULL);
        sigprocmask(SIG_BLOCK, &stops, NULL);
}

static void read_signal(Live *live)
{
        struct signalfd_siginfo info;

        if (read(live->signals, &info, sizeof(info)) != sizeof(info))
                return;
        if (info.ssi_signo == SIGTSTP)
                stop(live);
        if (info.ssi_signo == SIGTSTP || info.ssi_signo == SIGCONT) {
                take_terminal(live);
        } else if (info.ssi_signo != SIGWINCH) {
                live->over = true;
                return;
        }
        draw(live);
}

/* Waits until then; keys and signals are taken meanwhile. */
static void wait_until(Live *live, uint64_t usec)
{
        struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                                { .fd = live->signals, .events = POLLIN } };

        while (!live->over) {
                uint64_t now = (uint64_t)g_get_monotonic_time();
                char keys[64];
                ssize_t n;

                if (now >= usec)
                        return;
                if (poll(fds, G_N_ELEMENTS(fds), (int)((usec - now) / 1000 + 1)) <= 0)
                        continue;
                if (fds[1].revents)
                        read_signal(live);
                if (!fds[0].revents)
                        continue;
                n = read(STDIN_FILENO, keys, sizeof(keys));
                if (n <= 0) { /* the terminal is gone */
                        live->over = true;
                        return;
                }
                take_keys(live, keys, (size_t)n);
        }
}

static int live_open(Live *live)
{
        static const int numbers[] = { SIGINT,   SIGTERM, SIGQUIT, SIGHUP,
                                       SIGWINCH, SIGTSTP, SIGCONT, 0 };

        if (tcgetattr(STDIN_FILENO, &live->before) < 0)
                return -errno;
        live->signals = signals_open(numbers, NULL);
        if (live->signals < 0)
                return live->signals;
        prctl(PR_SET_TIMERSLACK, SLACK_NSEC, 0, 0, 0);
        take_terminal(live);
        return 0;
}

int top_live(Top *top, uint64_t interval_usec)
{
        Live live = { .top = top, .signals = -1, .view = { .sort = top->sort } };
        Pace *pace = &top->pace;
        int r = live_open(&live);

        if (r < 0)
                return complain("failed to read the terminal: %s", g_strerror(-r));
        live.columns = top_columns(top);
        pace_begin(pace, interval_usec, MIN(interval_usec, FIRST_USEC), SLACK_NSEC);
        while (!live.over) {
                wait_until(&live, pace->next_usec);
                if (live.over)
                        break;
                r = top_sample(top);
                if (r < 0)
                        break;
                draw(&live);
                pace_done(pace);
        }
        leave_terminal(&live);
        fd_close(&live.signals);
        g_ptr_array_unref(live.columns);
        return r < 0 ? complain("failed to read the CPUs again: %s", g_strerror(-r)) : EXIT_FINE;
}
