/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl status: what its parts share.
 */
#ifndef IDLED_CTL_STATUS_H
#define IDLED_CTL_STATUS_H

#include "cli/verb.h"

/* --dump and --knobs, whether one of them was given, and wrong usage after a message if both. */
extern const VerbOption dump_options[];
bool dump_asked(void);
int dump_check(const Ctl *ctl, const Verb *verb);

/* All values, or with --knobs those of all knobs. */
int dump_ask(Ctl *ctl, json_object **ret_answer);
void dump_show(const Ctl *ctl, json_object *answer);

#endif
