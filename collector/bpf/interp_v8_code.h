/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_V8_CODE_H
#define WP_COLLECTOR_BPF_INTERP_V8_CODE_H
/*
 * What V8's functions of a new stack are (interp_code.h): compiled code with what was inlined in it, each function, and
 * the text of its script, which the reader counts lines in. One step of a loop sends one of them at most.
 */
#include "interp_v8.h"

#define V8_STEPS 1024u /* of a stack */
#define V8_STRING_DATA 16
#define V8_STRING_SECOND 24
#define V8_STRING_HOPS 4
/* In a script. */
#define V8_SCRIPT_SOURCE 8
#define V8_SCRIPT_NAME 16
#define V8_SCRIPT_LINE 24
#define V8_SCRIPT_ID 64
/* In the description of a function's scope: how many variables, then their names and places, then the name. */
#define V8_SCOPE_LOCALS 24
#define V8_SCOPE_INLINE 75u /* fewer names are in it; else it has a table of them */
/* In the table for what compiled code was made of. */
#define V8_DEOPT_INLINED 24

struct v8_text {
    __u64 at;
    __u32 size, unit; /* characters; bytes of one, 0: there is none */
};

/* Where the characters of a string are that lie in one piece. */
static __always_inline struct v8_text v8_text(__u64 string)
{
    struct v8_text text = {};
    __u64 skipped = 0;
    read_user(&text.size, 4, string - V8_TAG + V8_STRING_SIZE);
    for (int i = 0; i < V8_STRING_HOPS; i++) {
        __u32 type = v8_type(string), unit = type & V8_ONE_BYTE ? 1 : 2, form = type & V8_FORM;
        if (type >= V8_STRINGS)
            break;
        if (form == V8_SEQUENCE || (form == V8_EXTERNAL && !(type & V8_UNCACHED))) {
            __u64 at = form ? v8_word(string, V8_STRING_SECOND) : string - V8_TAG + V8_STRING_DATA;
            text.at = at + skipped * unit;
            text.unit = unit;
            break;
        }
        if (form == V8_SLICED) {
            skipped += v8_word(string, V8_STRING_SECOND) >> 32;
        } else if (form == V8_JOINED) { /* one that was flattened has nothing in its second part */
            __u32 size = 1;
            read_user(&size, 4, v8_word(string, V8_STRING_SECOND) - V8_TAG + V8_STRING_SIZE);
            if (size)
                break;
        } else if (form != V8_THIN) {
            break;
        }
        string = v8_word(string, V8_STRING_DATA);
    }
    return text;
}

/* Where texts go, from the beginning of the name on: the file is behind it. */
#define V8_NAME_AT 0u
#define V8_FILE_AT WP_INTERP_NAME
#define V8_TEXTS (WP_INTERP_NAME + WP_INTERP_FILE)

/* Leaves what it came to in s->v8.text. Not static: as v8_word. */
__noinline int copy_v8_text(struct interp_sending *s, __u64 string, __u32 at, __u32 room)
{
    if (!s)
        return 0;
    __u64 place = at;
    barrier_var(place);
    s->v8.text = (struct interp_text){};
    struct v8_text text = v8_text(string);
    if (place > V8_TEXTS || !text.unit)
        return 0;
    __u64 all = (__u64)text.size * text.unit, size = all > room ? room & ~1u : all;
    __u8 *to = (__u8 *)&s->record + __builtin_offsetof(struct interp_code_record, code.name) + place;
    s->v8.text.is_cut = all > room;
    barrier_var(size);
    if (size > WP_INTERP_FILE || (size && !read_user(to, size, text.at)))
        return 0;
    s->v8.text.size = (__u32)size;
    s->v8.text.unit = (__u8)text.unit;
    return 0;
}

static __always_inline struct interp_text read_v8_text(struct interp_sending *s, __u64 string, __u32 at, __u32 room)
{
    copy_v8_text(s, string, at, room);
    return s->v8.text;
}

/* Also of one that was joined of two: a folder and a file in it, an object and its function. half: room for each. */
static __always_inline struct interp_text read_v8_joined(struct interp_sending *s, __u64 string, __u32 at, __u32 half)
{
    struct interp_text got = read_v8_text(s, string, at, 2 * half);
    __u32 type = v8_type(string);
    if (got.unit || type >= V8_STRINGS || (type & V8_FORM) != V8_JOINED)
        return got;
    got = read_v8_text(s, v8_word(string, V8_STRING_DATA), at, half);
    if (!got.unit || got.size > half)
        return (struct interp_text){};
    if (got.is_cut)
        return got;
    struct interp_text rest = read_v8_text(s, v8_word(string, V8_STRING_SECOND), at + got.size, half);
    if (rest.unit != got.unit)
        return (struct interp_text){};
    rest.size += got.size;
    return rest;
}

static __always_inline struct interp_text read_v8_name(
    struct interp_sending *s, const struct wp_v8_offsets *at, __u64 name, bool is_scope)
{
    if (!name || v8_number(name) != ~0ull)
        return (struct interp_text){.unit = 1};
    if (!is_scope)
        return read_v8_joined(s, name, V8_NAME_AT, WP_INTERP_NAME / 2);
    __u64 locals = v8_number(v8_word(name, V8_SCOPE_LOCALS)), *words = s->words;
    if (locals > 65536)
        return (struct interp_text){};
    __u64 first_at = name - V8_TAG + at->scope_first + 8 * (locals < V8_SCOPE_INLINE ? 2 * locals : locals + 1);
    if (!read_user(words, 40, first_at))
        return (struct interp_text){};
    __u64 first = v8_type(words[0]) < V8_STRINGS ? words[0] : words[1];
    __u64 inferred = first == words[0] ? words[2] : words[3];
    struct interp_text own = read_v8_text(s, first, V8_NAME_AT, WP_INTERP_NAME);
    if (own.size || v8_type(inferred) >= V8_STRINGS)
        return own.unit ? own : (struct interp_text){.unit = 1};
    return read_v8_joined(s, inferred, V8_NAME_AT, WP_INTERP_NAME / 2);
}

/* A table's bytes, at most so many; how many there are. */
static __always_inline __u32 read_v8_table(__u64 table, __u8 *to, __u32 room)
{
    __u64 size = v8_number(v8_word(table, V8_ARRAY_SIZE));
    if (size > room)
        return 0;
    barrier_var(size);
    return size <= room && read_user(to, size, table - V8_TAG + V8_ARRAY_DATA) ? (__u32)size : 0;
}

static __always_inline struct wp_v8_head *v8_head(struct interp_sending *s, __u32 kind, __u64 owner)
{
    struct wp_v8_head *head = (struct wp_v8_head *)s->record.lines;
    __builtin_memset(s->record.lines, 0, WP_V8_HEAD);
    *head = (struct wp_v8_head){.kind = kind, .owner = owner ? owner - V8_TAG : 0};
    return head;
}

static __always_inline void end_v8(struct interp_sending *s, __u32 size)
{
    s->record.code.lines_size = s->record.code.lines_kept = size;
}

__noinline int fill_v8_shared(struct interp_sending *s, const struct wp_v8_offsets *at, __u64 shared)
{
    if (!s || !at)
        return 0;
    __u64 script = v8_word(shared, at->shared_script), name = v8_word(shared, at->shared_name);
    __u64 data = v8_word(shared, V8_SHARED_DATA);
    bool has_script = v8_type(script) == at->script;
    struct wp_v8_head *head = v8_head(s, WP_V8_SHARED, has_script ? script : 0);
    if (has_script)
        head->first = (__u32)(v8_word(script, V8_SCRIPT_LINE) >> 32);
    struct interp_text text = read_v8_name(s, at, name, v8_type(name) == at->scope);
    struct interp_text file = {.unit = WP_INTERP_UTF8}; /* a script that was made while it ran has none */
    __u64 path = has_script ? v8_word(script, V8_SCRIPT_NAME) : 0;
    if (has_script && v8_type(path) - V8_STRINGS > 0xffff)
        file = read_v8_joined(s, path, V8_FILE_AT, WP_INTERP_FILE / 2);
    keep_texts(s, text, file);
    if (v8_type(data) == at->code)
        data = v8_word(data, at->code_deopt);
    if (v8_type(data) == at->bytecode)
        head->third = read_v8_table(
            v8_word(data, at->bytecode_positions), s->record.lines + WP_V8_HEAD, WP_INTERP_LINES - WP_V8_HEAD);
    end_v8(s, WP_V8_HEAD + head->third);
    s->is_whole = text.unit && file.unit && (head->third || !has_script);
    return 0;
}

__noinline int fill_v8_baseline(struct interp_sending *s, const struct wp_v8_offsets *at, __u64 code, __u64 owner)
{
    if (!s || !at)
        return 0;
    struct wp_v8_head *head = v8_head(s, WP_V8_BASELINE, owner);
    __u64 bytecode = v8_word(code, at->code_deopt), size = v8_number(v8_word(bytecode, V8_ARRAY_SIZE));
    s->is_whole = false;
    end_v8(s, WP_V8_HEAD);
    if (v8_type(bytecode) != at->bytecode)
        return 0;
    head->second = read_v8_table(v8_word(code, at->code_positions), s->record.lines + WP_V8_HEAD, WP_V8_PLACES);
    barrier_var(size);
    if (size > WP_INTERP_LINES - WP_V8_BYTECODE_AT ||
        !read_user(s->record.lines + WP_V8_BYTECODE_AT, size, bytecode - V8_TAG + at->bytecode_at))
        return 0;
    head->third = (__u32)size;
    end_v8(s, WP_V8_BYTECODE_AT + (__u32)size);
    s->is_whole = true;
    return 0;
}

/* The functions that were inlined are sent next. They, too, may be moved while the code is not. */
static __always_inline __u64 read_v8_inlined(
    struct interp_sending *s, const struct wp_v8_offsets *at, __u64 deopt, __u64 print)
{
    __u64 count = v8_number(v8_word(deopt, V8_DEOPT_INLINED)), literals = v8_word(deopt, at->deopt_literals);
    __builtin_memset(&s->v8.queue[1], 0, 8 * WP_V8_INLINED);
    if (count > WP_V8_INLINED)
        count = 0;
    barrier_var(count);
    if (count > WP_V8_INLINED || (literals & V8_TAGS) != V8_TAG ||
        !read_user(&s->v8.queue[1], 8 * count, literals - V8_TAG + V8_ARRAY_DATA))
        return print;
    s->v8.queued = (__u32)count + 1;
    for (int i = 1; i < V8_QUEUE; i++)
        print = mix(print, s->v8.queue[i]);
    return print;
}

__noinline int fill_v8_optimised(struct interp_sending *s, const struct wp_v8_offsets *at, __u64 code, __u64 owner)
{
    if (!s || !at)
        return 0;
    struct wp_v8_head *head = v8_head(s, WP_V8_OPTIMISED, owner);
    __u8 *lines = s->record.lines;
    __u64 deopt = v8_word(code, at->code_deopt);
    head->first = s->v8.queued - 1;
    __builtin_memcpy(lines + WP_V8_HEAD, &s->v8.queue[1], 8 * WP_V8_INLINED);
    head->second = read_v8_table(v8_word(deopt, at->deopt_inlinings), lines + WP_V8_HEAD + 8 * WP_V8_INLINED,
                       16 * WP_V8_INLININGS) /
        16;
    head->third = read_v8_table(
        v8_word(code, at->code_positions), lines + WP_V8_POSITIONS_AT, WP_INTERP_LINES - WP_V8_POSITIONS_AT);
    end_v8(s, WP_V8_POSITIONS_AT + head->third);
    s->is_whole = head->third;
    return 0;
}

static __always_inline int begin_v8_code(
    struct interp_sending_context *context, const struct interp_code_key *key, __u64 print)
{
    struct interp_sending *s = context->sending;
    int begun = begin_code(s, context->process, key, print);
    s->record.code.name_unit = s->record.code.file_unit = WP_INTERP_UTF8;
    return begun;
}

static __always_inline long end_v8_code(
    struct interp_sending_context *context, const struct interp_code_key *key, __u64 print)
{
    context->sending->is_told = context->sending->record.code.lines_kept;
    int end = end_code(context->sending, context->process, key, print);
    barrier_var(end); /* else the compiler proves the next line needless, which the verifier cannot */
    return end ? 1 : 0;
}

/* Piece 0 stands for all of them. */
static __always_inline long send_v8_piece(struct interp_sending_context *context)
{
    struct interp_sending *s = context->sending;
    struct v8_sending *v = &s->v8;
    struct interp_code_key key = {.code = v->script - V8_TAG, .tgid = context->process->tgid, .part = v->piece};
    struct v8_text text = v8_text(v8_word(v->script, V8_SCRIPT_SOURCE));
    __u64 bytes = (__u64)text.size * text.unit, skipped = (__u64)(v->piece - 1) * WP_V8_PIECE;
    __u64 print = mix(mix(WP_V8_SOURCE, v8_word(v->script, V8_SCRIPT_ID)), bytes);
    bool is_over = v->piece > WP_V8_PIECES || (v->piece && skipped >= bytes);
    if (is_over)
        key.part = 0;
    int end = text.unit ? begin_v8_code(context, &key, print) : CODE_SENT;
    if (end == CODE_STOP)
        return 1;
    if (is_over || !text.unit || (!v->piece && end == CODE_SENT))
        v->script = 0;
    if (is_over && end == CODE_SEND)
        return end_v8_code(context, &key, print);
    if (!v->piece++ || end == CODE_SENT || is_over)
        return 0;
    __u64 size = bytes - skipped < WP_V8_PIECE ? bytes - skipped : WP_V8_PIECE;
    struct wp_v8_head *head = v8_head(s, WP_V8_SOURCE, 0);
    barrier_var(size);
    if (size > WP_V8_PIECE || !read_user(s->record.lines + WP_V8_HEAD, size, text.at + skipped)) {
        v->script = 0; /* not again for a while */
        key.part = 0;
        s->is_whole = false;
        return end_v8_code(context, &key, print);
    }
    head->second = text.unit;
    head->third = (__u32)size;
    end_v8(s, WP_V8_HEAD + (__u32)size);
    return end_v8_code(context, &key, print);
}

static __always_inline long send_v8_shared(struct interp_sending_context *context, __u64 shared)
{
    const struct wp_v8_offsets *at = &context->process->file.v8;
    struct interp_sending *s = context->sending;
    struct interp_code_key key = {.code = shared - V8_TAG, .tgid = context->process->tgid};
    if (v8_type(shared) != at->shared)
        return 0;
    __u64 script = v8_word(shared, at->shared_script), print = v8_print_shared(at, shared);
    s->v8.script = v8_type(script) == at->script ? script : 0;
    s->v8.piece = 0;
    int end = begin_v8_code(context, &key, print);
    if (end != CODE_SEND)
        return end == CODE_STOP;
    fill_v8_shared(s, at, shared);
    return end_v8_code(context, &key, print);
}

static __always_inline long send_v8_compiled(struct interp_sending_context *context, __u64 code, __u64 owner)
{
    const struct wp_v8_offsets *at = &context->process->file.v8;
    struct interp_sending *s = context->sending;
    struct interp_code_key key = {.code = code - V8_TAG, .tgid = context->process->tgid};
    __u32 flags = 0;
    __u64 print = mix(v8_print_code(at, code), owner);
    s->v8.queue[0] = owner;
    s->v8.queued = 1;
    s->v8.next = 0;
    if (!read_user(&flags, 4, code - V8_TAG + at->code_flags))
        return 0;
    bool is_baseline = (flags & V8_CODE_KIND) == at->baseline;
    if (!is_baseline)
        print = read_v8_inlined(s, at, v8_word(code, at->code_deopt), print);
    int end = begin_v8_code(context, &key, print);
    if (end != CODE_SEND)
        return end == CODE_STOP;
    if (is_baseline)
        fill_v8_baseline(s, at, code, owner);
    else
        fill_v8_optimised(s, at, code, owner);
    return end_v8_code(context, &key, print);
}

static long send_v8(__u32 index, void *argument)
{
    struct interp_sending_context *context = argument;
    struct interp_walk *w = context->walk;
    struct interp_sending *s = context->sending;
    if (!w || !s || !context->process || !context->words)
        return 1;
    if (s->v8.script)
        return send_v8_piece(context);
    __u32 at = s->v8.next;
    if (at < s->v8.queued) {
        s->v8.next++;
        barrier_var(at);
        return send_v8_shared(context, at < V8_QUEUE ? s->v8.queue[at] & ~2ull : 0); /* a weak one has that bit */
    }
    at = s->v8.word;
    if (at >= context->count || at >= WP_INTERP_DEPTH) {
        s->v8.is_done = true;
        return 1;
    }
    s->v8.word++;
    barrier_var(at);
    at &= WP_INTERP_DEPTH - 1;
    __u64 object = WP_INTERP_CODE_OF(context->words[at]) + V8_TAG;
    if (object == V8_TAG)
        return 0;
    if (v8_type(object) == context->process->file.v8.code)
        return send_v8_compiled(context, object, w->owners[at]);
    return send_v8_shared(context, object);
}

static __always_inline void send_v8_codes(struct interp_sending_context *context)
{
    struct v8_sending *v = &context->sending->v8;
    v->script = v->word = v->next = v->queued = 0;
    v->is_done = false;
    bpf_loop(V8_STEPS, send_v8, context, 0);
    if (!v->is_done)
        context->sending->is_all = false;
}

#endif
