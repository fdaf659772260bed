/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/kernel_btf.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define BUCKETS (1u << 16)

struct wp_kernel_btf {
    struct btf *btf;
    uint32_t *next;          /* of each type the one behind it in its bucket, 0: none */
    uint32_t heads[BUCKETS]; /* by name */
};

static uint32_t *bucket_of(struct wp_kernel_btf *types, const char *name)
{
    return &types->heads[XXH3_64bits(name, strlen(name)) & (BUCKETS - 1)];
}

/* From the last one on, so that the first of a name comes first. */
static int index_names(struct wp_kernel_btf *types)
{
    uint32_t count = btf__type_cnt(types->btf);
    types->next = calloc(count, sizeof(*types->next));
    if (!types->next)
        return -ENOMEM;
    for (uint32_t id = count - 1; id; id--) {
        const char *name = btf__name_by_offset(types->btf, btf__type_by_id(types->btf, id)->name_off);
        if (!name || !*name)
            continue;
        uint32_t *head = bucket_of(types, name);
        types->next[id] = *head;
        *head = id;
    }
    return 0;
}

int wp_kernel_btf_create(struct wp_kernel_btf **out)
{
    struct wp_kernel_btf *types = calloc(1, sizeof(*types));
    int rc = types ? 0 : -ENOMEM;
    if (!rc && !(types->btf = btf__load_vmlinux_btf()))
        rc = -ENOENT;
    if (!rc)
        rc = index_names(types);
    if (rc)
        wp_kernel_btf_destroy(types);
    else
        *out = types;
    return rc;
}

void wp_kernel_btf_destroy(struct wp_kernel_btf *types)
{
    if (!types)
        return;
    btf__free(types->btf);
    free(types->next);
    free(types);
}

uint32_t wp_kernel_btf_find(const struct wp_kernel_btf *types, const char *name, uint32_t kind)
{
    uint32_t id = *bucket_of((struct wp_kernel_btf *)(uintptr_t)types, name);
    for (; id; id = types->next[id]) {
        const struct btf_type *type = btf__type_by_id(types->btf, id);
        if (btf_kind(type) == kind && !strcmp(btf__name_by_offset(types->btf, type->name_off), name))
            return id;
    }
    return 0;
}

const struct btf *wp_kernel_btf_all(const struct wp_kernel_btf *types)
{
    return types->btf;
}
