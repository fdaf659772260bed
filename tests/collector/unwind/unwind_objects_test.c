/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel side has rows of, in real maps of a small size. */
#include "collector/unwind/unwind_objects.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGES 256u
#define MOST 16u

struct maps {
    int files, pages;
    uint32_t generation, forgotten;
    uint64_t inodes; /* of the files that were forgotten, added up */
    struct wp_unwind_objects *objects;
};

static void forgotten(void *context, const struct wp_unwind_file *file)
{
    struct maps *m = context;
    m->forgotten++;
    m->inodes += file->inode;
}

static void make(struct maps *m, unsigned pause_s)
{
    LIBBPF_OPTS(bpf_map_create_opts, how, .map_flags = BPF_F_NO_PREALLOC);
    *m = (struct maps){.generation = 1};
    m->files = bpf_map_create(BPF_MAP_TYPE_HASH, "files", sizeof(struct wp_unwind_file), sizeof(uint32_t), MOST, &how);
    m->pages = bpf_map_create(
        BPF_MAP_TYPE_HASH, "pages", sizeof(struct wp_unwind_place), sizeof(struct wp_unwind_page), PAGES, &how);
    assert_true(m->files >= 0 && m->pages >= 0);
    m->objects = wp_unwind_objects_create(
        &(struct wp_unwind_objects_options){m->files, m->pages, &m->generation, forgotten, m, MOST, PAGES, pause_s});
    assert_non_null(m->objects);
}

static void unmake(struct maps *m)
{
    wp_unwind_objects_destroy(m->objects);
    close(m->files);
    close(m->pages);
}

/* How many of the pages found room. */
static uint32_t put(struct maps *m, uint32_t number, uint32_t pages)
{
    struct wp_unwind_page page = {.count = 1};
    for (uint32_t i = 0; i < pages; i++)
        if (bpf_map_update_elem(m->pages, &(struct wp_unwind_place){number, i}, &page, BPF_ANY))
            return i;
    return pages;
}

static uint32_t load(struct maps *m, uint64_t id, uint64_t inode, uint32_t pages)
{
    uint32_t number = wp_unwind_objects_number(m->objects);
    assert_int_equal(put(m, number, pages), pages);
    wp_unwind_objects_add(m->objects, (struct wp_unwind_id){id, id}, number, pages);
    wp_unwind_objects_file(m->objects, &(struct wp_unwind_file){.inode = inode}, number);
    return number;
}

static uint32_t number_of(const struct maps *m, uint64_t inode)
{
    uint32_t number;
    return bpf_map_lookup_elem(m->files, &(struct wp_unwind_file){.inode = inode}, &number) ? UINT32_MAX : number;
}

static bool has_page(const struct maps *m, uint32_t number, uint32_t at)
{
    struct wp_unwind_page page;
    return !bpf_map_lookup_elem(m->pages, &(struct wp_unwind_place){number, at}, &page);
}

static void one_object_is_many_files(void **state)
{
    (void)state;
    struct maps m;
    uint32_t number = 0;
    make(&m, 0);
    assert_false(wp_unwind_objects_find(m.objects, (struct wp_unwind_id){7, 7}, &number));
    uint32_t first = load(&m, 7, 100, 3), before = m.generation;
    assert_true(first > WP_UNWIND_VDSO);
    assert_true(wp_unwind_objects_find(m.objects, (struct wp_unwind_id){7, 7}, &number));
    assert_int_equal(number, first);
    wp_unwind_objects_file(m.objects, &(struct wp_unwind_file){.inode = 101}, number);
    assert_int_equal(number_of(&m, 101), first);
    assert_true(m.generation > before);
    wp_unwind_objects_file(m.objects, &(struct wp_unwind_file){.inode = 102}, 0);
    assert_int_equal(number_of(&m, 102), 0);
    unmake(&m);
}

/* The large ones that came first go, with all their files; small ones and what came later stay. */
static void room_is_made(void **state)
{
    (void)state;
    struct maps m;
    uint32_t number;
    make(&m, 0);
    uint32_t small = load(&m, 1, 100, 1), large = load(&m, 2, 200, 120), later = load(&m, 3, 300, 135);
    wp_unwind_objects_file(m.objects, &(struct wp_unwind_file){.inode = 201}, large);
    uint32_t next = wp_unwind_objects_number(m.objects), before = m.generation;
    assert_int_equal(put(&m, next, 1), 0);
    assert_true(wp_unwind_objects_make_room(m.objects));
    assert_true(m.generation > before);
    assert_int_equal(m.forgotten, 2);
    assert_int_equal(m.inodes, 401);
    assert_int_equal(number_of(&m, 200), UINT32_MAX);
    assert_int_equal(number_of(&m, 201), UINT32_MAX);
    assert_int_equal(number_of(&m, 100), small);
    assert_int_equal(number_of(&m, 300), later);
    assert_false(wp_unwind_objects_find(m.objects, (struct wp_unwind_id){2, 2}, &number));
    for (uint32_t i = 0; i < 120; i++)
        assert_false(has_page(&m, large, i));
    for (uint32_t i = 0; i < 135; i++)
        assert_true(has_page(&m, later, i));
    assert_true(has_page(&m, small, 0));
    assert_int_equal(put(&m, next, 120), 120);
    uint32_t again = load(&m, 2, 200, 0); /* it is met again */
    assert_true(again != large && number_of(&m, 200) == again);
    unmake(&m);
}

/* Not again and again: what does not fit at all would be read all the time. */
static void not_too_often(void **state)
{
    (void)state;
    struct maps m;
    make(&m, 3600);
    assert_false(wp_unwind_objects_make_room(m.objects)); /* there is nothing */
    load(&m, 1, 100, 8);
    load(&m, 2, 200, 8);
    assert_true(wp_unwind_objects_make_room(m.objects));
    assert_int_equal(m.forgotten, 1);
    assert_false(wp_unwind_objects_make_room(m.objects));
    assert_int_equal(m.forgotten, 1);
    unmake(&m);
}

/* Only small ones: of them too as many go as it takes. */
static void many_small_ones(void **state)
{
    (void)state;
    struct maps m;
    make(&m, 0);
    for (uint64_t i = 0; i < 12; i++)
        load(&m, i + 1, 100 + i, 5);
    assert_true(wp_unwind_objects_make_room(m.objects));
    assert_int_equal(m.forgotten, 3);
    assert_int_equal(m.inodes, 303);
    unmake(&m);
}

/* A host on which files come and go for ever: the latest are known, whatever came before, and no page stays of what is
 * not. */
static void files_come_and_go(void **state)
{
    (void)state;
    struct maps m;
    uint32_t numbers[20 * MOST];
    make(&m, 3600);
    for (uint32_t i = 0; i < 20 * MOST; i++) {
        numbers[i] = load(&m, i + 1, 1000 + i, 2);
        assert_int_equal(number_of(&m, 1000 + i), numbers[i]);
        for (uint32_t back = 0; i >= MOST / 2 && back < MOST / 2; back++)
            assert_int_equal(number_of(&m, 1000 + i - back), numbers[i - back]);
    }
    for (uint32_t i = 0; i < 10 * MOST; i++) { /* containers: one object under many inodes */
        wp_unwind_objects_file(m.objects, &(struct wp_unwind_file){.inode = 90000 + i}, numbers[20 * MOST - 1]);
        assert_int_equal(number_of(&m, 90000 + i), numbers[20 * MOST - 1]);
    }
    for (uint32_t i = 0; i < 10 * MOST; i++) { /* without rows */
        wp_unwind_objects_file(m.objects, &(struct wp_unwind_file){.inode = 50000 + i}, 0);
        assert_int_equal(number_of(&m, 50000 + i), 0);
    }
    for (uint32_t i = 0; i < 19 * MOST; i++)
        assert_false(has_page(&m, numbers[i], 0) || has_page(&m, numbers[i], 1));
    assert_in_range(m.forgotten, 40 * MOST - MOST, 40 * MOST);
    unmake(&m);
}

/* An eighth of the pages is for objects of up to four, a sixty-fourth of them. */
static void small_ones_have_room(void **state)
{
    (void)state;
    struct maps m;
    make(&m, 60);
    assert_true(wp_unwind_objects_take(m.objects, 0, 200));
    assert_false(wp_unwind_objects_take(m.objects, 200, 32));
    assert_true(wp_unwind_objects_take(m.objects, 200, 24));
    assert_false(wp_unwind_objects_take(m.objects, 0, 5));
    for (unsigned i = 0; i < 8; i++)
        assert_true(wp_unwind_objects_take(m.objects, 0, 4));
    assert_false(wp_unwind_objects_take(m.objects, 0, 1));
    wp_unwind_objects_give(m.objects, 40);
    assert_true(wp_unwind_objects_take(m.objects, 0, 5));
    unmake(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_object_is_many_files), cmocka_unit_test(room_is_made),
        cmocka_unit_test(not_too_often), cmocka_unit_test(many_small_ones), cmocka_unit_test(files_come_and_go),
        cmocka_unit_test(small_ones_have_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
