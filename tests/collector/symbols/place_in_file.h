/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_COLLECTOR_SYMBOLS_PLACE_IN_FILE_H
#define WP_TESTS_COLLECTOR_SYMBOLS_PLACE_IN_FILE_H
/* Where something of the running program lies in the program's file. */
#include <link.h>
#include <stdint.h>

struct place_in_file {
    uintptr_t address;
    uint64_t offset;
};

static inline int find_in_file(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct place_in_file *place = context;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *load = &info->dlpi_phdr[i];
        uintptr_t inside = place->address - info->dlpi_addr - load->p_vaddr;
        if (load->p_type == PT_LOAD && inside < load->p_filesz)
            place->offset = load->p_offset + inside;
    }
    return 1; /* this program is the first */
}

/* 0: it is not in the file. */
static inline uint64_t place_in_file(uintptr_t address)
{
    struct place_in_file at = {address, 0};
    dl_iterate_phdr(find_in_file, &at);
    return at.offset;
}

#endif
