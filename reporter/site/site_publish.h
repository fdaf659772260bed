/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SITE_PUBLISH_H
#define WP_REPORTER_SITE_SITE_PUBLISH_H
/* How a new tree takes the place of the old one; used by site_tree.c alone. */
#include "reporter/site/site_own.h"
#include "reporter/site/site_tree_types.h"

int wp_site_publish(struct wp_site_tree *tree, struct wp_error *err);

#endif
