/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SITE_FOLDERS_H
#define WP_REPORTER_SITE_SITE_FOLDERS_H
/*
 * Whether all files of a list are still where they were published, by the folders that hold them: a folder's times
 * change with each entry of it that is made, removed or replaced. Two folders a release are looked at instead of some
 * thirty files. For any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lines of a site's list that stand together and are below one folder at its top. */
struct wp_site_block {
    const char *at, *end; /* borrowed; end: behind the last line */
    size_t folder;        /* bytes of the folder's name; 0: `at` is a single file at the top */
    size_t files;
};

/* The block that begins at `at`, which is a line of the list. False: the list is over. */
bool wp_site_block_read(struct wp_site_block *block, const char *at);
/* When one of the folders below `base` that hold the block's files changed last: realtime. UINT64_MAX: there is none,
 * or one of them cannot be looked at. */
uint64_t wp_site_block_changed_ns(const struct wp_site_block *block, const char *base);

#endif
