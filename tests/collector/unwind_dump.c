/* SPDX-License-Identifier: Apache-2.0 */
/* unwind_dump FILE: the pages that the kernel side gets for an object: a line a row, "offset-in-file cfa bp". Pages
 * that had no room are "crowded N". unwind_dump --linked PROGRAM: the files that it is linked with, a line each. */
#include "collector/unwind/linked_files.h"
#include "collector/unwind/unwind_reader.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print(void *context, uint32_t number, const struct wp_unwind_page *page)
{
    uint64_t begin = WP_UNWIND_BEGIN_OF(number);
    (void)context;
    if (page->count == WP_UNWIND_SPLIT)
        return 0;
    begin = begin >> WP_UNWIND_PAGE_BITS << WP_UNWIND_PAGE_BITS;
    for (uint32_t i = 0; i < page->count; i++)
        printf("%" PRIu64 " %u %d\n", begin + page->rows[i].start, page->rows[i].cfa, page->rows[i].bp);
    return 0;
}

static void print_path(void *context, const char *path)
{
    (void)context;
    puts(path);
}

int main(int argc, char **argv)
{
    struct wp_unwind_rows *rows;
    struct wp_unwind_stats stats;
    struct wp_error err = {0};
    unsigned machine = argc == 3 ? (unsigned)atoi(argv[2]) : EM_X86_64;
    if (argc == 3 && !strcmp(argv[1], "--linked")) {
        wp_linked_files(argv[2], print_path, NULL);
        return 0;
    }
    int fd = argc >= 2 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0 || wp_unwind_rows_read_of(&rows, fd, machine, &err)) {
        fprintf(stderr, "unwind_dump: %s\n", fd < 0 ? "usage: unwind_dump FILE [ELF-MACHINE]" : err.text);
        return 1;
    }
    wp_unwind_rows_pages(rows, print, NULL, &stats);
    printf("crowded %" PRIu64 " of %" PRIu64 "\n", stats.crowded_pages, stats.pages);
    wp_unwind_rows_destroy(rows);
    return 0;
}
