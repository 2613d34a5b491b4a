/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Energy, from the first of these sources that there is; what two sources measure is never summed:
 *
 *  1. RAPL's counters through powercap, on Intel and AMD
 *  2. counters of hwmon, energy1_input
 *  3. power by SCMI through powercap (arm-scmi), from an Arm machine's firmware, which has no
 *     counters there
 *  4. power of hwmon, power1_input or power1_average
 *  5. power of the batteries that discharge
 *
 * Power is what a sensor shows at the time of a reading. The energy between two readings is the
 * time by the mean of both, and so an estimate, which trials do not use. A device of hwmon
 * is read if its driver measures the machine, its processor or, as boards do, a supply, which may
 * feed only a part of the machine: the kernel does not say which. Others belong to graphics and
 * drives, count single cores (amd_energy), or show the power that charges a battery.
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
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "sense/scan.h"

#define DIRECTORY "sys/class/powercap"
#define HWMON     "sys/class/hwmon"
#define SUPPLIES  "sys/class/power_supply"

/* A battery's firmware asks its controller, which may wake a CPU. */
#define BATTERY_USEC 5000000

typedef struct Zone {
        char prefix[20]; /* "intel-rapl" */
        int top, part;   /* N and M; `part` is -1 for N alone */
} Zone;

/* A counter, or what replaces it for a sensor of power. */
typedef struct Meter {
        int fd; /* of the counter or the power; -1: of a battery, whose directory is `dir` */
        int dir;
        uint64_t uj;
        uint64_t uw, read_usec; /* the power, and when it was read */
        uint64_t added_usec;    /* up to then it is in `uj` */
        bool valid;             /* the power was, when it was read */
} Meter;

typedef struct Energy {
        int n, rank;
        EnergyDomain *domains;
        Meter *meters;
} Energy;

static void energy_close(void *state)
{
        Energy *energy = state;

        for (int i = 0; i < energy->n; i++) {
                g_free(energy->domains[i].name);
                g_free(energy->domains[i].path);
                fd_close(&energy->meters[i].fd);
                fd_close(&energy->meters[i].dir);
        }
        g_free(energy->domains);
        g_free(energy->meters);
        g_free(energy);
}

int energy_domains(const void *state, const EnergyDomain **ret_domains)
{
        const Energy *energy = state;

        *ret_domains = energy->domains;
        return energy->n;
}

/* The number in the name of a package's domain, or of a part of it; -1: it has none. */
static int package_number(const EnergyDomain *domain)
{
        int number;

        return domain->package && sscanf(domain->name, "package-%d", &number) == 1 ? number : -1;
}

/* The rank of the package that domain `i` is of, or is a part of; -1: of none. */
static int package_of(const EnergyDomain *domains, int n, int i)
{
        int number = package_number(&domains[i]), rank = 0;

        if (!domains[i].package)
                return domains[i].parent < 0 ? -1 : package_of(domains, n, domains[i].parent);
        for (int k = 0; k < n; k++) {
                int other = package_number(&domains[k]);
                bool first = other >= 0 && other < number;

                for (int j = 0; j < k; j++)
                        first &= package_number(&domains[j]) != other;
                rank += first;
        }
        return rank;
}

EnergyUse energy_of_package(const EnergyDomain *domains, int n, const EnergyUse *uses, int package,
                            const char *part)
{
        EnergyUse sum = { 0 };

        for (int i = 0; i < n; i++) {
                bool is_part = *part ? !domains[i].package &&
                                               g_str_has_suffix(domains[i].name, part)
                                     : domains[i].package;

                if (!is_part || !uses[i].valid || package_of(domains, n, i) != package)
                        continue;
                sum.valid = true;
                sum.watts += uses[i].watts;
                sum.joules += uses[i].joules;
        }
        return sum;
}

int energy_rank(const void *state)
{
        return ((const Energy *)state)->rank;
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

/* Makes room for one more, which belongs to no other domain. */
static EnergyDomain *domain_new(Energy *energy, const char *name, const char *path, int parent,
                                EnergySource source, Meter meter)
{
        EnergyDomain domain = {
                .name = name_make(energy, name, parent),
                .path = g_strdup(path),
                .parent = parent,
                .range_uj = ENERGY_RANGE_NONE,
                .source = source,
        };
        int i = energy->n++;

        energy->domains = g_renew(EnergyDomain, energy->domains, energy->n);
        energy->meters = g_renew(Meter, energy->meters, energy->n);
        energy->domains[i] = domain;
        energy->meters[i] = meter;
        return &energy->domains[i];
}

/* Adds the zone if its counter, or its power, can be opened. */
static int zone_add(Energy *energy, int root, const Zone *zone, EnergySource source)
{
        g_autofree char *path = zone_path(zone);
        g_autofree char *name_path = g_strdup_printf("%s/name", path);
        g_autofree char *range_path = g_strdup_printf("%s/max_energy_range_uj", path);
        bool sampled = source == ENERGY_SOURCE_SCMI;
        g_autofree char *value_path = g_build_filename(path, sampled ? "power_uw" : "energy_uj",
                                                       NULL);
        EnergyDomain *domain;
        uint64_t range = ENERGY_RANGE_NONE;
        char name[64];
        int r, fd, parent;

        r = file_read_value(root, name_path, name, sizeof(name));
        if (r < 0)
                return r;
        r = sampled ? 0 : file_read_u64(root, range_path, &range);
        if (r < 0)
                return r;
        fd = openat(root, value_path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        parent = parent_find(energy, zone);
        domain = domain_new(energy, name, path, parent, source, (Meter){ .fd = fd, .dir = -1 });
        domain->range_uj = range;
        domain->sampled = sampled;
        domain->package = parent < 0 && !sampled && g_str_has_prefix(name, "package-");
        return 0;
}

/* Adds the zones of one control type. Returns the last error; -ENOENT: there is none. */
static int zones_add(Energy *energy, int root, const char *prefix, EnergySource source)
{
        g_auto(GStrv) names = dir_list(root, DIRECTORY, prefix);
        int error = -ENOENT;
        Zone zone;

        for (char **name = names; *name; name++) {
                int r = zone_parse(*name, prefix, &zone) ? zone_add(energy, root, &zone, source)
                                                         : 0;

                if (r < 0)
                        error = r;
        }
        return error;
}

/* True if the device at `path` measures the machine, its processor or a supply on the board. A
 * battery's measures what charges it, too. */
static bool is_of_machine(int root, const char *path)
{
        static const char *const globs[] = { "ina2*",    "ina3221", "power_meter", "*xgene",
                                             "zenpower", "occ",     "scmi_sensors" };
        g_autofree char *name_path = g_build_filename(path, "name", NULL);
        g_autofree char *type_path = g_build_filename(path, "device/type", NULL);
        char name[64];

        if (file_read_value(root, name_path, name, sizeof(name)) < 0 ||
            faccessat(root, type_path, F_OK, 0) == 0)
                return false;
        for (size_t i = 0; i < G_N_ELEMENTS(globs); i++)
                if (fnmatch(globs[i], name, 0) == 0)
                        return true;
        return false;
}

/* Adds the hwmon devices that have this file. */
static void hwmon_add(Energy *energy, int root, const char *file, bool sampled)
{
        g_auto(GStrv) names = dir_list(root, HWMON, "");

        for (char **entry = names; *entry; entry++) {
                g_autofree char *path = g_build_filename(HWMON, *entry, NULL);
                g_autofree char *name_path = g_build_filename(path, "name", NULL);
                g_autofree char *value_path = g_build_filename(path, file, NULL);
                char name[64];
                int fd;

                if (!is_of_machine(root, path) ||
                    file_read_value(root, name_path, name, sizeof(name)) < 0)
                        continue;
                fd = openat(root, value_path, O_RDONLY | O_CLOEXEC);
                if (fd >= 0)
                        domain_new(energy, name, path, -1, ENERGY_SOURCE_HWMON,
                                   (Meter){ .fd = fd, .dir = -1 })
                                ->sampled = sampled;
        }
        if (energy->n == 1 && !sampled)
                energy->domains[0].package = true;
}

static void batteries_add(Energy *energy, int root)
{
        g_auto(GStrv) names = dir_list(root, SUPPLIES, "");

        for (char **entry = names; *entry; entry++) {
                g_autofree char *path = g_build_filename(SUPPLIES, *entry, NULL);
                int dir = openat(root, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

                if (dir >= 0 && file_has_word(dir, "type", "Battery") > 0 &&
                    file_has_word(dir, "scope", "Device") <= 0)
                        domain_new(energy, "battery", path, -1, ENERGY_SOURCE_BATTERY,
                                   (Meter){ .fd = -1, .dir = dir })
                                ->sampled = true;
                else if (dir >= 0)
                        close(dir);
        }
}

/* Adds what source number `rank` measures. -ENOENT: the machine does not have it. */
static int source_add(Energy *energy, int root, int rank)
{
        switch (rank) {
        case 0:
                return zones_add(energy, root, "intel-rapl", ENERGY_SOURCE_RAPL);
        case 1:
                return zones_add(energy, root, "intel-rapl-mmio", ENERGY_SOURCE_RAPL);
        case 2:
                hwmon_add(energy, root, "energy1_input", false);
                return -ENOENT;
        case 3:
                return zones_add(energy, root, "arm-scmi", ENERGY_SOURCE_SCMI);
        case 4:
                hwmon_add(energy, root, "power1_input", true);
                return -ENOENT;
        case 5:
                hwmon_add(energy, root, "power1_average", true);
                return -ENOENT;
        default:
                batteries_add(energy, root);
                return -ENOENT;
        }
}

#define SOURCES 7

static int energy_open(int root, const Topology *topology, void **ret_state)
{
        Energy *energy = g_new0(Energy, 1);
        int r = -ENOENT;

        /* What is there and cannot be read is no reason to take less. */
        for (int i = 0; i < SOURCES && energy->n == 0 && r == -ENOENT; i++) {
                energy->rank = i;
                r = source_add(energy, root, i);
        }
        if (energy->n == 0) {
                energy_close(energy);
                return r;
        }
        *ret_state = energy;
        return 0;
}

static bool read_number(int fd, uint64_t *ret_number)
{
        char buffer[32];
        const char *text = buffer;

        return fd_read_at_start(fd, buffer, sizeof(buffer)) > 0 && *text != ' ' &&
               scan_u64(&text, ret_number) && *text == '\n';
}

/* Microwatts that the battery gives; false: it does not discharge, or does not say. */
static bool read_battery(int dir, uint64_t *ret_uw)
{
        uint64_t ua, uv;

        if (file_has_word(dir, "status", "Discharging") <= 0)
                return false;
        if (file_read_u64(dir, "power_now", ret_uw) >= 0)
                return true;
        if (file_read_u64(dir, "current_now", &ua) < 0 ||
            file_read_u64(dir, "voltage_now", &uv) < 0)
                return false;
        *ret_uw = (uint64_t)((double)ua * (double)uv / 1e6);
        return true;
}

/* Adds the energy since the last reading, by the mean power of that and this one. */
static bool sample(Meter *meter, uint64_t now_usec)
{
        bool fresh = meter->dir >= 0 && meter->valid && now_usec - meter->read_usec < BATTERY_USEC;
        double elapsed = (double)(now_usec - meter->added_usec) / 1e6;
        uint64_t before = meter->uw;
        bool known = meter->valid;

        if (!fresh) {
                meter->valid = meter->dir >= 0 ? read_battery(meter->dir, &meter->uw)
                                               : read_number(meter->fd, &meter->uw);
                meter->read_usec = now_usec;
        }
        if (known && meter->valid)
                meter->uj += (uint64_t)(elapsed * ((double)before + (double)meter->uw) / 2);
        meter->added_usec = now_usec;
        return meter->valid;
}

static EnergyCounter counter_read(Meter *meter, const EnergyDomain *domain, int rank,
                                  uint64_t now_usec)
{
        EnergyCounter counter = { .range_uj = domain->range_uj,
                                  .package = domain->package,
                                  .source = rank };

        if (domain->sampled)
                counter.valid = sample(meter, now_usec);
        else
                counter.valid = read_number(meter->fd, &meter->uj);
        counter.uj = counter.valid ? meter->uj : 0;
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
                counters->energy[i] = counter_read(&energy->meters[i], &energy->domains[i],
                                                   energy->rank, counters->time_usec);
        counters->have |= SENSE_ENERGY;
        return 0;
}

const Sensor sensor_energy = {
        .provides = SENSE_ENERGY,
        .open = energy_open,
        .read = energy_read,
        .close = energy_close,
};
