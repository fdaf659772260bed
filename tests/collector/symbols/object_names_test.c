/* SPDX-License-Identifier: Apache-2.0 */
/* What an object's files say is believed as far as it hurts nobody; that the names are right is names_test.py's. */
#include "collector/symbols/object_names.h"

#include "collector/elf/spin_loops.h"
#include "tests/collector/symbols/place_in_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

static uint8_t image[16 << 20], spoilt[16 << 20];
static size_t image_size;

static int read_image(void **state)
{
    (void)state;
    int fd = open("/proc/self/exe", O_RDONLY);
    ssize_t size = read(fd, image, sizeof(image));
    close(fd);
    image_size = size > 0 ? (size_t)size : 0;
    return image_size < 1000 || image_size == sizeof(image);
}

/* As if it were a file of somebody's; 0 when it was read. */
static int look(const uint8_t *bytes, size_t size, uint32_t *functions)
{
    struct wp_elf_file file;
    struct wp_object_names *names;
    struct wp_place_name place;
    int fd = memfd_create("spoilt", MFD_CLOEXEC);
    assert_true(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    int rc = wp_elf_file_open(&file, fd, NULL);
    if (!rc)
        rc = wp_object_names_create(&names, &file, -1, NULL, (uint64_t)64 << 20, NULL);
    if (rc)
        return rc;
    *functions = wp_object_names_functions(names);
    for (uint64_t offset = 0; offset < size; offset += 977) {
        wp_object_names_find(names, offset, &place);
        assert_in_range(place.count, 0, WP_INLINE_LEVELS);
        for (unsigned i = 0; i < place.count; i++)
            assert_true(strlen(place.levels[i].function) < 4096 && place.levels[i].file);
    }
    wp_object_names_destroy(names);
    return 0;
}

static void whole(void **state)
{
    (void)state;
    uint32_t functions = 0;
    assert_int_equal(look(image, image_size, &functions), 0);
    assert_true(functions > 20);
}

static struct wp_object_names *decode(const uint8_t *bytes, size_t size)
{
    struct wp_object_names *names;
    bool has_lines;
    int rc = wp_object_names_decode(&names, bytes, size, &has_lines);
    assert_true(rc == 0 || rc == -EINVAL);
    return rc ? NULL : names;
}

static void expect_equal(struct wp_object_names *names, struct wp_object_names *others)
{
    struct wp_place_name place, other;
    char name[4096];
    for (uint64_t offset = 0; offset < image_size; offset += 97) {
        wp_object_names_find(names, offset, &place);
        snprintf(name, sizeof(name), "%s", place.count ? place.levels[0].function : "");
        wp_object_names_find(others, offset, &other);
        assert_int_equal(other.count, place.count);
        assert_string_equal(other.count ? other.levels[0].function : "", name);
        wp_object_names_data(names, offset, "base", &place);
        snprintf(name, sizeof(name), "%s", place.count ? place.levels[0].function : "");
        wp_object_names_data(others, offset, "base", &other);
        assert_string_equal(other.count ? other.levels[0].function : "", name);
    }
}

/* What was encoded names the same; a part of it is refused, and what is damaged names something else at worst. */
static void encoded(void **state)
{
    (void)state;
    struct wp_elf_file file;
    struct wp_object_names *names, *others;
    struct wp_buffer bytes = {0};
    struct wp_place_name place;
    assert_int_equal(wp_elf_file_open_path(&file, "/proc/self/exe", NULL), 0);
    assert_int_equal(wp_object_names_create(&names, &file, -1, NULL, 0, NULL), 0);
    assert_int_equal(wp_object_names_encode(names, &bytes), 0);
    assert_non_null(others = decode(bytes.data, bytes.size));
    expect_equal(names, others);
    wp_object_names_destroy(others);
    for (size_t size = 0; size < bytes.size; size += 1 + size / 7)
        assert_null(decode(bytes.data, size));
    for (size_t at = 0; at < bytes.size; at += 1 + at / 50) {
        bytes.data[at] ^= 0x85;
        if ((others = decode(bytes.data, bytes.size)))
            for (uint64_t offset = 0; offset < image_size; offset += 9973) {
                wp_object_names_find(others, offset, &place);
                wp_object_names_data(others, offset, "base", &place);
            }
        wp_object_names_destroy(others);
        bytes.data[at] ^= 0x85;
    }
    wp_buffer_fini(&bytes);
    wp_object_names_destroy(names);
}

static pthread_rwlock_t alone_lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static struct {
    pthread_cond_t first, second;
} both_conditions = {PTHREAD_COND_INITIALIZER, {.__data = {.__g_size = {1, 0}}}};

static void assert_named(const void *word, const char *wanted)
{
    struct wp_elf_file file;
    struct wp_object_names *names;
    struct wp_place_name place;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(wp_elf_file_open(&file, fd, NULL), 0);
    assert_int_equal(wp_object_names_create(&names, &file, -1, NULL, 0, NULL), 0);
    wp_object_names_data(names, place_in_file((uintptr_t)word), "test", &place);
    assert_int_equal(place.count, 1);
    assert_string_equal(place.levels[0].function, wanted);
    wp_object_names_destroy(names);
}

/* Threads sleep on several words of a read-write lock and of a condition: all of them are that one. */
static void words_of_a_lock(void **state)
{
    (void)state;
    assert_named(&alone_lock, "alone_lock (test)");
    assert_named((char *)&alone_lock + 8, "alone_lock (test)");
    assert_named((char *)&alone_lock + 12, "alone_lock (test)");
    assert_named((char *)&both_conditions + 8, "both_conditions+0x8 (test)");
    assert_named(&both_conditions.second, "both_conditions+0x30 (test)");
}

static void vdso(void **state)
{
    (void)state;
    struct wp_elf_file file;
    struct wp_object_names *names;
    assert_int_equal(wp_elf_file_open_memory(&file, (const void *)getauxval(AT_SYSINFO_EHDR), 8192, NULL), 0);
    assert_true(file.build_id_size > 0);
    assert_int_equal(wp_object_names_create(&names, &file, -1, NULL, 0, NULL), 0);
    bool found = false;
    struct wp_place_name place;
    for (uint64_t offset = 0; offset < 8192; offset += 4) {
        wp_object_names_find(names, offset, &place);
        found = found || (place.count && strstr(place.levels[0].function, "clock_gettime"));
    }
    assert_true(found);
    wp_object_names_destroy(names);
}

/* Where the loop begins and ends, counted from the code's first byte. */
static void spins(const char *code, size_t size, uint32_t start, uint32_t end)
{
    struct wp_spin_loops loops = {0};
    assert_true(wp_spin_loops_add(&loops, (const uint8_t *)code, size, 0x1000));
    for (uint32_t at = 0; at < size; at++)
        assert_int_equal(wp_spin_loops_has(&loops, 0x1000 + at), at >= start && at < end);
    wp_spin_loops_fini(&loops);
    assert_false(wp_spin_loops_has(&loops, 0x1000));
}

static void loops_around_pause(void **state)
{
    (void)state;
#define SPINS(code, start, end) spins(code, sizeof(code) - 1, start, end)
    SPINS("\x55\xf3\x90\x8b\x07\x85\xc0\x75\xf8\xc3", 1, 9);      /* pause; mov (%rdi),%eax; test; jne back */
    SPINS("\x8b\x07\x85\xc0\x74\x04\xf3\x90\xeb\xf6\xc3", 0, 10); /* mov; test; je out; pause; jmp back */
    SPINS("\xf3\x90\xc3\x90\x75\xfa", 0, 0);                      /* it returns before */
    SPINS("\xf3\x90\xe8\x00\x00\x00\x00\x75\xf7", 0, 0);          /* it calls */
    SPINS("\x90\x90\xf3\x90\x90\x75\xfd", 0, 0);                  /* the jump is to behind it */
    SPINS("\xf3\x90", 0, 0);
    SPINS("\xf3", 0, 0);
    char far[256];
    memset(far, 0x90, sizeof(far));
    memcpy(far + 150, "\xf3\x90\xeb\x80", 4);
    spins(far, sizeof(far), 0, 0); /* a loop of 126 bytes */
    /* as a mutex of Rust: cmp; call futex_wait; mov; pause; mov; cmp; jne to the first cmp; test; jne to pause; jmp */
    SPINS("\x83\xf8\x02\xe8\0\0\0\0\xb9\x9d\xff\xff\xff\xf3\x90\x8b\x03\x83\xf8\x01\x75\xea\x85\xc9\x75\xf3\xeb\xe4",
        13, 26);
#undef SPINS
}

#if defined(__x86_64__)
static volatile int held;

static __attribute__((noinline)) void spin_here(void)
{
    while (held)
        __builtin_ia32_pause();
}

/* The function has its own name, and the place in its loop says what is suspected. */
static void spinning_is_suspected(void **state)
{
    (void)state;
    struct wp_elf_file file;
    struct wp_object_names *names;
    struct wp_place_name place;
    unsigned suspected = 0, others = 0;
    spin_here();
    assert_int_equal(wp_elf_file_open(&file, open("/proc/self/exe", O_RDONLY | O_CLOEXEC), NULL), 0);
    assert_int_equal(wp_object_names_create(&names, &file, -1, NULL, 0, NULL), 0);
    for (uint64_t offset = 0; offset < image_size; offset++) {
        wp_object_names_find(names, offset, &place);
        if (!place.count || strcmp(place.levels[0].function, "spin_here"))
            continue;
        bool is_suspected = !strcmp(place.levels[place.count - 1].function, WP_SPIN_NAME);
        suspected += is_suspected;
        others += !is_suspected;
    }
    assert_true(suspected > 3 && others);
    wp_object_names_destroy(names);
}
#endif

static void no_objects(void **state)
{
    (void)state;
    struct wp_elf_file file;
    struct wp_error err = {0};
    assert_int_equal(wp_elf_file_open_path(&file, "/etc/passwd", &err), -ENOEXEC);
    assert_true(*err.text);
    assert_int_equal(wp_elf_file_open_path(&file, "/dev/null", &err), -EACCES);
    assert_int_equal(wp_elf_file_open_path(&file, "/nonexistent", &err), -ENOENT);
    wp_elf_file_close(&file);
    uint32_t functions;
    assert_int_equal(look((const uint8_t *)"", 0, &functions), -ENOEXEC);
    assert_int_equal(look((const uint8_t *)"\177ELF", 4, &functions), -ENOEXEC);
}

static void cut_short(void **state)
{
    (void)state;
    uint32_t functions;
    for (size_t size = 0; size < image_size; size += 1 + size / 7)
        look(image, size, &functions);
}

/* Every field of every section header in turn with numbers that lead astray: huge, past the end, at each other, at
 * itself. */
static void headers_that_lie(void **state)
{
    (void)state;
    Elf64_Ehdr elf;
    uint32_t functions;
    memcpy(&elf, image, sizeof(elf));
    size_t table = elf.e_shoff;
    for (unsigned section = 0; section < elf.e_shnum; section++) {
        static const size_t fields[] = {offsetof(Elf64_Shdr, sh_name), offsetof(Elf64_Shdr, sh_type),
            offsetof(Elf64_Shdr, sh_offset), offsetof(Elf64_Shdr, sh_size), offsetof(Elf64_Shdr, sh_link),
            offsetof(Elf64_Shdr, sh_entsize), offsetof(Elf64_Shdr, sh_flags)};
        for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); f++) {
            const uint64_t lies[] = {UINT64_MAX, section, (uint64_t)1 << 40, SHT_SYMTAB, 1, 0, SHF_COMPRESSED};
            memcpy(spoilt, image, image_size);
            memcpy(spoilt + table + section * sizeof(Elf64_Shdr) + fields[f], &lies[(section + f) % 7],
                fields[f] == offsetof(Elf64_Shdr, sh_size) || fields[f] == offsetof(Elf64_Shdr, sh_offset) ? 8 : 4);
            look(spoilt, image_size, &functions);
        }
    }
    memcpy(spoilt, image, image_size);
    ((Elf64_Ehdr *)(void *)spoilt)->e_shnum = 0xfeff; /* more than there is room for */
    look(spoilt, image_size, &functions);
    for (unsigned section = 0; section < elf.e_shnum; section++) /* all of them are symbols, and their own names */
        ((Elf64_Shdr *)(void *)(spoilt + table))[section] =
            (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_size = image_size, .sh_link = section, .sh_entsize = 1};
    ((Elf64_Ehdr *)(void *)spoilt)->e_shnum = elf.e_shnum;
    look(spoilt, image_size, &functions);
}

/* Texts of debug info, cut off: with the address sanitizer no name may go on behind its section. */
static void texts_without_an_end(void **state)
{
    (void)state;
    Elf64_Ehdr elf;
    uint32_t functions;
    unsigned cut = 0;
    memcpy(&elf, image, sizeof(elf));
    for (unsigned section = 0; section < elf.e_shnum; section++) {
        Elf64_Shdr header;
        uint8_t *at = spoilt + elf.e_shoff + section * sizeof(header);
        memcpy(spoilt, image, image_size);
        memcpy(&header, at, sizeof(header));
        if (header.sh_type != SHT_PROGBITS || !(header.sh_flags & SHF_STRINGS) || header.sh_flags & SHF_ALLOC)
            continue;
        for (header.sh_size = 40; header.sh_size < 56; header.sh_size++, cut++) {
            memcpy(spoilt, image, image_size);
            memcpy(at, &header, sizeof(header));
            look(spoilt, image_size, &functions);
        }
    }
    assert_true(cut >= 16);
}

static void noise(void **state)
{
    (void)state;
    uint64_t random = 7;
    uint32_t functions;
    for (int i = 0; i < 150; i++) {
        memcpy(spoilt, image, image_size);
        for (int flips = 0; flips < 1 + i % 50; flips++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            size_t range = i % 3 ? image_size : 4096;
            spoilt[(random >> 24) % range] ^= (uint8_t)(1u << (random >> 20) % 8);
        }
        look(spoilt, image_size, &functions);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
        cmocka_unit_test(spinning_is_suspected),
#endif
        cmocka_unit_test(loops_around_pause),
        cmocka_unit_test(whole),
        cmocka_unit_test(encoded),
        cmocka_unit_test(words_of_a_lock),
        cmocka_unit_test(vdso),
        cmocka_unit_test(no_objects),
        cmocka_unit_test(cut_short),
        cmocka_unit_test(headers_that_lie),
        cmocka_unit_test(texts_without_an_end),
        cmocka_unit_test(noise)
    };
    return cmocka_run_group_tests(tests, read_image, NULL);
}
