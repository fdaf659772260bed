/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_UNWIND_MET_FILE_H
#define WP_COLLECTOR_UNWIND_MET_FILE_H
/* A file whose code the kernel side met in a process, which may be gone by now. */
#include <stddef.h>
#include <stdint.h>

struct wp_met_file {
    uint64_t inode;
    uint32_t device, pid; /* device: the kernel's dev_t */
    uint64_t address;     /* where it is mapped; 0: it is the process' program */
};

/* Opens it, if it is still that very file; -1. `path` (room bytes) is what the process calls it. */
int wp_met_file_open(const struct wp_met_file *met, char *path, size_t room);

#endif
