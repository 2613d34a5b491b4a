/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading turbostat.
 *
 * 1. A line that names C0 (%c0 or Busy%) and only words of turbostat is a header. What is before
 *    the first one (banner, dumps of registers, the output of a command) is passed over.
 * 2. The columns that count are found in it: where a row belongs (package, core, CPU), C0, the
 *    states of the hardware (%c6, CPU%c6), those of the kernel (C6%), and PkgWatt.
 * 3. Rows follow. The one of the whole machine has - for its CPU, or, in old versions, blanks. A
 * CPU that shares a core may have no values of the core: they are those of the row above.
 * 4. A sample is the rows between two of the whole machine. A machine of one package is taken from
 *    that row; for more of them the rows of their CPUs are averaged.
 * 5. A file that was cut off is found by its last line, by CPUs that are missing against the sample
 *    before, and by rows whose mean is not the row of the whole machine.
 * 6. The hardware's states of a package add up to the time, or the file is not turbostat's.
 */
#include "turbostat.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define STATES_MAX  16
#define COLUMNS_MAX 256
#define ROUNDING    0.5 /* percent by which the mean of rows may differ from that of turbostat */
/* Percent of the time that the hardware's states explain if all are shown, within rounding. */
#define ACCOUNTED     95.0
#define ACCOUNTED_MAX 101.0
#define PERCENT_MAX   400.0 /* a sleep is counted when it ends: also that before the interval */
#define WATTS_MAX     100000.0
#define UNITS_SECOND  " sec"

typedef enum Role {
        ROLE_OTHER,
        ROLE_PACKAGE,
        ROLE_CORE,
        ROLE_CPU,
        ROLE_ID,
        ROLE_C0,
        ROLE_HARDWARE,
        ROLE_SOFTWARE,
        ROLE_WATTS
} Role;

typedef struct Row {
        int package, core, cpu;      /* -1: of the whole machine, or not printed */
        double percent[COLUMNS_MAX]; /* or watts; NaN: not printed */
} Row;

typedef struct Reader {
        int line; /* from 1 */
        bool tabs;
        int ids_end; /* where the header's last column of places ends */
        int n_ids;
        char **header;   /* its words, one a column; NULL before the first one */
        guint n_columns; /* 0 before the first header */
        Role roles[COLUMNS_MAX];
        GPtrArray *rows;    /* of Row, of the sample that is being read: first that of the whole
                             * machine, if there is one */
        GPtrArray *samples; /* of GPtrArray of Row */
        char *error;
} Reader;

static void fail(Reader *reader, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void fail(Reader *reader, const char *format, ...)
{
        g_autofree char *text = NULL;
        va_list arguments;

        if (reader->error)
                return;
        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        reader->error = reader->line > 0 ? g_strdup_printf("line %d: %s", reader->line, text)
                                         : g_steal_pointer(&text);
}

/* "c6" and "C1E" are states, "pc6" and "GFX" are none. */
static bool is_state(const char *text)
{
        return (*text == 'c' || *text == 'C') && g_ascii_isdigit(text[1]);
}

/* What the header says about one column. */
static Role find_role(const char *word)
{
        static const struct {
                const char *word;
                Role role;
        } words[] = {
                { "Package", ROLE_PACKAGE }, { "pk", ROLE_PACKAGE },     { "pkg", ROLE_PACKAGE },
                { "Pkg", ROLE_PACKAGE },     { "Socket", ROLE_PACKAGE }, { "Core", ROLE_CORE },
                { "cor", ROLE_CORE },        { "core", ROLE_CORE },      { "cr", ROLE_CORE },
                { "CPU", ROLE_CPU },         { "Die", ROLE_ID },         { "Node", ROLE_ID },
                { "L3", ROLE_ID },           { "APIC", ROLE_ID },        { "X2APIC", ROLE_ID },
                { "Module", ROLE_ID },       { "PkgWatt", ROLE_WATTS },  { "Pkg_W", ROLE_WATTS },
                { "%c0", ROLE_C0 },          { "Busy%", ROLE_C0 },
        };
        size_t length = strlen(word);

        for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
                if (g_str_equal(word, words[i].word))
                        return words[i].role;
        if ((word[0] == '%' && is_state(word + 1)) ||
            (g_str_has_prefix(word, "CPU%") && is_state(word + 4)))
                return ROLE_HARDWARE;
        if (length > 1 && word[length - 1] == '%' && word[length - 2] != '+' &&
            word[length - 2] != '-' && (g_str_has_prefix(word, "POLL") || is_state(word)))
                return ROLE_SOFTWARE;
        return ROLE_OTHER;
}

/* "C6" for CPU%c6, %c6 and C6%, as a new string. */
static char *state_name(const char *word, Role role)
{
        return role == ROLE_SOFTWARE ? g_strndup(word, strlen(word) - 1)
                                     : g_ascii_strup(strchr(word, '%') + 1, -1);
}

/* The words of a line; between tabs they may be empty. */
static char **line_split(const char *line, bool tabs)
{
        g_auto(GStrv) words = g_strsplit_set(line, tabs ? "\t" : " ", -1);
        g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);

        for (char **word = words; *word; word++)
                if (tabs || **word)
                        g_ptr_array_add(found, g_strdup(g_strstrip(*word)));
        g_ptr_array_add(found, NULL);
        return (char **)g_ptr_array_steal(found, NULL);
}

static bool is_place(Role role)
{
        return role >= ROLE_PACKAGE && role <= ROLE_ID;
}

/* The first column with the role; as many as there are: none has it. */
static guint column_of(const Reader *reader, Role role)
{
        guint i = 0;

        while (i < reader->n_columns && reader->roles[i] != role)
                i++;
        return i;
}

static bool has_role(const Reader *reader, Role role)
{
        return column_of(reader, role) < reader->n_columns;
}

/* True if the line is a header; then it is what following rows go by. */
static bool take_header(Reader *reader, const char *line)
{
        bool tabs = strchr(line, '\t');
        g_auto(GStrv) words = line_split(line, tabs);
        guint n = g_strv_length(words);
        Role roles[COLUMNS_MAX];
        const char *place = line;
        int n_ids = 0, ids_end = 0;
        bool busy = false;

        for (guint i = 0; i < n && n <= COLUMNS_MAX; i++) {
                roles[i] = find_role(words[i]);
                busy |= roles[i] == ROLE_C0;
                place = strstr(place, words[i]) + strlen(words[i]);
                if (is_place(roles[i])) {
                        n_ids++;
                        ids_end = (int)(place - line);
                }
                if (g_ascii_isdigit(*words[i]) || *words[i] == '-')
                        return false;
        }
        if (!busy)
                return false;
        if (reader->header &&
            !g_strv_equal((const char *const *)reader->header, (const char *const *)words))
                fail(reader, "found other columns than in the header before, expected the same");
        g_strfreev(reader->header);
        reader->header = g_steal_pointer(&words);
        memcpy(reader->roles, roles, n * sizeof(*roles));
        reader->n_columns = n;
        reader->tabs = tabs;
        reader->n_ids = n_ids;
        reader->ids_end = ids_end;
        return true;
}

/* A number in the way that turbostat prints it; NaN for - and for what is not printed. */
static double number(Reader *reader, const char *word)
{
        char *end;
        double value;

        if (!*word || g_str_equal(word, "-") || *word == '*')
                return NAN;
        value = g_ascii_strtod(word, &end);
        if (*end || end == word || !isfinite(value)) {
                g_autofree char *clean = g_strescape(word, NULL);

                fail(reader, "found \"%s\", expected a number as turbostat prints it", clean);
                return NAN;
        }
        return value;
}

static void take_place(Reader *reader, const char *word, int *place)
{
        double value = number(reader, word);

        if (value >= 0 && value < G_MAXINT)
                *place = (int)value;
}

static void take_word(Reader *reader, Row *row, guint i, const char *word)
{
        Role role = reader->roles[i];
        int *const places[] = {
                [ROLE_PACKAGE] = &row->package, [ROLE_CORE] = &row->core, [ROLE_CPU] = &row->cpu
        };
        bool watts = role == ROLE_WATTS;
        double *value = &row->percent[i];

        if (role < G_N_ELEMENTS(places) && places[role])
                take_place(reader, word, places[role]);
        if (role < ROLE_C0)
                return;
        *value = number(reader, word);
        if (*value < (watts ? 0 : -ROUNDING) || *value > (watts ? WATTS_MAX : PERCENT_MAX))
                fail(reader, "found %s, expected %s", word, watts ? "watts" : "a percentage");
}

/* What is of the core, or of the package, is printed with its first CPU only. */
static void inherit(const Reader *reader, Row *row)
{
        const Row *above;

        if (row->cpu < 0 || reader->rows->len == 0)
                return;
        above = g_ptr_array_index(reader->rows, reader->rows->len - 1);
        if (above->cpu < 0 || above->core != row->core || above->package != row->package)
                return;
        for (guint i = 0; i < reader->n_columns; i++)
                if (isnan(row->percent[i]) && reader->roles[i] == ROLE_HARDWARE)
                        row->percent[i] = above->percent[i];
}

static void sample_end(Reader *reader)
{
        if (reader->rows->len == 0)
                return;
        g_ptr_array_add(reader->samples, reader->rows);
        reader->rows = g_ptr_array_new_with_free_func(g_free);
}

static void take_row(Reader *reader, const char *line, bool last)
{
        g_auto(GStrv) words = line_split(line, reader->tabs);
        guint n = g_strv_length(words), columns = reader->n_columns, skip = 0;
        g_autofree Row *row = g_new(Row, 1);

        *row = (Row){ -1, -1, -1 };
        for (guint i = 0; i < COLUMNS_MAX; i++)
                row->percent[i] = NAN;
        /* An old row of the whole machine has blanks where others say to which CPU they belong. */
        if (!reader->tabs && n < columns && (int)strspn(line, " ") >= reader->ids_end)
                skip = (guint)reader->n_ids;
        if (n + skip > columns) {
                fail(reader, "found %u values, expected at most %u as in the header", n,
                     columns - skip);
                return;
        }
        if (last) {
                fail(reader, "the file ends in the middle of a line, expected a newline");
                return;
        }
        for (guint i = 0; i < n; i++)
                take_word(reader, row, i + skip, words[i]);
        if (row->cpu < 0)
                sample_end(reader);
        inherit(reader, row);
        g_ptr_array_add(reader->rows, g_steal_pointer(&row));
}

static void take_line(Reader *reader, char *line, bool last)
{
        g_autofree char *stripped = g_strstrip(g_strdup(line));

        if (g_str_has_suffix(line, "\r"))
                line[strlen(line) - 1] = '\0';
        /* "5.003 sec": how long the interval was. */
        if (!*stripped || (g_str_has_suffix(stripped, UNITS_SECOND) && g_ascii_isdigit(*stripped)))
                return;
        if (take_header(reader, line)) {
                sample_end(reader);
                return;
        }
        if (reader->header && !g_str_has_prefix(stripped, "turbostat"))
                take_row(reader, line, last);
}

/* The row of the whole machine; NULL: there is none. */
static const Row *whole_row(const GPtrArray *rows)
{
        const Row *first = g_ptr_array_index(rows, 0);

        return first->cpu < 0 ? first : NULL;
}

static guint count_cpus(const GPtrArray *rows)
{
        return rows->len - (whole_row(rows) ? 1 : 0);
}

/* The mean over the CPUs of a package (-1: of all) in one column; NaN if no row has a value. */
static double mean(const GPtrArray *rows, guint column, int package)
{
        double sum = 0;
        int n = 0;

        for (guint i = 0; i < rows->len; i++) {
                const Row *row = g_ptr_array_index(rows, i);

                if (row->cpu < 0 || isnan(row->percent[column]) ||
                    (package >= 0 && row->package != package))
                        continue;
                sum += row->percent[column];
                n++;
        }
        return n ? sum / n : NAN;
}

/* The same, of the machine's own row for all packages, if there is one. */
static double value_of(const GPtrArray *rows, guint column, int package)
{
        const Row *whole = whole_row(rows);

        return whole && package < 0 ? whole->percent[column] : mean(rows, column, package);
}

/* Looks for samples that lost rows. */
static void check_cut(Reader *reader)
{
        guint busy = column_of(reader, ROLE_C0), cpus = 0;

        for (guint s = 0; s < reader->samples->len; s++) {
                const GPtrArray *rows = g_ptr_array_index(reader->samples, s);
                const Row *whole = whole_row(rows);
                double of_rows = mean(rows, busy, -1);

                if (s > 0 && count_cpus(rows) != cpus) {
                        fail(reader,
                             "found %u CPUs in sample %u, expected %u as in the one before: "
                             "the file is cut off",
                             count_cpus(rows), s + 1, cpus);
                        return;
                }
                cpus = count_cpus(rows);
                if (whole && cpus > 0 && fabs(of_rows - whole->percent[busy]) > ROUNDING) {
                        fail(reader,
                             "sample %u: its CPUs are in C0 for %.2f %% of the time, "
                             "expected %.2f %% as in its first row: the file is cut off",
                             s + 1, of_rows, whole->percent[busy]);
                        return;
                }
        }
}

static int compare_ints(const void *a, const void *b)
{
        return *(const int *)a - *(const int *)b;
}

/* The numbers of the packages that the rows are of, ascending; 0 alone if they do not say. */
static void find_packages(const GPtrArray *rows, GArray *packages)
{
        int none = 0;

        for (guint i = 0; i < rows->len; i++) {
                const Row *row = g_ptr_array_index(rows, i);
                bool seen = row->cpu < 0 || row->package < 0;

                for (guint k = 0; k < packages->len; k++)
                        seen |= g_array_index(packages, int, k) == row->package;
                if (!seen)
                        g_array_append_val(packages, row->package);
        }
        if (packages->len == 0)
                g_array_append_val(packages, none);
        g_array_sort(packages, compare_ints);
}

void turbostat_free(Turbostat *turbostat)
{
        g_strfreev(turbostat->states);
        g_array_unref(turbostat->packages);
        g_array_unref(turbostat->shares);
        g_array_unref(turbostat->watts);
        g_free(turbostat);
}

Turbostat *turbostat_new(int n_states)
{
        Turbostat *turbostat = g_new0(Turbostat, 1);

        turbostat->n_states = n_states;
        turbostat->states = g_new0(char *, (gsize)n_states + 1);
        turbostat->packages = g_array_new(FALSE, FALSE, sizeof(int));
        turbostat->shares = g_array_new(FALSE, TRUE, sizeof(double));
        turbostat->watts = g_array_new(FALSE, FALSE, sizeof(double));
        return turbostat;
}

double *turbostat_add(Turbostat *turbostat, double watts)
{
        guint begin = turbostat->shares->len;

        g_array_set_size(turbostat->shares, begin + (guint)turbostat->n_states);
        g_array_append_val(turbostat->watts, watts);
        turbostat->n_samples = turbostat->watts->len / turbostat->packages->len;
        return &g_array_index(turbostat->shares, double, begin);
}

const double *turbostat_shares(const Turbostat *turbostat, guint sample, guint package)
{
        guint row = sample * turbostat->packages->len + package;

        return &g_array_index(turbostat->shares, double, row *(guint)turbostat->n_states);
}

double turbostat_watts(const Turbostat *turbostat, guint sample, guint package)
{
        return g_array_index(turbostat->watts, double, sample * turbostat->packages->len + package);
}

/* Makes the idle shares add up with C0. */
static void scale_idle(double *shares, int n)
{
        double idle = 0;

        for (int i = 1; i < n; i++)
                idle += shares[i];
        for (int i = 1; i < n && idle > 0; i++)
                shares[i] *= fmax(1 - shares[0], 0) / idle;
}

static void sample_make(const Reader *reader, const GPtrArray *rows, const guint *columns,
                        Turbostat *turbostat)
{
        bool several = turbostat->packages->len > 1;
        guint watts = column_of(reader, ROLE_WATTS);

        for (guint p = 0; p < turbostat->packages->len; p++) {
                int package = several ? g_array_index(turbostat->packages, int, p) : -1;
                double *shares = turbostat_add(turbostat, watts < reader->n_columns
                                                                  ? value_of(rows, watts, package)
                                                                  : NAN);

                for (int s = 0; s < turbostat->n_states; s++) /* 0 for NaN */
                        shares[s] = fmax(value_of(rows, columns[s], package), 0) / 100;
                if (turbostat->software)
                        scale_idle(shares, turbostat->n_states);
        }
}

/* The columns of C0 and of the states of a kind. Returns how many. */
static int columns_find(const Reader *reader, Role role, guint *columns)
{
        int n = 0;

        columns[n++] = column_of(reader, ROLE_C0);
        for (guint i = 0; i < reader->n_columns && n < STATES_MAX; i++)
                if (reader->roles[i] == role)
                        columns[n++] = i;
        return n;
}

/* True if the hardware's states explain the time of the first sample. */
static bool hardware_complete(const Reader *reader)
{
        const GPtrArray *rows = g_ptr_array_index(reader->samples, 0);
        guint columns[STATES_MAX];
        int n = columns_find(reader, ROLE_HARDWARE, columns);
        double sum = 0;

        for (int s = 0; s < n; s++) /* 0 for NaN */
                sum += fmax(value_of(rows, columns[s], -1), 0);
        return n > 1 && sum >= ACCOUNTED;
}

static Turbostat *turbostat_make(const Reader *reader)
{
        bool software = has_role(reader, ROLE_SOFTWARE) && !hardware_complete(reader);
        guint columns[STATES_MAX] = { 0 };
        Role role = software ? ROLE_SOFTWARE : ROLE_HARDWARE;
        int n = columns_find(reader, role, columns);
        Turbostat *turbostat = turbostat_new(n);

        turbostat->software = software;
        turbostat->summary = count_cpus(g_ptr_array_index(reader->samples, 0)) == 0;
        find_packages(g_ptr_array_index(reader->samples, 0), turbostat->packages);
        turbostat->states[0] = g_strdup("C0");
        for (int s = 1; s < n; s++)
                turbostat->states[s] = state_name(reader->header[columns[s]], role);
        for (guint i = 0; i < reader->samples->len; i++)
                sample_make(reader, g_ptr_array_index(reader->samples, i), columns, turbostat);
        return turbostat;
}

/* Looks for columns that are not all of the time, or more than it. Those of the kernel may be,
 * because a sleep is counted when it ends. */
static void check_sums(Reader *reader, const Turbostat *turbostat)
{
        bool software = turbostat->software;

        reader->line = 0;
        for (guint i = 0; i < turbostat->watts->len; i++) {
                guint p = i % turbostat->packages->len;
                const double *shares = turbostat_shares(turbostat, 0, i);
                double percent = 0;

                for (int s = 0; s < (software ? 1 : turbostat->n_states); s++)
                        percent += shares[s] * 100;
                if (percent > ACCOUNTED_MAX || (percent < ACCOUNTED && !software))
                        fail(reader,
                             "sample %u, package %d: found %.2f %% of the time in C0%s, expected "
                             "%s%.0f %%",
                             i / turbostat->packages->len + 1,
                             g_array_index(turbostat->packages, int, p), percent,
                             software ? "" : " and the columns of idle states",
                             software ? "at most " : "100 %, at least ",
                             software ? 100.0 : ACCOUNTED);
        }
}

static void read_lines(Reader *reader, const char *text)
{
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

        for (char **line = lines; *line && !reader->error; line++) {
                reader->line++;
                take_line(reader, *line, !line[1]);
        }
        sample_end(reader);
        if (reader->error)
                return;
        if (!reader->header)
                fail(reader,
                     "found no header with Busy%% or %%c0, expected the output of turbostat");
        else if (reader->samples->len == 0)
                fail(reader, "the file ends after the header, expected rows");
        else if (!has_role(reader, ROLE_HARDWARE) && !has_role(reader, ROLE_SOFTWARE))
                fail(reader, "found no column of an idle state, expected some such as CPU%%c6 or "
                             "C6%%");
        else
                check_cut(reader);
}

static void unref_rows(gpointer data)
{
        g_ptr_array_unref(data);
}

int turbostat_parse(const char *text, Turbostat **ret_turbostat, char **ret_error)
{
        Reader reader = { .rows = g_ptr_array_new_with_free_func(g_free),
                          .samples = g_ptr_array_new_with_free_func(unref_rows) };
        g_autoptr(Turbostat) turbostat = NULL;

        read_lines(&reader, text);
        if (!reader.error) {
                turbostat = turbostat_make(&reader);
                check_sums(&reader, turbostat);
        }
        if (!reader.error)
                *ret_turbostat = g_steal_pointer(&turbostat);
        else
                *ret_error = reader.error;
        g_strfreev(reader.header);
        g_ptr_array_unref(reader.rows);
        g_ptr_array_unref(reader.samples);
        return reader.error ? -EINVAL : 0;
}
