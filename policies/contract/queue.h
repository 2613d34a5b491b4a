/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What queueing theory and statistics say about late wake-ups; docs/contract.md has the sources.
 */
#ifndef IDLED_CONTRACT_QUEUE_H
#define IDLED_CONTRACT_QUEUE_H

/* The share (0 .. 1) of arrivals that wait longer than `limit_us` for one of `cpus` CPUs: M/M/c
 * with `work` CPUs busy on average, and waits that end after `scale_us` on average per spare CPU.
 */
double queue_share_late(double work, int cpus, double limit_us, double scale_us);

/* The probability (0 .. 1) that an event of which `late` of `n` trials were one has a share of at
 * most `share`: Beta distribution, with Jeffreys' prior. */
double odds_at_most(double late, double n, double share);

#endif
