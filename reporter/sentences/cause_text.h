/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SENTENCES_CAUSE_TEXT_H
#define WP_REPORTER_SENTENCES_CAUSE_TEXT_H
/* A cause as a person would tell it: who waits, how long, for what, where in the application, and what the one that was
 * waited for did meanwhile. */
#include "reporter/causes/cause_case.h"

/* One sentence, in the facts' pool. */
const char *wp_cause_sentence(const struct wp_cause_case *of);
/* The lock, file, connection or call that it is about, the same in every recording; "" not known. */
const char *wp_cause_what(const struct wp_cause_case *of);
/* "lock", "deadlock", "interrupted", "unended", or the key of a category: stable, for scripts. */
const char *wp_cause_key(enum wp_cause_kind kind);

#endif
