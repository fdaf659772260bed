/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_FRAME_RULES_H
#define WP_COLLECTOR_ELF_FRAME_RULES_H
/* Call frame rules, as libdw or the quick reader (frame_program.h) tells them, in the form of an unwind row; without
 * its start. */
#include "collector/bpf/unwind_row.h"
#include "collector/elf/frame_program.h"

#include <elfutils/libdw.h>

/* DWARF's numbers of registers: System V ABI, AMD64, figure 3.36; DWARF for the Arm 64-bit architecture, 4.1. */
struct wp_frame_machine {
    uint16_t elf;
    unsigned bp, sp, ra, link; /* link: what else may hold the caller */
    bool is_caller_behind_bp;  /* else it is below the CFA (collector/bpf/unwind_row.h) */
};

/* EM_X86_64 or EM_AARCH64; NULL: no other. */
const struct wp_frame_machine *wp_frame_machine_of(unsigned elf_machine);

/* The row of a frame that libdw found; `frame` stays the caller's. cfa is WP_CFA_NONE where a row cannot hold the
 * rules. */
struct wp_unwind_row wp_frame_rules_of(const struct wp_frame_machine *machine, Dwarf_Frame *frame, bool is_signal);
/* The same of a row of the quick reader. */
struct wp_unwind_row wp_frame_rules_row(
    const struct wp_frame_machine *machine, const struct wp_frame_row *row, bool is_signal);

#endif
