/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_DATA_EXEMPLAR_DATA_H
#define WP_REPORTER_DATA_EXEMPLAR_DATA_H
/* What the flame looks through for a window that shows one of its frames: the stacks of each window, and their times.
 */
#include "reporter/facts/facts.h"

/* Appends the script to `out`, without the beginnings of recordings (is_beginning). -ENOMEM. */
int wp_exemplar_data(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err);

#endif
