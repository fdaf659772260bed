/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_PERL_FILE_H
#define WP_COLLECTOR_INTERP_PERL_FILE_H
/*
 * Whether an object file is a Perl interpreter (perl, libperl, stripped or not), and where that version of it keeps its
 * frames: a table says so. The file is only read; each frame's function is checked in each process
 * (collector/bpf/interp_perl.h).
 */
#include "collector/bpf/interp_row.h"
#include "collector/elf/elf_file.h"

/* Of 5.36, 5.40 and 5.42 with threads (words of 64 bits); NULL: not of that version. */
const struct wp_perl_offsets *wp_perl_offsets(uint32_t version);
/* As wp_interp_languages_read. -ENOTSUP, too: one that was built without threads, or not for x86-64. */
int wp_perl_file_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err);

#endif
