/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_BATCH_STACK_TABLE_H
#define WP_COLLECTOR_BATCH_STACK_TABLE_H
/*
 * Stacks of facts as ids of the dictionary: addresses become frames (object, offset, function) by what is mapped in the
 * process at that time, frames a trie from the outermost one in. A stack that a source names again costs one look-up.
 */
#include "collector/batch/dict_writer.h"
#include "collector/batch/heir.h"
#include "collector/batch/wait_table.h"
#include "collector/host/source.h"
#include "collector/interp/interp_codes.h"
#include "collector/symbols/address_space.h"
#include "common/log.h"

struct wp_stack_table;

/* How look-ups of stacks ended since the table was created. */
struct wp_stack_counts {
    uint64_t known; /* stacks that the source named and that were there already */
    uint64_t made;  /* put together from their frames */
    uint64_t lost;  /* named, but their frames never came */
};

struct wp_names_from;
/* All are borrowed. `spaces` may be NULL for a source that gives names, `from` and `logger` too. NULL: out of memory,
 * or the thread that reads names cannot be started. */
struct wp_stack_table *wp_stack_table_create(struct wp_dict_writer *dict, struct wp_address_spaces *spaces,
    struct wp_wait_table *waits, const struct wp_names_from *from, const struct wp_logger *logger);
/* Frees the table and its symbolizer, waiting as wp_symbolizer_destroy does; nothing borrowed is freed. NULL is
 * allowed. */
void wp_stack_table_destroy(struct wp_stack_table *table);
/* What names the stacks, borrowed; NULL: the source gives names. */
struct wp_symbolizer *wp_stack_table_symbolizer(const struct wp_stack_table *table);
/* Puts the names into the frames that have got them since, and says whether none is still missing. Frames that are sent
 * before stay without. Waits at most so long. */
bool wp_stack_table_names(struct wp_stack_table *table, unsigned timeout_ms);
/* The process runs another program now, or is gone. */
void wp_stack_table_forget(struct wp_stack_table *table, uint32_t pid);
/* A fact of kind 0 with `interp` or `code`. */
void wp_stack_table_define(struct wp_stack_table *table, const struct wp_fact *fact);
/* Asks what a lock is called; `number` of the table of waits gets its name as frames get theirs. */
void wp_stack_table_lock(struct wp_stack_table *table, const struct wp_lock_place *lock, uint32_t number);
/* So many stacks are remembered, or code objects were dropped, that the source must tell all anew; and: it does so from
 * now on. */
bool wp_stack_table_is_full(const struct wp_stack_table *table);
/* Forgets the stacks named before the previous turn. Those named since then stay known to facts that carry no
 * frames. */
void wp_stack_table_turn(struct wp_stack_table *table);
/* The session goes on in another one, whose dictionary is `dict`. The stacks that the source may name again are put
 * there; nothing may be waiting for its name. The source must tell stacks anew. */
void wp_stack_table_renew(struct wp_stack_table *table, struct wp_dict_writer *dict, struct wp_heir *heir);
/* The fact's stack, 0: none. */
uint32_t wp_stack_table_id(struct wp_stack_table *table, const struct wp_fact *fact);
/* The counts so far. The table owns them and updates them in place. */
const struct wp_stack_counts *wp_stack_table_counts(const struct wp_stack_table *table);
/* All 0 where the source names its frames. */
struct wp_symbolizer_stats wp_stack_table_naming(const struct wp_stack_table *table);
/* Of code objects of interpreters; all 0 as above. */
struct wp_interp_codes_counts wp_stack_table_codes(const struct wp_stack_table *table);
/* CPU time of the thread that reads names, so far. */
uint64_t wp_stack_table_reading_ns(const struct wp_stack_table *table);

#endif
