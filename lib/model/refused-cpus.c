/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table of refused CPUs.
 */
#include "model/refused-cpus.h"

#include <string.h>

#include "base/cpuset-text.h"
#include "base/log.h"

/* Users from here on log in, except those that systemd makes for services (DynamicUser=), and
 * the one without rights. */
#define LOGIN_UID_MIN   1000
#define DYNAMIC_UID_MIN 61184
#define DYNAMIC_UID_MAX 65519
#define NOBODY_UID      65534

/* Users from here on share the limits of one: user namespaces give a single user many of them. */
#define SHARED_UID_MIN 65536

/* The longest name of a unit, and the characters of names besides letters and digits. */
#define UNIT_NAME_MAX   255
#define UNIT_NAME_CHARS ":-_.\\@"

/* How long CPUs were kept active for a user, as a bucket that leaks. */
typedef struct Spent {
        uint64_t usec, seen_usec;
        uint64_t until_usec; /* CPUs stay active for its last refusal until then */
} Spent;

struct RefusedTable {
        GPtrArray *entries; /* of Refused */
        GHashTable *spent;  /* user -> Spent */
        uint64_t total;
};

static void entry_free(void *data)
{
        Refused *entry = data;

        g_free(entry->unit);
        g_free(entry->program);
        g_free(entry);
}

RefusedTable *refused_table_new(void)
{
        RefusedTable *table = g_new0(RefusedTable, 1);

        table->entries = g_ptr_array_new_with_free_func(entry_free);
        table->spent = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        return table;
}

void refused_table_free(RefusedTable *table)
{
        if (!table)
                return;
        g_ptr_array_unref(table->entries);
        g_hash_table_unref(table->spent);
        g_free(table);
}

static bool is_unit_name(const char *name)
{
        for (const char *c = name; *c; c++)
                if (!g_ascii_isalnum(*c) && !strchr(UNIT_NAME_CHARS, *c))
                        return false;
        return strlen(name) <= UNIT_NAME_MAX && g_str_has_suffix(name, ".service");
}

char *refused_unit(const char *path, size_t size)
{
        const char *service = NULL;

        for (size_t at = 0; at < size;) {
                const char *name = path + at;
                size_t length = strnlen(name, size - at);

                if (at + length == size)
                        return NULL; /* it is cut */
                if (g_str_has_suffix(name, ".service"))
                        service = name; /* the outermost is the last */
                else if (g_str_equal(name, "user.slice") || g_str_equal(name, "machine.slice") ||
                         (service && length > 0 && !g_str_has_suffix(name, ".slice")))
                        return NULL; /* whatever a container calls its cgroups */
                at += length + 1;
        }
        return service && is_unit_name(service) ? g_strdup(service) : NULL;
}

static Refused *find(const RefusedTable *table, const char *unit, pid_t pid)
{
        for (guint i = 0; i < table->entries->len; i++) {
                Refused *entry = table->entries->pdata[i];

                if (unit ? g_strcmp0(entry->unit, unit) == 0 : !entry->unit && entry->pid == pid)
                        return entry;
        }
        return NULL;
}

/* The user whose limits count. */
static uid_t limited_as(uid_t uid)
{
        return MIN(uid, SHARED_UID_MIN);
}

/* How many services there are, or processes; of one user, or with -1 of all. */
static unsigned count(const RefusedTable *table, bool units, uid_t uid)
{
        unsigned n = 0;

        for (guint i = 0; i < table->entries->len; i++) {
                const Refused *entry = table->entries->pdata[i];

                n += (entry->unit != NULL) == units &&
                     (uid == (uid_t)-1 || limited_as(entry->uid) == uid);
        }
        return n;
}

/* True if the user may keep CPUs active for REFUSED_KEEP_USEC from now on, which is counted. */
static bool spend(RefusedTable *table, uid_t uid, uint64_t now)
{
        gpointer key = GUINT_TO_POINTER(limited_as(uid));
        Spent *spent = g_hash_table_lookup(table->spent, key);
        uint64_t more;

        if (!spent) {
                spent = g_new0(Spent, 1);
                g_hash_table_insert(table->spent, key, spent);
        }
        spent->usec -= MIN(spent->usec, (now - spent->seen_usec) / REFUSED_SHARE);
        spent->seen_usec = now;
        more = now + REFUSED_KEEP_USEC - MAX(spent->until_usec, now);
        if (spent->usec + more > REFUSED_SAVED_USEC)
                return false;
        spent->usec += more;
        spent->until_usec = now + REFUSED_KEEP_USEC;
        return true;
}

static void forget_oldest_unit(RefusedTable *table)
{
        for (guint i = 0; i < table->entries->len; i++) {
                const Refused *entry = table->entries->pdata[i];

                if (!entry->unit)
                        continue;
                g_ptr_array_remove_index(table->entries, i);
                return;
        }
}

/* A new entry at the end; NULL: there are too many. */
static Refused *add(RefusedTable *table, const char *unit, uid_t uid)
{
        Refused *entry;

        if (!unit && (count(table, false, limited_as(uid)) >= REFUSED_OF_USER_MAX ||
                      count(table, false, (uid_t)-1) >= REFUSED_MAX))
                return NULL;
        if (unit && count(table, true, (uid_t)-1) >= REFUSED_UNITS_MAX)
                forget_oldest_unit(table);
        entry = g_new0(Refused, 1);
        entry->unit = g_strdup(unit);
        g_ptr_array_add(table->entries, entry);
        return entry;
}

static bool is_login_user(uid_t uid)
{
        return uid >= LOGIN_UID_MIN && uid != NOBODY_UID &&
               (uid < DYNAMIC_UID_MIN || uid > DYNAMIC_UID_MAX);
}

const Refused *refused_note(RefusedTable *table, const Refused *refusal, uint64_t now,
                            bool *ret_new)
{
        const char *unit = is_login_user(refusal->uid) ? NULL : refusal->unit;
        Refused *entry = find(table, unit, refusal->pid);
        guint i;

        table->total++;
        if ((!unit && !spend(table, refusal->uid, now)) ||
            (!entry && !(entry = add(table, unit, refusal->uid))))
                return NULL;
        *ret_new = !cpuset_is_subset(&refusal->cpus, &entry->cpus);
        cpuset_or(&entry->cpus, &refusal->cpus);
        g_free(entry->program);
        entry->program = log_clean(refusal->program);
        entry->uid = refusal->uid;
        entry->pid = refusal->pid;
        entry->count++;
        entry->until_usec = unit ? 0 : now + REFUSED_KEEP_USEC;
        entry->alive = !unit && refusal->alive;
        g_ptr_array_find(table->entries, entry, &i);
        g_ptr_array_add(table->entries, g_ptr_array_steal_index(table->entries, i));
        return entry;
}

bool refused_has_process(const RefusedTable *table, pid_t pid)
{
        return find(table, NULL, pid) != NULL;
}

void refused_exited(RefusedTable *table, pid_t pid)
{
        Refused *entry = find(table, NULL, pid);

        if (entry)
                entry->alive = false;
}

bool refused_expire(RefusedTable *table, uint64_t now)
{
        guint before = table->entries->len;

        for (guint i = before; i-- > 0;) {
                const Refused *entry = table->entries->pdata[i];

                if (!entry->unit && !entry->alive && entry->until_usec <= now)
                        g_ptr_array_remove_index(table->entries, i);
        }
        return table->entries->len < before;
}

uint64_t refused_expires_at(const RefusedTable *table)
{
        uint64_t at = 0;

        for (guint i = 0; i < table->entries->len; i++) {
                const Refused *entry = table->entries->pdata[i];

                if (!entry->unit && !entry->alive && (!at || entry->until_usec < at))
                        at = entry->until_usec;
        }
        return at;
}

unsigned refused_forget(RefusedTable *table, const char *unit)
{
        unsigned n = 0;

        for (guint i = table->entries->len; i-- > 0;) {
                const Refused *entry = table->entries->pdata[i];

                if (*unit && g_strcmp0(entry->unit, unit) != 0)
                        continue;
                g_ptr_array_remove_index(table->entries, i);
                n++;
        }
        return n;
}

const Refused *refused_nth(const RefusedTable *table, unsigned i)
{
        return i < table->entries->len ? table->entries->pdata[i] : NULL;
}

uint64_t refused_total(const RefusedTable *table)
{
        return table->total;
}

/* The text is for all users: it does not name programs. */
static void add_cpus(Affinities *affinities, const Refused *entry)
{
        g_autofree char *cpus = cpuset_format(&entry->cpus);
        g_autofree char *who = entry->unit ? g_strdup(entry->unit)
                                           : g_strdup_printf("a process of user %u",
                                                             (unsigned)entry->uid);
        const char *plural = cpuset_count(&entry->cpus) > 1 ? "s" : "";

        CPUSET_FOREACH(cpu, &entry->cpus) {
                CpuSet one = { 0 };

                cpuset_add(&one, cpu);
                affinities_add(affinities, &one,
                               g_strdup_printf("an affinity to CPU%s %s was refused to %s", plural,
                                               cpus, who));
        }
}

Affinities *refused_affinities(const RefusedTable *table,
                               bool (*loaded)(const char *unit, const void *userdata),
                               const void *userdata)
{
        Affinities *affinities = g_new0(Affinities, 1);

        for (guint i = 0; i < table->entries->len; i++) {
                const Refused *entry = table->entries->pdata[i];

                if (!entry->unit || !loaded || loaded(entry->unit, userdata))
                        add_cpus(affinities, entry);
        }
        return affinities;
}

char *refused_format(const RefusedTable *table)
{
        GString *text = g_string_new(NULL);

        for (guint i = 0; i < table->entries->len; i++) {
                const Refused *entry = table->entries->pdata[i];
                g_autofree char *cpus = cpuset_format(&entry->cpus);

                if (entry->unit)
                        g_string_append_printf(text, "%s %s %s\n", entry->unit, cpus,
                                               entry->program);
        }
        return g_string_free(text, FALSE);
}

static bool parse_line(RefusedTable *table, const char *line)
{
        g_auto(GStrv) words = g_strsplit(line, " ", 3);
        CpuSet cpus;
        Refused *entry;

        if (g_strv_length(words) != 3 || !is_unit_name(words[0]) ||
            cpuset_parse(words[1], &cpus) < 0 || cpuset_is_empty(&cpus))
                return false;
        entry = find(table, words[0], 0) ?: add(table, words[0], 0);
        if (!entry)
                return false;
        cpuset_or(&entry->cpus, &cpus);
        g_free(entry->program);
        entry->program = log_clean(words[2]);
        return true;
}

unsigned refused_parse(RefusedTable *table, const char *text)
{
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        unsigned skipped = 0;

        for (char **line = lines; *line; line++)
                skipped += **line && !parse_line(table, *line);
        return skipped;
}
