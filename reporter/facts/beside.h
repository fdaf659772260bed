/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_BESIDE_H
#define WP_REPORTER_FACTS_BESIDE_H
/*
 * What the total is of, and what stands beside it: sleeps of idle workers, and work of a process' other threads that
 * nobody waited for (docs/engine.md, "What a total is").
 */
#include "reporter/facts/facts.h"
#include "reporter/facts/page_context.h"

#define WP_BESIDE_THREADS ".threads" /* ends the name of the view by threads that stands beside a process' progress */

/* Whether a row of the report's limits is one of these figures; then it is taken. */
bool wp_beside_take(struct wp_facts *facts, const char *name, uint64_t ns);
/* The rows are complete. */
void wp_beside_sort(struct wp_facts *facts);
/* context->other_view, if the release has it. */
void wp_beside_find_other(struct wp_page_context *context, const struct wp_snapshot *snapshot);
/* "progress", "busy" or "threads": as a selector says it. */
const char *wp_beside_word(const struct wp_facts *facts);
/* What the total is of, a few words; and what stands beside it, a sentence or NULL. */
const char *wp_beside_base(const struct wp_facts *facts);
/* The sentence lives in `pool`; NULL when nothing stands beside the total. */
const char *wp_beside_sentence(struct wp_pool *pool, const struct wp_facts *facts);

#endif
