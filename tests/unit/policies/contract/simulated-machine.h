/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A machine with a load, in virtual time: a queue of tasks, CPUs whose idle states take time to
 * leave, and parked cores. What each task does is the same at all settings.
 */
#ifndef IDLED_TESTS_SIMULATED_MACHINE_H
#define IDLED_TESTS_SIMULATED_MACHINE_H

#include <glib.h>
#include <math.h>
#include <stdlib.h>

#include "contract/controller.h"
#include "model/random.h"

#define CORES_MAX 8
#define QUEUE_MAX 65536

typedef enum Arrivals {
        ARRIVE_POISSON,
        ARRIVE_BURSTS, /* of four on average, at random times */
        ARRIVE_HEAVY,  /* times between them, and work, have heavy tails */
        ARRIVE_TIMERS, /* a dozen threads sleep, then work */
} Arrivals;

typedef struct Case {
        const char *name;
        Arrivals arrivals;
        int cores;
        double per_sec, work_ms, limit_ms;
        double step_at, step; /* the load is `step` times as large from then on; 0: never */
        double slow;          /* so many times as much work at a low frequency; 0: there is none */
} Case;

/* As the kernel reports a server's states, with watts of a core. */
static const IdleTable states = { 3, { { "C1", 2, 2 }, { "C1E", 10, 20 }, { "C6", 190, 600 } } };
static const double state_watts[] = { 1.2, 0.9, 0.5 };
#define BUSY_WATTS   4.0
#define PARKED_WATTS 0.1 /* its package or cluster sleeps, too */

typedef struct Cpu {
        double free_at;  /* when it has no work any more */
        double idle_sec; /* what it expects to be idle for */
} Cpu;

typedef struct Simulation {
        const Case *c;
        Contract contracts[3];
        int n_contracts;
        uint64_t arrivals, work; /* random numbers: each task's work is the same at all settings */
        int cores, state;        /* the setting */
        bool fast;
        double now, joules;
        double called, called_busy; /* the controller, and busy_sec then */
        Cpu cpus[CORES_MAX];
        double arrived[QUEUE_MAX]; /* those that wait */
        unsigned first, end;
        double next, busy_sec;
        int burst;
        double threads[12];              /* when each wakes up */
        WakeupDelays wakeups, left_idle; /* all, and those of CPUs that were idle */
} Simulation;

static double uniform(uint64_t *random)
{
        return ((double)(random_next(random) >> 11) + 0.5) / 9007199254740992.0;
}

static double exponential(uint64_t *random, double mean)
{
        return -mean * log(uniform(random));
}

/* Pareto with shape 1.5 below a thousand times its least. */
static double heavy(uint64_t *random, double mean)
{
        return fmin(mean / 3 * pow(uniform(random), -1 / 1.5), mean * 333);
}

static double rate(const Simulation *s)
{
        return s->c->per_sec * (s->c->step > 0 && s->now >= s->c->step_at ? s->c->step : 1);
}

static double task_sec(Simulation *s)
{
        double mean = s->c->work_ms / 1e3 * (s->c->slow > 0 && !s->fast ? s->c->slow : 1);

        return s->c->arrivals == ARRIVE_HEAVY    ? heavy(&s->work, mean)
               : s->c->arrivals == ARRIVE_TIMERS ? mean
                                                 : exponential(&s->work, mean);
}

static double next_timer(Simulation *s, double ended)
{
        double sleep = 12 / rate(s) - s->c->work_ms / 1e3;
        int soonest = 0;

        for (int i = 1; i < 12; i++)
                if (s->threads[i] < s->threads[soonest])
                        soonest = i;
        s->now = s->threads[soonest];
        s->threads[soonest] = fmax(s->now, ended) + sleep * (0.9 + 0.2 * uniform(&s->arrivals));
        return s->now;
}

static void plan_arrival(Simulation *s)
{
        switch (s->c->arrivals) {
        case ARRIVE_POISSON:
                s->next += exponential(&s->arrivals, 1 / rate(s));
                break;
        case ARRIVE_HEAVY:
                s->next += heavy(&s->arrivals, 1 / rate(s));
                break;
        case ARRIVE_BURSTS:
                if (s->burst-- > 0)
                        break;
                s->burst = (int)floor(log(uniform(&s->arrivals)) / log(0.75));
                s->next += exponential(&s->arrivals, 4 / rate(s));
                break;
        case ARRIVE_TIMERS:
                s->next = next_timer(s, 0);
                break;
        }
}

/* As the kernel counts it, with its exact limits. */
static void count_delay(WakeupDelays *delays, uint64_t ns, const Contract *contracts, int n)
{
        wakeups_add(delays, ns);
        for (int i = 0; i < n; i++)
                delays->late[i] += (double)ns > contracts[i].limit_us * 1e3;
}

static int state_of(const Simulation *s, const Cpu *cpu)
{
        int state = 0;

        for (int i = 1; i <= s->state; i++)
                if (cpu->idle_sec * 1e6 >= states.states[i].target_residency_us)
                        state = i;
        return state;
}

/* The first waiting task runs on `cpu` from `at`. */
static void run(Simulation *s, Cpu *cpu, double at)
{
        double arrived = s->arrived[s->first++ % QUEUE_MAX], work = task_sec(s), idle, delay;
        int state = state_of(s, cpu);
        uint64_t ns;

        if (at > cpu->free_at) {
                idle = at - cpu->free_at;
                at += states.states[state].exit_latency_us / 1e6;
                s->joules += idle * state_watts[state];
                cpu->idle_sec += (idle - cpu->idle_sec) / 4;
        } else {
                state = -1;
        }
        delay = at - arrived;
        ns = (uint64_t)(delay * 1e9) + 3000;
        count_delay(&s->wakeups, ns, s->contracts, s->n_contracts);
        if (state >= 0)
                count_delay(&s->left_idle, ns, s->contracts, s->n_contracts);
        s->joules += work * BUSY_WATTS;
        s->busy_sec += work;
        cpu->free_at = at + work;
}

/* Lets waiting tasks begin until `until`. */
static void drain(Simulation *s, double until)
{
        while (s->first != s->end) {
                double arrived = s->arrived[s->first % QUEUE_MAX];
                Cpu *soonest = &s->cpus[0];

                for (int i = 1; i < s->cores; i++)
                        if (s->cpus[i].free_at < soonest->free_at && soonest->free_at > arrived)
                                soonest = &s->cpus[i];
                if (fmax(soonest->free_at, arrived) > until)
                        return;
                run(s, soonest, fmax(soonest->free_at, arrived));
        }
}

static void simulate(Simulation *s, double until)
{
        while (s->next <= until) {
                drain(s, s->next);
                s->now = s->next;
                if (s->end - s->first < QUEUE_MAX)
                        s->arrived[s->end++ % QUEUE_MAX] = s->next;
                plan_arrival(s);
        }
        drain(s, until);
        s->now = until;
}

/* CPUs that become active were idle until now, in the state of parked ones. */
static void set_cores(Simulation *s, int cores)
{
        for (int i = 0; i < s->c->cores; i++) {
                Cpu *cpu = &s->cpus[i];

                if ((i < cores) == (i < s->cores) || cpu->free_at >= s->now)
                        continue;
                s->joules += (s->now - cpu->free_at) *
                             (i < s->cores ? state_watts[state_of(s, cpu)] : PARKED_WATTS);
                cpu->free_at = s->now;
        }
        s->cores = cores;
}

static unsigned seed;

static void set_seed(void)
{
        const char *given = g_getenv("CONTRACT_SEED");

        seed = given ? (unsigned)atoi(given) : 1;
}

static Simulation *simulation_new(const Case *c)
{
        Simulation *s = g_new0(Simulation, 1);

        s->c = c;
        s->n_contracts = 1;
        for (unsigned i = 0; i < G_N_ELEMENTS(s->contracts); i++)
                s->contracts[i] = (Contract){ .id = i + 1,
                                              .limit = i,
                                              .limit_us = c->limit_ms * 1e3,
                                              .wakeups = &s->wakeups,
                                              .idle = &s->left_idle };
        s->arrivals = seed * 7919ull + 12345;
        s->work = s->arrivals + 99;
        s->cores = c->cores;
        s->state = states.n_states - 1;
        for (int i = 0; i < 12; i++)
                s->threads[i] = 12 / c->per_sec * uniform(&s->arrivals);
        plan_arrival(s);
        return s;
}

#endif
