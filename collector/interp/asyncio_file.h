/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_ASYNCIO_FILE_H
#define WP_COLLECTOR_INTERP_ASYNCIO_FILE_H
/*
 * Whether an object file is asyncio's part in C (_asyncio.cpython-311-x86_64-linux-gnu.so, stripped or not), and where
 * it keeps which tasks run, by event loop: it gives that to Python by a name (Modules/_asynciomodule.c, module_init of
 * CPython 3.11; later ones keep it elsewhere).
 */
#include "collector/bpf/interp_row.h"
#include "collector/elf/elf_file.h"

/* As wp_interp_languages_read; *version is WP_INTERP_ASYNCIO. */
int wp_asyncio_file_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err);

#endif
