/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_SCRATCH_H
#define WP_COMMON_SCRATCH_H
/*
 * A private folder in TMPDIR for one run of a program: "<TMPDIR>/<prefix>XXXXXX". Who made it holds a lock on it: a
 * folder whose lock is free belongs to nobody who lives, however its owner ended, and the next run removes it.
 */
#include "common/error.h"

#include <stdbool.h>

#define WP_SCRATCH_ROOM 96u /* an ipc:// socket in it has a name of at most 107 bytes */

struct wp_scratch_kind {
    const char *prefix;
    const char *const *names;        /* that are made, and removed, in it; ends with NULL */
    void (*clear)(const char *path); /* removes what is in it beside those names; NULL: nothing is */
    bool is_inherited;               /* the lock is kept open over exec: the processes that are started hold it, too */
};

struct wp_scratch {
    char path[WP_SCRATCH_ROOM]; /* "": none */
    const struct wp_scratch_kind *kind;
    int fd; /* holds the lock */
};

/* That of an import: other programs start imports, and end without them. */
#define WP_SCRATCH_IMPORT_SOCKET "s"
extern const struct wp_scratch_kind wp_scratch_import;

/* Removes what runs that died left of that kind. A folder with anything else in it stays. */
void wp_scratch_sweep(const struct wp_scratch_kind *kind);
/* The same, also of imports, then makes a new one, 0700. `kind` must live as long. */
int wp_scratch_make(struct wp_scratch *scratch, const struct wp_scratch_kind *kind, struct wp_error *err);
/* Does nothing where none was made. */
void wp_scratch_remove(struct wp_scratch *scratch);

#endif
