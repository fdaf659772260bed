/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_PHP_FILE_H
#define WP_COLLECTOR_INTERP_PHP_FILE_H
/*
 * Whether an object file is a PHP interpreter (php, php-fpm, libphp, stripped or not), and where that version of it
 * keeps its frames: a table says so. The file is only read; each frame's function is checked in each process
 * (collector/bpf/interp_php.h).
 */
#include "collector/bpf/interp_row.h"
#include "collector/elf/elf_file.h"

/* Of 8.2 and 8.4 (words of 64 bits); NULL: not of that version. */
const struct wp_php_offsets *wp_php_offsets(uint32_t version);
/* As wp_interp_languages_read. -ENOTSUP, too: one that was built for threads (ZTS). */
int wp_php_file_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err);

#endif
