/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of an interpreted language in the dictionary: the same place is one frame, whoever runs it. */
#include "collector/batch/interp_frames.h"

#include "collector/bpf/interp_row.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PLACE ((uint64_t)0x55d000001230)

static void tell_code(struct wp_interp_frames *frames, uint32_t pid, const char *name)
{
    static const uint8_t lines[] = {0xd8, 0x00, 0xd8, 0x08};
    const struct wp_fact_interp interp = {.pid = pid, .version = 0x030c, .loop = 1000, .loop_end = 2000};
    const struct wp_fact_code code = {.pid = pid,
        .version = 0x030c,
        .address = PLACE,
        .first_line = 10,
        .name = {(const uint8_t *)name, (uint32_t)strlen(name), 1, false},
        .file = {(const uint8_t *)"/srv/shop.py", 12, 1, false},
        .lines = lines,
        .lines_size = sizeof(lines)};
    wp_interp_frames_define(frames, &(struct wp_fact){.interp = &interp});
    wp_interp_frames_define(frames, &(struct wp_fact){.code = &code});
}

/* A stack with one call of the loop in it; the id of the language's frame. */
static uint32_t frame_in(struct wp_interp_frames *frames, uint32_t pid, uint32_t unit)
{
    const uint64_t ips[] = {50, 1501, 60}, words[] = {WP_INTERP_WORD(PLACE, unit) | WP_INTERP_ENTRY};
    const uint32_t native[] = {1001, 1002, 1003};
    const struct wp_fact fact = {
        .pid = pid, .user_ips = ips, .user_ip_count = 3, .interp_words = words, .interp_word_count = 1};
    uint32_t out[8];
    assert_int_equal(wp_interp_frames_splice(frames, &fact, native, 3, out), 3);
    assert_int_equal(out[0], 1001);
    assert_int_equal(out[2], 1003);
    return out[1];
}

static void check_frame(struct wp_dict_writer *dict, uint32_t id, const char *function, const char *file, uint32_t line)
{
    const struct wp_frame_entry *frame = wp_dict_writer_frame_entry(dict, id);
    assert_string_equal(wp_dict_writer_text(dict, frame->function), function);
    assert_string_equal(wp_dict_writer_text(dict, frame->file), file);
    assert_int_equal(frame->line, line);
    const struct wp_object_entry *object = wp_dict_writer_object_entry(dict, frame->object);
    assert_string_equal(object ? wp_dict_writer_text(dict, object->path) : "", file);
}

static void test_frames(void **state)
{
    struct wp_dict_writer *dict = wp_dict_writer_create(), *other = wp_dict_writer_create();
    struct wp_interp_frames *frames = wp_interp_frames_create(dict);
    (void)state;
    tell_code(frames, 7, "Till.settle");
    tell_code(frames, 8, "Till.settle");
    uint32_t id = frame_in(frames, 7, 1);
    check_frame(dict, id, "Till.settle", "/srv/shop.py", 11);
    assert_int_equal(frame_in(frames, 8, 1), id);
    assert_int_not_equal(frame_in(frames, 7, 2), id);
    tell_code(frames, 7, "sweep"); /* at the same address */
    check_frame(dict, frame_in(frames, 7, 1), "sweep", "/srv/shop.py", 11);
    assert_int_equal(frame_in(frames, 8, 1), id);
    wp_interp_frames_renew(frames, other);
    check_frame(other, frame_in(frames, 8, 1), "Till.settle", "/srv/shop.py", 11);
    wp_interp_frames_forget(frames, 8);
    tell_code(frames, 8, "again");
    check_frame(other, frame_in(frames, 8, 1), "again", "/srv/shop.py", 11);
    assert_int_equal(wp_interp_frames_counts(frames).unknown, 0);
    wp_interp_frames_destroy(frames);
    wp_dict_writer_destroy(dict);
    wp_dict_writer_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_frames)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
