/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_STACK_TEXT_H
#define WP_REPORTER_FACTS_STACK_TEXT_H
/* Pseudo-stacks in a line of text. */
#include "reporter/facts/facts.h"

/* The frames from the root to a report's node, parted by " › "; a deep one is shortened in its middle. */
const char *wp_stack_text(struct wp_pool *pool, const struct wp_facts *facts, uint32_t node);
/* The innermost function of a node's stack, else its last frame; the report's own text. */
const char *wp_stack_top(const struct wp_facts *facts, uint32_t node);
/* The process frame that the node's layer stands on ("[comm]"); "" when there is none. */
const char *wp_stack_process(const struct wp_facts *facts, uint32_t node);
/* "cc1" of "[cc1]", "api on web-2" of "[api]@web-2", copied and clipped for a sentence. */
const char *wp_stack_plain_process(struct wp_pool *pool, const char *name);
/* "parse", and "gzip (no symbols)" of "[gzip]", a file whose functions are not known; the same. */
const char *wp_stack_plain_function(struct wp_pool *pool, const char *name);
/* "web-2" of "[api]@web-2", copied and clipped; NULL: it is not said. */
const char *wp_stack_host(struct wp_pool *pool, const char *name);

#endif
