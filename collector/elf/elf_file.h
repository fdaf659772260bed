/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_ELF_FILE_H
#define WP_COLLECTOR_ELF_ELF_FILE_H
/*
 * An ELF file (elf(5)) open for reading, and what belongs to it but is kept apart: separate debug files by build id
 * (gdb's manual, "Separate Debug Files") and the compressed table of functions that Fedora and RHEL leave in stripped
 * files
 * (.gnu_debugdata, "MiniDebugInfo"). Files are hostile: read, never mapped, and bounded.
 */
#include "common/buffer.h"
#include "common/error.h"

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

#define WP_BUILD_ID_BYTES 20u
#define WP_SEPARATE_PATH 128u /* room for the path of a separate debug file */

/* An open ELF file, or an image of one in memory. Embedded; wp_elf_file_close releases it. */
struct wp_elf_file {
    Elf *elf;               /* owned */
    int fd;                 /* owned; -1: none */
    struct wp_buffer image; /* owned; of one that was compressed in another */
    uint8_t build_id[WP_BUILD_ID_BYTES];
    uint32_t build_id_size; /* 0: none */
};

/* Takes the open file, also when it fails. -ENOEXEC: no ELF file, or too large. */
int wp_elf_file_open(struct wp_elf_file *file, int fd, struct wp_error *err);
/* Symbolic links are followed. -errno of open(2), -EACCES: not a regular file, -ENOEXEC as above. On failure fd is -1
 * and nothing is left open. */
int wp_elf_file_open_path(struct wp_elf_file *file, const char *path, struct wp_error *err);
/* An image in memory (the vdso), which must stay until it is closed. */
int wp_elf_file_open_memory(struct wp_elf_file *file, const void *image, size_t size, struct wp_error *err);
/* Where the separate debug file of that build is, when it is installed. False: that is no build id. */
bool wp_elf_file_separate_path(const uint8_t *build_id, uint32_t build_id_size, char path[WP_SEPARATE_PATH]);
/* The separate debug file of that build, below root_fd (a directory; -1: this process' own root). -ENOENT. */
int wp_elf_file_open_separate(struct wp_elf_file *file, int root_fd, const uint8_t *build_id, uint32_t build_id_size);
/* What .gnu_debugdata of `outer` holds. -ENOENT: none; -E2BIG: it unfolds to more than 64 MiB; -EINVAL: damaged. */
int wp_elf_file_open_mini(struct wp_elf_file *file, const struct wp_elf_file *outer);
/* Forgets what was read of a file that has a descriptor; the file stays open. */
void wp_elf_file_read_anew(struct wp_elf_file *file);
/* Closes its descriptor: only what was read can be read. */
void wp_elf_file_done(struct wp_elf_file *file);
/* May be called for a file that is all zero but for fd -1, or was closed. */
void wp_elf_file_close(struct wp_elf_file *file);

/* Whether the file has this build id. Two unknown ones (size 0) are equal, too. */
bool wp_elf_file_is_build(const struct wp_elf_file *file, const uint8_t *build_id, uint32_t build_id_size);
/* What the file says of a section, without reading it; false: it has none of that name. */
bool wp_elf_file_header(const struct wp_elf_file *file, const char *name, GElf_Shdr *header);
/* A section that can be read (neither compressed nor larger than `limit`); NULL. Names of sections may come more than
 * once. */
Elf_Data *wp_elf_file_section(const struct wp_elf_file *file, const char *name, size_t limit, GElf_Shdr *header);

#endif
