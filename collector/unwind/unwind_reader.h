/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_UNWIND_UNWIND_READER_H
#define WP_COLLECTOR_UNWIND_UNWIND_READER_H
/*
 * Makes unwind rows of what an ELF file says of its frames: .eh_frame; where that says nothing .debug_frame; and where
 * that does not either, the table that Go's own tracebacks go by (x86-64).
 */
#include "collector/unwind/unwind_rows.h"

/* From an open file (it stays open). -ENOEXEC: no ELF file of this machine, or without either. -E2BIG. */
int wp_unwind_rows_read(struct wp_unwind_rows **rows, int fd, struct wp_error *err);
/* The same for a machine (EM_X86_64, EM_AARCH64) that this one need not be. */
int wp_unwind_rows_read_of(struct wp_unwind_rows **rows, int fd, unsigned machine, struct wp_error *err);
/* From an image in memory (the vdso). */
int wp_unwind_rows_parse(struct wp_unwind_rows **rows, const void *image, size_t size, struct wp_error *err);

#endif
