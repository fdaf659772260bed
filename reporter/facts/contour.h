/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_CONTOUR_H
#define WP_REPORTER_FACTS_CONTOUR_H
/*
 * Contour exclusion (after mdprof): some frames are left out of all stacks, and what stood on them counts for who
 * called them, or waited for them. The total stays. Of a process that is its frame with its functions, but not what it
 * waited for; of an object file its functions. A frame that nothing stands below stays, since its time would be
 * nobody's.
 */
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

#define WP_CONTOUR_PARTS 32u

enum wp_contour_kind { WP_CONTOUR_PROCESS, WP_CONTOUR_OBJECT, WP_CONTOUR_MODULE, WP_CONTOUR_KINDS };

/* What is left out; zeroed: nothing. Texts are borrowed. */
struct wp_contour {
    struct {
        enum wp_contour_kind kind;
        const char *pattern; /* of fnmatch(3) */
        const char *text;    /* as it was asked for: "module=libc.so.6" */
    } parts[WP_CONTOUR_PARTS];
    size_t count;
};

struct wp_buffer;
struct wp_report;

/* Adds "process=NAME", "object=PATH" (the whole path) or "module=FILE" (its last part; "[kernel]"). -EINVAL: another
 * text; -E2BIG: there are WP_CONTOUR_PARTS. */
int wp_contour_add(struct wp_contour *contour, const char *text);
/* Replaces *report by one without those frames, its detached work too. Rows that are no stacks (processes, lines of
 * source, requests) stay. Nothing to leave out, or a NULL contour, changes nothing. -ENOMEM: *report is as it was. */
int wp_contour_apply(struct wp_report **report, const struct wp_contour *contour, struct wp_error *err);
/* Appends what is left out, parted by ", ". */
void wp_contour_text(struct wp_buffer *out, const struct wp_contour *contour);

#endif
