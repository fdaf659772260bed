/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_STACK_TABLE_H
#define WP_COLLECTOR_STACK_TABLE_H
/*
 * Stacks of facts as ids of the dictionary: addresses become frames (object, offset, function) by what is mapped in the
 * process at that time, frames a trie from the outermost one in. A stack that a source names again costs one look-up.
 */
#include "collector/address_space.h"
#include "collector/delta.h"
#include "collector/source.h"

struct wp_stack_table;

/* `spaces` and `delta` are borrowed; spaces may be NULL for a source that gives names. NULL when out of memory. */
struct wp_stack_table *wp_stack_table_create(struct wp_delta *delta, struct wp_address_spaces *spaces);
void wp_stack_table_destroy(struct wp_stack_table *table);
/* Reads what takes long before the first stack comes; when the programs are loaded, for their names are the kernel's too. */
void wp_stack_table_prepare(struct wp_stack_table *table);
/* The fact's stack, 0: none. */
uint32_t wp_stack_table_id(struct wp_stack_table *table, const struct wp_fact *fact);

#endif
