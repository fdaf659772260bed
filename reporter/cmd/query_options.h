/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CMD_QUERY_OPTIONS_H
#define WP_REPORTER_CMD_QUERY_OPTIONS_H
/* The command line of `wakepath-reporter query`. */
#include "reporter/code/group_types.h"
#include "reporter/facts/contour.h"
#include "reporter/read/named.h"
#include "storage/kind/selection.h"

#define WP_QUERY_RELEASES 256u

enum wp_query_format { WP_QUERY_TABLE, WP_QUERY_JSON, WP_QUERY_CSV, WP_QUERY_CATEGORIES, WP_QUERY_PAGE };

struct wp_query_options {
    const char *stores[WP_STORES_LIMIT];     /* borrowed from argv */
    const char *releases[WP_QUERY_RELEASES]; /* none: all that the stores have */
    size_t store_count, release_count;
    const char *aggregate; /* NULL: of each release main, else the largest */
    const char *git;       /* a repository that names releases; NULL: that of this folder, if there is one */
    const char *out;       /* file, NULL: standard output */
    struct wp_group_filter filter;
    bool is_filtered; /* it says which stacks are asked for */
    struct wp_group_order order;
    bool top_given, least_has_unit; /* order.least was given as a time, else as a plain number */
    struct wp_contour contour;      /* left out of all stacks */
    enum wp_group_by by;
    enum wp_query_format format;
    size_t top;          /* rows of each release; 0: all */
    bool wants_findings; /* what stands first on the pages instead of sums */
    bool allows_empty;   /* that nothing fits the filter is an answer, too */
    bool of_detached;    /* sums of work that nobody waited for instead of the total's */
    struct wp_selection selection;
    struct wp_reference
        named[WP_QUERY_RELEASES]; /* what releases and aggregate point into when references were given */
};

/* Ends the program where the command line asks for that (argp). argv[0] is "query". */
void wp_query_parse(struct wp_query_options *query, int argc, char **argv);

#endif
