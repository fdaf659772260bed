/* SPDX-License-Identifier: Apache-2.0 */
#include "common/intern.h"

#include "common/array.h"
#include "common/buffer.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    size_t offset; /* of the text in the block */
    uint32_t size;
    uint32_t hash;
};

struct wp_intern {
    struct wp_buffer block;
    struct entry *entries; /* by id */
    uint32_t count, room;
    uint32_t *slots; /* open addressing, id + 1; 0: free */
    uint32_t mask;
};

static uint32_t hash_bytes(const char *bytes, size_t size)
{
    uint64_t h = 0xcbf29ce484222325u ^ size; /* FNV-1a with a final mix */
    for (size_t i = 0; i < size; i++)
        h = (h ^ (uint8_t)bytes[i]) * 0x100000001b3u;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    return (uint32_t)(h >> 32);
}

static int grow_slots(struct wp_intern *in, uint32_t size)
{
    uint32_t *slots = calloc(size, sizeof(*slots));
    if (!slots)
        return -1;
    for (uint32_t id = 0; id < in->count; id++) {
        uint32_t at = in->entries[id].hash & (size - 1);
        while (slots[at])
            at = (at + 1) & (size - 1);
        slots[at] = id + 1;
    }
    free(in->slots);
    in->slots = slots;
    in->mask = size - 1;
    return 0;
}

struct wp_intern *wp_intern_create(void)
{
    struct wp_intern *in = calloc(1, sizeof(*in));
    if (in && (grow_slots(in, 64) || wp_intern_id(in, "", 0) != 0)) {
        wp_intern_destroy(in);
        return NULL;
    }
    return in;
}

void wp_intern_destroy(struct wp_intern *in)
{
    if (!in)
        return;
    wp_buffer_fini(&in->block);
    free(in->entries);
    free(in->slots);
    free(in);
}

static uint32_t find_slot(const struct wp_intern *in, const char *bytes, size_t size, uint32_t hash)
{
    uint32_t at = hash & in->mask;
    while (in->slots[at]) {
        const struct entry *e = &in->entries[in->slots[at] - 1];
        if (e->hash == hash && e->size == size && !memcmp(in->block.data + e->offset, bytes, size))
            break;
        at = (at + 1) & in->mask;
    }
    return at;
}

uint32_t wp_intern_find(const struct wp_intern *in, const char *bytes, size_t size)
{
    return in->slots[find_slot(in, bytes, size, hash_bytes(bytes, size))] - 1; /* 0 - 1 is UINT32_MAX */
}

uint32_t wp_intern_id(struct wp_intern *in, const char *bytes, size_t size)
{
    if (size > UINT32_MAX / 2)
        return UINT32_MAX;
    uint32_t hash = hash_bytes(bytes, size);
    uint32_t at = find_slot(in, bytes, size, hash);
    if (in->slots[at])
        return in->slots[at] - 1;
    if (WP_ARRAY_FIT(in->entries, in->room, in->count + 1))
        return UINT32_MAX;
    size_t offset = in->block.size;
    if (wp_buffer_append(&in->block, bytes, size) || wp_buffer_putc(&in->block, 0)) {
        in->block.size = offset;
        return UINT32_MAX;
    }
    uint32_t id = in->count++;
    in->entries[id] = (struct entry){offset, (uint32_t)size, hash};
    in->slots[at] = id + 1;
    if (in->count * 2 > in->mask && grow_slots(in, (in->mask + 1) * 2)) {
        in->slots[at] = 0;
        in->count--;
        in->block.size = offset;
        return UINT32_MAX;
    }
    return id;
}

uint32_t wp_intern_str(struct wp_intern *in, const char *text)
{
    return wp_intern_id(in, text, strlen(text));
}

const char *wp_intern_text(const struct wp_intern *in, uint32_t id)
{
    return id < in->count ? (const char *)in->block.data + in->entries[id].offset : "";
}

size_t wp_intern_size(const struct wp_intern *in, uint32_t id)
{
    return id < in->count ? in->entries[id].size : 0;
}

uint32_t wp_intern_count(const struct wp_intern *in)
{
    return in->count;
}

size_t wp_intern_bytes(const struct wp_intern *in)
{
    return sizeof(*in) + in->block.capacity + in->room * sizeof(*in->entries) +
        (in->mask + (size_t)1) * sizeof(*in->slots);
}
