/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_SELECTION_H
#define WP_STORAGE_KIND_SELECTION_H
/* Which reports and traces of an aggregate are meant: by time, shard and host. */
#include "storage/report/report.h"
#include "storage/value/keys.h"

struct wp_selection {          /* zeroed: everything */
    uint64_t since_s, until_s; /* timeboxes; until 0: no end */
    const char *shard;
    const char *hosts; /* of these hosts (wp_hosts_match); NULL: of all */
};

/* Whether time, shard and host of the key are meant (NULL: all are). A key that does not say the name of its host
 * passes; wp_selection_has_hosts then decides by the report. */
bool wp_selection_has(const struct wp_selection *selection, const struct wp_key *key);
/* Whether all hosts of a report are meant (*is_meant), or none is. -EINVAL: some are, and its parts cannot be told. */
int wp_selection_has_hosts(const struct wp_selection *selection, const struct wp_key *key,
    const struct wp_report *report, bool *is_meant, struct wp_error *err);

#endif
