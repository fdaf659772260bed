/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/upkeep/ancestry.h"

#include "common/history.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static size_t release_row(const struct wp_ancestry *ancestry, const char *release)
{
    for (size_t i = 0; i < ancestry->count; i++)
        if (!strcmp(ancestry->releases[i], release))
            return i;
    return SIZE_MAX;
}

/* So many steps back from the row; SIZE_MAX: there are not so many. */
static size_t ancestor_row(const struct wp_history *history, size_t row, uint64_t back)
{
    for (; back && row != SIZE_MAX; back--)
        row = wp_history_baseline(history, row);
    return row;
}

int wp_reference_by_ancestry(struct wp_reference *reference, const struct wp_ancestry *ancestry, struct wp_error *err)
{
    size_t row = reference->back ? release_row(ancestry, reference->release) : SIZE_MAX;
    struct wp_history *history = NULL;
    if (row == SIZE_MAX)
        return 0;
    const struct wp_history_question question = {
        ancestry->git ? ancestry->git : ".", ancestry->releases, ancestry->count, NULL};
    int rc = wp_history_read(&history, &question, ancestry->git ? err : NULL);
    if (rc)
        return ancestry->git ? rc : 0;
    bool is_known = wp_history_position(history, row) != UINT32_MAX;
    row = is_known ? ancestor_row(history, row, reference->back) : SIZE_MAX;
    if (row != SIZE_MAX) {
        snprintf(reference->release, sizeof(reference->release), "%s", ancestry->releases[row]);
        reference->back = 0;
    } else if (is_known) {
        rc = wp_error_set(err, -ENOENT, "fewer than %" PRIu64 " measured ancestors are before release %s",
            reference->back, reference->release);
    }
    wp_history_destroy(history);
    return rc;
}
