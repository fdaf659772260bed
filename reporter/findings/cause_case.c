/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/cause_case.h"

/* Kinds whose pieces are one a sleep, or one a message. */
static bool is_counted(enum wp_cause_kind kind)
{
    return kind == WP_CAUSE_KIND_FLIGHT || kind == WP_CAUSE_KIND_SLEEP || kind == WP_CAUSE_KIND_TIMEOUT;
}

struct wp_cause_case wp_cause_case(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row)
{
    const struct wp_cause_fact *cause = &causes->rows[row];
    struct wp_cause_case of = {.facts = facts, .causes = causes, .cause = cause, .row = row};
    bool is_held =
        cause->kind == WP_CAUSE_KIND_LOCK || cause->kind == WP_CAUSE_KIND_POOL || cause->kind == WP_CAUSE_KIND_SERVICE;
    of.call_size = wp_cause_call(facts, cause->sleep, &of.call);
    if (of.call_size && cause->kind != WP_CAUSE_KIND_UNENDED && cause->kind != WP_CAUSE_KIND_INTERRUPTED) {
        of.count = is_counted(cause->kind) ? cause->count : wp_cause_wakings(causes, facts, row, false);
        of.threads = wp_cause_threads(causes, facts, cause->sleep);
    }
    of.mean_ns = of.count ? cause->ns / of.count : 0;
    if (is_held)
        of.held = wp_cause_held_in(causes, facts, row, &of.held_ns);
    return of;
}
