/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/batch/interp_frames.h"

#include "collector/bpf/interp_row.h"
#include "collector/interp/interp_splice.h"
#include "common/intmap.h"

#include <stdlib.h>

#define CACHED (1u << 17) /* words whose frames are remembered */
#define NATIVE_MOST WP_RECORD_USER_DEPTH
#define INLINED 16u              /* frames of one word */
#define NEXT ((uint64_t)1 << 56) /* to a generation: of a word's further frames */
#define MORE 0x80000000u         /* to a frame's id: there are further ones */

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

bool wp_interp_frames_lack(const struct wp_interp_frames *f)
{
    return wp_interp_codes_lack(f->codes);
}

void wp_interp_frames_retold(struct wp_interp_frames *f)
{
    wp_interp_codes_retold(f->codes);
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

/* Those of a word that are remembered; 0: it is not. */
static uint32_t cached_frames(const struct wp_interp_frames *f, struct wp_intkey key, uint32_t *out, uint32_t room)
{
    uint32_t count = 0, id = MORE;
    while (count < room && id & MORE && wp_intmap_get(&f->by_word, key, &id)) {
        out[count++] = id & ~MORE;
        key.b += NEXT;
    }
    return count && (count == room || !(id & MORE)) ? count : 0;
}

static void cache_frames(struct wp_interp_frames *f, struct wp_intkey key, const uint32_t *ids, uint32_t count)
{
    if (f->by_word.count + count > CACHED)
        wp_intmap_clear(&f->by_word);
    for (uint32_t i = 0; i < count; i++, key.b += NEXT)
        wp_intmap_put(&f->by_word, key, ids[i] | (i + 1 < count ? MORE : 0));
}

/* Of a word, innermost first; how many. */
static uint32_t frames_of(struct wp_interp_frames *f, uint32_t pid, uint64_t word, uint32_t *out, uint32_t room)
{
    const struct wp_intkey key = {word & ~WP_INTERP_ENTRY, wp_interp_codes_generation(f->codes, pid)};
    struct wp_interp_place places[INLINED];
    uint32_t made = cached_frames(f, key, out, room);
    if (made)
        return made;
    uint32_t count = wp_interp_codes_places(f->codes, pid, word, places, INLINED);
    bool is_known = count;
    if (!is_known)
        places[count++] = (struct wp_interp_place){.function = "[script]", .file = ""};
    for (uint32_t i = 0; i < count && made < room; i++)
        if ((out[made] = make_frame(f, &places[i])))
            made++;
    if (is_known && made == count)
        cache_frames(f, key, out, made);
    return made;
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
    for (uint32_t i = 0; i < count && made < WP_INTERP_FRAMES_MOST; i++) {
        if (spliced[i].is_word)
            made +=
                frames_of(f, fact->pid, fact->interp_words[spliced[i].index], out + made, WP_INTERP_FRAMES_MOST - made);
        else if (native[spliced[i].index])
            out[made++] = native[spliced[i].index];
    }
    return made;
}

struct wp_interp_codes_counts wp_interp_frames_counts(const struct wp_interp_frames *f)
{
    return wp_interp_codes_counts(f->codes);
}
