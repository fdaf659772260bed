/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_COMMIT_LINE_H
#define WP_REPORTER_FACTS_COMMIT_LINE_H
/* A release's commit in one line, for pages. */
#include "reporter/facts/metadata_facts.h"
#include "reporter/read/commits.h"

/* What the release's metadata says; the id is "" when it says nothing. */
void wp_commit_from_metadata(struct wp_commit *commit, const struct wp_metadata *metadata);
/* "1a2b3c4d5e6f “Lock less” by Ada, 2026-11-22, on main"; "" for no commit. */
const char *wp_commit_line(struct wp_pool *pool, const struct wp_commit *commit);

#endif
