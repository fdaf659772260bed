/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_UPKEEP_ANCESTRY_H
#define WP_STORAGE_UPKEEP_ANCESTRY_H
/* REV~N where a repository knows the release REV: the Nth measured ancestor, each the nearest one of the one before
 * (common/history.h). */
#include "storage/upkeep/reference.h"

struct wp_error;

/* Where releases are looked for; borrowed. */
struct wp_ancestry {
    const char *git; /* a work tree or a bare clone; NULL: that of this folder, if it is one */
    char *const *releases;
    size_t count;
};

/* Writes the release that is meant and leaves `back` at 0. Where the repository does not know the release the reference
 * stays as it is. -ENOENT: so many measured ancestors are not there; with a repository that was asked for also errors
 * of wp_history_read(). */
int wp_reference_by_ancestry(struct wp_reference *reference, const struct wp_ancestry *ancestry, struct wp_error *err);

#endif
