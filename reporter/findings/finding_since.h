/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_FINDING_SINCE_H
#define WP_REPORTER_FINDINGS_FINDING_SINCE_H
/* Since which release a finding is there: releases are looked at backwards, until one lacks it. */
#include "reporter/facts/facts.h"

/* What was found in a release; all of it is borrowed. */
struct wp_release_findings {
    const char *release;
    uint64_t total_ns;
    const struct wp_finding *rows;
    size_t count;
};

/* What an older release says of a finding of `own`; true: no older one needs a look. A finding below a hundredth of the
 * total may be there and not be told: nothing is said to begin with it. */
bool wp_finding_look_back(
    struct wp_finding *finding, const struct wp_release_findings *own, const struct wp_release_findings *older);
/* A finding of `facts`, after a look at one older release (NULL: none). Texts are of both. */
struct wp_finding wp_finding_since(const struct wp_facts *facts, size_t finding, const struct wp_facts *older);
/* All of them, in the pool, as is what they say; NULL: out of memory. */
struct wp_finding *wp_findings_since(struct wp_pool *pool, const struct wp_facts *facts, const struct wp_facts *older);
/* The sentence, and " New in this release." or " Since release v1.1 or before." where that is known. */
const char *wp_finding_text(struct wp_pool *pool, const char *release, const struct wp_finding *finding);

#endif
