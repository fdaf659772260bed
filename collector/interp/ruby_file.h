/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_RUBY_FILE_H
#define WP_COLLECTOR_INTERP_RUBY_FILE_H
/*
 * Whether an object file is a CRuby interpreter (libruby, stripped or not), and where that version of it keeps its
 * frames: a table says so. The file is only read; that the offsets are right is checked in each process at each frame
 * (collector/bpf/interp_ruby.h).
 */
#include "collector/bpf/interp_row.h"
#include "collector/elf/elf_file.h"

/* Of 3.1 and 3.3 (x86-64); NULL: not of that version. */
const struct wp_ruby_offsets *wp_ruby_offsets(uint32_t version);
/* As wp_interp_languages_read. -ENOTSUP, too: one that has not its threads' states as a library's threads have
 * variables (x86-64, __tls_get_addr), as a program has that Ruby is linked into. */
int wp_ruby_file_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err);

#endif
