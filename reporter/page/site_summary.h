/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_SITE_SUMMARY_H
#define WP_REPORTER_PAGE_SITE_SUMMARY_H
/* What the index and the release pages need of each aggregate, kept after its facts are gone. */
#include "reporter/compare/stored_checks.h"
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"
#include "reporter/facts/page_context.h"

/* A finding with the page that shows it. */
struct wp_summary_finding {
    const char *sentence, *fragment;
    enum wp_page_kind page;
};

/* An aggregate; texts are in the site's pool. */
struct wp_aggregate_summary {
    const char *name;
    const char *recorded; /* the command and workload, "" not told */
    const char *title;    /* as its overview has it: the command, else its name */
    const char *subtitle; /* likewise: when, where, of which release */
    const char *base;     /* likewise: what the total is of */
    uint64_t wall_ns, total_ns, categories[WP_CATEGORIES], first_ns, last_ns;
    uint64_t events_total, events_dropped;
    double accounted_percent, coverage;
    size_t host_count, process_count, damage_count, finding_count;
    const char *change;                   /* since the baseline, NULL: not compared */
    const char *unsampled;                /* hosts without CPU samples, in a sentence; "" none */
    uint64_t worse, better;               /* rows that its comparison found changed */
    uint64_t stored_worse, stored_better; /* of the check kept with it that found most */
    const struct wp_stored_check *checks; /* only while its release is built */
    size_t check_count;
    const struct wp_release_overlap *overlaps; /* as `checks` */
    size_t overlap_count;
    struct wp_summary_finding findings[3];
    struct wp_aggregate_summary *next;
};

/* A release and its aggregates; in the site's pool. */
struct wp_release_summary {
    const char *id;
    uint64_t last_ns;     /* newest activity in any aggregate */
    bool is_dirty;        /* of a tree that was not committed */
    const char *overlaps; /* releases of the same time and what they rest on, "" none */
    const char *baseline; /* what it is compared with, NULL nothing */
    const char *commit;   /* a line, "" none known */
    bool is_damaged;      /* could not be opened at all */
    bool has_failed;      /* some of its pages could not be made */
    size_t aggregate_count;
    struct wp_aggregate_summary *first, *last; /* in the store's order */
    struct wp_release_summary *next;
};

/* All releases of a site; init with {0}. */
struct wp_site_summary {
    struct wp_pool pool;
    struct wp_release_summary *first, *last;
    size_t release_count, aggregate_count;
    bool is_history; /* in the order of a repository, not of time */
};

/* Appends, the newest release first; NULL when out of memory (site->pool.failed). */
struct wp_release_summary *wp_summary_release(struct wp_site_summary *site, const char *id);
/* An empty row of the release, to be filled. */
struct wp_aggregate_summary *wp_summary_row(struct wp_site_summary *site, struct wp_release_summary *release);
/* Adds a row with figures, findings and texts copied from the context, and raises release->last_ns. NULL when out of
 * memory. */
struct wp_aggregate_summary *wp_summary_add(
    struct wp_site_summary *site, struct wp_release_summary *release, const struct wp_page_context *context);
/* The aggregate that speaks for a release: "main", else the one of the largest total (the first of equals). */
const struct wp_aggregate_summary *wp_summary_main(const struct wp_release_summary *release);
/* Frees the pool with all releases and rows; a zeroed summary is allowed. */
void wp_summary_fini(struct wp_site_summary *site);

#endif
