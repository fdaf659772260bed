/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_CODE_FLOW_H
#define WP_COLLECTOR_ELF_CODE_FLOW_H
/*
 * How deep the stack is at each instruction of x86-64 code that no table describes (C compiled without unwind tables
 * and frame pointers: musl, busybox), found by following its instructions from the beginnings of its functions. A
 * function that returns with another stack than it began with has not been understood, and nothing is said of it.
 * Bounded by the size of the code; all calls from one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WP_CODE_FLOW_BYTES ((size_t)4 << 20) /* of code; larger is not followed */

struct wp_code_flow;

/* Reads data that the code is loaded with (tables of jumps); false: there is none. */
typedef bool (*wp_code_flow_data)(void *context, uint64_t address, void *bytes, size_t size);

/* From one instruction up to the next one that is told. */
struct wp_flow_place {
    uint64_t address;
    bool is_known;
    bool is_end;    /* a thread's first function: no caller */
    int32_t cfa_sp; /* CFA = sp + this; 0: not so */
    int32_t cfa_bp; /* else CFA = bp + this */
    int32_t bp_at;  /* the caller's bp is at CFA - this; 0: it is still in bp */
};

/* The code is borrowed, `address` is of its first byte. NULL: too large, or no memory. */
struct wp_code_flow *wp_code_flow_create(
    const uint8_t *code, size_t size, uint64_t address, wp_code_flow_data data, void *context);
/* Frees what was found out, not the code. NULL is allowed. */
void wp_code_flow_destroy(struct wp_code_flow *flow);
/* A function begins there; `is_end`: nobody calls it. */
void wp_code_flow_enter(struct wp_code_flow *flow, uint64_t address, bool is_end);
/* Each place where something changes is told in order; stops at the first answer that is not 0 and returns it. -ENOMEM.
 */
int wp_code_flow_run(
    struct wp_code_flow *flow, int (*tell)(void *context, const struct wp_flow_place *place), void *context);

#endif
