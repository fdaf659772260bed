/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/format_pprof.h"

#include "reporter/base/gzip.h"
#include "reporter/display/escape.h"
#include "reporter/export/profile.pb-c.h"
#include "reporter/facts/frame_table.h"
#include "storage/report/report_read.h"

#include <errno.h>
#include <string.h>

#define VALUES 2u /* pieces, time */

struct maker {
    const struct wp_facts *facts;
    struct wp_frame_table frames;
    struct wp_pool pool;       /* everything below */
    struct wp_intern *strings; /* owned; the string table */
    struct wp_intern *objects; /* owned; id n is mapping n, 0 is none */
    Wp__Pprof__Profile profile;
    bool failed;
};

static int64_t string(struct maker *maker, const char *text)
{
    struct wp_buffer clean = {0};
    wp_escape_text(&clean, text);
    uint32_t id = clean.failed ? UINT32_MAX
                               : wp_intern_id(maker->strings, clean.size ? (const char *)clean.data : "", clean.size);
    maker->failed |= id == UINT32_MAX;
    wp_buffer_fini(&clean);
    return id;
}

/* An array of pointers to `count` zeroed messages of `size` bytes; NULL when out of memory. */
static void *messages(struct maker *maker, size_t count, size_t size)
{
    void **rows = wp_pool_alloc(&maker->pool, (count + 1) * sizeof(*rows));
    char *bodies = rows ? wp_pool_alloc(&maker->pool, (count + 1) * size) : NULL;
    for (size_t i = 0; bodies && i < count; i++)
        rows[i] = bodies + i * size;
    maker->failed |= !bodies;
    return bodies ? rows : NULL;
}

static void take_types(struct maker *maker)
{
    static const char *const names[VALUES][2] = {{"pieces", "count"}, {"time", "nanoseconds"}};
    Wp__Pprof__Profile *profile = &maker->profile;
    profile->sample_type = messages(maker, VALUES, sizeof(Wp__Pprof__ValueType));
    for (; profile->sample_type && profile->n_sample_type < VALUES; profile->n_sample_type++) {
        Wp__Pprof__ValueType *type = profile->sample_type[profile->n_sample_type];
        wp__pprof__value_type__init(type);
        type->type = string(maker, names[profile->n_sample_type][0]);
        type->unit = string(maker, names[profile->n_sample_type][1]);
    }
    profile->default_sample_type = string(maker, names[1][0]);
    profile->time_nanos = (int64_t)maker->facts->first_ns;
    profile->duration_nanos = (int64_t)maker->facts->wall_ns;
    profile->comment = wp_pool_alloc(&maker->pool, sizeof(*profile->comment));
    if (profile->comment)
        profile->comment[profile->n_comment++] = string(maker,
            wp_pool_printf(&maker->pool, "Wakepath: %s in release %s", maker->facts->aggregate, maker->facts->release));
}

static const char *object_of(const struct maker *maker, uint32_t number)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(maker->facts->report, &count);
    const struct wp_frame_info *frame = &frames[maker->frames.frames[number]];
    const char *object = wp_report_text(maker->facts->report, frame->object);
    return *object ? object : frame->style == WP_STYLE_KERNEL ? "[kernel]" : "";
}

/* A location and a function each frame: addresses are gone from a report. */
static void take_frames(struct maker *maker)
{
    Wp__Pprof__Profile *profile = &maker->profile;
    uint32_t count = maker->frames.count;
    profile->location = messages(maker, count, sizeof(Wp__Pprof__Location));
    profile->function = messages(maker, count, sizeof(Wp__Pprof__Function));
    Wp__Pprof__Line **lines = messages(maker, count, sizeof(Wp__Pprof__Line));
    for (uint32_t i = 0; i < count && !maker->failed; i++) {
        const char *object = object_of(maker, i), *name = wp_facts_frame_name(maker->facts, maker->frames.frames[i]);
        uint32_t mapping = wp_intern_str(maker->objects, object);
        maker->failed |= mapping == UINT32_MAX;
        wp__pprof__line__init(lines[i]);
        wp__pprof__location__init(profile->location[i]);
        wp__pprof__function__init(profile->function[i]);
        lines[i]->function_id = i + 1;
        *profile->location[i] = (Wp__Pprof__Location){
            .base = profile->location[i]->base, .id = i + 1, .mapping_id = mapping, .n_line = 1, .line = &lines[i]};
        profile->function[i]->id = i + 1;
        profile->function[i]->name = profile->function[i]->system_name = string(maker, *name ? name : "?");
        profile->function[i]->filename = string(maker, object);
        profile->n_location = profile->n_function = i + 1;
    }
}

/* Everything is said to be resolved, so that no reader goes looking for symbols in files of that name. */
static void take_mappings(struct maker *maker)
{
    Wp__Pprof__Profile *profile = &maker->profile;
    uint32_t count = wp_intern_count(maker->objects) - 1;
    profile->mapping = messages(maker, count, sizeof(Wp__Pprof__Mapping));
    for (uint32_t i = 0; i < count && !maker->failed; i++) {
        wp__pprof__mapping__init(profile->mapping[i]);
        *profile->mapping[i] = (Wp__Pprof__Mapping){.base = profile->mapping[i]->base,
            .id = i + 1,
            .filename = string(maker, wp_intern_text(maker->objects, i + 1)),
            .has_functions = 1,
            .has_filenames = 1,
            .has_line_numbers = 1,
            .has_inline_frames = 1};
        profile->n_mapping = i + 1;
    }
}

static void take_sample(struct maker *maker, const struct wp_stack_walk *walk, Wp__Pprof__Label **labels)
{
    Wp__Pprof__Sample *sample = maker->profile.sample[maker->profile.n_sample];
    wp__pprof__sample__init(sample);
    sample->location_id = wp_pool_alloc(&maker->pool, (walk->depth + 1u) * sizeof(*sample->location_id));
    sample->value = wp_pool_alloc(&maker->pool, VALUES * sizeof(*sample->value));
    if (!sample->location_id || !sample->value)
        return;
    for (uint32_t i = walk->depth; i--;)
        sample->location_id[sample->n_location_id++] = maker->frames.numbers[walk->flame->nodes[walk->stack[i]].frame];
    sample->n_value = VALUES;
    sample->value[0] = (int64_t)walk->cell->count;
    sample->value[1] = (int64_t)walk->cell->ns;
    sample->n_label = 1;
    sample->label = &labels[walk->cell->category];
    maker->profile.n_sample++;
}

static void take_samples(struct maker *maker)
{
    struct wp_stack_walk walk;
    Wp__Pprof__Label **labels = messages(maker, WP_CATEGORIES, sizeof(Wp__Pprof__Label));
    maker->profile.sample = messages(maker, maker->facts->flame.cell_count, sizeof(Wp__Pprof__Sample));
    for (unsigned i = 0; i < WP_CATEGORIES && !maker->failed; i++) {
        wp__pprof__label__init(labels[i]);
        labels[i]->key = string(maker, "category");
        labels[i]->str = string(maker, wp_category_key((enum wp_category)i));
    }
    wp_stack_walk_init(&walk, &maker->facts->flame);
    while (!maker->failed && !maker->pool.failed && wp_stack_walk_next(&walk))
        take_sample(maker, &walk, labels);
    maker->failed |= walk.failed;
    wp_stack_walk_fini(&walk);
}

/* Last: no string is added any more, and the texts stay where they are. */
static void take_strings(struct maker *maker)
{
    Wp__Pprof__Profile *profile = &maker->profile;
    uint32_t count = wp_intern_count(maker->strings);
    profile->string_table = wp_pool_alloc(&maker->pool, (count + 1u) * sizeof(*profile->string_table));
    for (uint32_t i = 0; profile->string_table && i < count; i++)
        profile->string_table[profile->n_string_table++] = (char *)wp_intern_text(maker->strings, i);
}

static int pack(struct maker *maker, struct wp_buffer *out, struct wp_error *err)
{
    struct wp_buffer raw = {0};
    size_t size = wp__pprof__profile__get_packed_size(&maker->profile);
    int rc = wp_buffer_reserve(&raw, size)
        ? wp_error_set(err, -ENOMEM, "out of memory for a profile of %zu bytes", size)
        : 0;
    if (!rc)
        rc = wp_gzip(out, raw.data, wp__pprof__profile__pack(&maker->profile, raw.data), err);
    wp_buffer_fini(&raw);
    return rc;
}

int wp_format_pprof(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    struct maker maker = {.facts = facts, .strings = wp_intern_create(), .objects = wp_intern_create()};
    wp__pprof__profile__init(&maker.profile);
    int rc = maker.strings && maker.objects ? wp_frame_table_build(&maker.frames, facts, err) : -ENOMEM;
    if (!rc) {
        take_types(&maker);
        take_frames(&maker);
        take_mappings(&maker);
        take_samples(&maker);
        take_strings(&maker);
        rc = maker.failed || maker.pool.failed ? -ENOMEM : pack(&maker, out, err);
    }
    wp_frame_table_fini(&maker.frames);
    wp_pool_fini(&maker.pool);
    wp_intern_destroy(maker.strings);
    wp_intern_destroy(maker.objects);
    return rc == -ENOMEM ? wp_error_set(err, rc, "out of memory for the pprof profile") : rc;
}
