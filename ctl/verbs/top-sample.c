/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl top: samples.
 *
 * A sample is counters and the frequency of CPUs that were busy; a CPU that sleeps is not asked for
 * its frequency, because kernels before 5.18 would wake it. What changes rarely, or wakes a CPU of
 * each package (limits, parked CPUs, energy, temperature), is read at most once a second.
 */
#include "top.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/number.h"
#include "cli/client.h"
#include "cli/command.h"

#define SLOW_USEC  (990 * 1000)
#define BUSY_LEAST 0.01

int top_init(Top *top, Ctl *ctl)
{
        Watch *watch;
        int n, r;

        command_raise_descriptors();
        r = watch_new(ctl->root, &watch);
        if (r < 0)
                return r;
        n = MAX(watch->topology->n_packages, 1);
        *top = (Top){ .ctl = ctl,
                      .watch = watch,
                      .global_fd = -1,
                      .cpus = g_new0(TopCpu, watch->topology->n_cpus),
                      .celsius = g_new(double, n),
                      .estimated_watts = g_new(double, n),
                      .rows = g_array_new(FALSE, FALSE, sizeof(TopRow)),
                      .all = top_columns_all(watch) };
        temperatures_init(&top->temperatures, ctl->root);
        for (int i = 0; i < n; i++)
                top->celsius[i] = top->estimated_watts[i] = NAN;
        for (int i = 0; i < watch->topology->n_cpus; i++)
                top->cpus[i] = (TopCpu){
                        .mhz = NAN, .limit_us = TOP_LIMIT_NONE, .frequency_fd = -1, .limit_fd = -1
                };
        return 0;
}

void top_done(Top *top)
{
        temperatures_done(&top->temperatures);
        power_table_free(top->table);
        for (int i = 0; i < top->watch->topology->n_cpus; i++) {
                fd_close(&top->cpus[i].frequency_fd);
                fd_close(&top->cpus[i].limit_fd);
        }
        fd_close(&top->global_fd);
        watch_free(top->watch);
        g_free(top->cpus);
        g_free(top->celsius);
        g_free(top->estimated_watts);
        g_array_unref(top->rows);
        g_array_unref(top->all);
        g_clear_pointer(&top->columns, g_ptr_array_unref);
}

/* The value of a small file of the CPU; false if it cannot be read. Descriptors are kept, because
 * the kernel frees a closed one after a grace period of RCU, for which it wakes another CPU. Where
 * a CPU went offline, they are opened again. */
static bool read_kept(const Top *top, int cpu, int *fd, const char *file, char text[32])
{
        char path[96];
        ssize_t n;

        snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/%s", cpu, file);
        if (*fd < 0)
                *fd = openat(top->watch->root, path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
        if (*fd < 0)
                return false;
        n = pread(*fd, text, 31, 0);
        if (n <= 0) {
                close(*fd);
                *fd = -1;
                return false;
        }
        text[n] = '\0';
        text[strcspn(text, "\n")] = '\0';
        return true;
}

/* Opened once, because the kernel frees a closed descriptor as said above. */
static int64_t read_global_limit(Top *top)
{
        if (top->global_fd == -1)
                top->global_fd = idle_global_open(top->watch->root);
        return idle_global_limit(top->global_fd);
}

static void read_limits(Top *top)
{
        int64_t global_us = read_global_limit(top);

        CPUSET_FOREACH(cpu, &top->watch->topology->online) {
                TopCpu *more = &top->cpus[cpu];
                char text[32];
                bool known = read_kept(top, cpu, &more->limit_fd, "power/pm_qos_resume_latency_us",
                                       text);

                more->limit_us = idle_limit_stricter(
                        known ? idle_limit_parse(text) : TOP_LIMIT_NONE, global_us);
        }
}

static void read_parked(Top *top)
{
        g_autoptr(json_object) property = client_property(top->ctl->client, "Parked");
        CpuSet parked;

        top->parked_known = property && json_object_is_type(property, json_type_string) &&
                            cpuset_parse(json_object_get_string(property), &parked) == 0;
        for (int cpu = 0; cpu < top->watch->topology->n_cpus; cpu++)
                top->cpus[cpu].parked = top->parked_known && cpuset_has(&parked, cpu);
}

static void read_slow(Top *top)
{
        uint64_t now = top->watch->seen->time_usec;

        if (top->slow_usec && now - top->slow_usec < SLOW_USEC)
                return;
        top->slow_usec = now;
        read_parked(top);
        read_limits(top);
        temperatures_read(&top->temperatures, top->watch->root, top->celsius,
                          top->watch->topology->n_packages);
}

/* In MHz; NaN: not known. */
static double read_frequency(Top *top, int cpu)
{
        char text[32];
        uint64_t khz;

        if (!read_kept(top, cpu, &top->cpus[cpu].frequency_fd, "cpufreq/scaling_cur_freq", text))
                return NAN;
        return u64_parse(text, &khz) == 0 ? (double)khz / 1000 : NAN;
}

static void read_frequencies(Top *top)
{
        const Snapshot *seen = top->watch->seen;

        CPUSET_FOREACH(cpu, &seen->cpus) {
                top->cpus[cpu].mhz = NAN;
                if ((double)seen->busy[cpu] < BUSY_LEAST)
                        continue;
                top->cpus[cpu].mhz = read_frequency(top, cpu);
        }
}

int top_sample(Top *top)
{
        int r = watch_sample(top->watch, SENSE_RESIDENCY | SENSE_IDLE_STATISTICS, true);

        if (r < 0)
                return r;
        top_follow(top);
        read_frequencies(top);
        read_slow(top);
        for (int p = 0; top->table && p < top->watch->topology->n_packages; p++)
                top->estimated_watts[p] = estimate_package_watts(top->table, top->watch, p);
        top_make(top);
        return 0;
}

bool top_needs_root(const Top *top)
{
        return top->watch->energy_error == -EACCES || top->watch->energy_error == -EPERM;
}

int top_restart(Top *top)
{
        return watch_begin(top->watch, SENSE_RESIDENCY | SENSE_IDLE_STATISTICS, true);
}

static json_object *describe_states(const Top *top, const TopRow *row)
{
        bool known = top->watch->seen->have & SENSE_IDLE_STATISTICS;
        json_object *array = json_object_new_array();

        for (int s = 0; s < top->watch->n_states; s++) {
                json_object *state = json_add(array);

                json_put_text(state, "name", top->watch->states[s]);
                json_put_real(state, "percent", row->share[s] * 100, 3);
                json_put_bool(state, "estimated", row->estimated[s]);
                json_put_real(state, "entered", row->entered[s], 0);
                json_put_real(state, "above", known ? row->above[s] : NAN, 0);
                json_put_real(state, "below", known ? row->below[s] : NAN, 0);
        }
        return array;
}

char *top_row_cpus(const Top *top, const TopRow *row)
{
        CpuSet cpus = { 0 };

        if (row->cpu >= 0 || row->package < 0)
                return NULL;
        CPUSET_FOREACH(cpu, &top->watch->seen->cpus) {
                const TopologyCpu *place = &top->watch->topology->cpus[cpu];

                if (place->package == row->package && (row->core < 0 || place->core == row->core) &&
                    (!top->only || cpuset_has(top->only, cpu)))
                        cpuset_add(&cpus, cpu);
        }
        return cpuset_format(&cpus);
}

static json_object *describe_row(const Top *top, const TopRow *row)
{
        json_object *object = json_object_new_object();
        bool watts = isfinite(row->sensors.package_watts);
        g_autofree char *cpus = top_row_cpus(top, row);

        json_put_int_from(object, "cpu", row->cpu, 0);
        json_put_text(object, "cpu_list", cpus);
        json_put_int_from(object, "core", row->core, 0);
        json_put_int_from(object, "package", row->package, 0);
        json_put_int(object, "cpus", row->n_cpus);
        json_put_real(object, "busy_percent", row->busy * 100, 3);
        json_put_real(object, "busy_mhz", row->mhz, 0);
        json_put(object, "states", describe_states(top, row));
        json_put_real(object, "wakeups_per_second", row->wakes_per_sec, 2);
        json_put_real(object, "mean_sleep_usec", row->sleep_usec, 1);
        json_put_real(object, "longest_sleep_at_least_usec", row->longest_usec, 1);
        json_put_int_from(object, "parked_cpus", row->parked, 0);
        json_put_int_from(object, "latency_limit_us", row->limit_us, 0);
        json_put_real(object, "package_watts", row->sensors.package_watts, 3);
        json_put_text(object, "package_watts_source",
                      !watts                   ? NULL
                      : row->sensors.estimated ? "estimate"
                                               : energy_source_title(top->watch->energy_source));
        json_put_real(object, "core_watts", row->sensors.core_watts, 3);
        json_put_real(object, "dram_watts", row->sensors.dram_watts, 3);
        json_put_real(object, "package_celsius", row->sensors.celsius, 1);
        return object;
}

json_object *top_describe(const Top *top)
{
        json_object *object = json_object_new_object(), *rows = json_object_new_array();

        json_put_int(object, "time_usec", (int64_t)top->watch->seen->time_usec);
        json_put_int(object, "interval_usec", (int64_t)top->watch->seen->interval_usec);
        json_put(object, "machine", describe_row(top, &g_array_index(top->rows, TopRow, 0)));
        for (guint i = 1; i < top->rows->len; i++)
                json_object_array_add(rows,
                                      describe_row(top, &g_array_index(top->rows, TopRow, i)));
        json_put(object, "rows", rows);
        return object;
}
