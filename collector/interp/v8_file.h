/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_V8_FILE_H
#define WP_COLLECTOR_INTERP_V8_FILE_H
/*
 * Whether an object file has a V8 (node, libnode, stripped or not), and where that version of it keeps what is read: a
 * table says so, which is checked against what the file says for debuggers (v8dbg_*, tools/gen-postmortem-metadata.py).
 */
#include "collector/bpf/interp_row.h"
#include "collector/elf/elf_file.h"

/* Of 10.2, 11.3, 12.4, 13.6 (Node.js 18, 20, 22, 24); NULL: not of that version. */
const struct wp_v8_offsets *wp_v8_offsets(uint32_t version);
/* As wp_interp_languages_read. */
int wp_v8_file_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err);

#endif
