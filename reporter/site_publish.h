/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_PUBLISH_H
#define WP_REPORTER_SITE_PUBLISH_H
/* How a new tree takes the place of the old one; used by site_tree.c alone. */
#include "reporter/site_tree.h"

/* Names the files that are ours, so that the next run knows them from other people's. */
#define WP_SITE_MANIFEST ".wakepath-site"

int wp_site_publish(struct wp_site_tree *tree, struct wp_error *err);

#endif
