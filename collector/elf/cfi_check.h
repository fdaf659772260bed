/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_CFI_CHECK_H
#define WP_COLLECTOR_ELF_CFI_CHECK_H
/*
 * What call frame information asks of its reader, before libdw reads it: that (elfutils 0.188, libdw/cfi.c) makes room
 * for as many registers as the highest number in a rule says, up to 2 GB, again for each row, and keeps a copy of them
 * for each state that is remembered. An object of 826 bytes took 4 minutes and 1.7 GB. Formats: DWARF 5, 6.4; Linux
 * Standard Base 5, 10.6.1.
 */
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/* A section to check. The checks raise `longest`, which the caller sets to 0. */
struct wp_cfi_check {
    const unsigned char *ident; /* of the object: e_ident */
    Elf_Data *data;             /* .eh_frame or .debug_frame */
    bool is_eh_frame;
    size_t longest; /* bytes of rules of one function: each of its rows reads them again */
};

/* False: no compiler writes this, leave the object alone. The first: of all functions in a table of .eh_frame_hdr,
 * pairs of offsets from the table's section (little endian, 4 bytes each) to the function and to its FDE; `frames` is
 * the offset of .eh_frame. The other: of all there are. */
bool wp_cfi_check_table(struct wp_cfi_check *check, const uint8_t *table, uint32_t count, int64_t frames);
/* All of the section's entries. Those that libdw cannot parse are skipped, as libdw skips them. */
bool wp_cfi_check_all(struct wp_cfi_check *check);

#endif
