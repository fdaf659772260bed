/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_V8_OBJECT_H
#define WP_COLLECTOR_BPF_INTERP_V8_OBJECT_H
/*
 * Objects of V8 10.2, 11.3, 12.4 and 13.6 on x86-64 (src/objects; without compressed pointers, as Node.js has it). The
 * collector moves them: they are read while the thread that owns them stands still, and each is checked by the type
 * that its map says.
 */
#include "interp_sending.h"

/* Of a frame, what is read of it, in words from bp - 40 on. */
enum { V8_FRAME_AT, V8_FRAME_BYTECODE, V8_FRAME_HEAD_FUNCTION = 3, V8_FRAME_CONTEXT, V8_FRAME_WORDS };
#define V8_FRAME_READ 40
#define V8_MARKS 256u /* the context of a frame without a function: what kind it is */
#define V8_TAG 1u     /* of an object's address; a number has 0, and its value in the high half */
#define V8_TAGS 3u
#define V8_MAP_TYPE 12
#define V8_NO_TYPE ~0u
#define V8_UNKNOWN ~0ull
#define V8_SHARED_DATA 8 /* in a function, however often it is made */
#define V8_CODE_KIND 15u
#define V8_TABLE_NUMBER 8 /* bits of a number in the table that are none of it */
#define V8_TABLE_ENTRY 16
#define V8_TABLE_CODE                                                                                                  \
    8 /* in an entry: the object's address in the high bits, the lowest of which is the collector's                    \
       */
#define V8_TABLE_SHIFT 16
#define V8_CONTEXTS 9u /* types of contexts behind that of an `await` */
/* Types of strings: two bytes a character or one, and what they consist of. */
#define V8_STRINGS 128u
#define V8_ONE_BYTE 8u
#define V8_UNCACHED 16u
#define V8_FORM 7u
enum { V8_SEQUENCE, V8_JOINED, V8_EXTERNAL, V8_SLICED, V8_THIN = 5 };
#define V8_STRING_SIZE 12
#define V8_ARRAY_SIZE 8
#define V8_ARRAY_DATA 16

/* A number's value; ~0: it is none. */
static __always_inline __u64 v8_number(__u64 word)
{
    return (__u32)word ? ~0ull : word >> 32;
}

static __always_inline __u64 v8_read_word(__u64 object, __u32 offset)
{
    __u64 word = 0;
    if ((object & V8_TAGS) == V8_TAG)
        read_user(&word, 8, object - V8_TAG + offset);
    return word;
}

/* Not static: as walk_interp, for these two are most of what is done to objects. The second does not call the first,
 * for the kernel counts calls within calls. */
__noinline __u64 v8_word(__u64 object, __u32 offset)
{
    return v8_read_word(object, offset);
}

/* What its map says; V8_NO_TYPE: it is no object. */
__noinline __u32 v8_type(__u64 object)
{
    __u64 map = v8_read_word(object, 0);
    __u16 type;
    return (map & V8_TAGS) == V8_TAG && read_user(&type, 2, map - V8_TAG + V8_MAP_TYPE) ? type : V8_NO_TYPE;
}

/* The code of a function. */
static __always_inline __u64 v8_code_of(const struct wp_interp_process *process, __u64 function)
{
    const struct wp_v8_offsets *at = &process->file.v8;
    __u64 code = v8_word(function, at->function_code), group, table, entry;
    if (!at->table)
        return code;
    if (!read_user(&group, 8, process->file.runtime) || !read_user(&table, 8, group + at->table) ||
        !read_user(&entry, 8, table + ((__u32)code >> V8_TABLE_NUMBER) * (__u64)V8_TABLE_ENTRY + V8_TABLE_CODE))
        return 0;
    return entry >> V8_TABLE_SHIFT | V8_TAG;
}

static __always_inline __u64 v8_print_shared(const struct wp_v8_offsets *at, __u64 shared)
{
    return mix(mix(WP_V8_SHARED, v8_word(shared, at->shared_name)), v8_word(shared, at->shared_script));
}

static __always_inline __u64 v8_print_code(const struct wp_v8_offsets *at, __u64 code)
{
    return mix(mix(WP_V8_OPTIMISED, v8_word(code, at->code_start)),
        mix(v8_word(code, at->code_positions), v8_word(code, at->code_deopt)));
}

static __always_inline __u64 v8_unit(__u64 place)
{
    return place >= WP_INTERP_UNIT_TASK - 1 ? WP_INTERP_UNIT_MOST : place + 1;
}

#endif
