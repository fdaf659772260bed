/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/site_lines.h"

#include "common/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Room for every line of the list, and its text with 0 in place of line ends. */
static int begin(struct wp_site_lines *lines, const struct wp_buffer *list)
{
    size_t count = 1;
    *lines = (struct wp_site_lines){.text = strndup(list->data ? (const char *)list->data : "", list->size)};
    for (const char *at = lines->text; at && (at = strchr(at, '\n')); at++)
        count++;
    lines->items = lines->text ? calloc(count, sizeof(*lines->items)) : NULL;
    if (lines->items)
        return 0;
    wp_site_lines_fini(lines);
    return -ENOMEM;
}

/* Whether `path` is below a name of `but`, as `last`, a name or "", says at once for the next file of the same folder.
 */
static bool is_below(const struct wp_site_lines *but, char *path, const char **last)
{
    size_t size = strcspn(path, "/");
    if (!path[size])
        return false;
    path[size] = 0;
    if (strcmp(*last, path)) {
        const char *found = wp_site_lines_from(but, path);
        *last = strcmp(found, path) ? "" : found;
    }
    bool is = **last;
    path[size] = '/';
    return is;
}

int wp_site_lines_paths(struct wp_site_lines *lines, const struct wp_buffer *list, const struct wp_site_lines *but)
{
    const char *last = "";
    int rc = begin(lines, list);
    if (rc)
        return rc;
    for (char *rest = lines->text, *line; (line = strsep(&rest, "\n"));)
        if (*line && !(but && is_below(but, line, &last)))
            lines->items[lines->count++] = line;
    qsort(lines->items, lines->count, sizeof(*lines->items), compare);
    return 0;
}

int wp_site_lines_tops(struct wp_site_lines *lines, const struct wp_buffer *list)
{
    const char *last = "";
    size_t kept = 0;
    int rc = begin(lines, list);
    if (rc)
        return rc;
    for (char *rest = lines->text, *line; (line = strsep(&rest, "\n"));) {
        line[strcspn(line, "/")] = 0;
        if (*line && strcmp(line, ".") && strcmp(line, "..") && strcmp(line, last))
            lines->items[lines->count++] = last = line;
    }
    qsort(lines->items, lines->count, sizeof(*lines->items), compare);
    for (size_t i = 0; i < lines->count; i++)
        if (!i || strcmp(lines->items[i], lines->items[i - 1]))
            lines->items[kept++] = lines->items[i];
    lines->count = kept;
    return 0;
}

const char *wp_site_lines_from(const struct wp_site_lines *lines, const char *text)
{
    size_t low = WP_LOWER_BOUND(middle, 0, lines->count, strcmp(lines->items[middle], text) < 0);
    return low < lines->count ? lines->items[low] : "";
}

bool wp_site_lines_have(const struct wp_site_lines *lines, const char *text)
{
    return *text && !strcmp(wp_site_lines_from(lines, text), text);
}

void wp_site_lines_fini(struct wp_site_lines *lines)
{
    free(lines->text);
    free(lines->items);
    *lines = (struct wp_site_lines){0};
}
