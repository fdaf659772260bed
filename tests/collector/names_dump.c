/* SPDX-License-Identifier: Apache-2.0 */
/* names_dump FILE [ROOT]: names the addresses (hexadecimal, as linked) on standard input, a line each:
 * "function@file:line" of each level, outermost first, with tabs between. NAMES_DUMP_URLS: servers of debug files that
 * are asked. */
#include "collector/symbols/debug_fetch.h"
#include "collector/symbols/object_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

static bool to_offset(Elf *elf, uint64_t address, uint64_t *offset)
{
    size_t count = 0;
    GElf_Phdr header;
    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count; i++)
        if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD && address >= header.p_vaddr &&
            address - header.p_vaddr < header.p_filesz) {
            *offset = address - header.p_vaddr + header.p_offset;
            return true;
        }
    return false;
}

int main(int argc, char **argv)
{
    struct wp_error err = {0};
    struct wp_elf_file file, segments;
    struct wp_object_names *names;
    struct wp_debug_fetch *fetch = NULL;
    const char *urls = getenv("NAMES_DUMP_URLS");
    int root = argc > 2 ? open(argv[2], O_PATH | O_DIRECTORY) : -1;
    if (argc < 2 || wp_elf_file_open_path(&file, argv[1], &err) || wp_elf_file_open_path(&segments, argv[1], &err) ||
        (urls && wp_debug_fetch_start(&fetch, urls, &err)) ||
        wp_object_names_create(&names, &file, root, fetch, (uint64_t)1 << 30, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    char line[64];
    while (fgets(line, sizeof(line), stdin)) {
        struct wp_place_name place = {.count = 0};
        uint64_t offset;
        if (to_offset(segments.elf, strtoull(line, NULL, 16), &offset))
            wp_object_names_find(names, offset, &place);
        for (unsigned i = 0; i < place.count; i++)
            printf("%s%s@%s:%u", i ? "\t" : "", place.levels[i].function, place.levels[i].file, place.levels[i].line);
        putchar('\n');
    }
    wp_object_names_destroy(names);
    wp_debug_fetch_stop(fetch);
    wp_elf_file_close(&segments);
    return 0;
}
