/* SPDX-License-Identifier: Apache-2.0 */
/* References where a release or a key is asked for: wakepath-store cat ROOT REV~2:AGGREGATE@TIMEBOX */
#include "storage/tool/tool_reference.h"

#include "common/git.h"
#include "common/strings.h"
#include "storage/env/store.h"
#include "storage/kind/bucket_store.h"
#include "storage/kind/report_store.h"
#include "storage/report/report_encode.h"
#include "storage/text/json_parts.h"
#include "storage/text/report_json.h"
#include "storage/upkeep/ancestry.h"
#include "storage/value/bucket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What the repository of this folder knows by that name is the release of that commit, if there is one. */
static bool find_by_git(struct wp_reference *reference, struct wp_store *store)
{
    static const char *const words[] = {"rev-list", "--max-count=1", "--stdin", NULL};
    struct wp_reference found = *reference;
    struct wp_buffer name = {0}, id = {0};
    wp_buffer_printf(&name, "%s~%llu\n", reference->release, (unsigned long long)reference->back);
    const struct wp_git_call call = {".", words, &name, 4096, 0};
    bool is_commit = !name.failed && *reference->release != '-' && !wp_git_call(&call, &id, NULL);
    size_t size = is_commit && id.data ? strspn((const char *)id.data, "0123456789abcdef") : 0;
    bool is_there = false;
    if (size >= 40 && size < sizeof(found.release)) {
        snprintf(found.release, sizeof(found.release), "%.*s", (int)size, (const char *)id.data);
        found.back = 0;
        is_there = !wp_reference_resolve(&found, &store, 1, NULL) && wp_release_is_there(&store, 1, found.release);
    }
    if (is_there)
        *reference = found;
    wp_buffer_fini(&name);
    wp_buffer_fini(&id);
    return is_there;
}

/* What `back` says of a release that is there, where this folder's repository knows it. */
static int step_back(struct wp_reference *reference, struct wp_store *store, struct wp_error *err)
{
    struct wp_ancestry ancestry = {0};
    char **releases = NULL;
    if (!reference->back)
        return 0;
    int rc = wp_store_releases(store, &releases, &ancestry.count, err);
    ancestry.releases = releases;
    if (!rc)
        rc = wp_reference_by_ancestry(reference, &ancestry, err);
    wp_strings_free(releases, ancestry.count);
    return rc;
}

/* By the name alone, which may be a commit's or a branch's; then so many back. */
static int find_release(struct wp_reference *reference, struct wp_store *store, struct wp_error *err)
{
    struct wp_reference asked = *reference, named = *reference;
    named.back = 0;
    int rc = wp_reference_resolve(&named, &store, 1, err);
    bool is_there = !rc && wp_release_is_there(&store, 1, named.release);
    if (!is_there && (!rc || rc == -ENOENT) && find_by_git(&asked, store)) {
        *reference = asked;
        return 0;
    }
    if (is_there) {
        memcpy(reference->release, named.release, sizeof(named.release));
        rc = step_back(reference, store, err);
    }
    return rc ? rc : wp_reference_resolve(reference, &store, 1, err);
}

int wp_tool_resolve_exact(struct wp_reference *reference, struct wp_store *store, struct wp_error *err)
{
    int rc = wp_release_is_there(&store, 1, reference->release) ? step_back(reference, store, err) : 0;
    return rc ? rc : wp_reference_resolve_exact(reference, store, err);
}

int wp_tool_resolve(struct wp_tool *tool, struct wp_error *err)
{
    struct wp_reference reference;
    struct wp_tool_location *location = &tool->location;
    int rc = wp_reference_parse(&reference, location->release, err);
    if (!rc)
        rc = tool->is_changing ? wp_tool_resolve_exact(&reference, tool->store, err)
                               : find_release(&reference, tool->store, err);
    if (rc || !*reference.aggregate) {
        snprintf(location->release, sizeof(location->release), "%s", reference.release);
        return rc;
    }
    if (*location->rest)
        return wp_error_set(
            err, -EINVAL, "'%s': a key and '%s' cannot both be meant", location->rest, location->release);
    location->is_reference = true;
    snprintf(location->aggregate, sizeof(location->aggregate), "%s", reference.aggregate);
    location->has_timebox = reference.has_timebox;
    location->timebox_s = reference.timebox_s;
    snprintf(location->release, sizeof(location->release), "%s", reference.release);
    if (reference.has_timebox) /* for what lists keys */
        snprintf(location->rest, sizeof(location->rest), "%.*s/report.%llu.", (int)wp_bucket_base(reference.aggregate),
            reference.aggregate, (unsigned long long)reference.timebox_s);
    else
        snprintf(location->rest, sizeof(location->rest), "%.*s", (int)wp_bucket_base(reference.aggregate),
            reference.aggregate);
    return 0;
}

/* The sum of all shards, and of all timeboxes unless one is given. */
int wp_tool_cat_reference(struct wp_tool *tool, struct wp_txn *txn, struct wp_json *json, struct wp_error *err)
{
    struct wp_tool_location *location = &tool->location;
    struct wp_selection selection = {0};
    struct wp_report_reading reading = {0};
    struct wp_buffer raw = {0};
    char aggregate[WP_ID_ROOM];
    if (location->has_timebox)
        selection = (struct wp_selection){.since_s = location->timebox_s, .until_s = location->timebox_s + 1};
    int rc = wp_txn_bucket(txn, location->aggregate, aggregate, err);
    if (!rc)
        rc = wp_txn_read_report(txn, aggregate, &selection, &reading, err);
    if (!rc)
        rc = wp_report_encode(reading.report, &raw, err);
    for (size_t i = 0; i < reading.damage_count; i++)
        wp_buffer_printf(&tool->complaints, "%s/%s is left out: %s\n", location->release, reading.damage[i].key,
            reading.damage[i].reason);
    if (!rc) {
        wp_json_object(json, NULL);
        wp_json_text(json, "release", location->release);
        wp_json_text(json, "aggregate", aggregate);
        if (location->has_timebox)
            wp_json_number(json, "timebox_s", location->timebox_s);
        rc = wp_report_json(json, &raw, err);
        wp_json_end(json);
    }
    wp_damage_free(reading.damage, reading.damage_count);
    wp_report_destroy(reading.report);
    wp_buffer_fini(&raw);
    return rc;
}
