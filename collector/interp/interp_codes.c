/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/interp_codes.h"

#include "collector/bpf/interp_row.h"
#include "collector/interp/interp_languages.h"
#include "collector/interp/interp_text.h"
#include "collector/interp/v8_lines.h"
#include "common/array.h"
#include "common/buffer.h"
#include "common/intmap.h"
#include "common/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define PROCESSES 65536u
#define CODES (1u << 20)                 /* in processes */
#define HELD_BYTES ((uint64_t)128 << 20) /* of code objects */
#define SHARE 8u                         /* of both a process has at most this part */
#define EMPTY_NS (10 * WP_NS_PER_S)      /* a process' are dropped at most once in */
#define TWINS 4u                         /* of a hash: code objects that are not equal */

/* A code object, whoever has it. */
struct content {
    struct wp_intkey key;
    uint8_t *bytes; /* owned: function, file, table of lines. NULL: this place is free */
    uint32_t size, file_at, lines_at;
    uint32_t version, first_line, users;
    bool is_cut; /* its table of lines */
};

struct process {
    struct wp_fact_interp about; /* pid 0: this place is free */
    struct wp_intmap codes;      /* address -> place in contents */
    uint64_t bytes, generation;  /* bytes: of those, also where others have them too */
    uint64_t emptied_ns;
};

struct wp_interp_codes {
    struct process *processes; /* owned */
    uint32_t process_count, process_room;
    struct content *contents; /* owned */
    uint32_t content_count, content_room;
    uint32_t *free_contents, free_count, free_room; /* owned; as much room */
    struct wp_intmap by_pid, by_content;
    struct wp_buffer text;
    uint64_t held_bytes, generations;
    uint32_t in_processes;
    bool lacks;
    struct wp_interp_codes_counts counts;
};

/* Of a process. */
struct held {
    const struct wp_interp_codes *codes;
    const struct process *process;
};

struct wp_interp_codes *wp_interp_codes_create(void)
{
    return calloc(1, sizeof(struct wp_interp_codes));
}

void wp_interp_codes_destroy(struct wp_interp_codes *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; i < c->process_count; i++)
        wp_intmap_fini(&c->processes[i].codes);
    for (uint32_t i = 0; i < c->content_count; i++)
        free(c->contents[i].bytes);
    free(c->processes);
    free(c->contents);
    free(c->free_contents);
    wp_intmap_fini(&c->by_pid);
    wp_intmap_fini(&c->by_content);
    wp_buffer_fini(&c->text);
    free(c);
}

static struct process *process_of(const struct wp_interp_codes *c, uint32_t pid)
{
    uint32_t at;
    return wp_intmap_get(&c->by_pid, (struct wp_intkey){pid, 0}, &at) ? &c->processes[at] : NULL;
}

/* A place that is free, UINT32_MAX: none. */
static uint32_t free_process(struct wp_interp_codes *c)
{
    for (uint32_t i = 0; c->by_pid.count < c->process_count && i < c->process_count; i++)
        if (!c->processes[i].about.pid)
            return i;
    if (c->process_count >= PROCESSES || WP_ARRAY_FIT_ZERO(c->processes, c->process_room, c->process_count + 1))
        return UINT32_MAX;
    return c->process_count++;
}

int wp_interp_codes_process(struct wp_interp_codes *c, const struct wp_fact_interp *about)
{
    struct process *known = process_of(c, about->pid);
    if (known) {
        known->about = *about;
        return 0;
    }
    if (!about->pid)
        return 0;
    uint32_t at = free_process(c);
    if (at == UINT32_MAX || wp_intmap_put(&c->by_pid, (struct wp_intkey){about->pid, 0}, at))
        return -ENOMEM;
    c->processes[at] = (struct process){.about = *about, .generation = ++c->generations};
    return 0;
}

static void release_content(struct wp_interp_codes *c, uint32_t at)
{
    struct content *content = &c->contents[at];
    if (--content->users)
        return;
    wp_intmap_remove(&c->by_content, content->key);
    c->held_bytes -= content->size;
    free(content->bytes);
    *content = (struct content){0};
    c->free_contents[c->free_count++] = at;
}

static void drop_codes(struct wp_interp_codes *c, struct process *p)
{
    for (uint32_t i = 0; p->codes.slots && i <= p->codes.mask; i++)
        if (p->codes.slots[i].used)
            release_content(c, p->codes.slots[i].value);
    c->in_processes -= p->codes.count;
    wp_intmap_fini(&p->codes);
    p->codes = (struct wp_intmap){0};
    p->bytes = 0;
}

void wp_interp_codes_forget(struct wp_interp_codes *c, uint32_t pid)
{
    struct process *p = process_of(c, pid);
    if (!p)
        return;
    drop_codes(c, p);
    *p = (struct process){0};
    wp_intmap_remove(&c->by_pid, (struct wp_intkey){pid, 0});
}

enum wp_interp_part wp_interp_codes_part(const struct wp_interp_codes *c, uint32_t pid, uint64_t address)
{
    const struct process *p = process_of(c, pid);
    if (!p)
        return WP_INTERP_NO_PART;
    if ((address >= p->about.loop && address < p->about.loop_end) ||
        (address >= p->about.cold && address < p->about.cold_end))
        return WP_INTERP_LOOP;
    if (address < p->about.inner || address >= p->about.inner_end)
        return WP_INTERP_NO_PART;
    return wp_interp_language(p->about.version)->inner;
}

/* Function and file; where the latter begins. */
static size_t put_texts(struct wp_interp_codes *c, const struct wp_fact_code *code)
{
    const struct wp_interp_language *language = wp_interp_language(code->version);
    if (language->put_texts)
        return language->put_texts(&c->text, code);
    if (language->unnamed && code->name.unit && !code->name.size)
        wp_buffer_append(&c->text, language->unnamed, strlen(language->unnamed) + 1);
    else
        wp_interp_text_put(&c->text, &code->name);
    size_t file_at = c->text.size;
    wp_interp_text_put(&c->text, &code->file);
    return file_at;
}

/* Its texts and table one behind the other, in c->text. */
static void fill_content(struct wp_interp_codes *c, const struct wp_fact_code *code, struct content *content)
{
    wp_buffer_clear(&c->text);
    content->file_at = (uint32_t)put_texts(c, code);
    content->lines_at = (uint32_t)c->text.size;
    const struct wp_interp_language *language = wp_interp_language(code->version);
    if (language->put_table)
        language->put_table(&c->text, code);
    else
        wp_buffer_append(&c->text, code->lines, code->lines_size);
    content->size = (uint32_t)c->text.size;
    content->version = code->version;
    content->first_line = code->first_line;
    content->is_cut = code->lines_are_cut;
    XXH128_hash_t hash =
        XXH3_128bits_withSeed(c->text.data, c->text.size, (uint64_t)code->version << 32 | code->first_line);
    content->key = (struct wp_intkey){hash.low64, hash.high64 ^ content->lines_at};
}

static bool is_same(const struct wp_interp_codes *c, const struct content *known, const struct content *content)
{
    return known->version == content->version && known->first_line == content->first_line &&
        known->is_cut == content->is_cut && known->size == content->size && known->file_at == content->file_at &&
        known->lines_at == content->lines_at && !memcmp(known->bytes, c->text.data, content->size);
}

/* Its place, or UINT32_MAX and the key that a new one has. */
static uint32_t find_content(const struct wp_interp_codes *c, struct content *content)
{
    uint32_t at;
    for (unsigned i = 0; i < TWINS && wp_intmap_get(&c->by_content, content->key, &at); i++) {
        if (is_same(c, &c->contents[at], content))
            return at;
        content->key.b++;
    }
    return UINT32_MAX;
}

static bool is_unread(const struct wp_fact_code *code)
{
    bool has_table = !code->part && wp_interp_language(code->version)->has_tables;
    return !code->name.unit || !code->file.unit || (!code->lines_size && has_table);
}

/* Nothing that was read says that it is another one. */
static bool is_part(const struct wp_interp_codes *c, const struct content *content, const struct content *known)
{
    const char *text = (const char *)c->text.data, *bytes = (const char *)known->bytes;
    return known->version == content->version && known->first_line == content->first_line &&
        (!*text || !strcmp(text, bytes)) &&
        (!text[content->file_at] || !strcmp(text + content->file_at, bytes + known->file_at)) &&
        (content->size == content->lines_at ||
            (content->size - content->lines_at == known->size - known->lines_at &&
                !memcmp(text + content->lines_at, bytes + known->lines_at, content->size - content->lines_at)));
}

/* A place for a new one, -ENOSPC, -ENOMEM. */
static int add_content(struct wp_interp_codes *c, struct content *content, uint32_t *at)
{
    uint32_t other;
    if (c->held_bytes + content->size > HELD_BYTES || wp_intmap_get(&c->by_content, content->key, &other))
        return -ENOSPC;
    bool is_new = !c->free_count;
    if (is_new &&
        (WP_ARRAY_FIT_ZERO(c->contents, c->content_room, c->content_count + 1) ||
            WP_ARRAY_FIT(c->free_contents, c->free_room, c->content_count + 1)))
        return -ENOMEM;
    content->bytes = malloc(content->size);
    *at = is_new ? c->content_count : c->free_contents[c->free_count - 1];
    if (!content->bytes || wp_intmap_put(&c->by_content, content->key, *at)) {
        free(content->bytes);
        return -ENOMEM;
    }
    memcpy(content->bytes, c->text.data, content->size);
    c->contents[*at] = *content;
    c->held_bytes += content->size;
    c->content_count += is_new;
    c->free_count -= !is_new;
    return 0;
}

static bool is_beyond_share(const struct wp_interp_codes *c, const struct process *p, uint32_t at, uint32_t before)
{
    bool is_new = before == UINT32_MAX;
    uint64_t freed = is_new ? 0 : c->contents[before].size;
    return p->bytes - freed + c->contents[at].size > HELD_BYTES / SHARE || (is_new && p->codes.count >= CODES / SHARE);
}

/* V8 moves its objects: in time a process has had them at addresses without end, most of which are none any more. Those
 * that still are are sent again. */
static bool empty_process(struct wp_interp_codes *c, struct process *p, const struct wp_fact_code *code)
{
    if (WP_INTERP_LANGUAGE(code->version) != WP_INTERP_V8 || code->time_ns < p->emptied_ns + EMPTY_NS)
        return false;
    drop_codes(c, p);
    p->emptied_ns = code->time_ns;
    p->generation = ++c->generations;
    c->lacks = true;
    return true;
}

/* It has it from now on, in the place of `before`, UINT32_MAX: none. */
static int give_code(struct wp_interp_codes *c, struct process *p, struct wp_intkey key, uint32_t at, uint32_t before)
{
    bool is_new = before == UINT32_MAX;
    uint64_t freed = is_new ? 0 : c->contents[before].size;
    if (is_beyond_share(c, p, at, before) || (is_new && c->in_processes >= CODES))
        return -ENOSPC;
    int rc = wp_intmap_put(&p->codes, key, at);
    if (rc)
        return rc;
    p->bytes += c->contents[at].size - freed;
    c->in_processes += is_new;
    return 0;
}

/* A child has its parent's code objects where those had them, but the kernel side cannot read what it has not touched
 * since the fork. UINT32_MAX: the parent has none there, or another one. */
static uint32_t inherited_content(
    const struct wp_interp_codes *c, const struct wp_fact_code *code, const struct content *content)
{
    const struct process *parent = process_of(c, code->parent);
    uint32_t at;
    bool is_there = parent && wp_intmap_get(&parent->codes, (struct wp_intkey){code->address, code->part}, &at);
    return is_there && is_unread(code) && is_part(c, content, &c->contents[at]) ? at : UINT32_MAX;
}

static int put_code(struct wp_interp_codes *c, struct process *p, const struct wp_fact_code *code)
{
    const struct wp_intkey key = {code->address, code->part};
    struct content content = {0};
    uint32_t before = UINT32_MAX;
    fill_content(c, code, &content);
    if (c->text.failed)
        return -ENOMEM;
    bool was_there = wp_intmap_get(&p->codes, key, &before);
    if (was_there && is_unread(code) && is_part(c, &content, &c->contents[before]))
        return 0;
    uint32_t at = was_there ? UINT32_MAX : inherited_content(c, code, &content);
    if (at == UINT32_MAX)
        at = find_content(c, &content);
    int rc = at == UINT32_MAX ? add_content(c, &content, &at) : 0;
    if (rc)
        return rc;
    c->contents[at].users++;
    if (is_beyond_share(c, p, at, was_there ? before : UINT32_MAX) && empty_process(c, p, code))
        was_there = false;
    rc = give_code(c, p, key, at, was_there ? before : UINT32_MAX);
    if (rc) {
        release_content(c, at);
        return rc;
    }
    if (was_there ? before != at : code->part != 0) /* frames may have been made without it */
        p->generation = ++c->generations;
    if (was_there)
        release_content(c, before);
    return 0;
}

int wp_interp_codes_add(struct wp_interp_codes *c, const struct wp_fact_code *code)
{
    if (!process_of(c, code->pid)) /* what said so was lost: its stacks have frames, but behind all others */
        wp_interp_codes_process(c, &(struct wp_fact_interp){.pid = code->pid, .version = code->version});
    struct process *p = process_of(c, code->pid);
    int rc = p ? put_code(c, p, code) : -ENOMEM;
    c->counts.refused += rc != 0;
    c->counts.unread += is_unread(code);
    c->text.failed = false;
    return rc;
}

uint64_t wp_interp_codes_generation(const struct wp_interp_codes *c, uint32_t pid)
{
    const struct process *p = process_of(c, pid);
    return p ? p->generation : 0;
}

bool wp_interp_codes_lack(const struct wp_interp_codes *c)
{
    return c->lacks;
}

void wp_interp_codes_retold(struct wp_interp_codes *c)
{
    c->lacks = false;
}

static bool find_object(const void *context, uint64_t address, uint32_t part, struct wp_v8_object *object)
{
    const struct held *held = context;
    uint32_t at;
    if (!wp_intmap_get(&held->process->codes, (struct wp_intkey){address, part}, &at))
        return false;
    const struct content *content = &held->codes->contents[at];
    const char *file = (const char *)content->bytes + content->file_at;
    *object = (struct wp_v8_object){.function = (const char *)content->bytes,
        .file = file,
        .task = file + strlen(file) + 1,
        .table = content->bytes + content->lines_at,
        .size = content->size - content->lines_at,
        .version = content->version};
    return true;
}

static void fill_place(const struct content *content, uint32_t unit, struct wp_interp_place *place)
{
    const struct wp_line_table lines = {.bytes = content->bytes + content->lines_at,
        .size = content->size - content->lines_at,
        .version = content->version,
        .first_line = content->first_line,
        .is_cut = content->is_cut};
    *place = (struct wp_interp_place){.function = (const char *)content->bytes,
        .file = (const char *)content->bytes + content->file_at,
        .line = content->first_line};
    if (unit == WP_INTERP_UNIT_MOST ||
        (unit && !wp_interp_language(content->version)->line(&lines, unit - 1, &place->line)) ||
        place->line > INT32_MAX)
        place->line = 0;
}

/* What is said of its object is in this part. */
static uint32_t part_of(const struct process *process, uint64_t word)
{
    bool is_task = WP_INTERP_UNIT_OF(word) == WP_INTERP_UNIT_TASK;
    return is_task && WP_INTERP_HAS_TASKS(process->about.version) ? WP_INTERP_TASK_PART : 0;
}

uint32_t wp_interp_codes_places(
    struct wp_interp_codes *c, uint32_t pid, uint64_t word, struct wp_interp_place *places, uint32_t room)
{
    const struct held held = {c, process_of(c, pid)};
    uint32_t at, count = 0;
    if (room && held.process &&
        wp_intmap_get(
            &held.process->codes, (struct wp_intkey){WP_INTERP_CODE_OF(word), part_of(held.process, word)}, &at)) {
        const struct content *content = &c->contents[at];
        if (WP_INTERP_LANGUAGE(content->version) == WP_INTERP_V8) {
            count = wp_v8_places(&(struct wp_v8_objects){find_object, &held}, word, places, room);
        } else {
            fill_place(content, part_of(held.process, word) ? 0 : WP_INTERP_UNIT_OF(word), places);
            count = 1;
        }
    }
    c->counts.unknown += !count;
    return count;
}

struct wp_interp_codes_counts wp_interp_codes_counts(const struct wp_interp_codes *c)
{
    struct wp_interp_codes_counts counts = c->counts;
    counts.held = c->by_content.count;
    return counts;
}
