/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_PROGRAM_MARKS_H
#define WP_COLLECTOR_LIVE_PROGRAM_MARKS_H
/* Puts the running kernel's numbers in the place of the marks in a program (collector/bpf/kernel_marks.h). */
#include "collector/live/kernel_btf.h"

#include <linux/bpf.h>
#include <stddef.h>

/* In `count` relocated instructions. What the kernel does not have stays as it is, or is type 0: a program that comes
 * there is refused. */
void wp_program_marks_put(const struct wp_kernel_btf *types, struct bpf_insn *insns, size_t count);

#endif
