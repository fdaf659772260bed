/* SPDX-License-Identifier: Apache-2.0 */
/* Names of this very process by the thread that gives them. */
#include "collector/symbols/symbolizer.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

struct bench {
    struct wp_address_spaces *spaces;
    struct wp_symbolizer *symbolizer;
};

static int create(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    b->spaces = wp_address_spaces_create();
    b->symbolizer = wp_symbolizer_create(NULL, NULL);
    *state = b;
    return !b->symbolizer || wp_address_spaces_read(b->spaces, (uint32_t)getpid());
}

static int destroy(void **state)
{
    struct bench *b = *state;
    wp_symbolizer_destroy(b->symbolizer);
    wp_address_spaces_destroy(b->spaces);
    free(b);
    return 0;
}

static bool ask(struct bench *b, uint32_t pid, const void *address, uint32_t ticket)
{
    uint64_t at = (uint64_t)(uintptr_t)address;
    const struct wp_mapping *m = wp_address_spaces_find(b->spaces, pid, at);
    assert_non_null(m);
    return wp_symbolizer_ask(b->symbolizer, b->spaces, pid, m, at - m->start + m->file_offset, ticket);
}

/* Of memory that is no file's the address is asked for. */
static bool ask_made(struct bench *b, uint32_t pid, const uint8_t *code, uint32_t ticket)
{
    uint64_t at = (uint64_t)(uintptr_t)code;
    const struct wp_mapping *m = wp_address_spaces_find(b->spaces, pid, at);
    assert_non_null(m);
    return wp_symbolizer_ask(b->symbolizer, b->spaces, pid, m, at, ticket);
}

static void own_functions(void **state)
{
    struct bench *b = *state;
    uint32_t pid = (uint32_t)getpid(), ticket, next = 1;
    struct wp_place_name place;
    const void *const places[] = {(const void *)(uintptr_t)own_functions, (const void *)(uintptr_t)create};
    for (uint32_t i = 0; i < 20000; i++)
        assert_true(ask(b, pid, places[i % 2], i + 1));
    assert_true(wp_symbolizer_settle(b->symbolizer, 20000));
    while (wp_symbolizer_next(b->symbolizer, &ticket, &place)) {
        assert_int_equal(ticket, next++); /* in the order of the questions */
        assert_true(place.count > 0);
        assert_string_equal(place.levels[0].function, ticket % 2 ? "own_functions" : "create");
        assert_non_null(strstr(place.levels[0].file, "symbolizer_test.c"));
        assert_true(place.levels[0].line > 10);
    }
    assert_int_equal(next, 20001);
    struct wp_symbolizer_stats stats = wp_symbolizer_stats(b->symbolizer);
    assert_int_equal(stats.answered, 20000);
    assert_int_equal(stats.objects, 1);
}

static int child_of_ours(void)
{
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    int pid = fork();
    if (!pid) {
        char c;
        close(pipes[1]);
        ssize_t got = read(pipes[0], &c, 1);
        _exit(got < 0);
    }
    close(pipes[0]);
    return pid; /* ends with us: the other end stays open */
}

static void put_map(const char *path, const uint8_t *code, const char *name)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%lx 40 %s\n", (unsigned long)(uintptr_t)code, name);
    assert_int_equal(fclose(file), 0);
}

/* The same file in another process, under a build id that the kernel told: not read again. */
static void once_a_build(void **state)
{
    struct bench *b = *state;
    uint32_t pid = (uint32_t)getpid(), child = (uint32_t)child_of_ours();
    ask(b, pid, (const void *)(uintptr_t)create, 1);
    assert_int_equal(wp_address_spaces_read(b->spaces, child), 0);
    ask(b, child, (const void *)(uintptr_t)create, 2);
    const struct wp_mapping *m = wp_address_spaces_find(b->spaces, pid, (uint64_t)(uintptr_t)create);
    struct wp_mapping copy = *m;
    struct wp_object object = wp_address_spaces_object(b->spaces, m->object);
    wp_address_spaces_map(b->spaces,
        &(struct wp_mapped_file){.pid = 4000000,
            .start = copy.start,
            .size = copy.end - copy.start,
            .file_offset = copy.file_offset,
            .path = "/somewhere/else",
            .build_id = object.build_id,
            .build_id_size = object.build_id_size});
    assert_true(ask(b, 4000000, (const void *)(uintptr_t)create, 3));
    assert_true(wp_symbolizer_settle(b->symbolizer, 20000));
    struct wp_symbolizer_stats stats = wp_symbolizer_stats(b->symbolizer);
    assert_int_equal(stats.objects, 1);
    assert_int_equal(stats.answered, 3);
    assert_int_equal(stats.unnamed, 0);
}

/* A library without a build id, as the mappings' events tell of it, as /proc does, and as another process' lock finds
 * it. */
static void once_a_file(void **state)
{
    struct bench *b = *state;
    uint32_t pid = (uint32_t)getpid();
    void *library = dlopen(UNMARKED_FIXTURE, RTLD_NOW);
    assert_non_null(library);
    const void *function = dlsym(library, "unmarked");
    uint64_t at = (uint64_t)(uintptr_t)function;
    uint32_t child = (uint32_t)child_of_ours();
    assert_int_equal(wp_address_spaces_read(b->spaces, pid), 0);
    assert_true(ask(b, pid, function, 1));
    const struct wp_mapping m = *wp_address_spaces_find(b->spaces, pid, at);
    struct wp_object object = wp_address_spaces_object(b->spaces, m.object);
    assert_int_equal(object.build_id_size, 0);
    assert_true(object.inode);
    wp_address_spaces_map(b->spaces,
        &(struct wp_mapped_file){.pid = child,
            .start = m.start,
            .size = m.end - m.start,
            .file_offset = m.file_offset,
            .path = object.path});
    assert_true(ask(b, child, function, 2));
    struct wp_lock_place lock = {.pid = child,
        .address = at,
        .start = m.start,
        .end = m.end,
        .file_offset = m.file_offset,
        .inode = object.inode};
    assert_true(wp_symbolizer_ask_lock(b->symbolizer, &lock, 3));
    assert_true(wp_symbolizer_settle(b->symbolizer, 20000));
    assert_int_equal(wp_symbolizer_stats(b->symbolizer).answered, 3);
    assert_int_equal(wp_symbolizer_stats(b->symbolizer).objects, 1);
    dlclose(library);
}

/* Code that the parent made before the fork, in a child whose fork was told and in one that /proc tells of: the
 * parent's map names it. What the child names itself goes first. */
static void made_before_a_fork(void **state)
{
    struct bench *b = *state;
    uint32_t pid = (uint32_t)getpid(), ticket, seen = 0;
    struct wp_place_name place;
    char path[64], own[64];
    const uint8_t *code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(code != MAP_FAILED);
    snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
    put_map(path, code, "JS:*made");
    assert_int_equal(wp_address_spaces_read(b->spaces, pid), 0);
    uint32_t told = (uint32_t)child_of_ours(), found = (uint32_t)child_of_ours();
    assert_int_equal(wp_address_spaces_fork(b->spaces, pid, told), 0);
    assert_int_equal(wp_address_spaces_read(b->spaces, found), 0);
    snprintf(own, sizeof(own), "/tmp/perf-%u.map", found);
    put_map(own, code + 4096, "JS:*of the child");
    assert_true(ask_made(b, told, code + 8, 1));
    assert_true(ask_made(b, found, code + 8, 2));
    assert_true(ask_made(b, found, code + 4096, 3));
    assert_true(wp_symbolizer_settle(b->symbolizer, 20000));
    while (wp_symbolizer_next(b->symbolizer, &ticket, &place)) {
        assert_int_equal(place.count, 1);
        assert_string_equal(place.levels[0].function, ticket == 3 ? "JS:*of the child" : "JS:*made");
        seen++;
    }
    assert_int_equal(seen, 3);
    unlink(path);
    unlink(own);
    munmap((void *)(uintptr_t)code, 8192);
}

static void nobody_can_tell(void **state)
{
    struct bench *b = *state;
    static const uint8_t other[20] = {1, 2, 3};
    char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[size] = 0;
    wp_address_spaces_map(b->spaces,
        &(struct wp_mapped_file){.pid = 4000000, .start = 0x1000, .size = 0x1000, .path = "/nonexistent/file"});
    wp_address_spaces_map(b->spaces,
        &(struct wp_mapped_file){.pid = 4000000,
            .start = 0x3000,
            .size = 0x1000,
            .path = path,
            .build_id = other,
            .build_id_size = 20}); /* replaced since */
    wp_address_spaces_map(
        b->spaces, &(struct wp_mapped_file){.pid = 4000000, .start = 0x5000, .size = 0x1000, .path = "//anon"});
    wp_address_spaces_map(
        b->spaces, &(struct wp_mapped_file){.pid = 4000000, .start = 0x7000, .size = 0x1000, .path = "/etc/passwd"});
    for (uint64_t at = 0x1000; at < 0x8000; at += 0x2000)
        assert_false(ask(b, 4000000, (const void *)(uintptr_t)at, 1));
    assert_true(wp_symbolizer_stats(b->symbolizer).refused_files >= 3);
}

static void ends_in_the_midst(void **state)
{
    struct bench *b = *state;
    for (uint32_t i = 0; i < 5000; i++)
        ask(b, (uint32_t)getpid(), (const void *)(uintptr_t)create, i);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
    const struct CMUnitTest tests[] = {TEST(own_functions), TEST(once_a_build), TEST(once_a_file),
        TEST(made_before_a_fork), TEST(nobody_can_tell), TEST(ends_in_the_midst)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
