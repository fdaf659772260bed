/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_ROW_H
#define WP_COLLECTOR_BPF_INTERP_ROW_H
/*
 * Where an interpreter keeps the frames of the language that it runs, by file: made by
 * collector/interp/interp_languages.c, read by collector/bpf/interp.h. Shared by both sides.
 */
#include "ring_record.h"

#define WP_INTERP_DEPTH 128u       /* frames of the language in one stack */
#define WP_INTERP_FRAME_BYTES 128u /* of a frame; what is read of it ends before that */
#define WP_INTERP_STATE_BYTES 192u /* of a thread's state */
#define WP_INTERP_CODE_BYTES 144u  /* of a code object of CPython ... */
#define WP_INTERP_BODY_BYTES 184u  /* ... and of the other languages */

enum wp_interp_language_id {
    WP_INTERP_PYTHON,
    WP_INTERP_RUBY,
    WP_INTERP_PHP,
    WP_INTERP_PERL,
    WP_INTERP_JAVA,
    WP_INTERP_V8,
    WP_INTERP_GO, /* has no frames of its own: collector/bpf/go_timer.h */
    WP_INTERP_LANGUAGES
};

/* A version says the language, too: 0x030b is Python 3.11. */
#define WP_INTERP_VERSION(language, major, minor) ((wp_u32)(language) << 16 | (wp_u32)(major) << 8 | (wp_u32)(minor))
#define WP_INTERP_LANGUAGE(version) ((wp_u32)(version) >> 16)

/* No interpreter, but asyncio's part in C: `runtime` is where it has the dictionary of the tasks that run. */
#define WP_INTERP_ASYNCIO WP_INTERP_VERSION(WP_INTERP_PYTHON, 0, 1)

/* Offsets in the structs of one version of CPython, in bytes. A multiple of what is read there. */
struct wp_interp_offsets {
    wp_u16 interpreters; /* in the runtime: the first interpreter */
    wp_u16 next_interpreter, threads;
    wp_u16 next_thread, thread_id; /* thread_id: pthread_self() */
    wp_u16 frame;                  /* in a thread's state: the innermost frame */
    wp_u16 frame_code, frame_back, frame_at, frame_mark;
    wp_u16 frame_bytes; /* so many are read of a frame */
    wp_u16 code_lines, code_name, code_file, code_first_line;
    wp_u16 code_bytes; /* in a code object: its instructions; 0: a frame counts them itself */
    wp_u16 text_data;  /* in a string of ASCII; others have their data `text_apart` further */
    wp_u16 text_apart;
    wp_u16 held_at;    /* `frame` of a thread's state leads to a struct that has it at this offset, plus 1; 0: no */
    wp_u8 mark_end;    /* value of the byte `frame_mark` in the last frame of one call of the interpreter ... */
    wp_u8 mark_is_own; /* ... which is no frame of the language, but comes behind the last one */
    wp_u8 unit_bits;   /* `frame_at` counts 1 << unit_bits bytes, where it counts */
    wp_u8 has_marks;   /* else each frame is a call of the interpreter */
    wp_u8 coroutine;   /* in a generator or a coroutine: its frame; 0: it is not known */
    wp_u8 frame_owner; /* whether a frame is one of those */
    wp_u8 frame_self;  /* a function's first local variable */
    wp_u8 frame_top;   /* of a frame that does not run: how many are in use from there on, or where they end */
    wp_u8 top_is_address;
    wp_u8 tuple_first;
    wp_u8 timer_when; /* in asyncio's TimerHandle */
    wp_u8 values;     /* enum wp_python_values; 0: timers are not looked for */
};

/* Where an object has the values of its attributes: before it, before it and marked, behind it. */
enum wp_python_values { WP_PYTHON_VALUES_BEFORE = 1, WP_PYTHON_VALUES_MARKED, WP_PYTHON_VALUES_INSIDE };

/* In the body of an instruction sequence of CRuby, but for the first and the last. */
struct wp_ruby_offsets {
    wp_u16 frame_bytes;            /* size of a frame */
    wp_u16 encoded, encoded_words; /* the instructions; how many words */
    wp_u16 path, label, first_line;
    wp_u16 lines, line_count, line_index; /* insns_info */
    wp_u16 line_bytes;                    /* size of one of `lines` */
    wp_u16 text_embedded;                 /* in a string that holds its bytes itself */
    wp_u16 state_at;                      /* where a thread has ruby_current_ec, from what `runtime` says on */
    wp_u8 has_text_size;                  /* such a string says its size as others do, else in its flags */
};

/* In a function of PHP (zend_op_array). */
struct wp_php_offsets {
    wp_u16 file, first_line;
};

/* In an interpreter of Perl: PL_curcop, PL_curstackinfo. */
struct wp_perl_offsets {
    wp_u16 place, stack;
};

/* In objects of V8, in bytes; what is not here is the same in all versions (collector/bpf/interp_v8.h). */
struct wp_v8_offsets {
    wp_u16 function_first, function_last; /* types: of functions, ... */
    wp_u16 shared, code, bytecode, script, scope;
    wp_u8 function_shared, function_code; /* in a function; its code, or its number in the table of all code */
    wp_u8 shared_name, shared_script;     /* in what all closures of a function share */
    wp_u8 code_start, code_size;          /* in a code object: its instructions, and how many bytes */
    wp_u8 code_flags;
    wp_u8 scope_first;                     /* in the description of a function's scope: its first variable */
    wp_u8 code_positions, code_deopt;      /* tables */
    wp_u8 deopt_literals, deopt_inlinings; /* in the table for what compiled code was made of */
    wp_u8 bytecode_positions, bytecode_at; /* in an array of bytecode */
    wp_u8 baseline;                        /* kind of code of Sparkplug; those above it are optimised */
    wp_u8 is_apart;                        /* instructions lie elsewhere: code_start has their address */
    wp_u16 await_context;  /* types: of what holds the generator that waits; other contexts have those behind it; ... */
    wp_u16 async_function; /* ... of what an async function runs in, an async generator's is next */
    wp_u16 object, array;
    wp_u16 promise, reaction, capability, request; /* promise 0: chains of them are not known */
    wp_u8 function_context;
    wp_u8 reaction_next;  /* in a reaction */
    wp_u8 shared_builtin; /* a number if the function is V8's own */
    wp_u8 stub_mark;      /* of frames without a function */
    wp_u32 table;         /* of all code, in what `runtime` leads to; 0: a function has its own */
};

/* In structs of Go's runtime. */
struct wp_go_offsets {
    wp_u16 when;  /* in a P: when its heap's first timer is due, and behind that the first of those that changed */
    wp_u16 heap;  /* ... and its heap: a slice */
    wp_u16 timer; /* in a timer: from where on `when` stands, in one of two words, with what it calls behind it */
    wp_u16 timer_state; /* ... and its state: four bytes */
    wp_u16 receivers;   /* in a channel: the first goroutine that waits to receive */
    wp_u8 has_when;     /* a heap's entry has `when` behind the timer (Go 1.23) */
};

/* Members of HotSpot's structs. Of some there are two forms: an address, or an offset (struct wp_java_layout). */
enum wp_java_member {
    WP_JAVA_HEAP_MEMORY, /* CodeHeap */
    WP_JAVA_HEAP_SEGMENTS,
    WP_JAVA_HEAP_SEGMENT_BITS,
    WP_JAVA_BLOB_NAME, /* CodeBlob: those up to WP_JAVA_CODE_DEOPT are read with each frame */
    WP_JAVA_BLOB_COMPLETE,
    WP_JAVA_BLOB_FRAME_SIZE,
    WP_JAVA_BLOB_CODE, /* where its code begins, and ends */
    WP_JAVA_BLOB_CODE_END,
    WP_JAVA_CODE_DEOPT,  /* nmethod: where it returns to instead when it may not go on ... */
    WP_JAVA_CODE_CALLER, /* ... and where in its frame the address is that it would have returned to */
    WP_JAVA_CODE_METHOD,
    WP_JAVA_CODE_METHODS, /* those that were inlined; in a blob with offsets: behind the relocations there */
    WP_JAVA_CODE_SCOPES,
    WP_JAVA_CODE_PLACES,
    WP_JAVA_CODE_PLACES_END,
    WP_JAVA_CODE_RELOCATIONS, /* with offsets: their bytes */
    WP_JAVA_CODE_IMMUTABLE,   /* with offsets: the address that scopes and places are counted from */
    WP_JAVA_METHOD_CONST,     /* Method */
    WP_JAVA_CONST_POOL,       /* ConstMethod */
    WP_JAVA_CONST_SIZE,
    WP_JAVA_CONST_FLAGS,
    WP_JAVA_CONST_CODE_SIZE,
    WP_JAVA_CONST_NAME,
    WP_JAVA_POOL_CLASS, /* ConstantPool */
    WP_JAVA_POOL_FILE,
    WP_JAVA_POOL_LENGTH,
    WP_JAVA_CLASS_NAME, /* Klass */
    WP_JAVA_SYMBOL_SIZE,
    WP_JAVA_SYMBOL_TEXT,
    WP_JAVA_MEMBERS
};

#define WP_JAVA_ROOM 32u

/* HotSpot says where its structs' members are in a table that a process has filled in once it runs. */
struct wp_java_layout {
    wp_u16 at[WP_JAVA_ROOM];  /* offsets; of a file: WP_JAVA_ENTRY and the number of the table's entry */
    wp_u8 block_head;         /* bytes of a HeapBlock */
    wp_u8 const_bytes;        /* of a ConstMethod, ... */
    wp_u8 pool_bytes;         /* ... of a ConstantPool, without what is behind them */
    wp_u8 continuation_bytes; /* of a ContinuationEntry on the stack; 0: there is none */
    wp_u8 has_offsets;        /* instead of addresses: from 25 on */
    wp_u8 number_least;       /* of the bytes of a number in a stream */
    wp_u32 heap_base;         /* of compressed pointers into the heap: where that is kept, from the table on, ... */
    wp_u32 heap_shift;        /* ... and what they are shifted by; both are signed */
    wp_u32 class_base, class_shift; /* of compressed pointers to classes, as those */
    wp_u8 thread_name;              /* in a java.lang.Thread, 0: virtual threads are not told apart */
};
#define WP_JAVA_ENTRY 0x8000u
#define WP_JAVA_ENTRY_BYTES 48u
#define WP_JAVA_ENTRY_OFFSET 32u
#define WP_JAVA_BLOB_BYTES 192u /* what is read of a CodeBlob with each frame, ... */
#define WP_JAVA_CODE_BYTES 320u /* ... of an nmethod for its tables, ... */
#define WP_JAVA_CONST_BYTES 64u /* ... of a ConstMethod at most, ... */
#define WP_JAVA_POOL_BYTES 128u /* ... and of a ConstantPool */

/* Value of the map interp_files. Addresses are as if the file began at 0: base is where its offset 0 would be. */
struct wp_interp_file {
    /* _PyRuntime; where a thread has ruby_current_ec; PHP's innermost frame; PL_thr_key; CodeCache::_heaps; V8's
     * version, or IsolateGroup::default_isolate_group_; Go's slice of Ps */
    wp_u64 runtime;
    wp_u64 code_type;        /* the variable PyCode_Type; Go's function that a sleep's timer calls; HotSpot's table */
    wp_u64 loop, loop_end;   /* the function that runs bytecode */
    wp_u64 cold, cold_end;   /* the part of it that lies apart; 0: none */
    wp_u64 inner, inner_end; /* the function that it calls for that; 0: none. Go's that a channel's timer calls */
    union {
        struct wp_interp_offsets at; /* CPython's */
        struct wp_ruby_offsets ruby;
        struct wp_php_offsets php;
        struct wp_perl_offsets perl;
        struct wp_v8_offsets v8;
        struct wp_go_offsets go;
        struct wp_java_layout java;
    };
    wp_u32 version; /* WP_INTERP_VERSION */
};

/* A part of HotSpot's code cache, as far as it may grow. */
struct wp_java_heap {
    wp_u64 begin, end;
    wp_u64 segments; /* the map of its blocks */
};
#define WP_JAVA_HEAPS 3u

/* Classes by which objects are known. */
enum wp_java_class { WP_JAVA_VIRTUAL_THREAD, WP_JAVA_STRING, WP_JAVA_BYTES, WP_JAVA_CLASSES };

/* A process that runs one: value of the map interp_processes. The file's addresses are the process' own. */
struct wp_interp_process {
    struct wp_interp_file file;
    wp_u64 start_code;
    wp_u64 epoch;    /* of the reader's, when it got the process; 0: it did not */
    wp_u64 since_ns; /* when `sent` began */
    wp_u64 sent;     /* bytes of code objects since then */
    wp_u32 tgid, exec_id;
    struct wp_java_heap heaps[WP_JAVA_HEAPS]; /* of HotSpot; its `loop` is all of them */
    wp_u32 heap_count, segment_bits;
    /* Of Node.js: a handle of a function that sees them (node_timer.h); of asyncio: their class. 0: it is not known. */
    wp_u64 timers;
    wp_u64 timer_base;     /* what Node.js' clock counts from, in milliseconds */
    wp_u64 coroutine_type; /* of CPython; 0: it is not known */
    wp_u32 timer_slot, timer_tries;
    wp_u32 classes[WP_JAVA_CLASSES]; /* compressed pointers to them; 0: it was not met yet */
};

/* A frame of the language in a stack: code object, place in it, and whether the interpreter's loop was called for it.
 * Code objects are aligned to 8 bytes. */
#define WP_INTERP_UNIT_BITS 19
#define WP_INTERP_UNIT_MOST ((1u << WP_INTERP_UNIT_BITS) - 1) /* or beyond */
#define WP_INTERP_WORD(code, unit) ((wp_u64)(code) >> 3 << (WP_INTERP_UNIT_BITS + 1) | (wp_u64)(unit) << 1)
#define WP_INTERP_ENTRY 1ull
/* A word of this bit alone: a call of the loop without frames. */
/* A word without a code object and this bit: the calls that follow, of V8, are native frames from this number on. */
#define WP_INTERP_FROM(index) WP_INTERP_WORD(0, (index) + 1)
#define WP_INTERP_IS_FROM(word) (!WP_INTERP_CODE_OF(word) && WP_INTERP_UNIT_OF(word) && !((word)&WP_INTERP_ENTRY))
#define WP_INTERP_CODE_OF(word) ((word) >> (WP_INTERP_UNIT_BITS + 1) << 3)
/* 0: it has not begun; else 1 + the instruction in units of two bytes (CPython) or words (CRuby), or the line (PHP,
 * Perl), or the bytecode in bytes (HotSpot, V8), or the place in compiled code (V8). */
#define WP_INTERP_UNIT_OF(word) ((wp_u32)((word) >> 1) & WP_INTERP_UNIT_MOST)

/* Not a place in code, but the task of asyncio that CPython's frames further in belong to, or the virtual thread that
 * HotSpot's do; in the place of a code object stands what tells it apart. Of V8: the outermost async function, whose
 * name is the task's. */
#define WP_INTERP_UNIT_TASK (WP_INTERP_UNIT_MOST - 1)
#define WP_INTERP_TASK_PART 1u /* `part` of what is said of it */
#define WP_INTERP_HAS_TASKS(version)                                                                                   \
    (WP_INTERP_LANGUAGE(version) == WP_INTERP_PYTHON || WP_INTERP_LANGUAGE(version) == WP_INTERP_JAVA)
#define WP_INTERP_TASK_NAME 64u
#define WP_INTERP_TASK_DIGIT 1u /* in a name, in the place of a digit */

/* How walks of a thread's frames ended. */
enum wp_interp_end {
    WP_INTERP_COMPLETE,
    WP_INTERP_NO_THREAD,  /* the thread is none of the interpreter's */
    WP_INTERP_UNREADABLE, /* a frame or a code object that is paged out or nonsense */
    WP_INTERP_NOT_CODE,   /* a frame whose code is none: the offsets are wrong, or memory changed */
    WP_INTERP_TOO_DEEP,
    WP_INTERP_ENDS
};

struct wp_interp_counts {
    wp_u64 ends[WP_INTERP_LANGUAGES][WP_INTERP_ENDS];
    wp_u64 held_back; /* stacks of which not all code objects were sent */
};

#define WP_INTERP_NAME 384u
#define WP_INTERP_FILE 1024u
#define WP_INTERP_LINES 16384u /* of a table of lines */
#define WP_INTERP_UTF8 8u      /* in the place of a character's size */

/* CRuby's table of lines: eight bytes with the size of the index, the index, and entries. */
#define WP_RUBY_INDEX_AT 8u
#define WP_RUBY_INDEX_MOST 4096u

/* V8's objects have, in the place of a table of lines, this and then what is said here. */
enum wp_v8_kind {
    WP_V8_SHARED,    /* a function, however often it is made: positions in the script by bytecode */
    WP_V8_BASELINE,  /* code of Sparkplug: places by bytecode, the bytecode */
    WP_V8_OPTIMISED, /* functions that were inlined, where, positions by place */
    WP_V8_SOURCE     /* piece `part` - 1 of a script's text */
};
struct wp_v8_head {
    wp_u32 kind;
    wp_u32 first;  /* SHARED: line of the script's first one; OPTIMISED: functions */
    wp_u32 second; /* BASELINE: bytes of places; OPTIMISED: inlinings; SOURCE: bytes of a character */
    wp_u32 third;  /* bytes of what is last */
    wp_u64 owner;  /* SHARED: the script; BASELINE, OPTIMISED: the function, SHARED */
};
#define WP_V8_HEAD 32u
#define WP_V8_PLACES 4096u   /* room for places by bytecode */
#define WP_V8_INLINED 32u    /* functions */
#define WP_V8_INLININGS 128u /* of two words each: a position, which function */
#define WP_V8_PIECE 16352u   /* bytes of a script's text */
#define WP_V8_PIECES 512u
#define WP_V8_POSITIONS_AT (WP_V8_HEAD + WP_V8_INLINED * 8 + WP_V8_INLININGS * 16) /* of optimised code */
#define WP_V8_BYTECODE_AT (WP_V8_HEAD + WP_V8_PLACES)

/* Tail of WP_RECORD_INTERP. */
struct wp_record_interp {
    wp_u64 loop, loop_end, cold, cold_end, inner, inner_end; /* addresses */
};

/* Tail of WP_RECORD_CODE; behind it so much of its table of lines as lines_kept says. */
struct wp_record_code {
    wp_u32 first_line;
    wp_u32 lines_size, lines_kept; /* of the table; 0 kept: it could not be read */
    wp_u16 name_size, file_size;   /* bytes that are here */
    wp_u8 name_unit, file_unit;    /* bytes of a character: 1 (Latin-1), 2, 4; WP_INTERP_UTF8; 0: unread */
    wp_u8 name_is_cut, file_is_cut;
    wp_u32 part; /* of the object: 0, or a piece of V8's script, or WP_INTERP_TASK_PART */
    wp_u8 name[WP_INTERP_NAME];
    wp_u8 file[WP_INTERP_FILE];
};

_Static_assert(sizeof(struct wp_v8_head) <= WP_V8_HEAD, "a head");
_Static_assert(WP_V8_PIECE + WP_V8_HEAD <= WP_INTERP_LINES, "a piece of a text");
_Static_assert(sizeof(struct wp_record_code) == 24 + WP_INTERP_NAME + WP_INTERP_FILE, "a code object");

#endif
