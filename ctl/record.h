/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options of idlectl record.
 */
#ifndef IDLED_CTL_RECORD_H
#define IDLED_CTL_RECORD_H

#include "ctl.h"

/* --idle, which is needed, and --causes. */
extern const VerbOption record_options[];
int record_check(const Ctl *ctl, const Verb *verb);

#endif
