/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_LOAD_FACTS_READ_H
#define WP_REPORTER_LOAD_FACTS_READ_H
/* Facts from a snapshot of the stores, or from a report that is at hand. */
#include "reporter/facts/facts.h"

/* Facts from a report that is already there (takes it, and the trace, which may be NULL). */
int wp_facts_build(struct wp_facts *facts, const char *release, const char *aggregate, struct wp_report *report,
    struct wp_trace *trace, struct wp_error *err);
/* Reads report, window and exemplars from the snapshot. Damaged values are left out and listed in `damage`. */
int wp_facts_read(struct wp_facts *facts, const struct wp_snapshot *snapshot, const char *aggregate,
    const struct wp_selection *selection, struct wp_error *err);

/* Which windows the facts have. All zero: the first one and the exemplars, whole. */
struct wp_facts_windows {
    bool of_others;                   /* those of other recordings stand behind the exemplars (other_windows.h) */
    bool fits_pages;                  /* each is made as large as pages have it (window/window_fit.h) */
    const struct wp_contour *contour; /* left out of the report's stacks, not of windows; NULL: nothing */
    unsigned exemplar;                /* the window of this one, counted from 1, stands in for the first; 0: none */
};

/* The same with these windows. -ENOENT: there is no such exemplar, too. */
int wp_facts_read_windows(struct wp_facts *facts, const struct wp_snapshot *snapshot, const char *aggregate,
    const struct wp_selection *selection, const struct wp_facts_windows *windows, struct wp_error *err);
/* Frees report, traces, flame, damage and pool, so every text and row of the facts; zeroed facts are allowed. */
void wp_facts_fini(struct wp_facts *facts);

#endif
