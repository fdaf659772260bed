/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_PYTHON_FILE_H
#define WP_COLLECTOR_INTERP_PYTHON_FILE_H
/*
 * Whether an object file is a CPython interpreter (a program or a library, stripped or not), and where that version of
 * it keeps its frames: from 3.13 on it says so itself (_Py_DebugOffsets), before that a table does. The file is only
 * read; that the offsets are right is checked in each process at each frame (collector/bpf/interp.h).
 */
#include "collector/bpf/interp_row.h"
#include "collector/elf/elf_file.h"

/* 0 with *out; -ENOENT: it is no interpreter; -ENOTSUP: a version, or a build, that is not known: *version says which
 * (0: older than 3.9), err why. The file is borrowed. */
int wp_python_file_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err);

#endif
