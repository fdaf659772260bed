/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/recording/recorded_command.h"

#include "common/selector.h"
#include "reporter/facts/metadata_facts.h"
#include "storage/value/bucket.h"
#include "storage/value/recorded_keys.h"

#include <errno.h>

static bool selects_command(const char *text)
{
    struct wp_selector selector;
    bool found = false;
    if (!text || wp_selector_parse(&selector, text, NULL))
        return false;
    for (unsigned i = 0; i < selector.count; i++)
        found |= selector.terms[i].field == WP_SELECT_COMMAND;
    wp_selector_fini(&selector);
    return found;
}

int wp_recorded_command(const struct wp_snapshot *snapshot, const char *aggregate, struct wp_recorded_command *command,
    struct wp_error *err)
{
    const char *const names[] = {aggregate, "main"};
    int rc = 0;
    *command = (struct wp_recorded_command){0};
    for (size_t i = 0; i < 2 && !command->is_command && !rc; i++) {
        struct wp_metadata metadata;
        struct wp_pool pool = {0};
        rc = wp_metadata_read(&metadata, &pool, snapshot, names[i], err);
        if (!rc)
            command->is_command = wp_metadata_text(&metadata, WP_BUCKET_PREFIX "command") ||
                selects_command(wp_metadata_text(&metadata, WP_BUCKET_PREFIX "selector"));
        if (!rc && !i)
            command->times = wp_metadata_sum(&metadata, WP_RECORDED_TIMES);
        rc = rc == -ENOMEM ? rc : 0;
        wp_pool_fini(&pool);
    }
    return rc;
}

uint64_t wp_recorded_times(const struct wp_recorded_command *command, uint64_t recordings)
{
    return command->times && command->times < recordings ? command->times : recordings;
}
