/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_INTERP_CODES_H
#define WP_COLLECTOR_INTERP_INTERP_CODES_H
/*
 * What is known of the processes that run an interpreter: where its loop is, and which code object is at which address.
 * Equal code objects are kept once, whoever has them. Bounded; one thread.
 */
#include "collector/host/source.h"
#include "collector/interp/interp_splice.h"
#include "collector/interp/line_table_types.h"

#include <stddef.h>

struct wp_interp_codes;

/* Code objects that there was no room for, or whose texts were not readable; frames of code objects that never came. */
struct wp_interp_codes_counts {
    uint64_t refused, unread, unknown;
    uint64_t held; /* code objects in memory now */
};

/* NULL: out of memory. */
struct wp_interp_codes *wp_interp_codes_create(void);
/* NULL is allowed. */
void wp_interp_codes_destroy(struct wp_interp_codes *codes);
/* -ENOMEM. */
int wp_interp_codes_process(struct wp_interp_codes *codes, const struct wp_fact_interp *process);
/* In the place of the one at that address, but for one that is the same and was read in part. -ENOSPC: there are too
 * many, or too many of this process; -ENOMEM. Of one that runs V8 all others are dropped then, now and then.
 */
int wp_interp_codes_add(struct wp_interp_codes *codes, const struct wp_fact_code *code);
/* Of a process' code objects: another number after another one came to an address, or after the process; no two
 * processes have the same. 0: it is not known.
 */
uint64_t wp_interp_codes_generation(const struct wp_interp_codes *codes, uint32_t pid);
/* A process' code objects were dropped: those that still are must be sent again. */
bool wp_interp_codes_lack(const struct wp_interp_codes *codes);
/* They will be. */
void wp_interp_codes_retold(struct wp_interp_codes *codes);
/* The process is gone, or runs another program. */
void wp_interp_codes_forget(struct wp_interp_codes *codes, uint32_t pid);
/* What an address of the process is to its interpreter. */
enum wp_interp_part wp_interp_codes_part(const struct wp_interp_codes *codes, uint32_t pid, uint64_t address);
/* What a word of a stack stands for (collector/bpf/interp_row.h), innermost first: more than one frame where functions
 * were inlined, at most `room`. Texts are borrowed until the next call that changes something. How many; 0: its code
 * object is not known, which is counted. */
uint32_t wp_interp_codes_places(
    struct wp_interp_codes *codes, uint32_t pid, uint64_t word, struct wp_interp_place *places, uint32_t room);
/* A copy of the counts. */
struct wp_interp_codes_counts wp_interp_codes_counts(const struct wp_interp_codes *codes);

#endif
