/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SITE_PUBLISH_H
#define WP_REPORTER_SITE_SITE_PUBLISH_H
/* How a new tree takes the place of the old one; used by site_tree.c alone. */
#include "reporter/site/site_own.h"
#include "reporter/site/site_tree_types.h"

/* Needs all files in the tree. -EEXIST: other people's files are in the way. If it fails halfway, `out` holds files of
 * both sites and its manifest names them all. */
int wp_site_publish(struct wp_site_tree *tree, struct wp_error *err);

#endif
