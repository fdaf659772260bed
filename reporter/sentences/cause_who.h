/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SENTENCES_CAUSE_WHO_H
#define WP_REPORTER_SENTENCES_CAUSE_WHO_H
/* Whose wait a cause is, and for whom: what its sentence begins with. Texts are in the facts' pool. */
#include "reporter/causes/cause_case.h"

/* "make", or "make waits in `build` (run.c:8) for cc1, which". */
const char *wp_cause_who(const struct wp_cause_case *of);
/* Whether that says where the program waits for a thread of its own, which sleeps at no known place. */
bool wp_cause_is_told_by_waiter(const struct wp_cause_case *of);
/* The process of the layer that begins at that node; of a thread that names itself its process and it. */
const char *wp_cause_process_text(const struct wp_cause_case *of, uint32_t node);
/* " in `update_cache` (orders.c:34)" of what stands on the node, or "". */
const char *wp_cause_location_text(const struct wp_cause_case *of, uint32_t node);

#endif
