/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Windows: times in which all CPUs are active because a program starts or a person types, though
 * the load does not need them. Pure: times are CLOCK_MONOTONIC in microseconds and come from the
 * caller.
 */
#ifndef IDLED_WINDOWS_H
#define IDLED_WINDOWS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Windows {
        GHashTable *starting;    /* names of units that systemd has a job for */
        uint64_t start_until;    /* 0: the last start is long ago */
        char *started;           /* the unit that started last */
        uint64_t terminal_until; /* 0: no input */
        char *terminal;          /* where that was: "pts/0" */
} Windows;

typedef enum Window { WINDOW_NONE, WINDOW_START, WINDOW_TERMINAL } Window;

void windows_init(Windows *windows);
void windows_done(Windows *windows);

/* systemd begins to start the unit. */
void windows_start(Windows *windows, const char *unit);

/* The unit has started; the window closes at `until`. False: it was not known to start. */
bool windows_started(Windows *windows, const char *unit, uint64_t until);

/* It does not start. False: it was not known to. */
bool windows_drop(Windows *windows, const char *unit);

/* A program read input from the terminal; the window closes at `until`. */
void windows_input(Windows *windows, const char *terminal, uint64_t until);

/* The window that is open at `now`, and what opened it, for people, as a new string: "ssh.service
 * starts", "input to terminal pts/0". `ret_why` may be NULL. */
Window windows_open(const Windows *windows, uint64_t now, char **ret_why);

/* When a window that is open at `now` closes by itself; 0: none does, or it is not known. */
uint64_t windows_close_at(const Windows *windows, uint64_t now);

#endif
