/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_SPIN_LOOPS_H
#define WP_COLLECTOR_ELF_SPIN_LOOPS_H
/*
 * Small loops around a `pause` (x86-64: "improves the performance of spin-wait loops", Intel 64 Architectures Software
 * Developer's Manual, volume 2): whoever is there waits for what another thread has, it is to be suspected. From the
 * `pause` on, which is where an instruction begins, the code is followed to the jump back over it.
 */
#include "collector/elf/elf_file.h"

#define WP_SPIN_LOOP_BYTES 96u                /* of one at most */
#define WP_SPIN_TEXT_BYTES ((size_t)32 << 20) /* of an object's code; larger is not looked at */

/* Embedded; zeroed: none. */
struct wp_spin_loops {
    struct wp_spin_loop {
        uint64_t start, end; /* bytes into the file */
    } * loops;               /* owned; ascending by start */
    uint32_t count, room;
};

/* Adds those of code that lies there in the file; false: out of memory. At most 4096 are kept. */
bool wp_spin_loops_add(struct wp_spin_loops *loops, const uint8_t *code, size_t size, uint64_t file_offset);
/* Adds those of the file's .text, which is read by parts. Of other machines, and of what cannot be read, there are
 * none. */
void wp_spin_loops_read(struct wp_spin_loops *loops, const struct wp_elf_file *file);
/* Frees them and zeroes it. */
void wp_spin_loops_fini(struct wp_spin_loops *loops);
/* Whether that place is in one. */
bool wp_spin_loops_has(const struct wp_spin_loops *loops, uint64_t file_offset);

#endif
