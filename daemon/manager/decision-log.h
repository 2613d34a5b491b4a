/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Decisions in the log, for LogDecisions=.
 */
#ifndef IDLED_DECISION_LOG_H
#define IDLED_DECISION_LOG_H

#include "manager/history.h"

/* The MESSAGE_ID of these entries in the journal. */
#define DECISION_MESSAGE_ID "89d5960d4b0545049aac3412d473ac7b"

/* Logs a change at level info: into the journal with fields, if the log goes there and journald
 * listens below `root`; else as a line. */
void decision_log(int root, const Transition *transition);

#endif
