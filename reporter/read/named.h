/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_READ_NAMED_H
#define WP_REPORTER_READ_NAMED_H
/* References (storage/upkeep/reference.h) where a command line asks for a release: REV~N, REV:AGGREGATE,
 * REV:AGGREGATE@TIMEBOX. */
#include "reporter/read/stores.h"
#include "storage/upkeep/reference.h"

/* What a command line asks for; the texts are borrowed. */
struct wp_named {
    const char **release, **aggregate;
    struct wp_selection *selection;
};

/* True: a plain id, or something that wp_named_resolve understands. */
bool wp_named_valid(const char *text);
/* Leaves a plain id as it is. What a reference means replaces what `named` points at, by texts in *reference. -ENOENT;
 * -EINVAL: two different aggregates are asked for. */
int wp_named_resolve(const struct wp_named *named, struct wp_reference *reference, const char *const *roots,
    size_t count, struct wp_error *err);

#endif
