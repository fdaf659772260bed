/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/kind/selection.h"

#include "storage/report/report_read.h"

#include <errno.h>
#include <string.h>

bool wp_selection_has(const struct wp_selection *selection, const struct wp_key *key)
{
    if (!selection)
        return true;
    return key->timebox_s >= selection->since_s && (!selection->until_s || key->timebox_s < selection->until_s) &&
        (!selection->shard || !strcmp(selection->shard, key->shard)) &&
        (!selection->hosts || !wp_host_part_is_name(key->host) || wp_hosts_match(selection->hosts, key->host));
}

int wp_selection_has_hosts(const struct wp_selection *selection, const struct wp_key *key,
    const struct wp_report *report, bool *is_meant, struct wp_error *err)
{
    uint32_t count, meant = 0;
    const uint32_t *hosts = wp_report_hosts(report, &count);
    *is_meant = true;
    if (!selection || !selection->hosts || wp_host_part_is_name(key->host))
        return 0;
    for (uint32_t i = 0; i < count; i++)
        meant += wp_hosts_match(selection->hosts, wp_report_text(report, hosts[i]));
    *is_meant = meant && meant == count;
    return !meant || meant == count
        ? 0
        : wp_error_set(err, -EINVAL, "shard '%s' holds %u %s of '%.100s' and %u more in one sum, not separable",
              key->shard, meant, meant == 1 ? "host" : "hosts", selection->hosts, count - meant);
}
