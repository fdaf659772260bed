/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_SOURCE_LINES_H
#define WP_REPORTER_FACTS_SOURCE_LINES_H
/*
 * Time by line of source: the report's places, file by file, with what was called there. `own` is what stays of a
 * line's time when what it called in functions with lines of their own is taken off: its own run, and its waits and
 * calls in code without lines.
 */
#include "reporter/base/text_pool.h"
#include "storage/report/report.h"

#include <stddef.h>

struct wp_source_call {
    uint32_t site;   /* place in sites */
    uint32_t callee; /* place in sites of the first line of what is called, when its lines are known; UINT32_MAX */
    const char *name;
    uint32_t style;
    bool is_inlined;
    uint64_t total_ns, run_ns;
};

struct wp_source_site {
    uint32_t file; /* place in files; UINT32_MAX: only the function is known */
    uint32_t line;
    const char *function;
    uint64_t total_ns, run_ns, self_ns, own_ns;
    uint64_t leaf_ns; /* as own_ns, but only what it called in its own file is taken off: this line is where the file
                         was left */
    uint64_t categories[WP_CATEGORIES];
    uint32_t first_call, call_count; /* in calls, the largest first */
    bool is_first;                   /* the lowest line of its function in this file */
};

struct wp_source_file {
    const char *path;
    uint32_t first_site, site_count;
    uint64_t self_ns, own_ns;
    uint64_t largest_ns; /* of one line, inclusive; files do not add up */
    uint32_t largest_line, last_line;
};

struct wp_source_lines {
    struct wp_source_file *files; /* the most own time first */
    struct wp_source_site *sites; /* by file, line, function; those without a file last */
    struct wp_source_call *calls; /* by site */
    uint32_t *by_callee;          /* places in calls, by `callee`, the largest first */
    uint32_t file_count, site_count, call_count;
};

/* All in the pool, which says when there was no memory. Texts are the report's. */
void wp_source_lines_build(struct wp_source_lines *lines, struct wp_pool *pool, const struct wp_report *report);
/* The site of a function's first line; UINT32_MAX: no line of it is known. */
uint32_t wp_source_function(const struct wp_source_lines *lines, const char *function);
/* Where the calls of `callee` (a site) begin in by_callee; *count of them. */
const uint32_t *wp_source_callers(const struct wp_source_lines *lines, uint32_t callee, uint32_t *count);
/* The last part of a path. */
const char *wp_source_base(const char *path);
/* The sum of the sites of a line; false: it has no time. */
bool wp_source_line_sum(const struct wp_source_lines *lines, uint32_t file, uint32_t line, struct wp_source_site *sum,
    uint32_t *first_site, uint32_t *site_count);

#endif
