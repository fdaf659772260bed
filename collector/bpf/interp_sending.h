/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_SENDING_H
#define WP_COLLECTOR_BPF_INTERP_SENDING_H
/* What a code object is, while it is read and sent. */
#include "interp_walk.h"

#define INTERP_OWNER_MOST 192u /* bytes of a class' or a package's name; a longer one is left out */

struct interp_code_record {
    struct wp_record head;
    struct wp_record_code code;
    __u8 lines[WP_INTERP_LINES];
};

/* What was read of a string; 0 bytes in a character: nothing. */
struct interp_text {
    __u32 size;
    __u8 unit, is_cut;
};

#define V8_QUEUE (WP_V8_INLINED + 1)

/* Where the sending of V8's objects stands (interp_v8_code.h). */
struct v8_sending {
    __u64 script;       /* whose text is being sent; 0: none */
    __u32 piece, word;  /* of it; of the stack */
    __u32 next, queued; /* functions */
    __u64 queue[V8_QUEUE];
    struct interp_text text; /* what read_v8_text came to */
    bool is_done;
};

struct interp_sending {
    struct interp_code_record record;
    __u64 epoch, program; /* program: which one the process runs */
    __u32 parent;
    __u32 sent; /* bytes, for this stack */
    bool is_all;
    bool is_whole;  /* all of the code object was read */
    bool is_told;   /* else it is only remembered that it was read */
    __u64 words[8]; /* of a string, or of a table's head */
    struct v8_sending v8;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, struct interp_sending);
} interp_sendings SEC(".maps");

/* A process may have another code object at each address whenever it likes. What is beyond these, in bytes, goes with a
 * later stack. */
#define INTERP_STACK_BYTES (128u << 10)
#define INTERP_PERIOD_BYTES (4u << 20)
#define INTERP_PERIOD_NS 1000000000ull
#define INTERP_RETRY_NS 1000000000ull /* what could not be read */

struct interp_code_key {
    __u64 code;
    __u32 tgid, part;
};

struct interp_code_sent {
    __u64 print, epoch, program;
    __u64 until_ns; /* 0: all of it was read; else it is not read again before that */
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 65536);
    __type(key, struct interp_code_key);
    __type(value, struct interp_code_sent);
} interp_codes SEC(".maps");

struct interp_sending_context {
    struct interp_walk *walk;
    struct wp_interp_process *process;
    struct interp_sending *sending;
    const __u64 *words;
    __u32 count;
};

/* Whether another one may be sent. */
static __always_inline bool has_budget(const struct interp_sending *s, struct wp_interp_process *process, __u64 now_ns)
{
    if (now_ns - process->since_ns >= INTERP_PERIOD_NS) {
        process->since_ns = now_ns;
        process->sent = 0;
    }
    return s->sent < INTERP_STACK_BYTES && process->sent < INTERP_PERIOD_BYTES;
}

static __always_inline bool send_code(struct interp_sending *s, struct wp_interp_process *process)
{
    __u64 size = sizeof(s->record.head) + sizeof(s->record.code) + s->record.code.lines_kept;
    s->record.head.tail = (__u32)(size - sizeof(s->record.head));
    barrier_var(size);
    if (size > sizeof(s->record))
        size = sizeof(s->record);
    s->sent += (__u32)size;
    process->sent += size;
    if (!bpf_ringbuf_output(&ring, &s->record, size, wake_flag()))
        return true;
    count_drop(WP_RECORD_CODE);
    return false;
}

/* CODE_SENT: this one is not to be sent, CODE_STOP: nor any other one of this stack. */
enum { CODE_SEND, CODE_STOP, CODE_SENT };

/* Begins the record of a code object, unless it was sent as it is now (print). Not static, as end_code and what fills a
 * record: the verifier walks it once, not once for each state of each caller. */
__noinline int begin_code(
    struct interp_sending *s, struct wp_interp_process *process, const struct interp_code_key *which, __u64 print)
{
    if (!s || !process || !which)
        return CODE_STOP;
    struct interp_code_key key = *which; /* Linux 6.1 looks for no key but on the stack or in a map */
    struct interp_code_sent *sent = bpf_map_lookup_elem(&interp_codes, &key);
    __u64 now_ns = bpf_ktime_get_ns();
    if (sent && sent->print == print && sent->epoch == s->epoch && sent->program == s->program &&
        (!sent->until_ns || now_ns < sent->until_ns))
        return CODE_SENT;
    if (!has_budget(s, process, now_ns))
        return CODE_STOP;
    __builtin_memset(&s->record.head, 0, sizeof(s->record.head));
    __builtin_memset(&s->record.code, 0, __builtin_offsetof(struct wp_record_code, name));
    s->record.head.time_ns = now_ns;
    s->record.head.kind = WP_RECORD_CODE;
    s->record.head.pid = process->tgid;
    s->record.head.other_pid = s->parent;
    s->record.head.c = process->file.version;
    s->record.head.a = key.code;
    s->record.code.part = key.part;
    s->is_whole = s->is_told = true;
    return CODE_SEND;
}

/* Sends it. Another end than 0: there is no room for more. */
__noinline int end_code(
    struct interp_sending *s, struct wp_interp_process *process, const struct interp_code_key *which, __u64 print)
{
    if (!s || !process || !which || (s->is_told && !send_code(s, process)))
        return 1;
    struct interp_code_key key = *which;
    struct interp_code_sent now = {.print = print, .epoch = s->epoch, .program = s->program};
    if (!s->is_whole)
        now.until_ns = s->record.head.time_ns + INTERP_RETRY_NS;
    bpf_map_update_elem(&interp_codes, &key, &now, BPF_ANY);
    return 0;
}

static __always_inline void count_held_back(void)
{
    __u32 zero = 0;
    struct wp_interp_counts *counts = bpf_map_lookup_elem(&interp_counts, &zero);
    if (counts)
        counts->held_back++;
}

static __always_inline void keep_texts(struct interp_sending *s, struct interp_text name, struct interp_text file)
{
    struct wp_record_code *code = &s->record.code;
    code->name_size = (__u16)name.size;
    code->name_unit = name.unit;
    code->name_is_cut = name.is_cut;
    code->file_size = (__u16)file.size;
    code->file_unit = file.unit;
    code->file_is_cut = file.is_cut;
}

/* Bytes of UTF-8 at an address, `room` of them at most. No bytes: their size could not be read. */
static __always_inline struct interp_text read_bytes(__u64 from, __u64 size, __u8 *to, __u32 room)
{
    struct interp_text got = {.is_cut = size > room};
    if (!size)
        return got;
    if (size > room)
        size = room;
    barrier_var(size);
    if (size > room || !read_user(to, size, from))
        return got;
    got.size = (__u32)size;
    got.unit = WP_INTERP_UTF8;
    return got;
}

/* A text that ends with 0. */
static __always_inline struct interp_text read_string(__u64 from, __u8 *to, __u32 room)
{
    long size = bpf_probe_read_user_str(to, room, (void *)from);
    if (size < 1)
        return (struct interp_text){};
    return (struct interp_text){.size = (__u32)size - 1, .unit = WP_INTERP_UTF8, .is_cut = size == room};
}

struct interp_bytes {
    __u64 from, size;
};

/* owner::name, or the name alone when there is no owner that can be read. */
static __always_inline struct interp_text read_member(struct interp_bytes owner, struct interp_bytes name, __u8 *to)
{
    struct interp_text first = {};
    if (owner.size) /* what follows a 0 in it (PHP's class@anonymous) is where it was made */
        first = read_string(owner.from, to, INTERP_OWNER_MOST + 2);
    __u32 size = first.size;
    barrier_var(size);
    if (!first.size || first.is_cut || size > INTERP_OWNER_MOST)
        return read_bytes(name.from, name.size, to, WP_INTERP_NAME);
    to[size] = to[size + 1] = ':';
    struct interp_text last = read_bytes(name.from, name.size, to + size + 2, WP_INTERP_NAME - INTERP_OWNER_MOST - 2);
    last.size += last.unit ? size + 2 : 0;
    return last;
}

#endif
