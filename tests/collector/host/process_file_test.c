/* SPDX-License-Identifier: Apache-2.0 */
/* What a process has mapped somewhere, by the path that it knows. */
#include "collector/host/process_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#define BYTES 8192u

static void mapped_path(void **state)
{
    (void)state;
    char path[] = "/tmp/wp mapped-XXXXXX", found[4096], deleted[64], large[600];
    int fd = mkstemp(path);
    assert_true(fd >= 0 && !ftruncate(fd, BYTES));
    char *at = mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    char *none = mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED && none != MAP_FAILED);
    uint32_t pid = (uint32_t)getpid();
    assert_true(wp_process_mapped_path(pid, (uintptr_t)at, found, sizeof(found)));
    assert_string_equal(found, path);
    assert_false(wp_process_mapped_path(pid, (uintptr_t)at + BYTES / 2, found, sizeof(found)));
    assert_false(wp_process_mapped_path(pid, (uintptr_t)none, found, sizeof(found)));
    assert_false(wp_process_mapped_path(pid, 4096, found, sizeof(found)));
    assert_false(wp_process_mapped_path(4194304 + 1, (uintptr_t)at, found, sizeof(found)));
    memset(large, 'x', sizeof(large));
    assert_true(wp_process_mapped_path(pid, (uintptr_t)at, large, 8)); /* cut, and no byte behind it */
    assert_string_equal(large, "/tmp/wp");
    assert_int_equal(large[8], 'x');
    unlink(path);
    snprintf(deleted, sizeof(deleted), "%s (deleted)", path);
    assert_true(wp_process_mapped_path(pid, (uintptr_t)at, found, sizeof(found)));
    assert_string_equal(found, deleted);
    munmap(at, BYTES);
    munmap(none, BYTES);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mapped_path)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
