/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SITE_PARTS_H
#define WP_REPORTER_SITE_SITE_PARTS_H
/*
 * A site put together from sites of one release each, which other machines made (`--release R --out PARTS/R`), as the
 * elements of a cluster's array job do. A part is taken when it was made by this version of the program with these
 * options, from what the release and the one that it is compared with are now; else it is as if it were not there. So
 * the site has the same bytes as one that was made in one run, whatever the parts are.
 */
#include "reporter/site/site_options.h"
#include "reporter/site/site_reuse.h"
#include "reporter/site/site_tree.h"

/* What wp_site_part_take found. */
struct wp_site_part {
    struct wp_site_state state;
    const struct wp_state_row *row; /* NULL: there is none to take */
};

/* Of which release, and what it must have been made of. */
struct wp_site_part_of {
    const char *release, *overlaps;
    const char *baseline; /* NULL: compared with none */
    const char *inputs;   /* as wp_site_reuse_find gave them */
};

/* Finds the part of a release and takes its pages into the tree. Errors: -ENOMEM, and what wp_tree_write fails with; no
 * part is no error. End with wp_site_part_fini. */
int wp_site_part_take(struct wp_site_part *part, const struct wp_site_options *options, struct wp_site_reuse *reuse,
    struct wp_site_tree *tree, const struct wp_site_part_of *of, struct wp_error *err);
/* Frees the state, so `row`, too; pages already taken stay in the tree. */
void wp_site_part_fini(struct wp_site_part *part);

#endif
