/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_HOST_MAPPED_FILE_H
#define WP_COLLECTOR_HOST_MAPPED_FILE_H
/* A file that was mapped executable in a process, or memory that is no file's. */
#include <stdbool.h>
#include <stdint.h>

struct wp_mapped_file {
    uint64_t time_ns;
    uint32_t pid;
    bool is_exec; /* nothing is mapped any more: the fields below say nothing */
    uint64_t start, size, file_offset;
    const char *path;        /* borrowed */
    const uint8_t *build_id; /* borrowed */
    uint32_t build_id_size;  /* 0: unknown */
};

#endif
