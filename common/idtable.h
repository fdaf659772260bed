/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_IDTABLE_H
#define WP_COMMON_IDTABLE_H
/*
 * An array by dense ids that only grow, of which the early ones end: what a session knows of each socket or thread
 * that it ever reported. Items stand where an array has them. A page of memory in which no item is in use any more goes
 * back to the kernel and reads as zeros, so what is held is what is in use, not what ever was; of an item that is gone
 * a bit stays, and of a page two bytes. Addresses move when the table grows. Embedded: init with wp_idtable_init, which
 * takes no memory. One thread at a time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The items of one kind, and which of them are in use. */
struct wp_idtable {
    void *items;      /* owned; `room` of them, those not in use are zero */
    uint64_t *used;   /* a bit an item, owned */
    uint16_t *kept;   /* items in use that touch a page, owned; NULL: the table is small and on the heap */
    size_t item_size; /* bytes, 1 or more */
    size_t kept_pages;
    uint32_t room;
};

/* `item_size` in bytes, at least 4. Frees nothing: for a table that is new or has been through fini. */
void wp_idtable_init(struct wp_idtable *table, size_t item_size);
/* Frees all items and keeps the item size, so the table can be used again. */
void wp_idtable_fini(struct wp_idtable *table);
/* Makes room for items up to `index`, for which there is none. -ENOMEM: the table is as it was. */
int wp_idtable_grow(struct wp_idtable *table, uint32_t index);
/* The same, if there is none. */
static inline int wp_idtable_reserve(struct wp_idtable *table, uint32_t index)
{
    return index < table->room ? 0 : wp_idtable_grow(table, index);
}
/* The item, for which there is room, is in use from now on; it may be already. */
void wp_idtable_use(struct wp_idtable *table, uint32_t index);
/* The item is not in use any more: zeros. */
void wp_idtable_drop(struct wp_idtable *table, uint32_t index);
/* No item is in use; a large table gives its memory back. */
void wp_idtable_clear(struct wp_idtable *table);
/* What it takes of memory. */
size_t wp_idtable_bytes(const struct wp_idtable *table);

/* Whether the item is in use; false beyond the room. */
static inline bool wp_idtable_has(const struct wp_idtable *table, uint32_t index)
{
    return index < table->room && table->used[index / 64] >> index % 64 & 1;
}

#endif
