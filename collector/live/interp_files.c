/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/interp_files.h"

#include "collector/interp/interp_languages.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>

static void log_refused(struct wp_interp_files *f, uint32_t version, const char *path, const char *why)
{
    uint64_t bit = (uint64_t)1 << ((version ^ version >> 8 << 3) & 63),
             *told = &f->refused_told[WP_INTERP_LANGUAGE(version)];
    __atomic_add_fetch(&f->refused, 1, __ATOMIC_RELAXED);
    if (!(__atomic_fetch_or(told, bit, __ATOMIC_RELAXED) & bit))
        wp_log(f->logger, WP_LOG_WARN, "an interpreter's frames cannot be read file=%s reason=\"%s\"", path, why);
}

bool wp_interp_files_opened(void *context, const struct wp_unwind_file *file, int fd, const char *path)
{
    struct wp_interp_files *f = context;
    struct wp_elf_file elf = {.fd = -1};
    struct wp_interp_file found;
    struct wp_error err = {0};
    uint32_t version = 0;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0 || wp_elf_file_open(&elf, copy, NULL))
        return false;
    int rc = wp_interp_languages_read(&elf, &found, &version, &err);
    wp_elf_file_close(&elf);
    if (rc == -ENOTSUP)
        log_refused(f, version, path, err.text);
    if (rc) { /* the number may have been another file's */
        bpf_map_delete_elem(f->map_fd, file);
        return rc == -ENOENT;
    }
    if (bpf_map_update_elem(f->map_fd, file, &found, BPF_ANY)) {
        log_refused(f, version, path, "there is no room for more interpreters");
        return false;
    }
    __atomic_add_fetch(&f->known, 1, __ATOMIC_RELAXED);
    wp_log(f->logger, WP_LOG_DEBUG, "an interpreter is known file=%s language=%s version=%u.%u", path,
        wp_interp_language(version)->name, version >> 8 & 0xff, version & 0xff);
    return false;
}

void wp_interp_files_forgotten(void *context, const struct wp_unwind_file *file)
{
    const struct wp_interp_files *f = context;
    bpf_map_delete_elem(f->map_fd, file);
}
