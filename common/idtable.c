/* SPDX-License-Identifier: Apache-2.0 */
#include "common/idtable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE                                                                                                           \
    ((size_t)4096) /* counted by; the kernel's is this or a multiple, whose advice on less is refused and harmless */
#define SMALL_BYTES ((size_t)64 << 10) /* up to there on the heap */
#define FIRST_ITEMS 64u

void wp_idtable_init(struct wp_idtable *table, size_t item_size)
{
    *table = (struct wp_idtable){.item_size = item_size};
}

static size_t pages_of(const struct wp_idtable *table, uint32_t room)
{
    return ((size_t)room * table->item_size + PAGE - 1) / PAGE;
}

void wp_idtable_fini(struct wp_idtable *table)
{
    if (table->kept)
        munmap(table->items, pages_of(table, table->room) * PAGE);
    else
        free(table->items);
    free(table->used);
    free(table->kept);
    *table = (struct wp_idtable){.item_size = table->item_size};
}

/* --- pages --- */

static void keep_pages(struct wp_idtable *table, uint32_t index)
{
    size_t first = index * table->item_size / PAGE, last = ((index + (size_t)1) * table->item_size - 1) / PAGE;
    for (size_t page = first; page <= last; page++)
        table->kept_pages += !table->kept[page]++;
}

static void release_pages(struct wp_idtable *table, uint32_t index)
{
    size_t first = index * table->item_size / PAGE, last = ((index + (size_t)1) * table->item_size - 1) / PAGE;
    for (size_t page = first; page <= last; page++) {
        if (--table->kept[page])
            continue;
        table->kept_pages--;
        madvise((char *)table->items + page * PAGE, PAGE, MADV_DONTNEED);
    }
}

/* --- growing --- */

static int grow_bits(struct wp_idtable *table, uint32_t room)
{
    size_t had = ((size_t)table->room + 63) / 64, wanted = ((size_t)room + 63) / 64;
    uint64_t *used = reallocarray(table->used, wanted, sizeof(*used));
    if (!used)
        return -ENOMEM;
    memset(used + had, 0, (wanted - had) * sizeof(*used));
    table->used = used;
    return 0;
}

static int grow_on_heap(struct wp_idtable *table, uint32_t room)
{
    char *items = reallocarray(table->items, room, table->item_size);
    if (!items)
        return -ENOMEM;
    memset(items + table->room * table->item_size, 0, (room - table->room) * table->item_size);
    table->items = items;
    table->room = room;
    return 0;
}

static uint16_t *grow_kept(struct wp_idtable *table, uint32_t room)
{
    size_t had = table->kept ? pages_of(table, table->room) : 0, wanted = pages_of(table, room);
    uint16_t *kept = reallocarray(table->kept, wanted, sizeof(*kept));
    if (kept)
        memset(kept + had, 0, (wanted - had) * sizeof(*kept));
    return kept;
}

/* From the heap into pages of its own. */
static int begin_pages(struct wp_idtable *table, uint32_t room)
{
    size_t size = pages_of(table, room) * PAGE;
    void *items = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (items == MAP_FAILED)
        return -ENOMEM;
    uint16_t *kept = grow_kept(table, room);
    if (!kept) {
        munmap(items, size);
        return -ENOMEM;
    }
    madvise(items, size, MADV_NOHUGEPAGE); /* else what is given back is part of a page that stays */
    if (table->room)
        memcpy(items, table->items, table->room * table->item_size);
    free(table->items);
    table->items = items;
    table->kept = kept;
    for (uint32_t i = 0; i < table->room; i++)
        if (wp_idtable_has(table, i))
            keep_pages(table, i);
    table->room = room;
    return 0;
}

static int grow_pages(struct wp_idtable *table, uint32_t room)
{
    uint16_t *kept = grow_kept(table, room);
    if (!kept)
        return -ENOMEM;
    table->kept = kept;
    void *items =
        mremap(table->items, pages_of(table, table->room) * PAGE, pages_of(table, room) * PAGE, MREMAP_MAYMOVE);
    if (items == MAP_FAILED)
        return -ENOMEM;
    table->items = items;
    table->room = room;
    return 0;
}

int wp_idtable_grow(struct wp_idtable *table, uint32_t index)
{
    uint64_t room = table->room ? table->room : FIRST_ITEMS;
    while (room <= index)
        room *= 2;
    if (room > UINT32_MAX)
        return -ENOMEM;
    int rc = grow_bits(table, (uint32_t)room);
    if (rc)
        return rc;
    if (table->kept)
        return grow_pages(table, (uint32_t)room);
    return room * table->item_size > SMALL_BYTES ? begin_pages(table, (uint32_t)room)
                                                 : grow_on_heap(table, (uint32_t)room);
}

/* --- items --- */

void wp_idtable_use(struct wp_idtable *table, uint32_t index)
{
    if (wp_idtable_has(table, index))
        return;
    table->used[index / 64] |= (uint64_t)1 << index % 64;
    if (table->kept)
        keep_pages(table, index);
}

void wp_idtable_drop(struct wp_idtable *table, uint32_t index)
{
    if (!wp_idtable_has(table, index))
        return;
    table->used[index / 64] &= ~((uint64_t)1 << index % 64);
    memset((char *)table->items + index * table->item_size, 0, table->item_size);
    if (table->kept)
        release_pages(table, index);
}

void wp_idtable_clear(struct wp_idtable *table)
{
    if (table->kept) {
        wp_idtable_fini(table);
    } else if (table->room) {
        memset(table->items, 0, table->room * table->item_size);
        memset(table->used, 0, ((size_t)table->room + 63) / 64 * sizeof(*table->used));
    }
}

size_t wp_idtable_bytes(const struct wp_idtable *table)
{
    if (!table->kept)
        return table->room * table->item_size + (size_t)table->room / 8;
    return table->kept_pages * PAGE + pages_of(table, table->room) * sizeof(*table->kept) + (size_t)table->room / 8;
}
