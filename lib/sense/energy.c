/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Energy: RAPL's counters through powercap, on Intel and AMD.
 *
 * Zones are directories intel-rapl:N (a package, or psys: the whole platform) and intel-rapl:N:M
 * (part of package N: core, uncore, dram) in sys/class/powercap. intel-rapl-mmio:N are the same
 * counters by another way and are used only where they are the only ones. Zones are read in the
 * order of their numbers. Their names repeat from package to package, so that of a part gets its
 * package's in front, and whatever still repeats a number behind.
 *
 * energy_uj is readable for root only. The driver reads a register of one CPU of each package,
 * which wakes that CPU if it sleeps: unlike the other sensors this one is not free, and is read
 * only for a client or before a counter wraps. A zone that cannot be read (its package may be
 * offline) is not valid in that reading; the list of zones stays as it was at open.
 */
#include "sense/energy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/file.h"
#include "sense/scan.h"

#define DIRECTORY "sys/class/powercap"

typedef struct Zone {
        char prefix[20]; /* "intel-rapl" */
        int top, part;   /* N and M; `part` is -1 for N alone */
} Zone;

typedef struct Energy {
        int n;
        EnergyDomain *domains;
        int *fds; /* of energy_uj */
} Energy;

static void energy_close(void *state)
{
        Energy *energy = state;

        for (int i = 0; i < energy->n; i++) {
                g_free(energy->domains[i].name);
                g_free(energy->domains[i].path);
                fd_close(&energy->fds[i]);
        }
        g_free(energy->domains);
        g_free(energy->fds);
        g_free(energy);
}

int energy_domains(const void *state, const EnergyDomain **ret_domains)
{
        const Energy *energy = state;

        *ret_domains = energy->domains;
        return energy->n;
}

/* "intel-rapl:0" or "intel-rapl:0:1". */
static bool zone_parse(const char *name, const char *prefix, Zone *ret_zone)
{
        Zone zone = { .part = -1 };
        uint64_t number;

        if (!scan_word(&name, prefix) || *name++ != ':' || *name == ' ' ||
            !scan_u64(&name, &number) || number > 1000)
                return false;
        zone.top = (int)number;
        if (*name == ':') {
                name++;
                if (*name == ' ' || !scan_u64(&name, &number) || number > 1000)
                        return false;
                zone.part = (int)number;
        }
        if (*name)
                return false;
        g_strlcpy(zone.prefix, prefix, sizeof(zone.prefix));
        *ret_zone = zone;
        return true;
}

static int zone_compare(const void *a, const void *b)
{
        const Zone *x = a, *y = b;

        return x->top != y->top ? x->top - y->top : x->part - y->part;
}

/* The zones of one control type, in order. */
static GArray *zones_list(int root, const char *prefix)
{
        GArray *zones = g_array_new(FALSE, FALSE, sizeof(Zone));
        _dir_ DIR *directory = dir_open(root, DIRECTORY);
        struct dirent *entry;
        Zone zone;

        while (directory && (entry = readdir(directory)))
                if (zone_parse(entry->d_name, prefix, &zone))
                        g_array_append_val(zones, zone);
        g_array_sort(zones, zone_compare);
        return zones;
}

/* Its directory below the root. */
static char *zone_path(const Zone *zone)
{
        if (zone->part < 0)
                return g_strdup_printf(DIRECTORY "/%s:%d", zone->prefix, zone->top);
        return g_strdup_printf(DIRECTORY "/%s:%d:%d", zone->prefix, zone->top, zone->part);
}

/* The domain that contains `zone`: its package's, which came before; -1 if there is none. */
static int parent_find(const Energy *energy, const Zone *zone)
{
        Zone top = *zone;
        g_autofree char *path = NULL;

        if (zone->part < 0)
                return -1;
        top.part = -1;
        path = zone_path(&top);
        for (int i = 0; i < energy->n; i++)
                if (strcmp(energy->domains[i].path, path) == 0)
                        return i;
        return -1;
}

static bool name_taken(const Energy *energy, const char *name)
{
        for (int i = 0; i < energy->n; i++)
                if (strcmp(energy->domains[i].name, name) == 0)
                        return true;
        return false;
}

/* A name that no domain has yet. */
static char *name_make(const Energy *energy, const char *name, int parent)
{
        g_autofree char *full = parent < 0 ? g_strdup(name)
                                           : g_strdup_printf("%s-%s", energy->domains[parent].name,
                                                             name);

        if (!name_taken(energy, full))
                return g_steal_pointer(&full);
        for (int i = 1;; i++) {
                g_autofree char *numbered = g_strdup_printf("%s-%d", full, i);

                if (!name_taken(energy, numbered))
                        return g_steal_pointer(&numbered);
        }
}

/* Adds the zone if its counter can be opened. */
static int domain_add(Energy *energy, int root, const Zone *zone)
{
        g_autofree char *path = zone_path(zone);
        g_autofree char *name_path = g_strdup_printf("%s/name", path);
        g_autofree char *range_path = g_strdup_printf("%s/max_energy_range_uj", path);
        g_autofree char *counter_path = g_strdup_printf("%s/energy_uj", path);
        EnergyDomain *domain;
        uint64_t range = 0;
        char name[64];
        int r, fd, parent;

        r = file_read_value(root, name_path, name, sizeof(name));
        if (r < 0)
                return r;
        r = file_read_u64(root, range_path, &range);
        if (r < 0)
                return r;
        fd = openat(root, counter_path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        parent = parent_find(energy, zone);
        domain = &energy->domains[energy->n];
        *domain = (EnergyDomain){
                .name = name_make(energy, name, parent),
                .path = g_steal_pointer(&path),
                .parent = parent,
                .package = parent < 0 && g_str_has_prefix(name, "package-"),
                .range_uj = range,
        };
        energy->fds[energy->n++] = fd;
        return 0;
}

static int energy_open(int root, const Topology *topology, void **ret_state)
{
        g_autoptr(GArray) zones = zones_list(root, "intel-rapl");
        Energy *energy;
        int error = -ENOENT;

        if (zones->len == 0) {
                g_array_unref(zones);
                zones = zones_list(root, "intel-rapl-mmio");
        }
        energy = g_new0(Energy, 1);
        energy->domains = g_new0(EnergyDomain, zones->len);
        energy->fds = g_new0(int, zones->len);
        for (guint i = 0; i < zones->len; i++) {
                int r = domain_add(energy, root, &g_array_index(zones, Zone, i));

                if (r < 0)
                        error = r;
        }
        if (energy->n == 0) {
                energy_close(energy);
                return error;
        }
        *ret_state = energy;
        return 0;
}

static EnergyCounter counter_read(int fd, const EnergyDomain *domain)
{
        char buffer[32];
        const char *text = buffer;
        EnergyCounter counter = { .range_uj = domain->range_uj, .package = domain->package };

        counter.valid = fd_read_at_start(fd, buffer, sizeof(buffer)) > 0 && *text != ' ' &&
                        scan_u64(&text, &counter.uj) && *text == '\n';
        if (!counter.valid)
                counter.uj = 0;
        return counter;
}

static int energy_read(void *state, Counters *counters)
{
        Energy *energy = state;

        if (counters->n_energy != energy->n) {
                counters->energy = g_renew(EnergyCounter, counters->energy, energy->n);
                counters->n_energy = energy->n;
        }
        for (int i = 0; i < energy->n; i++)
                counters->energy[i] = counter_read(energy->fds[i], &energy->domains[i]);
        counters->have |= SENSE_ENERGY;
        return 0;
}

const Sensor sensor_energy = {
        .name = "energy",
        .provides = SENSE_ENERGY,
        .open = energy_open,
        .read = energy_read,
        .close = energy_close,
};
