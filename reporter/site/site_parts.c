/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/site_parts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The row of the part, when it and what it is compared with are as they were for it. */
static const struct wp_state_row *find_row(
    const struct wp_site_state *state, struct wp_site_reuse *reuse, const struct wp_site_part_of *of)
{
    const struct wp_state_row *row = wp_site_state_find(state, of->release);
    uint64_t changed_ns;
    if (!row || strcmp(row->overlaps, of->overlaps) || strcmp(row->baseline, of->baseline ? of->baseline : ""))
        return NULL;
    (void)wp_site_inputs(&reuse->pool, reuse->stores, of->release, &changed_ns);
    if (!wp_site_state_is_same(state, row, of->inputs, changed_ns))
        return NULL;
    /* Of the other release the part says nothing; but a file that did not change since it began is what it read. */
    if (of->baseline)
        (void)wp_site_inputs(&reuse->pool, reuse->stores, of->baseline, &changed_ns);
    return wp_site_state_is_settled(state, changed_ns) ? row : NULL;
}

int wp_site_part_take(struct wp_site_part *part, const struct wp_site_options *options, struct wp_site_reuse *reuse,
    struct wp_site_tree *tree, const struct wp_site_part_of *of, struct wp_error *err)
{
    char path[PATH_MAX];
    struct wp_site_options alone = *options;
    alone.release = of->release;
    memset(part, 0, sizeof(*part));
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", options->parts, of->release) >= sizeof(path))
        return wp_error_set(err, -ENAMETOOLONG, "'%s' is too long a name", options->parts);
    int rc = wp_site_state_read(&part->state, path, wp_site_reuse_key(&alone), err);
    const struct wp_state_row *row = rc ? NULL : find_row(&part->state, reuse, of);
    if (!row)
        return rc;
    struct wp_buffer folder = {0};
    wp_page_id_folder(&folder, of->release);
    rc = folder.failed ? wp_error_set(err, -ENOMEM, "out of memory")
                       : wp_tree_take(tree, path, (const char *)folder.data, err);
    wp_buffer_fini(&folder);
    part->row = rc ? NULL : row;
    return rc == -ENOENT ? 0 : rc;
}

void wp_site_part_fini(struct wp_site_part *part)
{
    wp_site_state_fini(&part->state);
    part->row = NULL;
}
