/* SPDX-License-Identifier: Apache-2.0 */
/* What is made anew for ever (processes, programs, files, groups) is forgotten once it is gone: some of it, and then
 * three times as much more, must leave the collector's tables as large as they were. Sizes are bytes of malloc. */
#include "collector/batch/batcher.h"
#include "collector/batch/event_queue.h"
#include "collector/bpf/ring_record.h"
#include "collector/host/containers.h"
#include "collector/live/file_paths.h"
#include "collector/symbols/named_files.h"
#include "common/host_pids.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/skipped.h"

#define SLACK ((size_t)128 << 10)
#define NOBODY 5000000u /* and above: more than pid_max may be */
#define SECOND 1000000000ull

static size_t bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* Does `step` 0 .. n-1, then up to 4n. */
static void assert_flat(uint32_t n, void (*step)(void *context, uint32_t i), void *context)
{
    for (uint32_t i = 0; i < n; i++)
        step(context, i);
    size_t before = bytes();
    for (uint32_t i = n; i < 4 * n; i++)
        step(context, i);
    size_t after = bytes();
    if (after > before + SLACK)
        fail_msg("%zu bytes after %u, %zu after %u", before, n, after, 4 * n);
}

/* --- of the batcher --- */

struct bench {
    struct wp_batcher *batcher;
    struct wp_fact_sink sink;
    uint64_t now_ns;
    uint32_t last_pid; /* of the living one */
};

static int take(void *context, const struct wp_batch *batch, struct wp_error *err)
{
    (void)context, (void)batch, (void)err;
    return 0;
}

static int create(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    struct wp_batcher_options options = {.batch = take, .reads_proc = true, .has_addresses = true};
    *state = b;
    b->now_ns = SECOND;
    if (wp_batcher_create(&b->batcher, &options, NULL))
        return -1;
    b->sink = wp_batcher_sink(b->batcher);
    return 0;
}

static int destroy(void **state)
{
    struct bench *b = *state;
    wp_batcher_destroy(b->batcher);
    free(b);
    return 0;
}

static void map(struct bench *b, uint32_t pid, uint32_t build)
{
    uint8_t id[20] = {1};
    memcpy(id + 4, &build, sizeof(build));
    char path[64];
    snprintf(path, sizeof(path), "/tmp/build-%u/program", build);
    assert_int_equal(b->sink.mapped(b->sink.context,
                         &(struct wp_mapped_file){.pid = pid,
                             .start = 0x400000,
                             .size = 0x1000,
                             .path = path,
                             .build_id = id,
                             .build_id_size = sizeof(id)},
                         NULL),
        0);
}

static void event(struct bench *b, uint8_t kind, uint32_t pid, uint32_t child, uint32_t c)
{
    struct wp_fact fact = {.event = {.time_ns = ++b->now_ns, .kind = kind, .c = c},
        .tid = pid,
        .pid = pid,
        .comm = "x",
        .other_tid = child,
        .other_pid = child,
        .other_comm = "x",
        .start_ns = child};
    assert_int_equal(b->sink.fact(b->sink.context, &fact, NULL), 0);
}

static void pass(struct bench *b, uint64_t ns)
{
    b->now_ns += ns;
    assert_int_equal(b->sink.watermark(b->sink.context, b->now_ns, NULL), 0);
}

/* Nothing tells that it ends: that was among what the ring had no room for. */
static void dies_unseen(void *context, uint32_t i)
{
    struct bench *b = context;
    event(b, WP_EVENT_FORK, 1, NOBODY + i, 0);
    map(b, NOBODY + i, 0);
    if (i % 500 == 499)
        pass(b, 70 * SECOND);
}

static void processes_without_an_end(void **state)
{
    if (!wp_host_pids_are_seen())
        WP_SKIP("processes of the host are not seen from this pid namespace, so nobody can tell who is gone");
    assert_flat(8000, dies_unseen, *state);
}

/* A program that was just compiled, and runs once. */
static void runs_once(void *context, uint32_t i)
{
    struct bench *b = context;
    event(b, WP_EVENT_FORK, 1, NOBODY, 0);
    assert_int_equal(
        b->sink.mapped(b->sink.context, &(struct wp_mapped_file){.pid = NOBODY, .is_exec = true}, NULL), 0);
    map(b, NOBODY, i);
    event(b, WP_EVENT_SWITCH, NOBODY, 1, WP_STATE_DEAD);
    if (i % 100 == 99)
        pass(b, SECOND);
}

static void programs_that_run_once(void **state)
{
    assert_flat(24000, runs_once, *state);
}

/* --- of what they are made of --- */

static void objects_in_use_stay(void **state)
{
    struct wp_address_spaces *s = wp_address_spaces_create();
    uint8_t id[20] = {7};
    char path[64];
    bool has_forgotten = false;
    (void)state;
    wp_address_spaces_map(s,
        &(struct wp_mapped_file){.pid = 1,
            .start = 0x1000,
            .size = 0x1000,
            .file_offset = 0x500,
            .path = "/usr/bin/stays",
            .build_id = id,
            .build_id_size = sizeof(id)});
    for (uint32_t i = 0; i < 10000; i++) {
        memcpy(id + 4, &i, sizeof(i));
        snprintf(path, sizeof(path), "/tmp/%u", i);
        wp_address_spaces_map(s,
            &(struct wp_mapped_file){
                .pid = 2, .start = 0x1000, .size = 0x1000, .path = path, .build_id = id, .build_id_size = sizeof(id)});
        has_forgotten = wp_address_spaces_forget_objects(s) || has_forgotten;
    }
    assert_true(has_forgotten);
    assert_in_range(wp_address_spaces_objects(s), 2, 9000);
    struct wp_object object = wp_address_spaces_object(s, wp_address_spaces_find(s, 1, 0x1000)->object);
    assert_string_equal(object.path, "/usr/bin/stays");
    assert_int_equal(object.build_id[0], 7);
    assert_string_equal(wp_address_spaces_object(s, wp_address_spaces_find(s, 2, 0x1000)->object).path, "/tmp/9999");
    wp_address_spaces_destroy(s);
}

static uint32_t open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    uint32_t count = 0;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void count_gone(void *context, uint32_t number)
{
    (void)number;
    ++*(uint32_t *)context;
}

static void ask(struct wp_naming_thread *thread, uint32_t number, uint32_t ticket, uint64_t offset)
{
    struct wp_place_name place;
    uint32_t got;
    assert_true(wp_naming_thread_place(thread, number, offset, ticket));
    assert_true(wp_naming_thread_settle(thread, 20000));
    assert_true(wp_naming_thread_next(thread, &got, &place));
    assert_int_equal(got, ticket);
    assert_true(place.count);
    assert_string_equal(place.levels[0].function, "open_files");
}

/* Where this function is in the program's file. */
static uint64_t own_offset(void)
{
    struct wp_address_spaces *s = wp_address_spaces_create();
    uint64_t at = (uint64_t)(uintptr_t)open_files;
    assert_int_equal(wp_address_spaces_read(s, (uint32_t)getpid()), 0);
    const struct wp_mapping *m = wp_address_spaces_find(s, (uint32_t)getpid(), at);
    uint64_t offset = at - m->start + m->file_offset;
    wp_address_spaces_destroy(s);
    return offset;
}

/* Other files all the time, one of which is asked for again and again. */
static void named_files_are_bounded(void **state)
{
    struct wp_naming_thread *thread = wp_naming_thread_create(NULL, NULL, NULL);
    struct wp_named_files *files = wp_named_files_create(thread, &(struct wp_named_files_limits){1u << 30, 12});
    uint32_t gone = 0, first = 0, number, descriptors = 0;
    uint64_t offset = own_offset(), held = 0;
    (void)state;
    for (uint32_t i = 0; i < 60; i++) {
        struct wp_elf_file file;
        struct wp_intkey key = {i, 1};
        assert_int_equal(wp_elf_file_open(&file, open("/proc/self/exe", O_RDONLY | O_CLOEXEC), NULL), 0);
        number = wp_named_files_add(files, &key, &file, -1, "exe");
        first = i ? first : number;
        ask(thread, number, i + 1, offset);
        wp_named_files_use(files, number);
        ask(thread, first, i + 1000, offset);
        wp_named_files_use(files, first);
        wp_named_files_shrink(files, count_gone, &gone);
        assert_true(wp_naming_thread_settle(thread, 20000));
        assert_in_range(number, 0, 12);
        held = wp_naming_thread_counts(thread).held_bytes;
        if (i == 12)
            descriptors = open_files();
        assert_true(!i || held <= 12 * wp_naming_thread_bytes(thread, first));
    }
    assert_in_range(gone, 48, 60);
    assert_int_equal(open_files(), descriptors);
    assert_true(wp_named_files_find(files, (struct wp_intkey){0, 1}, &number) && number == first);
    assert_true(wp_named_files_find(files, (struct wp_intkey){59, 1}, &number));
    assert_false(wp_named_files_find(files, (struct wp_intkey){1, 1}, &number));
    assert_int_equal(wp_naming_thread_counts(thread).objects, 60);
    wp_named_files_destroy(files);
    wp_naming_thread_destroy(thread);
}

/* By bytes, too; the one that was used last stays, however large it is. */
static void large_files_push_others_out(void **state)
{
    struct wp_naming_thread *thread = wp_naming_thread_create(NULL, NULL, NULL);
    struct wp_named_files *files = wp_named_files_create(thread, &(struct wp_named_files_limits){1, 1000});
    uint64_t offset = own_offset();
    uint32_t gone = 0;
    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        struct wp_elf_file file;
        assert_int_equal(wp_elf_file_open(&file, open("/proc/self/exe", O_RDONLY | O_CLOEXEC), NULL), 0);
        ask(thread, wp_named_files_add(files, &(struct wp_intkey){i, 1}, &file, -1, "exe"), i, offset);
        wp_named_files_shrink(files, count_gone, &gone);
        assert_int_equal(gone, i);
    }
    wp_named_files_destroy(files);
    wp_naming_thread_destroy(thread);
}

struct paths {
    struct wp_file_paths *paths;
};

static void add_path(void *context, uint32_t i)
{
    struct paths *p = context;
    struct wp_record_path path = {.count = 1};
    snprintf(path.names[0], sizeof(path.names[0]), "file%c", 'g' + (int)(i % 10));
    wp_file_paths_add(p->paths, i + 2, 1, &path);
    if (i % 1000 == 0) /* what is in use stays, whatever comes */
        assert_string_equal(wp_file_paths_get(p->paths, 1), "/stays");
}

static void paths_of_files(void **state)
{
    struct paths p = {wp_file_paths_create("/dev/null")};
    (void)state;
    wp_file_paths_add(p.paths, 1, 1, &(struct wp_record_path){.count = 1, .names = {"stays"}});
    assert_flat(196608, add_path, &p);
    wp_file_paths_destroy(p.paths);
}

static void name_container(void *context, uint32_t i)
{
    char path[64], name[32];
    snprintf(name, sizeof(name), "machine-%u", i);
    snprintf(path, sizeof(path), "/lxc.payload.%s", name);
    assert_string_equal(wp_containers_name(context, i + 1, path), name);
}

static void containers_that_were(void **state)
{
    struct wp_containers *c = wp_containers_create("/nowhere");
    (void)state;
    assert_flat(131072, name_container, c);
    wp_containers_destroy(c);
}

static void a_burst_is_given_back(void **state)
{
    struct wp_event_queue q = {0};
    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < (1u << 20); i++) {
            *wp_event_queue_next(&q) = (struct wp_event){.time_ns = (1u << 20) - i};
            wp_event_queue_added(&q);
        }
        assert_int_equal(wp_event_queue_sort(&q), 0);
        while (q.count > 100)
            wp_event_queue_take(&q, q.count > 65536 ? 65536 : q.count - 100);
        for (uint32_t i = 1; i < 100; i++) /* the last ones, in order */
            assert_int_equal(q.events[i].time_ns, (1u << 20) - 99 + i);
        wp_event_queue_take(&q, 50);
        wp_event_queue_take(&q, 50);
        assert_true(q.room <= 1u << 18 && !q.spare);
    }
    wp_event_queue_fini(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(processes_without_an_end, create, destroy),
        cmocka_unit_test_setup_teardown(programs_that_run_once, create, destroy), cmocka_unit_test(objects_in_use_stay),
        cmocka_unit_test(named_files_are_bounded), cmocka_unit_test(large_files_push_others_out),
        cmocka_unit_test(paths_of_files), cmocka_unit_test(containers_that_were),
        cmocka_unit_test(a_burst_is_given_back)};
    return wp_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
