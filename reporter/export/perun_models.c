/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/perun_models.h"

#include <string.h>

static uint64_t total_of(const struct wp_perun_amounts *amounts, size_t function)
{
    uint64_t total = 0;
    for (size_t i = 0; i < amounts->snapshots; i++)
        total += amounts->ns[function * amounts->snapshots + i];
    return total;
}

/* Keeps them sorted, the largest first. */
static size_t insert(struct wp_perun_model models[WP_PERUN_MODELS], size_t count, size_t function, uint64_t total_ns)
{
    size_t at = count;
    while (at && total_ns > models[at - 1].total_ns)
        at--;
    if (at == WP_PERUN_MODELS)
        return count;
    count += count < WP_PERUN_MODELS;
    memmove(&models[at + 1], &models[at], (count - 1 - at) * sizeof(*models));
    models[at] = (struct wp_perun_model){.function = function, .total_ns = total_ns};
    return count;
}

size_t wp_perun_models_fit(
    struct wp_perun_model models[WP_PERUN_MODELS], const struct wp_perun_amounts *amounts, double *room)
{
    size_t count = 0, kept = 0, points = amounts->snapshots > 2 ? amounts->snapshots - 2 : 0;
    for (size_t i = 0; i < amounts->functions && points; i++) {
        uint64_t total_ns = total_of(amounts, i);
        if (total_ns)
            count = insert(models, count, i, total_ns);
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t *ns = &amounts->ns[models[i].function * amounts->snapshots + 1];
        for (size_t point = 0; point < points; point++)
            room[point] = (double)ns[point];
        if (wp_model_fit(&models[i].fitted, amounts->x + 1, room, points))
            models[kept++] = models[i];
    }
    return kept;
}
