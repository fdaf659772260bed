/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/kind/metadata_limit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_LIMIT 65536u
#define GONE_KEY "metadata.gone" /* how many entries of hosts had to go */

typedef Wakepath__Store__Metadata__Entry entry_type;

int wp_metadata_compare_keys(ProtobufCBinaryData a, ProtobufCBinaryData b)
{
    size_t size = a.len < b.len ? a.len : b.len;
    int rc = size ? memcmp(a.data, b.data, size) : 0;
    return rc ? rc : a.len < b.len ? -1 : a.len > b.len;
}

int wp_metadata_compare(const void *left, const void *right)
{
    const entry_type *a = *(entry_type *const *)left, *b = *(entry_type *const *)right;
    return wp_metadata_compare_keys(a->key, b->key);
}

static bool begins_with(ProtobufCBinaryData text, const char *prefix)
{
    size_t size = strlen(prefix);
    return text.len >= size && !memcmp(text.data, prefix, size);
}

/* What an aggregator says of its hosts. Names come and go there; what people and settings say stays. */
static bool may_go(const entry_type *entry)
{
    return begins_with(entry->key, "host.") || begins_with(entry->key, "network.");
}

/* Oldest first; of one second what is said of two hosts before what is said of one, and then the greater key. */
static int compare_leaving(const void *left, const void *right)
{
    const entry_type *a = *(entry_type *const *)left, *b = *(entry_type *const *)right;
    if (a->real_s != b->real_s)
        return a->real_s < b->real_s ? -1 : 1;
    bool has_two = begins_with(a->key, "network.");
    if (has_two != begins_with(b->key, "network."))
        return has_two ? -1 : 1;
    return wp_metadata_compare_keys(b->key, a->key);
}

static bool is_count(const entry_type *entry)
{
    return entry->key.len == strlen(GONE_KEY) && begins_with(entry->key, GONE_KEY);
}

static void count_gone(struct wp_metadata_gone *gone, Wakepath__Store__Metadata *m, size_t left, uint64_t real_s)
{
    uint64_t before = 0;
    size_t kept = 0;
    wakepath__store__metadata__entry__init(&gone->entry);
    gone->entry.key = (ProtobufCBinaryData){strlen(GONE_KEY), (uint8_t *)(uintptr_t)GONE_KEY};
    for (size_t i = 0; i < m->n_entries; i++) {
        if (!is_count(m->entries[i])) {
            m->entries[kept++] = m->entries[i];
            continue;
        }
        snprintf(gone->text, sizeof(gone->text), "%.*s",
            (int)(m->entries[i]->value.len < 20 ? m->entries[i]->value.len : 20),
            (const char *)m->entries[i]->value.data);
        before = strtoull(gone->text, NULL, 10);
    }
    snprintf(gone->text, sizeof(gone->text), "%llu", (unsigned long long)(before + left));
    gone->entry.value = (ProtobufCBinaryData){strlen(gone->text), (uint8_t *)gone->text};
    gone->entry.real_s = real_s;
    m->entries[kept++] = &gone->entry;
    m->n_entries = kept;
}

int wp_metadata_trim(Wakepath__Store__Metadata *m, struct wp_metadata_gone *gone, uint64_t real_s, struct wp_error *err)
{
    size_t count = 0, kept = 0, left = m->n_entries + 1 - ENTRIES_LIMIT; /* room for the count, too */
    if (m->n_entries <= ENTRIES_LIMIT)
        return 0;
    entry_type **leaving = calloc(m->n_entries, sizeof(*leaving));
    if (!leaving)
        return wp_error_set(err, -ENOMEM, "out of memory for metadata");
    for (size_t i = 0; i < m->n_entries; i++) {
        if (may_go(m->entries[i]))
            leaving[count++] = m->entries[i];
        left -= is_count(m->entries[i]);
    }
    if (count < left) {
        free(leaving);
        return wp_error_set(err, -E2BIG, "more than %u metadata keys in one value", ENTRIES_LIMIT);
    }
    qsort(leaving, count, sizeof(*leaving), compare_leaving);
    qsort(leaving, left, sizeof(*leaving), wp_metadata_compare);
    for (size_t i = 0, next = 0; i < m->n_entries; i++) {
        if (next < left && m->entries[i] == leaving[next])
            next++;
        else
            m->entries[kept++] = m->entries[i];
    }
    m->n_entries = kept;
    free(leaving);
    count_gone(gone, m, left, real_s);
    qsort(m->entries, m->n_entries, sizeof(*m->entries), wp_metadata_compare);
    return 0;
}
