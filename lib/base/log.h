/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Messages for people: to the journal with its priorities where standard error is the journal,
 * else to standard error.
 *
 * Strings from outside (process names, reasons, D-Bus input) go through log_clean() first, so that
 * they cannot forge a line of the log.
 */
#ifndef IDLED_LOG_H
#define IDLED_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <syslog.h>

/* Messages above this syslog priority are dropped; LOG_INFO at start. */
void log_set_level(int level);
int log_get_level(void);

/* Where messages go: "console" (standard error, colours on a terminal), "journal" (with <N>
 * prefixes that systemd reads), "null". -EINVAL: another name, nothing changed. */
int log_set_target(const char *target);
const char *log_get_target(void);

/* systemd's names of the levels, by syslog priority; NULL at the end. LOG_LEVELS is for error
 * messages. */
extern const char *const log_level_names[];
#define LOG_LEVELS "emerg, alert, crit, err, warning, notice, info or debug"

/* From name to level, and back. -EINVAL: unknown name. */
int log_level_parse(const char *name, int *ret_level);
const char *log_level_name(int level);

/* One line; errno is kept, and %m works. */
void log_message(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* How many messages of one kind clients may cause: the first LOG_LIMIT_MESSAGES of each
 * LOG_LIMIT_USEC are at LOG_INFO, the others at LOG_DEBUG. Zeros at the start. */
typedef struct LogLimit {
        uint64_t since_usec;
        unsigned n;
} LogLimit;
#define LOG_LIMIT_USEC     10000000
#define LOG_LIMIT_MESSAGES 10

/* One line, at LOG_INFO as long as `limit` permits. */
void log_limited(LogLimit *limit, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A copy of at most 256 bytes in which every byte that is not printable UTF-8 is an escape such as
 * \x0a; free with g_free(). */
char *log_clean(const char *text);

#define log_error(...)   log_message(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_WARNING, __VA_ARGS__)
#define log_notice(...)  log_message(LOG_NOTICE, __VA_ARGS__)
#define log_info(...)    log_message(LOG_INFO, __VA_ARGS__)
#define log_debug(...)   log_message(LOG_DEBUG, __VA_ARGS__)

/* Logs at LOG_ERR with the text of the negative errno `error` for %m, and returns `error`. */
int log_error_errno(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
