/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_REQUESTS_EXEMPLAR_FACTS_H
#define WP_REPORTER_REQUESTS_EXEMPLAR_FACTS_H
/*
 * The windows that can be shown event by event, and why these: of each service and of the waits the slowest ones, and
 * typical ones. The store keeps more (storage/report/exemplars.h), so that there is one near the median whatever the
 * median turns out to be.
 */
#include "reporter/base/text_pool.h"
#include "reporter/facts/facts.h"
#include "storage/report/exemplars.h"
#include "storage/report/trace.h"

#include <stddef.h>

/* Of facts that are built otherwise; texts go into their pool. -ENOMEM sets the pool's failed. */
void wp_exemplar_facts_build(struct wp_facts *facts, const struct wp_exemplars *set);
/* The beginning of a recording as a row; takes the trace. */
void wp_exemplar_facts_window(struct wp_pool *pool, struct wp_exemplar_fact *fact, struct wp_trace *trace);
/* Destroys the rows' traces; the rows live in the facts' pool. */
void wp_exemplar_facts_fini(struct wp_exemplar_facts *exemplars);
/* The first of that service that is among the slowest, or typical: its number, 0 none. */
unsigned wp_exemplar_facts_find(const struct wp_facts *facts, const char *service, bool is_typical);

#endif
