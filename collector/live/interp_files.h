/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_INTERP_FILES_H
#define WP_COLLECTOR_LIVE_INTERP_FILES_H
/* Tells the kernel side which files are interpreters, and where each keeps its frames. */
#include "collector/bpf/interp_row.h"
#include "collector/bpf/unwind_row.h"
#include "common/log.h"

#include <stdbool.h>
#include <stdint.h>

/* What it works on. Embedded; nothing is to be freed. */
struct wp_interp_files {
    int map_fd; /* interp_files; borrowed */
    const struct wp_logger *logger;
    uint64_t known, refused; /* interpreters; those of a version or build that is not known, or without room */
    uint64_t refused_told[WP_INTERP_LANGUAGES]; /* which were logged: a bit for each version */
};

/* For struct wp_unwinder_options; context: a struct wp_interp_files. Several threads may call it. */
bool wp_interp_files_opened(void *context, const struct wp_unwind_file *file, int fd, const char *path);
/* As before; the file is known no more. */
void wp_interp_files_forgotten(void *context, const struct wp_unwind_file *file);

#endif
