/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SITE_LINES_H
#define WP_REPORTER_SITE_SITE_LINES_H
/* The lines of a list of files, in order, to be looked up: the whole paths, or the names at their top. */
#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>

/* Init with {0}. */
struct wp_site_lines {
    char *text;         /* owned: the list, its lines ended by 0 */
    const char **items; /* owned; sorted by strcmp */
    size_t count;
};

/* The paths of the list, without those below a name of `but` (NULL: all). -ENOMEM. */
int wp_site_lines_paths(struct wp_site_lines *lines, const struct wp_buffer *list, const struct wp_site_lines *but);
/* The distinct first components of its paths. A list is a file like any other: "." and ".." in it lead nowhere, and are
 * left out. -ENOMEM. */
int wp_site_lines_tops(struct wp_site_lines *lines, const struct wp_buffer *list);
/* The first one that is not before `text`; "" after the last. */
const char *wp_site_lines_from(const struct wp_site_lines *lines, const char *text);
/* Whether it is among them; "" never is. */
bool wp_site_lines_have(const struct wp_site_lines *lines, const char *text);
/* A zeroed one is allowed. */
void wp_site_lines_fini(struct wp_site_lines *lines);

#endif
