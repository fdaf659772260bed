/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/source/source_disk.h"

#include "common/host_id.h"
#include "storage/env/txn.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/state_store.h"
#include "storage/value/keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

struct owners {
    struct wp_txn *txn;
    uint8_t own[16];
    char hostname[256]; /* as this host's own sessions say it; "" none yet */
    size_t sessions;
    struct wp_error *why;
};

static int foreign(struct owners *owners, const char *who)
{
    return wp_error_set(owners->why, -EPERM,
        "the release has time of %s%.100s, and paths of another host are not looked for on this one's",
        *who ? "host " : "another host", who);
}

static int check_session(void *context, const char *text, size_t size)
{
    struct owners *owners = context;
    struct wp_resume resume;
    struct wp_key key;
    (void)size;
    if (wp_key_parse(&key, text, NULL) || wp_txn_get_resume(owners->txn, key.shard, key.session, &resume, NULL))
        return foreign(owners, "");
    if (memcmp(resume.host, owners->own, 16) || (*owners->hostname && strcmp(owners->hostname, resume.hostname)))
        return foreign(owners, resume.hostname);
    snprintf(owners->hostname, sizeof(owners->hostname), "%s", resume.hostname);
    owners->sessions++;
    return 0;
}

/* Sessions are forgotten after a while; what was said of their hosts stays. */
static int check_host(void *context, const struct wp_metadata_row *row)
{
    struct owners *owners = context;
    size_t size = strlen(owners->hostname);
    if (strncmp(row->key, "host.", 5) || (!strncmp(row->key + 5, owners->hostname, size) && row->key[5 + size] == '.'))
        return 0;
    return foreign(owners, "");
}

bool wp_source_disk_is_ours(const struct wp_snapshot *snapshot, struct wp_error *why)
{
    struct owners owners = {.why = why};
    struct wp_metadata_scope place = {NULL, false, 0};
    struct utsname name;
    int rc = 0;
    uname(&name);
    wp_host_id(owners.own, name.nodename, NULL);
    for (size_t i = 0; i < snapshot->stores->count && !rc; i++)
        if ((owners.txn = snapshot->txns[i]))
            rc = wp_txn_visit(owners.txn, "__state__/processed.", check_session, &owners, why);
    if (!rc && !owners.sessions)
        rc = wp_error_set(why, -EPERM, "the release does not say any more which hosts it is of");
    for (size_t i = 0; i < snapshot->stores->count && !rc; i++)
        if (snapshot->txns[i])
            rc = wp_txn_all_metadata(snapshot->txns[i], &place, check_host, &owners, why);
    return !rc;
}
