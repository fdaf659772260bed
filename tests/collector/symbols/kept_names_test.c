/* SPDX-License-Identifier: Apache-2.0 */
/* Names that one naming thread has read are there for the next: without the object, and as long as it is the same one.
 */
#include "collector/symbols/kept_names.h"
#include "collector/symbols/naming_thread.h"
#include "tests/collector/symbols/place_in_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define SETTLE_MS 60000

struct scene {
    char root[32], folder[48], program[48]; /* a copy of this one */
};

static int variable = 1;

static uint64_t offset_of(uintptr_t address)
{
    uint64_t offset = place_in_file(address);
    assert_int_not_equal(offset, 0);
    return offset;
}

static void copy_program(const char *path)
{
    static char bytes[1 << 16];
    int from = open("/proc/self/exe", O_RDONLY), to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    assert_true(from >= 0 && to >= 0);
    for (ssize_t got; (got = read(from, bytes, sizeof(bytes))) > 0;)
        assert_int_equal(write(to, bytes, (size_t)got), got);
    close(from);
    close(to);
}

static int set_up(void **state)
{
    static struct scene scene;
    strcpy(scene.root, "/tmp/wp-names-XXXXXX");
    if (!mkdtemp(scene.root))
        return -1;
    snprintf(scene.folder, sizeof(scene.folder), "%s/kept", scene.root);
    snprintf(scene.program, sizeof(scene.program), "%s/program", scene.root);
    copy_program(scene.program);
    *state = &scene;
    return 0;
}

/* Calls back with each kept file; how many there are. */
static unsigned each_kept(const char *folder, void (*act)(const char *path))
{
    char path[512];
    unsigned count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (*entry->d_name == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%.255s", folder, entry->d_name);
        count++;
        if (act)
            act(path);
    }
    if (dir)
        closedir(dir);
    return count;
}

static void delete_file(const char *path)
{
    unlink(path);
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    each_kept(scene->folder, delete_file);
    rmdir(scene->folder);
    unlink(scene->program);
    return rmdir(scene->root);
}

struct answer {
    char function[64], file[256], data[64];
    uint32_t line;
    uint64_t debug_bytes; /* that were read for it */
};

/* A thread of its own names this function and the variable. */
static void ask(const struct scene *scene, struct answer *answer)
{
    struct wp_naming_thread *thread = wp_naming_thread_create(NULL, scene->folder, NULL);
    struct wp_elf_file file;
    struct wp_place_name place;
    uint32_t ticket;
    memset(answer, 0, sizeof(*answer));
    assert_int_equal(wp_elf_file_open_path(&file, scene->program, NULL), 0);
    uint32_t object = wp_naming_thread_object(thread, &file, -1, scene->program);
    assert_true(wp_naming_thread_place(thread, object, offset_of((uintptr_t)copy_program) + 4, 1));
    assert_true(wp_naming_thread_data(thread, object, offset_of((uintptr_t)&variable), 2));
    assert_true(wp_naming_thread_settle(thread, SETTLE_MS));
    while (wp_naming_thread_next(thread, &ticket, &place)) {
        assert_int_equal(place.count, 1);
        const struct wp_debug_level *level = &place.levels[0];
        snprintf(ticket == 1 ? answer->function : answer->data, sizeof(answer->data), "%.63s", level->function);
        if (ticket != 1)
            continue;
        snprintf(answer->file, sizeof(answer->file), "%.255s", level->file);
        answer->line = level->line;
    }
    answer->debug_bytes = wp_naming_thread_counts(thread).debug_bytes;
    wp_naming_thread_destroy(thread);
}

/* And whether its debug info was read. */
static void expect_names(const struct scene *scene, bool is_read)
{
    struct answer answer;
    ask(scene, &answer);
    assert_string_equal(answer.function, "copy_program");
    assert_non_null(strstr(answer.file, "kept_names_test.c"));
    assert_in_range(answer.line, 30, 60);
    assert_string_equal(answer.data, "variable (program)");
    assert_int_equal(answer.debug_bytes != 0, is_read);
}

static void the_second_reads_no_debug_info(void **state)
{
    expect_names(*state, true);
    expect_names(*state, false);
}

/* It may say another thing. */
static void another_file_is_read(void **state)
{
    struct scene *scene = *state;
    expect_names(scene, true);
    unlink(scene->program);
    copy_program(scene->program);
    expect_names(scene, true);
    expect_names(scene, false);
}

static void open_to_all(const char *path)
{
    assert_int_equal(chmod(path, 0666), 0);
}

static void cut_short(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(truncate(path, status.st_size * 2 / 3), 0);
}

/* Who can write there could say anything; and a disk that was full has a part. */
static void what_is_not_to_be_believed_is_read_anew(void **state)
{
    struct scene *scene = *state;
    expect_names(scene, true);
    assert_int_equal(each_kept(scene->folder, open_to_all), 2);
    expect_names(scene, true);
    expect_names(scene, false);
    assert_int_equal(each_kept(scene->folder, cut_short), 2);
    expect_names(scene, true);
    expect_names(scene, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_second_reads_no_debug_info, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_file_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_to_be_believed_is_read_anew, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
