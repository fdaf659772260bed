/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SITE_FILES_H
#define WP_REPORTER_SITE_SITE_FILES_H
/* The files of a site on their way into its tree: pages are formatted, those that could not be built say so instead. */
#include "reporter/display/display.h"
#include "reporter/site/site_tree.h"

/* Where files go, and how they are written. */
struct wp_site_files {
    struct wp_site_tree *tree; /* borrowed */
    bool is_gzipped; /* beside each file of some size stands its .gz, for servers that send such as they are */
    size_t failed;   /* pages and data that could not be made */
};

/* Writes a file at `path` below the tree, and its .gz where that pays. Errors as wp_tree_write. */
int wp_site_files_put(
    struct wp_site_files *files, const char *path, const void *bytes, size_t size, struct wp_error *err);
/* A page whose builder returned `rc`, and `reason` if that is not 0: then a page that says so takes its
 * place. */
int wp_site_files_put_page(struct wp_site_files *files, const struct wp_display *display, int rc,
    const struct wp_error *reason, struct wp_error *err);
/* Writes what every page loads. */
int wp_site_files_put_assets(struct wp_site_files *files, struct wp_error *err);

#endif
