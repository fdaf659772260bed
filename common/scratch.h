/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_SCRATCH_H
#define WP_COMMON_SCRATCH_H
/*
 * A private folder in TMPDIR for one run of a program: "<TMPDIR>/<prefix>XXXXXX". Who made it holds a lock on it, and
 * so do the processes that it starts: a folder whose lock is free belongs to nobody who lives, however its owner ended.
 */
#include "common/error.h"

#define WP_SCRATCH_ROOM 96u /* an ipc:// socket in it has a name of at most 107 bytes */

struct wp_scratch {
    char path[WP_SCRATCH_ROOM]; /* "": none */
    const char *socket;         /* the only name that is ever made, and removed, in it */
    int fd;                     /* holds the lock; kept open over exec */
};

/* Removes what runs that died left of that prefix. */
void wp_scratch_sweep(const char *prefix, const char *socket);
/* The same, then makes a new one. `socket` must live as long. */
int wp_scratch_make(struct wp_scratch *scratch, const char *prefix, const char *socket, struct wp_error *err);
void wp_scratch_remove(struct wp_scratch *scratch);

#endif
