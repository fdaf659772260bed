/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/finding_since.h"

#include <string.h>

#define CLEAR_SHARE 100u /* part of the total; a smaller finding may be in a release and not be told there */

static bool has_finding(const struct wp_release_findings *of, const char *key)
{
    for (size_t i = 0; i < of->count; i++)
        if (of->rows[i].key && !strcmp(of->rows[i].key, key))
            return true;
    return false;
}

bool wp_finding_look_back(
    struct wp_finding *finding, const struct wp_release_findings *own, const struct wp_release_findings *older)
{
    if (!finding->key)
        return true;
    if (has_finding(older, finding->key)) {
        finding->since = older->release;
        return false;
    }
    finding->begins = finding->ns >= own->total_ns / CLEAR_SHARE;
    if (finding->begins && !finding->since)
        finding->since = own->release;
    return true;
}

static struct wp_release_findings findings_of(const struct wp_facts *facts)
{
    return (struct wp_release_findings){facts->release, facts->total_ns, facts->findings, facts->finding_count};
}

struct wp_finding wp_finding_since(const struct wp_facts *facts, size_t finding, const struct wp_facts *older)
{
    struct wp_finding row = facts->findings[finding];
    if (older && strcmp(older->release, facts->release)) {
        struct wp_release_findings own = findings_of(facts), before = findings_of(older);
        wp_finding_look_back(&row, &own, &before);
    }
    return row;
}

struct wp_finding *wp_findings_since(struct wp_pool *pool, const struct wp_facts *facts, const struct wp_facts *older)
{
    struct wp_finding *rows = wp_pool_alloc(pool, WP_FINDINGS * sizeof(*rows));
    for (size_t i = 0; i < facts->finding_count && rows; i++) {
        rows[i] = wp_finding_since(facts, i, older);
        rows[i].since = rows[i].since ? wp_pool_text(pool, rows[i].since) : NULL;
    }
    return rows;
}

const char *wp_finding_text(struct wp_pool *pool, const char *release, const struct wp_finding *finding)
{
    if (!finding->since)
        return finding->sentence;
    if (!strcmp(finding->since, release))
        return wp_pool_printf(pool, "%s New in this release.", finding->sentence);
    return wp_pool_printf(
        pool, "%s Since release %s%s.", finding->sentence, finding->since, finding->begins ? "" : " or before");
}
