/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Texts with words that only some users may read, such as the name of a process that a reason
 * contains. The words are marked where they are written, and chosen where the text leaves idled.
 */
#ifndef IDLED_PRIVATE_TEXT_H
#define IDLED_PRIVATE_TEXT_H

#include <sys/types.h>

/* A new text that reads `whole` for root and for `owner`, and `others` for all other users. Both
 * are clean (log_clean()), and may become parts of longer texts. */
char *private_text(uid_t owner, const char *whole, const char *others);

/* What the user may read of the text, as a new string without marks. (uid_t)-1: any user. */
char *private_text_for(const char *text, uid_t reader);

#endif
