/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SITE_REUSE_H
#define WP_REPORTER_SITE_SITE_REUSE_H
/* What of a published site may stay as it is; the rules are site_state.h's. */
#include "reporter/site/site_options.h"
#include "reporter/site/site_state.h"
#include "reporter/site/site_tree.h"

/* What wp_site_inputs gave of a release of the state before; inputs NULL: not asked yet. */
struct wp_reuse_inputs {
    const char *inputs;
    uint64_t changed_ns;
};

/* The state of the published site and the one to write; init with {0}. */
struct wp_site_reuse {
    struct wp_site_state before;
    struct wp_reuse_inputs *inputs; /* of each row of `before`, in the pool: asked once */
    struct wp_buffer next;          /* the new state's text */
    struct wp_pool pool;
    const struct wp_stores *stores;
    uint64_t key, began_ns;
};

/* What a state must have in its head to be of this version of the program and of these options. */
uint64_t wp_site_reuse_key(const struct wp_site_options *options);
/* Reads what the site in the tree was made from, and since when the tree is as it was. */
int wp_site_reuse_begin(struct wp_site_reuse *reuse, const struct wp_site_options *options,
    const struct wp_stores *stores, struct wp_site_tree *tree, struct wp_error *err);
/* Frees both states, so the rows that were found, too; a zeroed one is allowed. */
void wp_site_reuse_end(struct wp_site_reuse *reuse);
/* True when every release is as it was and every file is there; *result then says so. */
bool wp_site_reuse_all(struct wp_site_reuse *reuse, const struct wp_site_options *options,
    const struct wp_site_tree *tree, struct wp_site_result *result);
/* The row of a release when it and what it is compared with are as they were; NULL: build it. *inputs is for
 * wp_site_reuse_put. */
const struct wp_state_row *wp_site_reuse_find(
    struct wp_site_reuse *reuse, const char *release, const char *baseline, const char *overlaps, const char **inputs);
/* Time of a release, as wp_order_options.known_time; the context is the reuse. */
bool wp_site_reuse_time(void *context, const char *release, uint64_t *first_ns, uint64_t *last_ns);
/* Adds a release to the new state. One that is damaged or has failed pages is left out, so the next run builds it. */
void wp_site_reuse_put(struct wp_site_reuse *reuse, const struct wp_release_summary *release, const char *inputs,
    const struct wp_release_row *order);
/* The text of the new state, whole. */
const struct wp_buffer *wp_site_reuse_state(struct wp_site_reuse *reuse);
/* Once the site is published: its state is of when the run began. */
void wp_site_reuse_stamp(const struct wp_site_reuse *reuse, const char *out);

#endif
