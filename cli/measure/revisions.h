/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_MEASURE_REVISIONS_H
#define WP_CLI_MEASURE_REVISIONS_H
/* Commits of a repository, as git lists them: older ones first. */
#include "common/error.h"
#include "common/path.h"

#include <stdbool.h>
#include <stdint.h>

#define WP_REVISIONS_MOST 10000u
#define WP_COMMIT_ROOM 65u /* SHA-256 in hexadecimal digits, and a 0 */

struct wp_revision {
    char commit[WP_COMMIT_ROOM];
    char release[WP_ID_ROOM];                /* as `wakepath record` names it in that commit: git describe --tags */
    char subject[160], author[80], date[11]; /* cut to fit; YYYY-MM-DD */
};

/* Init with {0}. */
struct wp_revisions {
    struct wp_revision *items; /* owned */
    uint32_t count;
};

/* Appends what `range` names in the repository of `dir`: A..B as git rev-list, one commit else. What is there already
 * stays at its place. -EINVAL: git does not know it, or it names none; -EFBIG: more than WP_REVISIONS_MOST. */
int wp_revisions_add(struct wp_revisions *revisions, const char *dir, const char *range, struct wp_error *err);
/* The commits of the tags that fit `pattern` (as of git tag --list), by their date. -EINVAL: none does. */
int wp_revisions_add_tags(struct wp_revisions *revisions, const char *dir, const char *pattern, struct wp_error *err);
/* Both ends and the commits between on the first parents' line: items[0] is `good`. -EINVAL: `good` is no ancestor of
 * `bad` on it. */
int wp_revisions_between(
    struct wp_revisions *revisions, const char *dir, const char *good, const char *bad, struct wp_error *err);
/* Zeroed ones are allowed. */
void wp_revisions_fini(struct wp_revisions *revisions);

#endif
