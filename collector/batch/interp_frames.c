/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/batch/interp_frames.h"

#include "collector/bpf/interp_row.h"
#include "collector/interp/interp_splice.h"
#include "common/intmap.h"

#include <stdlib.h>

#define CACHED (1u << 17) /* words whose frames are remembered */
#define NATIVE_MOST WP_RECORD_USER_DEPTH

struct wp_interp_frames {
    struct wp_dict_writer *dict; /* borrowed */
    struct wp_interp_codes *codes;
    struct wp_intmap by_word; /* (word, generation of the process) -> frame id */
};

struct wp_interp_frames *wp_interp_frames_create(struct wp_dict_writer *dict)
{
    struct wp_interp_frames *f = calloc(1, sizeof(*f));
    if (!f || !(f->codes = wp_interp_codes_create())) {
        free(f);
        return NULL;
    }
    f->dict = dict;
    return f;
}

void wp_interp_frames_destroy(struct wp_interp_frames *f)
{
    if (!f)
        return;
    wp_interp_codes_destroy(f->codes);
    wp_intmap_fini(&f->by_word);
    free(f);
}

void wp_interp_frames_define(struct wp_interp_frames *f, const struct wp_fact *fact)
{
    if (fact->interp)
        wp_interp_codes_process(f->codes, fact->interp);
    if (fact->code)
        wp_interp_codes_add(f->codes, fact->code);
}

void wp_interp_frames_forget(struct wp_interp_frames *f, uint32_t pid)
{
    wp_interp_codes_forget(f->codes, pid);
}

void wp_interp_frames_renew(struct wp_interp_frames *f, struct wp_dict_writer *dict)
{
    f->dict = dict;
    wp_intmap_clear(&f->by_word);
}

static uint32_t make_frame(struct wp_interp_frames *f, const struct wp_interp_place *place)
{
    const struct wp_object_entry object = {.path = wp_dict_writer_string(f->dict, place->file)};
    const struct wp_frame_entry frame = {.function = wp_dict_writer_string(f->dict, place->function),
        .object = object.path ? wp_dict_writer_object(f->dict, &object) : 0,
        .file = object.path,
        .line = place->line,
        .offset = place->line};
    return wp_dict_writer_frame(f->dict, &frame);
}

static uint32_t frame_of(struct wp_interp_frames *f, uint32_t pid, uint64_t word)
{
    const struct wp_intkey key = {word & ~WP_INTERP_ENTRY, wp_interp_codes_generation(f->codes, pid)};
    struct wp_interp_place place = {.function = "[script]", .file = ""};
    uint32_t id;
    if (wp_intmap_get(&f->by_word, key, &id))
        return id;
    bool is_known = wp_interp_codes_find(f->codes, pid, word, &place);
    id = make_frame(f, &place);
    if (f->by_word.count >= CACHED)
        wp_intmap_clear(&f->by_word);
    if (id && is_known)
        wp_intmap_put(&f->by_word, key, id);
    return id;
}

uint32_t wp_interp_frames_splice(struct wp_interp_frames *f, const struct wp_fact *fact, const uint32_t *native,
    uint32_t native_count, uint32_t *out)
{
    uint8_t parts[NATIVE_MOST];
    struct wp_spliced_frame spliced[NATIVE_MOST + WP_INTERP_DEPTH];
    uint32_t words = fact->interp_word_count < WP_INTERP_DEPTH ? fact->interp_word_count : WP_INTERP_DEPTH;
    native_count = native_count < NATIVE_MOST ? native_count : NATIVE_MOST;
    for (uint32_t i = 0; i < native_count; i++) /* a return address belongs to the call before it */
        parts[i] = (uint8_t)wp_interp_codes_part(f->codes, fact->pid, fact->user_ips[i] - !!i);
    const struct wp_interp_stack stack = {parts, native_count, fact->interp_words, words};
    uint32_t count = wp_interp_splice(&stack, spliced), made = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = spliced[i].is_word ? frame_of(f, fact->pid, fact->interp_words[spliced[i].index])
                                         : native[spliced[i].index];
        if (id)
            out[made++] = id;
    }
    return made;
}

struct wp_interp_codes_counts wp_interp_frames_counts(const struct wp_interp_frames *f)
{
    return wp_interp_codes_counts(f->codes);
}
