/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_WAIT_H
#define WP_AGGREGATOR_EXPLAIN_WAIT_H
/* What explain.c (a thread's time) and explain_wait.c (one sleep) call of each other. Private to the explanation. */
#include "aggregator/explain.h"

/* [from, to) of the thread's time as a layer on `parent`. */
void wp_explain_cover(struct wp_explainer *x, uint32_t parent, uint32_t thread, uint64_t from_ns, uint64_t to_ns);
/* [from, to), which lies in the sleep of this slice; `node` is the thread's process node. */
void wp_explain_sleep(struct wp_explainer *x, uint32_t node, uint32_t thread, uint64_t slice, uint64_t from_ns, uint64_t to_ns);
/* [from, to) waits on what `waker` does on its own path. */
void wp_explain_on_path(struct wp_explainer *x, uint32_t node, uint32_t waker, uint64_t from_ns, uint64_t to_ns);
bool wp_explain_is_base(const struct wp_explainer *x, uint32_t thread, uint64_t at_ns);

uint32_t wp_explain_process_node(struct wp_explainer *x, uint32_t parent, uint32_t identity);
uint32_t wp_explain_stack_node(struct wp_explainer *x, uint32_t parent, uint32_t stack);
uint32_t wp_explain_label(struct wp_explainer *x, uint32_t parent, enum wp_frame_style style, const char *name);
/* The same for a string literal, which is known by its address. */
uint32_t wp_explain_literal(struct wp_explainer *x, uint32_t parent, enum wp_frame_style style, const char *literal);
/* Caches a node; UINT32_MAX is not kept. */
void wp_explain_remember(struct wp_explainer *x, struct wp_intkey key, uint32_t node);
void wp_explain_emit(struct wp_explainer *x, const struct wp_piece *piece);
/* The start of the first of the joined sleeps that this one is the last of. */
uint64_t wp_explain_defacto_start(const struct wp_explainer *x, const struct wp_thread *thread, uint64_t slice);
/* The last of the joined sleeps that this one is of. */
uint64_t wp_explain_join_end(const struct wp_explainer *x, const struct wp_thread *thread, uint64_t slice);

#endif
