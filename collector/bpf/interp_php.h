/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_PHP_H
#define WP_COLLECTOR_BPF_INTERP_PHP_H
/*
 * PHP without threads of its own (Zend/zend_compile.h): a variable leads to the innermost frame, each to the one below.
 * Its instruction says the line. Functions of C have frames, too, which are left out: they are among the native ones.
 */
#include "interp_sending.h"

/* Of a frame (zend_execute_data): what is read of it, in words. */
enum { PHP_FRAME_INSN, PHP_FRAME_FUNCTION = 3, PHP_FRAME_INFO = 5, PHP_FRAME_BACK, PHP_FRAME_WORDS };
#define PHP_TOP (1u << 17) /* of the low half of INFO: the call of the loop ends with this frame */
/* Of a function (zend_function), in words; the low byte of the first is its type. */
enum { PHP_FUNCTION_TYPE, PHP_FUNCTION_NAME, PHP_FUNCTION_CLASS };
enum { PHP_INTERNAL = 1, PHP_USER = 2, PHP_EVAL = 4 };
#define PHP_INSN_LINE 24 /* in zend_op */
#define PHP_CLASS_NAME 8 /* in zend_class_entry */
#define PHP_STRING_SIZE 16
#define PHP_STRING_BYTES 24

/* Only the thread that the process began with runs the language. */
static __always_inline enum wp_interp_end begin_php(
    struct interp_walk *w, const struct wp_interp_process *process, struct task_struct *task)
{
    if (task->pid != task->tgid)
        return WP_INTERP_NO_THREAD;
    return read_user(&w->frame, 8, process->file.runtime) ? WP_INTERP_COMPLETE : WP_INTERP_UNREADABLE;
}

static __always_inline bool is_php_code(__u64 type)
{
    return (type & 0xff) == PHP_USER || (type & 0xff) == PHP_EVAL;
}

static __always_inline __u64 php_print(struct interp_walk *w, const struct wp_php_offsets *at)
{
    __u64 h = mix(w->code[PHP_FUNCTION_NAME], w->code[PHP_FUNCTION_CLASS]);
    return mix(mix(h, CODE_WORD(w, at->file)), half_in(CODE_WORD(w, at->first_line), at->first_line));
}

/* A frame's function is read into w->code. */
static __always_inline long put_php(struct interp_walk *w, struct interp_context *context, __u64 function)
{
    __u32 line;
    if (!read_user(w->code, WP_INTERP_BODY_BYTES, function) ||
        !read_user(&line, 4, w->bytes[PHP_FRAME_INSN] + PHP_INSN_LINE))
        return stop_walk(w, WP_INTERP_UNREADABLE);
    __u32 unit = line >= WP_INTERP_UNIT_MOST - 1 ? WP_INTERP_UNIT_MOST : line + 1;
    put_word(w, context->words, WP_INTERP_WORD(function, unit), php_print(w, &context->process->file.php));
    if (w->bytes[PHP_FRAME_INFO] & PHP_TOP)
        end_call(w, context->words);
    return 0;
}

static long step_php(__u32 index, void *argument)
{
    struct interp_context *context = argument;
    struct interp_walk *w = context->walk;
    __u64 type;
    if (!w || !context->process || !context->words)
        return 1;
    if (!w->frame)
        return stop_walk(w, WP_INTERP_COMPLETE);
    if (w->count >= WP_INTERP_DEPTH)
        return stop_walk(w, WP_INTERP_TOO_DEEP);
    if (!read_user(w->bytes, 8 * PHP_FRAME_WORDS, w->frame))
        return stop_walk(w, WP_INTERP_UNREADABLE);
    w->frame = w->bytes[PHP_FRAME_BACK];
    __u64 function = w->bytes[PHP_FRAME_FUNCTION];
    if (!function) /* between a generator and who asks it */
        return 0;
    if (!read_user(&type, 8, function))
        return stop_walk(w, WP_INTERP_UNREADABLE);
    if ((type & 0xff) == PHP_INTERNAL)
        return 0;
    if (!is_php_code(type) || function & 7)
        return stop_walk(w, WP_INTERP_NOT_CODE);
    return put_php(w, context, function);
}

/* zend_string; a size of 0: there is none. */
static __always_inline struct interp_bytes php_bytes(__u64 text)
{
    struct interp_bytes bytes = {.from = text + PHP_STRING_BYTES};
    if (!text || !read_user(&bytes.size, 8, text + PHP_STRING_SIZE) || bytes.size > 1u << 24)
        bytes.size = 0;
    return bytes;
}

/* Class::function; nothing: it is a file's own code. */
static __always_inline struct interp_text read_php_name(struct interp_walk *w, __u8 *to)
{
    __u64 class = w->code[PHP_FUNCTION_CLASS], class_name = 0;
    if (!w->code[PHP_FUNCTION_NAME])
        return (struct interp_text){.unit = WP_INTERP_UTF8};
    if (class)
        read_user(&class_name, 8, class + PHP_CLASS_NAME);
    return read_member(php_bytes(class_name), php_bytes(w->code[PHP_FUNCTION_NAME]), to);
}

__noinline bool fill_php(
    struct interp_sending *s, struct interp_walk *w, const struct wp_interp_file *file, __u64 address)
{
    if (!s || !w || !file)
        return false;
    const struct wp_php_offsets *at = &file->php;
    struct wp_record_code *code = &s->record.code;
    if (!read_user(w->code, WP_INTERP_BODY_BYTES, address) || !is_php_code(w->code[PHP_FUNCTION_TYPE]))
        return false;
    code->first_line = half_in(CODE_WORD(w, at->first_line), at->first_line);
    struct interp_text name = read_php_name(w, code->name);
    struct interp_bytes file_name = php_bytes(CODE_WORD(w, at->file));
    struct interp_text path = read_bytes(file_name.from, file_name.size, code->file, WP_INTERP_FILE);
    keep_texts(s, name, path);
    code->lines_size = code->lines_kept = 0;
    s->is_whole = name.unit && path.unit;
    return true;
}

#endif
