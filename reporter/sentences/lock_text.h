/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SENTENCES_LOCK_TEXT_H
#define WP_REPORTER_SENTENCES_LOCK_TEXT_H
/* What a lock is called in a sentence. */
#include "reporter/facts/facts.h"

/* Of the lock that this sleep waits for: "`cache_lock`" of "cache_lock (orders)", "the lock of the file PATH", "the
 * GIL", "a `ReentrantLock`"; "" of one without a name. In the facts' pool. */
const char *wp_lock_text(struct wp_facts *facts, uint32_t sleep);

#endif
