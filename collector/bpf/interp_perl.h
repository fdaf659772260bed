/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_PERL_H
#define WP_COLLECTOR_BPF_INTERP_PERL_H
/*
 * Perl with threads (intrpvar.h, cop.h, cv.h): a thread's interpreter is under the key PL_thr_key among what threads
 * keep (pthread_getspecific). It has stacks of contexts, one for each of its reasons to run something; of a context
 * only that of a function, or of a file's own code, is a frame. Where the frame stands says the context above it, of
 * the innermost one the interpreter.
 */
#include "interp_sending.h"

#define PERL_SPECIFICS 0x310u /* in glibc's struct pthread: pairs of a number and a value for each key */
#define PERL_KEYS 32u
/* Of a stack (PERL_SI): what is read of it, in words. The low halves of STACK_LAST and STACK_TYPE. */
enum { PERL_STACK_CONTEXTS = 1, PERL_STACK_BACK, PERL_STACK_LAST = 4, PERL_STACK_TYPE, PERL_STACK_WORDS };
#define PERL_STACK_MAIN 1u
#define PERL_CONTEXTS 1000000u
/* Of a context (PERL_CONTEXT): what is read of it, in words. The low byte of the first is its type. */
enum {
    PERL_CONTEXT_TYPE,
    PERL_CONTEXT_PLACE = 2,
    PERL_CONTEXT_RETURN = 6,
    PERL_CONTEXT_FUNCTION = 9,
    PERL_CONTEXT_WORDS
};
#define PERL_CONTEXT_BYTES 0x68u
enum { PERL_SORT_BLOCK, PERL_SUB = 9, PERL_FORMAT, PERL_EVAL };
#define PERL_TYPE 0xfu
#define PERL_SUB_AGAIN 0x80u  /* code in an expression, for the function that is around it already */
#define PERL_EVAL_BLOCK 0xc0u /* eval {}, try {}: no code of a file's own */
/* Of a place (COP): what is read of it, in words. The line is the high half of its word. */
enum { PERL_PLACE_LINE = 4, PERL_PLACE_FILE = 6, PERL_PLACE_WORDS };
/* Of any value (SV): its body, and in the high half of the second word its type. */
enum { PERL_VALUE_BODY, PERL_VALUE_FLAGS, PERL_VALUE_WORDS };
#define PERL_VALUE_FUNCTION 13u
#define PERL_VALUE_GLOB 0x10u /* in a symbol's value: what it stands for (GP) */
#define PERL_GLOB_SYMBOL 0x38u
/* Of a function's body (XPVCV), in words; the flags are the high half of theirs. SYMBOL: or its name, if it has one. */
enum {
    PERL_CODE_PACKAGE = 4,
    PERL_CODE_START,
    PERL_CODE_SYMBOL = 7,
    PERL_CODE_FILE,
    PERL_CODE_FLAGS = 11,
    PERL_CODE_WORDS
};
#define PERL_CODE_NAMED 0x8000u
#define PERL_CODE_LEXICAL 0x10000u
/* Of a symbol's body (XPVGV), of a package's (XPVHV) and of a name (HEK), in bytes. */
#define PERL_SYMBOL_NAME 0x20u
#define PERL_SYMBOL_PACKAGE 0x28u
#define PERL_PACKAGE_NAME 0x20u
#define PERL_PACKAGE_NAMES 0x3cu
#define PERL_NAME_SIZE 4u
#define PERL_NAME_BYTES 8u

/* The contexts of a stack, the last first. */
static __always_inline enum wp_interp_end begin_perl_stack(struct interp_walk *w)
{
    if (!read_user(w->bytes, 8 * PERL_STACK_WORDS, w->stack))
        return WP_INTERP_UNREADABLE;
    __s32 last = (__s32)w->bytes[PERL_STACK_LAST];
    w->limit = w->bytes[PERL_STACK_CONTEXTS];
    w->frame = w->limit + (__s64)last * PERL_CONTEXT_BYTES;
    return last < -1 || last > (__s32)PERL_CONTEXTS || w->limit & 7 ? WP_INTERP_NOT_CODE : WP_INTERP_COMPLETE;
}

static __always_inline enum wp_interp_end begin_perl(struct interp_walk *w, const struct wp_interp_process *process)
{
    const struct wp_perl_offsets *at = &process->file.perl;
    __u64 *interpreter = w->bytes;
    *interpreter = 0;
    if (!read_user(interpreter, 4, process->file.runtime) || *interpreter >= PERL_KEYS ||
        !read_user(interpreter, 8, w->self + PERL_SPECIFICS + 16 * *interpreter + 8) || !*interpreter ||
        !read_user(&w->place, 8, *interpreter + at->place) || !read_user(&w->stack, 8, *interpreter + at->stack) ||
        !w->stack)
        return WP_INTERP_NO_THREAD;
    return begin_perl_stack(w);
}

/* The beginning of a file's name, or a function's body, is read into w->code. Another end than complete: there is
 * none. */
static __always_inline enum wp_interp_end read_perl_code(struct interp_walk *w, __u64 code, bool is_function)
{
    if (code & 7 || !code)
        return WP_INTERP_NOT_CODE;
    if (!read_user(w->code, 8 * PERL_VALUE_WORDS, code))
        return WP_INTERP_UNREADABLE;
    if (!is_function)
        return WP_INTERP_COMPLETE;
    if ((w->code[PERL_VALUE_FLAGS] >> 32 & 0xff) != PERL_VALUE_FUNCTION)
        return WP_INTERP_NOT_CODE;
    return read_user(w->code, 8 * PERL_CODE_WORDS, w->code[PERL_VALUE_BODY]) ? WP_INTERP_COMPLETE
                                                                             : WP_INTERP_UNREADABLE;
}

/* function: 0: it is a file's own code. */
static __always_inline long put_perl(struct interp_walk *w, __u64 *words, __u64 function)
{
    if (!read_user(w->code, 8 * PERL_PLACE_WORDS, w->place))
        return stop_walk(w, WP_INTERP_UNREADABLE);
    __u32 line = (__u32)(w->code[PERL_PLACE_LINE] >> 32);
    __u64 code = function ? function : w->code[PERL_PLACE_FILE];
    enum wp_interp_end end = read_perl_code(w, code, function);
    if (end != WP_INTERP_COMPLETE)
        return stop_walk(w, end);
    __u64 print = function ? mix(mix(w->code[PERL_CODE_START], w->code[PERL_CODE_SYMBOL]), w->code[PERL_CODE_FILE])
                           : mix(w->code[0], w->code[1]);
    __u32 unit = line >= WP_INTERP_UNIT_MOST - 1 ? WP_INTERP_UNIT_MOST : line + 1;
    put_word(w, words, WP_INTERP_WORD(code, unit), print);
    return 0;
}

/* Below the last context of a stack: what has led to it, or the program's own code. */
static __always_inline long leave_perl_stack(struct interp_walk *w, __u64 *words)
{
    if (!read_user(w->bytes, 8 * PERL_STACK_WORDS, w->stack))
        return stop_walk(w, WP_INTERP_UNREADABLE);
    w->stack = w->bytes[PERL_STACK_BACK];
    if ((__u32)(w->bytes[PERL_STACK_TYPE] >> 32) == PERL_STACK_MAIN || !w->stack) {
        if (put_perl(w, words, 0))
            return 1;
        end_call(w, words);
        return stop_walk(w, WP_INTERP_COMPLETE);
    }
    enum wp_interp_end end = begin_perl_stack(w);
    return end == WP_INTERP_COMPLETE ? 0 : stop_walk(w, end);
}

static long step_perl(__u32 index, void *argument)
{
    struct interp_context *context = argument;
    struct interp_walk *w = context->walk;
    if (!w || !context->words)
        return 1;
    if (w->count >= WP_INTERP_DEPTH)
        return stop_walk(w, WP_INTERP_TOO_DEEP);
    if (w->frame < w->limit)
        return leave_perl_stack(w, context->words);
    if (!read_user(w->bytes, 8 * PERL_CONTEXT_WORDS, w->frame))
        return stop_walk(w, WP_INTERP_UNREADABLE);
    w->frame -= PERL_CONTEXT_BYTES;
    __u32 flags = (__u32)w->bytes[PERL_CONTEXT_TYPE], type = flags & PERL_TYPE;
    bool is_function = (type == PERL_SUB || type == PERL_FORMAT) && !(flags & PERL_SUB_AGAIN);
    bool is_file = type == PERL_EVAL && !(flags & PERL_EVAL_BLOCK);
    if (type == PERL_SORT_BLOCK)
        end_call(w, context->words);
    if (!is_function && !is_file)
        return 0;
    if (put_perl(w, context->words, is_function ? w->bytes[PERL_CONTEXT_FUNCTION] : 0))
        return 1;
    if (!w->bytes[PERL_CONTEXT_RETURN])
        end_call(w, context->words);
    w->place = w->bytes[PERL_CONTEXT_PLACE];
    return 0;
}

static __always_inline __u64 perl_word(__u64 address)
{
    __u64 word = 0;
    read_user(&word, 8, address);
    return word;
}

static __always_inline struct interp_bytes perl_bytes(__u64 name)
{
    __u32 size = 0;
    if (name)
        read_user(&size, 4, name + PERL_NAME_SIZE);
    return (struct interp_bytes){name + PERL_NAME_BYTES, size > 1u << 24 ? 0 : size};
}

static __always_inline struct interp_bytes perl_package(__u64 package)
{
    __u64 body = package ? perl_word(package) : 0;
    __u64 name = body ? perl_word(body + PERL_PACKAGE_NAME) : 0;
    __u32 others = 0;
    read_user(&others, 4, body + PERL_PACKAGE_NAMES);
    return perl_bytes(others && name ? perl_word(name) : name);
}

/* Package::function, as caller() has it. */
static __always_inline struct interp_text read_perl_name(struct interp_walk *w, __u8 *to)
{
    __u32 flags = (__u32)(w->code[PERL_CODE_FLAGS] >> 32);
    __u64 name = w->code[PERL_CODE_SYMBOL], package = w->code[PERL_CODE_PACKAGE];
    if (!(flags & PERL_CODE_NAMED)) {
        __u64 symbol = perl_word(perl_word(name + PERL_VALUE_GLOB) + PERL_GLOB_SYMBOL);
        __u64 body = perl_word(symbol ? symbol : name);
        name = perl_word(body + PERL_SYMBOL_NAME);
        package = perl_word(body + PERL_SYMBOL_PACKAGE);
    }
    return read_member(perl_package(flags & PERL_CODE_LEXICAL ? 0 : package), perl_bytes(name), to);
}

__noinline bool fill_perl(struct interp_sending *s, struct interp_walk *w, __u64 address)
{
    if (!s || !w)
        return false;
    struct wp_record_code *code = &s->record.code;
    __u32 type = 0;
    struct interp_text name = {.unit = WP_INTERP_UTF8};
    if (!read_user(&type, 4, address + 12)) /* a file's name has it at most behind its end */
        return false;
    bool is_function = (type & 0xff) == PERL_VALUE_FUNCTION && read_perl_code(w, address, true) == WP_INTERP_COMPLETE;
    if (!is_function && read_perl_code(w, address, false) != WP_INTERP_COMPLETE)
        return false;
    if (is_function)
        name = read_perl_name(w, code->name);
    struct interp_text path = read_string(is_function ? w->code[PERL_CODE_FILE] : address, code->file, WP_INTERP_FILE);
    keep_texts(s, name, path);
    code->first_line = code->lines_size = code->lines_kept = 0;
    s->is_whole = name.unit && path.unit;
    return true;
}

#endif
