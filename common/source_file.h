/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_SOURCE_FILE_H
#define WP_COMMON_SOURCE_FILE_H
/*
 * Source files from disk. Their paths come from programs that were recorded, and what is read is published: a path is
 * hostile. *changed_ns: when the file was changed last. -EFBIG over `limit` bytes.
 */
#include "common/buffer.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wp_source_place {
    const char *dir, *path;
    size_t limit; /* bytes */
};

/* A file beneath a folder that was given on purpose; the folder is not left, by ".." or by links. */
int wp_source_read_beneath(
    const struct wp_source_place *place, struct wp_buffer *out, uint64_t *changed_ns, struct wp_error *err);
/* A file by its whole path, behind all links beneath `dir` (absolute): only a regular one that is named like source,
 * and that everybody on this machine may read (or the user who runs this, or has run sudo, owns). -EPERM: it is
 * something else, or elsewhere. */
int wp_source_read_public(
    const struct wp_source_place *place, struct wp_buffer *out, uint64_t *changed_ns, struct wp_error *err);
/* Whether a path ends like that of a source file. */
bool wp_source_is_named_so(const char *path);

#endif
