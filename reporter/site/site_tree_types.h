/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SITE_TREE_TYPES_H
#define WP_REPORTER_SITE_SITE_TREE_TYPES_H
/* A tree of files on its way to be published (site_tree.h). */
#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wp_site_tree {
    char *out, *fresh, *lock; /* owned paths */
    int lock_fd;
    bool is_own_lock;          /* goes with the lock */
    struct wp_buffer manifest; /* the files written, a line each */
    struct wp_buffer before;   /* the manifest of the old site */
    struct wp_buffer changed;  /* the files that are not kept, a line each */
    struct wp_buffer held;     /* the folders that stay where they are, a line each */
    uint64_t settled_ns;       /* folders that last changed before that have all their files; 0: not known of any */
    size_t kept_until;         /* where wp_tree_keep is in `before` */
    size_t written, kept;
    bool is_unsynced; /* its files need not be on the disk when it is published */
};

#endif
