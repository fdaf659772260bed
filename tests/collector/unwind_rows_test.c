/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/unwind_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <cmocka.h>

struct seen {
    uint64_t pages, rows, kinds[8];
    uint32_t last_page;
};

static int look(void *context, uint32_t number, const struct wp_unwind_page *page)
{
    struct seen *seen = context;
    assert_true(!seen->pages || number > seen->last_page); /* each once, in order */
    assert_in_range(page->count, 1, WP_UNWIND_ROWS - 1);
    for (uint32_t i = 0; i < page->count; i++) {
        assert_true(page->rows[i].start < 1u << WP_UNWIND_PAGE_BITS);
        assert_true(!i || page->rows[i].start > page->rows[i - 1].start);
        assert_true((page->rows[i].cfa & 7) <= WP_CFA_END);
        seen->kinds[page->rows[i].cfa & 7]++;
    }
    seen->last_page = number;
    seen->pages++;
    seen->rows += page->count;
    return 0;
}

static struct wp_unwind_stats walk(const struct wp_unwind_rows *rows, struct seen *seen)
{
    struct wp_unwind_stats stats;
    *seen = (struct seen){0};
    assert_int_equal(wp_unwind_rows_pages(rows, look, seen, &stats), 0);
    return stats;
}

static int read_path(struct wp_unwind_rows **rows, const char *path, struct wp_error *err)
{
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    int rc = wp_unwind_rows_read(rows, fd, err);
    close(fd);
    return rc;
}

static void own_program(void **state)
{
    (void)state;
    struct wp_unwind_rows *rows;
    struct seen seen;
    struct wp_error err = {0};
    if (read_path(&rows, "/proc/self/exe", &err))
        fail_msg("%s", err.text);
    struct wp_unwind_stats stats = walk(rows, &seen);
    assert_true(seen.kinds[WP_CFA_SP] > 20);
    assert_true(seen.kinds[WP_CFA_END] >= 1);  /* _start has no caller */
    assert_int_equal(stats.crowded_pages, 0);
    wp_unwind_rows_destroy(rows);
}

static void vdso(void **state)
{
    (void)state;
    struct wp_unwind_rows *rows;
    struct seen seen;
    assert_int_equal(wp_unwind_rows_parse(&rows, (const void *)getauxval(AT_SYSINFO_EHDR), 8192, NULL), 0);
    walk(rows, &seen);
    assert_true(seen.rows > 5);
    wp_unwind_rows_destroy(rows);
}

static void no_objects(void **state)
{
    (void)state;
    struct wp_unwind_rows *rows;
    struct wp_error err = {0};
    assert_int_equal(read_path(&rows, "/etc/passwd", &err), -ENOEXEC);
    assert_true(*err.text);
    assert_int_equal(read_path(&rows, "/dev/null", &err), -ENOEXEC);
}

/* Our own program cut short and spoilt: refused or read, never worse. */
static void hostile(void **state)
{
    (void)state;
    static uint8_t image[8 << 20], spoilt[8 << 20];
    struct wp_unwind_rows *rows;
    struct seen seen;
    int fd = open("/proc/self/exe", O_RDONLY);
    ssize_t size = read(fd, image, sizeof(image));
    close(fd);
    assert_true(size > 1000);
    uint64_t random = 7;
    for (int i = 0; i < 400; i++) {
        size_t length = (size_t)size;
        memcpy(spoilt, image, length);
        if (i % 4 == 0)
            length = length * (size_t)i / 400;
        for (int flips = 0; flips < 1 + i % 9; flips++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            size_t range = i % 2 ? 4096 : length; /* headers are what is believed */
            if (length)
                spoilt[(random >> 24) % (range < length ? range : length)] ^= (uint8_t)(1u << (random >> 20) % 8);
        }
        if (!wp_unwind_rows_parse(&rows, spoilt, length, NULL)) {
            walk(rows, &seen);
            wp_unwind_rows_destroy(rows);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(own_program), cmocka_unit_test(vdso), cmocka_unit_test(no_objects),
        cmocka_unit_test(hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
