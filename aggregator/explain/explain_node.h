/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_NODE_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_NODE_H
/* The nodes of pseudo-stacks, in the tree: processes, stacks, labels; and what is remembered of them. Private to the
 * explanation, but wp_explain_name_home(). */
#include "aggregator/explain/explain_place.h"

#define WP_EXPLAIN_NAME (4096 + 300)
/* "[comm]", on another host than the one that is asked about "[comm]@host". */
void wp_explain_name_process(const struct wp_explainer *x, uint32_t identity, char *name, size_t room);
/* The child of `parent` for the process of that identity of the present host. Here and below: UINT32_MAX when out of
 * memory, or if `parent` is that. */
uint32_t wp_explain_process_node(struct wp_explainer *x, uint32_t parent, uint32_t identity);
/* The node below `parent` of a stack of the present host's dictionary, not 0: a child a frame, outermost first. Of more
 * than 512 frames the outer ones are left out; `parent` itself for a stack that the dictionary does not have. */
uint32_t wp_explain_known_stack(struct wp_explainer *x, uint32_t parent, uint32_t stack);
/* Of a stack that may be unknown, 0. */
static inline uint32_t wp_explain_stack_node(struct wp_explainer *x, uint32_t parent, uint32_t stack)
{
    return stack ? wp_explain_known_stack(x, parent, stack) : parent;
}
/* The child of `parent` with that name, which is copied, and no object file. */
uint32_t wp_explain_label(struct wp_explainer *x, uint32_t parent, enum wp_frame_style style, const char *name);
/* The same for a string literal, which is known by its address. */
uint32_t wp_explain_literal(struct wp_explainer *x, uint32_t parent, enum wp_frame_style style, const char *literal);
/* Caches a node; UINT32_MAX is not kept. */
void wp_explain_remember(struct wp_explainer *x, struct wp_intkey key, uint32_t node);

/* Whether processes of home are called "[comm]@host", too. */
void wp_explain_name_home(struct wp_explainer *x, bool names_home);
/* Frees the caches of names and nodes; the tree stays. */
void wp_explain_nodes_fini(struct wp_explainer *x);

#endif
