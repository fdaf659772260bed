/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_RUBY_H
#define WP_COLLECTOR_BPF_INTERP_RUBY_H
/*
 * CRuby (vm_core.h, iseq.h): ruby_current_ec, a thread's variable, is the state of the fiber that the thread runs. Its
 * stack of values begins with frames, the innermost lowest. A frame of C has no instruction sequence; it is among the
 * native ones.
 */
#include "interp_sending.h"

/* Of a frame (rb_control_frame_t): what is read of it, in words. */
enum { RUBY_FRAME_PC, RUBY_FRAME_ISEQ = 2, RUBY_FRAME_EP = 4, RUBY_FRAME_WORDS };
/* Of a thread's state (rb_execution_context_t). */
enum { RUBY_STATE_STACK, RUBY_STATE_STACK_WORDS, RUBY_STATE_FRAME, RUBY_STATE_WORDS };
/* Flags of an environment (VM_FRAME_*, VM_ENV_*). */
#define RUBY_FIXNUM 0x1u
#define RUBY_FINISH 0x20u /* the call of the loop ends with this frame */
#define RUBY_MAGIC_MASK 0x7fff0001u
#define RUBY_MAGIC_DUMMY 0x79990001u
/* Flags of an object: its type, and of what the interpreter has for itself (imemo) the kind. */
#define RUBY_TYPE_MASK 0x1fu
#define RUBY_STRING 5u
#define RUBY_ARRAY 7u
#define RUBY_ISEQ_MASK 0xf01fu
#define RUBY_ISEQ 0x701au
#define RUBY_USER1 (1u << 13) /* a string: its bytes are elsewhere; an array: its values are in the object */
#define RUBY_EMBEDDED_SIZE(flags) ((flags) >> 14 & 31)

#define RUBY_STACK_WORDS (1ull << 24)
#define RUBY_MODULES 65536u
#define RUBY_DTV_ENTRY 16 /* glibc's dtv_t: a block, and what frees it */
/* Of succ_index_table: bytes for the first 54 places, and for each 512 that follow. */
#define RUBY_INDEX_FIRST_PLACES 54u
#define RUBY_INDEX_FIRST 48u
#define RUBY_INDEX_BLOCK_PLACES 512u
#define RUBY_INDEX_BLOCK 80u

/* The state of the running thread is read into w->code; false: it is none of the interpreter's. */
static __always_inline bool read_ruby_state(struct interp_walk *w, const struct wp_interp_process *process)
{
    __u64 *place = w->bytes, *at = &w->bytes[2]; /* place: number of a block, offset in it (ELF Handling For TLS) */
    return read_user(place, 16, process->file.runtime) && place[0] && place[0] < RUBY_MODULES &&
        read_user(at, 8, w->self + 8) && read_user(at, 8, *at + place[0] * RUBY_DTV_ENTRY) &&
        read_user(at, 8, *at + place[1] + process->file.ruby.state_at) && *at &&
        read_user(w->code, 8 * RUBY_STATE_WORDS, *at);
}

static __always_inline enum wp_interp_end begin_ruby(struct interp_walk *w, const struct wp_interp_process *process)
{
    if (!read_ruby_state(w, process))
        return WP_INTERP_NO_THREAD;
    __u64 stack = w->code[RUBY_STATE_STACK], words = w->code[RUBY_STATE_STACK_WORDS];
    w->frame = w->code[RUBY_STATE_FRAME];
    w->limit = stack + 8 * words - process->file.ruby.frame_bytes; /* where the outermost is, which runs nothing */
    if (words > RUBY_STACK_WORDS || w->frame & 7 || w->frame <= stack || w->frame > w->limit)
        return WP_INTERP_NOT_CODE;
    return WP_INTERP_COMPLETE;
}

/* The body of an instruction sequence is read into w->code. Another end than complete: it is none. */
static __always_inline enum wp_interp_end read_iseq(struct interp_walk *w, __u64 iseq)
{
    if (!read_user(w->code, 24, iseq))
        return WP_INTERP_UNREADABLE;
    if (iseq & 7 || (w->code[0] & RUBY_ISEQ_MASK) != RUBY_ISEQ)
        return WP_INTERP_NOT_CODE;
    return read_user(w->code, WP_INTERP_BODY_BYTES, w->code[2]) ? WP_INTERP_COMPLETE : WP_INTERP_UNREADABLE;
}

/* 1 + the instruction, which pc is behind, in words; 0: it is in none of this sequence. */
static __always_inline __u32 ruby_unit(struct interp_walk *w, const struct wp_ruby_offsets *at, __u64 pc)
{
    __u64 begin = CODE_WORD(w, at->encoded), place = (pc - begin) / 8;
    if (pc < begin || place > half_in(CODE_WORD(w, at->encoded_words), at->encoded_words))
        return 0;
    place += !place;
    return place >= WP_INTERP_UNIT_MOST ? WP_INTERP_UNIT_MOST : (__u32)place;
}

static __always_inline __u64 ruby_print(struct interp_walk *w, const struct wp_ruby_offsets *at)
{
    __u64 h = mix(CODE_WORD(w, at->encoded), CODE_WORD(w, at->label));
    return mix(mix(h, CODE_WORD(w, at->path)), mix(CODE_WORD(w, at->lines), CODE_WORD(w, at->first_line)));
}

static long step_ruby(__u32 index, void *argument)
{
    struct interp_context *context = argument;
    struct interp_walk *w = context->walk;
    struct wp_interp_process *process = context->process;
    __u64 flags;
    if (!w || !process || !context->words)
        return 1;
    if (w->frame >= w->limit)
        return stop_walk(w, WP_INTERP_COMPLETE);
    if (w->count >= WP_INTERP_DEPTH)
        return stop_walk(w, WP_INTERP_TOO_DEEP);
    if (!read_user(w->bytes, 8 * RUBY_FRAME_WORDS, w->frame))
        return stop_walk(w, WP_INTERP_UNREADABLE);
    w->frame += process->file.ruby.frame_bytes;
    __u64 pc = w->bytes[RUBY_FRAME_PC], iseq = w->bytes[RUBY_FRAME_ISEQ];
    if (!pc) /* of C */
        return 0;
    if (!read_user(&flags, 8, w->bytes[RUBY_FRAME_EP]))
        return stop_walk(w, WP_INTERP_UNREADABLE);
    if (!(flags & RUBY_FIXNUM))
        return stop_walk(w, WP_INTERP_NOT_CODE);
    enum wp_interp_end end = read_iseq(w, iseq);
    __u32 unit = end == WP_INTERP_COMPLETE ? ruby_unit(w, &process->file.ruby, pc) : 0;
    if (!unit)
        return stop_walk(w, end == WP_INTERP_COMPLETE ? WP_INTERP_NOT_CODE : end);
    put_word(w, context->words, WP_INTERP_WORD(iseq, unit), ruby_print(w, &process->file.ruby));
    if (flags & RUBY_FINISH && (flags & RUBY_MAGIC_MASK) != RUBY_MAGIC_DUMMY)
        end_call(w, context->words);
    return 0;
}

/* The object's flags; its words are read into s->words. 0: it is none. */
static __always_inline __u64 read_ruby_object(struct interp_sending *s, __u64 object)
{
    bool is_value = object & 7 || object < 4096; /* a number, nil, ... */
    return !is_value && read_user(s->words, 40, object) ? s->words[0] : 0;
}

static __always_inline struct interp_text read_ruby_text(
    struct interp_sending *s, const struct wp_ruby_offsets *at, __u64 text, __u8 *to, __u32 room)
{
    __u64 flags = read_ruby_object(s, text);
    if ((flags & RUBY_TYPE_MASK) != RUBY_STRING)
        return (struct interp_text){};
    if (flags & RUBY_USER1)
        return read_bytes(s->words[3], s->words[2], to, room);
    return read_bytes(text + at->text_embedded, at->has_text_size ? s->words[2] : RUBY_EMBEDDED_SIZE(flags), to, room);
}

/* What a file was given as, or that and where it is: the latter is wanted. */
static __always_inline __u64 ruby_path(struct interp_sending *s, __u64 path)
{
    __u64 flags = read_ruby_object(s, path);
    if ((flags & RUBY_TYPE_MASK) != RUBY_ARRAY)
        return path;
    __u64 given = s->words[2], real = s->words[3];
    if (!(flags & RUBY_USER1))
        return 0;
    return read_ruby_object(s, real) ? real : given;
}

/* A table of lines: bytes of the index, its bytes, and entries that begin with a line. */
static __always_inline void read_ruby_lines(
    struct interp_sending *s, struct interp_walk *w, const struct wp_ruby_offsets *at)
{
    struct wp_record_code *code = &s->record.code;
    __u64 places = half_in(CODE_WORD(w, at->encoded_words), at->encoded_words);
    __u64 entries = half_in(CODE_WORD(w, at->line_count), at->line_count), index = 0;
    if (entries > 1) {
        __u64 more = places > RUBY_INDEX_FIRST_PLACES ? places - RUBY_INDEX_FIRST_PLACES : 0;
        index = (more + RUBY_INDEX_BLOCK_PLACES - 1) / RUBY_INDEX_BLOCK_PLACES * RUBY_INDEX_BLOCK + RUBY_INDEX_FIRST;
    }
    __u64 size = entries * at->line_bytes;
    code->lines_size = code->lines_kept = 0;
    if (entries > 1u << 24)
        return;
    code->lines_size = (__u32)(WP_RUBY_INDEX_AT + index + size);
    if (size > WP_INTERP_LINES - WP_RUBY_INDEX_AT - WP_RUBY_INDEX_MOST)
        size = WP_INTERP_LINES - WP_RUBY_INDEX_AT - WP_RUBY_INDEX_MOST;
    barrier_var(index);
    barrier_var(size);
    if (index > WP_RUBY_INDEX_MOST || size > WP_INTERP_LINES - WP_RUBY_INDEX_AT - WP_RUBY_INDEX_MOST)
        return;
    if (!read_user(s->record.lines + WP_RUBY_INDEX_AT, index, CODE_WORD(w, at->line_index)) ||
        !read_user(s->record.lines + WP_RUBY_INDEX_AT + index, size, CODE_WORD(w, at->lines)))
        return;
    *(__u64 *)s->record.lines = index;
    code->lines_kept = (__u32)(WP_RUBY_INDEX_AT + index + size);
}

__noinline bool fill_ruby(
    struct interp_sending *s, struct interp_walk *w, const struct wp_interp_file *file, __u64 address)
{
    if (!s || !w || !file)
        return false;
    const struct wp_ruby_offsets *at = &file->ruby;
    struct wp_record_code *code = &s->record.code;
    if (read_iseq(w, address) != WP_INTERP_COMPLETE)
        return false;
    code->first_line = (__u32)(CODE_WORD(w, at->first_line) >> 1); /* a number's value is behind bit 0 */
    struct interp_text name = read_ruby_text(s, at, CODE_WORD(w, at->label), code->name, WP_INTERP_NAME);
    __u64 path = ruby_path(s, CODE_WORD(w, at->path));
    struct interp_text text = read_ruby_text(s, at, path, code->file, WP_INTERP_FILE);
    keep_texts(s, name, text);
    read_ruby_lines(s, w, at);
    s->is_whole = name.unit && text.unit && code->lines_kept;
    return true;
}

#endif
