/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/read/named.h"

#include "common/path.h"
#include "storage/kind/selection.h"

#include <errno.h>
#include <string.h>

bool wp_named_valid(const char *text)
{
    struct wp_reference reference;
    return wp_id_valid(text) || !wp_reference_parse(&reference, text, NULL);
}

/* Releases are counted back in all stores together. */
static int count_back(struct wp_reference *reference, const char *const *roots, size_t count, struct wp_error *err)
{
    struct wp_stores stores;
    int rc = wp_stores_open(&stores, roots, count, err);
    if (rc)
        return rc;
    rc = wp_reference_resolve(reference, stores.stores, stores.count, err);
    wp_stores_close(&stores);
    return rc;
}

int wp_named_resolve(const struct wp_named *named, struct wp_reference *reference, const char *const *roots,
    size_t count, struct wp_error *err)
{
    if (!*named->release || !wp_is_reference(*named->release))
        return 0;
    int rc = wp_reference_parse(reference, *named->release, err);
    if (!rc && reference->back)
        rc = count_back(reference, roots, count, err);
    if (rc)
        return rc;
    if (*reference->aggregate && *named->aggregate && strcmp(reference->aggregate, *named->aggregate))
        return wp_error_set(
            err, -EINVAL, "'%s' and --aggregate %s cannot both be meant", *named->release, *named->aggregate);
    *named->release = reference->release;
    if (*reference->aggregate)
        *named->aggregate = reference->aggregate;
    if (reference->has_timebox)
        *named->selection = (struct wp_selection){
            .since_s = reference->timebox_s, .until_s = reference->timebox_s + 1, .shard = named->selection->shard};
    return 0;
}
