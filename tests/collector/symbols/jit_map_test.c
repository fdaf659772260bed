/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/symbols/jit_map.h"
#include "common/buffer.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/skipped.h"

static char path[64];
static struct wp_jit_quota quota;
static uint64_t now_ns = 1000000000;

static void say(const char *text, int flags)
{
    int fd = open(path, O_WRONLY | O_CREAT | flags, 0644);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static int create(void **state)
{
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    unlink(path);
    *state = wp_jit_map_create((uint32_t)getpid(), &quota);
    return !*state;
}

static int destroy(void **state)
{
    wp_jit_map_destroy(*state);
    unlink(path);
    return 0;
}

static void assert_name(struct wp_jit_map *m, uint64_t address, const char *name)
{
    struct wp_debug_level found = {0};
    assert_int_equal(wp_jit_map_find(m, address, now_ns, &found), name != NULL);
    if (name)
        assert_string_equal(found.function, name);
}

static void grows(void **state)
{
    struct wp_jit_map *m = *state;
    assert_name(m, 0x1000, NULL); /* no file yet */
    say("1000 10 first\n2000 20 LazyCompile:*sec", O_TRUNC);
    assert_name(m, 0x1000, "first");
    assert_name(m, 0x100f, "first");
    assert_name(m, 0x1010, NULL);
    assert_name(m, 0x2000, NULL); /* its line is in the making */
    say("ond /a b.js:3\n", O_APPEND);
    assert_name(m, 0x201f, "LazyCompile:*second /a b.js:3");
    say("0x3000 5 with a prefix\n3000 5 the later one counts\n2ff0 18 around it\n", O_APPEND);
    assert_name(m, 0x3004, "around it");
    assert_name(m, 0x3006, "around it");
    assert_int_equal(wp_jit_map_refused(m), 0);
}

static void begins_anew(void **state)
{
    struct wp_jit_map *m = *state;
    say("1000 10 old\n", O_TRUNC);
    assert_name(m, 0x1000, "old");
    unlink(path);
    say("5000 10 of another file\n", O_TRUNC);
    assert_name(m, 0x5000, "of another file");
}

static void rubbish(void **state)
{
    struct wp_jit_map *m = *state;
    say("\n \nxyz\n1000\n1000 10\n1000 10 \n1000 0 no size\n1000 ffffffffffff long\nffffffffffffffff 10 wraps\n-1 10 "
        "n\n7000 10 good\n",
        O_TRUNC);
    assert_name(m, 0x7000, "good");
    assert_name(m, 0x1000, NULL);
    assert_int_equal(wp_jit_map_refused(m), 10);
}

static void of_others(void **state)
{
    struct wp_jit_map *m = *state;
    char other[80];
    snprintf(other, sizeof(other), "%s.other", path);
    if (geteuid())
        WP_SKIP("not root, so no file can be another user's");
    say("1000 10 planted\n", O_TRUNC);
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_name(m, 0x1000, NULL);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(chown(other, 0, 0), 0);
    assert_int_equal(symlink(other, path), 0); /* a link may lead to what only we can read */
    assert_name(m, 0x1000, NULL);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody will ever write to it */
    assert_name(m, 0x1000, NULL);
    unlink(other);
}

/* A file that is one line: it is passed over once, a piece a second, and nothing of it is read twice. */
static void without_line_ends(void **state)
{
    struct wp_jit_map *m = *state;
    const uint64_t size = 9u << 20, own = 4u << 20, piece = 65536;
    say("", O_TRUNC);
    assert_int_equal(truncate(path, (off_t)size), 0);
    for (unsigned second = 0; second < 5; second++) {
        uint64_t before = wp_jit_map_taken(m);
        for (uint64_t address = 0x1000; address < 0x9000; address++)
            assert_name(m, address, NULL);
        assert_true(wp_jit_map_taken(m) - before <= own + piece);
        now_ns += 1000000000;
    }
    assert_int_equal(wp_jit_map_taken(m), size);
    assert_int_equal(wp_jit_map_refused(m), 1);
    say("\n7000 10 behind it\n", O_APPEND);
    assert_name(m, 0x7000, "behind it");
    assert_int_equal(wp_jit_map_refused(m), 1);
}

/* A line in the making is read again only when the file has grown. */
static void not_read_again(void **state)
{
    struct wp_jit_map *m = *state;
    say("1000 10 first\n2000 10 in the mak", O_TRUNC);
    for (unsigned i = 0; i < 1000; i++)
        assert_name(m, 0x2000, NULL);
    assert_int_equal(wp_jit_map_taken(m), strlen("1000 10 first\n2000 10 in the mak"));
    say("ing\n", O_APPEND);
    assert_name(m, 0x2000, "in the making");
}

/* Many processes together have no more than a few of them. */
static void in_all(void **state)
{
    struct wp_jit_map *maps[12];
    uint64_t sum = 0;
    (void)state;
    say("", O_TRUNC);
    assert_int_equal(truncate(path, 8 << 20), 0);
    now_ns += 1000000000;
    for (unsigned i = 0; i < 12; i++) {
        maps[i] = wp_jit_map_create((uint32_t)getpid(), &quota);
        assert_non_null(maps[i]);
        assert_name(maps[i], 0x1000, NULL);
        sum += wp_jit_map_taken(maps[i]);
        wp_jit_map_destroy(maps[i]);
    }
    assert_true(sum >= 15u << 20 && sum <= (16u << 20) + 65536);
    now_ns += 1000000000;
}

static void no_process(void **state)
{
    (void)state;
    assert_null(wp_jit_map_create(4194304 + 1, &quota));
    wp_jit_map_destroy(NULL);
}

/* --- jit-PID.dump --- */

static char dump_path[64];

static void put(struct wp_buffer *b, uint64_t value, unsigned bytes)
{
    wp_buffer_append(b, &value, bytes);
}

static void put_header(struct wp_buffer *b)
{
    put(b, 0x4a695444, 4);
    put(b, 1, 4);
    put(b, 40, 4);
    put(b, 62, 4);
    put(b, 0, 4);
    put(b, (uint64_t)getpid(), 4);
    put(b, 1, 8);
    put(b, 0, 8);
}

static void put_load(struct wp_buffer *b, uint64_t address, uint32_t size, const char *name)
{
    put(b, 0, 4);
    put(b, 16 + 40 + strlen(name) + 1 + size, 4);
    put(b, 2, 8);
    put(b, 1, 4);
    put(b, 1, 4);
    put(b, address, 8);
    put(b, address, 8);
    put(b, size, 8);
    put(b, 7, 8);
    wp_buffer_append(b, name, strlen(name) + 1);
    for (uint32_t i = 0; i < size; i++)
        put(b, 0xcc, 1);
}

static void put_move(struct wp_buffer *b, uint64_t from, uint64_t to, uint32_t size)
{
    put(b, 1, 4);
    put(b, 16 + 48, 4);
    put(b, 3, 8);
    put(b, 1, 4);
    put(b, 1, 4);
    put(b, to, 8);
    put(b, from, 8);
    put(b, to, 8);
    put(b, size, 8);
    put(b, 7, 8);
}

struct told {
    uint32_t offset, line;
    const char *file;
};

static void put_lines(struct wp_buffer *b, uint64_t code, const struct told *lines, unsigned count)
{
    size_t at = b->size;
    put(b, 2, 4);
    put(b, 0, 4);
    put(b, 0, 8);
    put(b, code, 8);
    put(b, count, 8);
    for (unsigned i = 0; i < count; i++) {
        put(b, code + lines[i].offset, 8);
        put(b, lines[i].line, 4);
        put(b, 1, 4);
        wp_buffer_append(b, lines[i].file, strlen(lines[i].file) + 1);
    }
    uint32_t size = (uint32_t)(b->size - at);
    memcpy(b->data + at + 4, &size, 4);
}

static int keep(const struct wp_buffer *b, size_t size)
{
    snprintf(dump_path, sizeof(dump_path), "/tmp/jit-%d.dump", (int)getpid());
    int fd = open(dump_path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0 && write(fd, b->data, size) == (ssize_t)size);
    unlink(dump_path);
    return fd;
}

static void dump_is_read_on(void **state)
{
    struct wp_jit_map *m = *state;
    struct wp_buffer b = {0};
    put_header(&b);
    put_load(&b, 0x7000, 64, "JS:*first");
    put(&b, 2, 4); /* lines that have no room for a head, passed over */
    put(&b, 24, 4);
    put(&b, 0, 8);
    put(&b, 0, 8);
    put_load(&b, 0x8000, 32, "JS:*second");
    int fd = keep(&b, b.size - 20), append = dup(fd);
    wp_jit_map_dump(m, fd);
    assert_name(m, 0x703f, "JS:*first");
    assert_name(m, 0x8000, NULL); /* in the making */
    assert_int_equal(pwrite(append, b.data + b.size - 20, 20, (off_t)b.size - 20), 20);
    assert_name(m, 0x8000, "JS:*second");
    size_t before = b.size;
    put_move(&b, 0x7000, 0x9000, 64);
    put_load(&b, 0x7000, 16, "JS:*third");
    assert_int_equal(pwrite(append, b.data + before, b.size - before, (off_t)before), (ssize_t)(b.size - before));
    assert_name(m, 0x9001, "JS:*first");
    assert_name(m, 0x7001, "JS:*third"); /* the later one counts */
    close(append);
    wp_buffer_fini(&b);
}

static void assert_line(struct wp_jit_map *m, uint64_t address, const char *file, uint32_t line)
{
    struct wp_debug_level found = {0};
    assert_true(wp_jit_map_find(m, address, now_ns, &found));
    assert_string_equal(found.file, file);
    assert_int_equal(found.line, line);
}

static void dump_has_lines(void **state)
{
    struct wp_jit_map *m = *state;
    struct wp_buffer b = {0};
    say("7000 40 JS:*of the map\n", O_TRUNC); /* without lines: the dump, which is read behind it, has them */
    put_header(&b);
    put_lines(&b, 0x7000, (const struct told[]){{32, 12, "/app/b.js"}, {4, 10, "/app/a.js"}, {8, 11, "\xff"}}, 3);
    put_load(&b, 0x7000, 64, "JS:*first");
    put_load(&b, 0x8000, 64, "JS:*without");
    put_lines(&b, 0x9000, (const struct told[]){{0, 1, "/app/of-nobody.js"}}, 1); /* no code follows */
    put_lines(&b, 0xa000, (const struct told[]){{0, 5, "file:///app/m.mjs"}, {2, 6, "<unknown>"}, {4, 0, "/x"}}, 3);
    put_load(&b, 0xa000, 64, "JS:*module");
    put_lines(&b, 0xc000,
        (const struct told[]){{0, 1, "file:///a%20b/%C3%A4.mjs"}, {4, 2, "/as%20is.js"}, {8, 3, "file:///100%/%4"},
            {12, 4, "file:///a%00b"}, {16, 5, "/last.js"}},
        5);
    put_load(&b, 0xc000, 64, "JS:*decoded");
    put_move(&b, 0x7000, 0xb000, 64);
    wp_jit_map_dump(m, keep(&b, b.size));
    assert_line(m, 0x7003, "", 0); /* before its first line */
    assert_line(m, 0x7004, "/app/a.js", 10);
    assert_line(m, 0x701f, "/app/a.js", 11);
    assert_line(m, 0x703f, "/app/b.js", 12);
    assert_line(m, 0x8000, "", 0);
    assert_name(m, 0x9000, NULL);
    assert_line(m, 0xa03f, "/app/m.mjs", 5);
    assert_line(m, 0xb008, "/app/a.js", 11);
    assert_line(m, 0xc000, "/a b/\xc3\xa4.mjs", 1);
    assert_line(m, 0xc004, "/as%20is.js", 2);
    assert_line(m, 0xc008, "/100%/%4", 3);
    assert_line(m, 0xc00c, "/100%/%4", 3); /* what has a NUL is no path */
    assert_line(m, 0xc010, "/last.js", 5);
    assert_int_equal(wp_jit_map_refused(m), 0);
    wp_buffer_fini(&b);
}

/* The dump is read before the map tells the same code: its lines stay, unless other code is there now. */
static void map_behind_the_dump(void **state)
{
    struct wp_jit_map *m = *state;
    struct wp_buffer b = {0};
    say("6000 40 JS:*early\n", O_TRUNC);
    assert_name(m, 0x6000, "JS:*early");
    put_header(&b);
    put_lines(&b, 0x7000, (const struct told[]){{0, 10, "/app/a.js"}}, 1);
    put_load(&b, 0x7000, 64, "JS:*first");
    put_lines(&b, 0x8000, (const struct told[]){{0, 20, "/app/b.js"}}, 1);
    put_load(&b, 0x8000, 64, "JS:*second");
    wp_jit_map_dump(m, keep(&b, b.size));
    assert_line(m, 0x7000, "/app/a.js", 10);
    say("7000 40 JS:*first\n8000 40 JS:*other\n9000 40 JS:*third\n", O_APPEND);
    assert_name(m, 0x9000, "JS:*third");
    assert_line(m, 0x7000, "/app/a.js", 10);
    assert_line(m, 0x8000, "", 0);
    assert_name(m, 0x8000, "JS:*other");
    wp_buffer_fini(&b);
}

/* V8 tells addresses behind an ELF header that is not there, and is known by the padding of its own header. */
static void dump_of_v8(void **state)
{
    struct wp_jit_map *m = *state;
    struct wp_buffer b = {0};
    put_header(&b);
    const uint32_t padding = 0xdeadbeef;
    memcpy(b.data + 16, &padding, sizeof(padding));
    put_lines(&b, 0x7000, (const struct told[]){{0x40, 10, "/app/a.js"}, {0x48, 11, "/app/a.js"}}, 2);
    put_load(&b, 0x7000, 64, "JS:*first");
    wp_jit_map_dump(m, keep(&b, b.size));
    assert_line(m, 0x7000, "/app/a.js", 10);
    assert_line(m, 0x7008, "/app/a.js", 11);
    wp_buffer_fini(&b);
}

/* A record of lines longer than may be is passed over, one that says more than it has gives what it has. */
static void lines_that_lie(void **state)
{
    struct wp_jit_map *m = *state;
    struct wp_buffer b = {0};
    struct told *many = calloc(60000, sizeof(*many));
    for (unsigned i = 0; i < 60000; i++)
        many[i] = (struct told){i, i + 1, "/app/a.js"};
    put_header(&b);
    put_lines(&b, 0x7000, many, 60000);
    put_load(&b, 0x7000, 64, "too many");
    size_t at = b.size;
    put_lines(&b, 0x8000, many, 2);
    uint64_t count = UINT64_MAX, low = 0x7fff;
    memcpy(b.data + at + 16 + 8, &count, 8);
    put_load(&b, 0x8000, 64, "fewer than said");
    at = b.size;
    put_lines(&b, 0x9000, many, 2);
    memcpy(b.data + at + 16 + 16, &low, 8); /* an address before the function */
    put_load(&b, 0x9000, 64, "before itself");
    wp_jit_map_dump(m, keep(&b, b.size));
    assert_line(m, 0x7001, "", 0);
    assert_line(m, 0x8001, "/app/a.js", 2);
    assert_line(m, 0x9001, "", 0);
    free(many);
    wp_buffer_fini(&b);
}

/* Whatever stands in it: an answer, or none, and an end. */
static void dump_is_hostile(void **state)
{
    (void)state;
    struct wp_buffer good = {0}, bad = {0};
    unsigned seed = 7;
    size_t longest = 0;
    put_header(&good);
    for (unsigned i = 0; i < 20; i++) {
        if (i % 2)
            put_lines(
                &good, 0x1000 + i * 64, (const struct told[]){{0, 7, "/a.js"}, {8, 9, "\xff"}, {12, 3, "/b.js"}}, 3);
        put_load(&good, 0x1000 + i * 64, 16, "a function");
    }
    put_move(&good, 0x1000, 0x5000, 16);
    for (unsigned round = 0; round < 3000; round++) {
        struct wp_jit_map *m = wp_jit_map_create((uint32_t)getpid(), &quota);
        assert_non_null(m);
        wp_buffer_clear(&bad);
        wp_buffer_append(&bad, good.data, good.size);
        for (unsigned i = 0; i < 1 + round % 8; i++)
            bad.data[(unsigned)rand_r(&seed) % bad.size] = (uint8_t)(rand_r(&seed) % 5 ? rand_r(&seed) : 0xff);
        wp_jit_map_dump(m, keep(&bad, round % 3 ? bad.size : (unsigned)rand_r(&seed) % bad.size));
        for (uint64_t at = 0; at < 0x6000; at += 0x400) {
            struct wp_debug_level level = {.function = "", .file = ""};
            wp_jit_map_find(m, at, now_ns += 1000000000, &level);
            longest = strlen(level.function) > longest ? strlen(level.function) : longest;
            longest = strlen(level.file) > longest ? strlen(level.file) : longest;
        }
        wp_jit_map_destroy(m);
    }
    assert_in_range(longest, 5, 1024);
    wp_buffer_fini(&good);
    wp_buffer_fini(&bad);
}

static void dump_that_lies(void **state)
{
    struct wp_jit_map *m = *state;
    struct wp_buffer b = {0};
    put_header(&b);
    put_load(&b, 0x7000, 64, "honest");
    size_t at = b.size;
    put_load(&b, 0x8000, 64, "liar");
    uint64_t size = 1u << 30; /* of code, in a record of a hundred bytes */
    memcpy(b.data + at + 16 + 24, &size, 8);
    put_load(&b, 0x9000, 64, "behind it");
    wp_jit_map_dump(m, keep(&b, b.size));
    assert_name(m, 0x7000, "honest");
    assert_name(m, 0x8000, NULL);
    assert_name(m, 0x9000, NULL);
    assert_int_equal(wp_jit_map_refused(m), 1);
    wp_buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(grows, create, destroy),
        cmocka_unit_test_setup_teardown(begins_anew, create, destroy),
        cmocka_unit_test_setup_teardown(rubbish, create, destroy),
        cmocka_unit_test_setup_teardown(of_others, create, destroy),
        cmocka_unit_test_setup_teardown(without_line_ends, create, destroy),
        cmocka_unit_test_setup_teardown(not_read_again, create, destroy),
        cmocka_unit_test_setup_teardown(in_all, create, destroy),
        cmocka_unit_test(no_process),
        cmocka_unit_test_setup_teardown(dump_is_read_on, create, destroy),
        cmocka_unit_test_setup_teardown(dump_has_lines, create, destroy),
        cmocka_unit_test_setup_teardown(map_behind_the_dump, create, destroy),
        cmocka_unit_test_setup_teardown(dump_of_v8, create, destroy),
        cmocka_unit_test_setup_teardown(lines_that_lie, create, destroy),
        cmocka_unit_test(dump_is_hostile),
        cmocka_unit_test_setup_teardown(dump_that_lies, create, destroy),
    };
    return wp_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
