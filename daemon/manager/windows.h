/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Windows: times in which all CPUs are active because a program starts or a person types, though
 * the load does not need them. Pure: times are CLOCK_MONOTONIC in microseconds and come from the
 * caller. So do the lengths, with each question, because options change while a window is open.
 */
#ifndef IDLED_WINDOWS_H
#define IDLED_WINDOWS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Windows {
        GHashTable *starting;  /* names of units that systemd has a job for */
        uint64_t started_usec; /* when the last one started; 0: none did */
        char *started;         /* that unit or cgroup */
        uint64_t input_usec;   /* when a program read the last input that is known; 0: none */
        char *terminal;        /* where that was: "pts/0" */
} Windows;

/* How long windows stay open after the start, and after the input; 0: there is no such window. */
typedef struct WindowLengths {
        uint64_t start, terminal;
} WindowLengths;

typedef enum Window { WINDOW_NONE, WINDOW_START, WINDOW_TERMINAL } Window;

void windows_init(Windows *windows);
void windows_done(Windows *windows);

/* systemd begins to start the unit. */
void windows_start(Windows *windows, const char *unit);

/* The unit has started at `now`. False: it was not known to start. */
bool windows_started(Windows *windows, const char *unit, uint64_t now);

/* `what`, which is no unit, has started at `now`: "cgroup /docker/ID". */
void windows_begun(Windows *windows, const char *what, uint64_t now);

/* It does not start. False: it was not known to. */
bool windows_drop(Windows *windows, const char *unit);

/* A program read input from the terminal at `usec`. */
void windows_input(Windows *windows, const char *terminal, uint64_t usec);

/* The window that is open at `now`, and what opened it, for people, as a new string: "ssh.service
 * starts", "input to terminal pts/0". `ret_why` may be NULL. */
Window windows_open(const Windows *windows, const WindowLengths *lengths, uint64_t now,
                    char **ret_why);

/* When a window that is open at `now` closes by itself; 0: none does, or it is not known. */
uint64_t windows_close_at(const Windows *windows, const WindowLengths *lengths, uint64_t now);

#endif
