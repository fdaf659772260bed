/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_PATTERN_LOCKS_H
#define WP_REPORTER_FINDINGS_PATTERN_LOCKS_H
/* Locks, semaphores and conditions: deadlock, interpreter lock, pool too small, lock held across I/O, thundering
 * herd, lock convoy. */
#include "reporter/findings/pattern_types.h"

/* The first that fits tells; ends with a key of NULL. */
extern const struct wp_pattern_rule wp_pattern_locks[];

#endif
