/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_FRAME_PROGRAM_H
#define WP_COLLECTOR_ELF_FRAME_PROGRAM_H
/*
 * A quick reader of the frame descriptions in .eh_frame (System V ABI AMD64 3.7.1, DWARF 5 6.4, Linux Standard
 * Base 10.6): it follows the few rules that an unwind row needs, and each description once from its beginning to its
 * end. What compilers do not write often (expressions for those rules, odd encodings, odd augmentations) it refuses:
 * libdw reads that, which is right about all of them and takes ten times as long.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wp_frame_rule_kind {
    WP_FRAME_SAME, /* as in the caller, or nothing is said */
    WP_FRAME_UNDEFINED,
    WP_FRAME_AT,      /* in memory, at the CFA + value */
    WP_FRAME_REGISTER /* in the register `value` */
};

struct wp_frame_rule {
    enum wp_frame_rule_kind kind;
    int64_t value;
};

/* From `address` on, up to the next one. */
struct wp_frame_row {
    uint64_t address;
    uint64_t cfa_register; /* CFA = its value + cfa_offset */
    int64_t cfa_offset;
    struct wp_frame_rule bp, ra;
};

#define WP_FRAME_CIES 64u

struct wp_frame_cie {
    size_t at; /* in the section; with is_known */
    bool is_known, is_usable, is_signal, is_augmented;
    uint8_t encoding;
    uint64_t code_align;
    int64_t data_align;
    struct wp_frame_row first;
};

struct wp_frame_section {
    const uint8_t *bytes; /* borrowed */
    size_t size;
    uint64_t address; /* of bytes[0] */
    unsigned bp, ra;  /* DWARF's numbers of the registers */
    struct wp_frame_cie cies[WP_FRAME_CIES];
};

#define WP_FRAME_ROWS 1024u

struct wp_frame_function {
    uint64_t begin, end;
    bool is_signal;
    size_t count; /* at least 1 */
    struct wp_frame_row rows[WP_FRAME_ROWS];
};

/* The function whose description stands at an address of the section; false: libdw must read it, or it is damaged. */
bool wp_frame_program_read(struct wp_frame_section *section, uint64_t address, struct wp_frame_function *function);
/* Only where it begins and ends (rows are void). False: as above, or a form that is not read here, or no description of
 * a function. */
bool wp_frame_program_range(struct wp_frame_section *section, uint64_t address, struct wp_frame_function *function);
/* The entry behind the one at an address; 0: it was the last one, or is damaged. */
uint64_t wp_frame_program_next(const struct wp_frame_section *section, uint64_t address);

#endif
