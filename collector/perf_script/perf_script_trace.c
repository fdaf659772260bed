/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/perf_script/perf_script_trace.h"

#include "collector/perf_script/perf_script_line.h"

#define SECTOR_BYTES 512u
#define NO_SECTOR UINT64_MAX

/* --- names of events --- */

static const struct {
    const char *name;
    enum wp_perf_kind kind;
} events[] = {
    {"sched_switch", WP_PERF_SWITCH},
    {"sched_waking", WP_PERF_WAKING},
    {"sched_wakeup", WP_PERF_WAKEUP},
    {"sched_wakeup_new", WP_PERF_WAKEUP},
    {"sched_process_fork", WP_PERF_FORK},
    {"sched_process_exec", WP_PERF_EXEC},
    {"sched_process_exit", WP_PERF_EXIT},
    {"sched_migrate_task", WP_PERF_IGNORED},
    {"task_rename", WP_PERF_RENAME},
    {"block_rq_insert", WP_PERF_BLOCK_INSERT},
    {"block_rq_issue", WP_PERF_BLOCK_ISSUE},
    {"block_rq_complete", WP_PERF_BLOCK_COMPLETE},
    {"irq_handler_entry", WP_PERF_IRQ_ENTRY},
    {"irq_handler_exit", WP_PERF_IRQ_EXIT},
    {"softirq_entry", WP_PERF_SOFTIRQ_ENTRY},
    {"softirq_exit", WP_PERF_SOFTIRQ_EXIT},
    {"softirq_raise", WP_PERF_IGNORED},
    {"PERF_RECORD_LOST", WP_PERF_LOST},
    {"PERF_RECORD_LOST_SAMPLES", WP_PERF_LOST},
};

/* Of sockets the group matters: functions are called as tracepoints are. */
static const struct {
    const char *name;
    enum wp_perf_kind kind;
} net_events[] = {
    {"tcp:tcp_probe", WP_PERF_TCP_ARRIVE},
    {"tcp:tcp_rcv_space_adjust", WP_PERF_TCP_READ},
    {"sock:inet_sock_set_state", WP_PERF_SOCK_STATE},
    {"sock:sock_send_length", WP_PERF_SOCK_SENT},
    {"sock:sock_recv_length", WP_PERF_SOCK_RECEIVED},
    {"probe:tcp_v4_connect", WP_PERF_TCP_CONNECT},
    {"probe:tcp_v6_connect", WP_PERF_TCP_CONNECT},
    {"probe:tcp_finish_connect", WP_PERF_TCP_CONNECTED},
    {"probe:tcp_sendmsg", WP_PERF_TCP_SEND},
    {"probe:tcp_sendmsg_locked", WP_PERF_TCP_SEND},
    {"probe:tcp_sendpage", WP_PERF_TCP_SEND},
    {"probe:tcp_rcv_established", WP_PERF_TCP_ARRIVE},
    {"probe:tcp_data_queue", WP_PERF_TCP_ARRIVE},
    {"probe:tcp_recvmsg", WP_PERF_TCP_READ},
    {"probe:tcp_recvmsg_locked", WP_PERF_TCP_READ},
    {"probe:tcp_cleanup_rbuf", WP_PERF_TCP_READ},
    {"probe:udp_sendmsg", WP_PERF_UDP_SEND},
    {"probe:udpv6_sendmsg", WP_PERF_UDP_SEND},
    {"probe:udp_queue_rcv_skb", WP_PERF_UDP_ARRIVE},
    {"probe:udp_queue_rcv_one_skb", WP_PERF_UDP_ARRIVE},
    {"probe:udpv6_queue_rcv_skb", WP_PERF_UDP_ARRIVE},
    {"probe:udpv6_queue_rcv_one_skb", WP_PERF_UDP_ARRIVE},
    {"probe:__udp_enqueue_schedule_skb", WP_PERF_UDP_ARRIVE},
    {"probe:udp_recvmsg", WP_PERF_UDP_READ},
    {"probe:udpv6_recvmsg", WP_PERF_UDP_READ},
    {"probe:skb_consume_udp", WP_PERF_UDP_READ},
    {"probe:sock_def_readable", WP_PERF_SOCK_READABLE},
};

static const char *const samples[] = {"cycles", "cpu-cycles", "cpu-clock", "task-clock"};

/* "cycles:ppp", "cpu-clock/freq=99/", "cpu_core/cycles/u": the name is the first word or the one behind the slash. */
static bool is_sample(struct wp_text event)
{
    size_t slash = wp_text_find(event, "/"), colon = wp_text_find(event, ":");
    struct wp_text first = wp_text_head(event, slash < colon ? slash : colon);
    struct wp_text second = slash == WP_TEXT_NONE ? first : wp_text_tail(event, slash + 1);
    second = wp_text_head(second, wp_text_find(second, "/"));
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        if (wp_text_is(first, samples[i]) || wp_text_is(second, samples[i]))
            return true;
    return false;
}

/* A second probe on a function has a number behind its name. */
static struct wp_text without_number(struct wp_text event)
{
    size_t size = event.size;
    while (size && event.at[size - 1] >= '0' && event.at[size - 1] <= '9')
        size--;
    return size < event.size && size && event.at[size - 1] == '_' ? wp_text_head(event, size - 1) : event;
}

static enum wp_perf_kind net_kind_of(struct wp_text event)
{
    bool is_known = wp_text_starts(event, "tcp:") || wp_text_starts(event, "udp:") || wp_text_starts(event, "sock:");
    if (!is_known && !wp_text_starts(event, "probe:"))
        return WP_PERF_OTHER;
    struct wp_text bare = without_number(event);
    for (size_t i = 0; i < sizeof(net_events) / sizeof(net_events[0]); i++)
        if (wp_text_is(bare, net_events[i].name))
            return net_events[i].kind;
    return is_known ? WP_PERF_IGNORED : WP_PERF_OTHER;
}

enum wp_perf_kind wp_perf_kind_of(struct wp_text event)
{
    if (is_sample(event))
        return WP_PERF_SAMPLE;
    enum wp_perf_kind net = net_kind_of(event);
    if (net)
        return net;
    if (!wp_text_take(&event, "sched:") && !wp_text_take(&event, "block:") && !wp_text_take(&event, "irq:"))
        wp_text_take(&event, "task:");
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        if (wp_text_is(event, events[i].name))
            return events[i].kind;
    return WP_PERF_OTHER;
}

/* --- states --- */

/* As numbers: TASK_* of include/linux/sched.h, the bits that are the same in 3.13 and 6.12. */
static enum wp_task_state state_of_bits(uint64_t bits)
{
    if (bits & 1)
        return WP_STATE_INTERRUPTIBLE;
    if (bits & 2)
        return WP_STATE_UNINTERRUPTIBLE;
    if (bits & 4)
        return WP_STATE_STOPPED;
    if (bits & 8)
        return WP_STATE_TRACED;
    return bits & (16 | 32) ? WP_STATE_DEAD : WP_STATE_RUNNING;
}

static bool state_of_letter(char letter, enum wp_task_state *state)
{
    switch (letter) {
    case 'R':
    case 'W':
        *state = WP_STATE_RUNNING;
        return true; /* W: is being woken */
    case 'S':
        *state = WP_STATE_INTERRUPTIBLE;
        return true;
    case 'D':
    case 'K':
        *state = WP_STATE_UNINTERRUPTIBLE;
        return true; /* K: but for fatal signals */
    case 'T':
        *state = WP_STATE_STOPPED;
        return true;
    case 't':
        *state = WP_STATE_TRACED;
        return true;
    case 'X':
    case 'x':
    case 'Z':
        *state = WP_STATE_DEAD;
        return true;
    case 'I':
    case 'N':
        *state = WP_STATE_IDLE;
        return true; /* D|N: idle, before 4.14 */
    case 'P':
        *state = WP_STATE_PARKED;
        return true;
    default:
        return false;
    }
}

/* Of several, the one that says most: D|K is a sleep in D, S|X is dead, D|N is idle. */
static enum wp_task_state stronger(enum wp_task_state a, enum wp_task_state b)
{
    static const uint8_t rank[WP_STATES] = {[WP_STATE_RUNNING] = 0,
        [WP_STATE_INTERRUPTIBLE] = 1,
        [WP_STATE_UNINTERRUPTIBLE] = 2,
        [WP_STATE_STOPPED] = 3,
        [WP_STATE_TRACED] = 4,
        [WP_STATE_IDLE] = 5,
        [WP_STATE_PARKED] = 6,
        [WP_STATE_DEAD] = 7};
    return rank[a] >= rank[b] ? a : b;
}

bool wp_perf_state_parse(struct wp_text text, enum wp_task_state *state, bool *is_preempted)
{
    uint64_t bits;
    *is_preempted = text.size && text.at[text.size - 1] == '+';
    *state = WP_STATE_RUNNING;
    text.size -= *is_preempted;
    if (wp_text_ends(text, "|"))
        text.size--;
    struct wp_text number = text;
    bool is_number =
        wp_text_take(&number, "0x") ? wp_text_take_hex(&number, &bits) : wp_text_take_number(&number, &bits);
    if (is_number && !number.size) {
        *state = *is_preempted ? WP_STATE_RUNNING : state_of_bits(bits);
        return true;
    }
    bool is_known = false;
    while (text.size) {
        enum wp_task_state one;
        if (wp_text_take(&text, "0x") && wp_text_take_hex(&text, &bits))
            one = WP_STATE_RUNNING; /* bits that the format has no letter for */
        else if (!text.size || !state_of_letter(text.at[0], &one))
            return false;
        else {
            text = wp_text_tail(text, 1);
            is_known = true;
        }
        *state = stronger(*state, one);
        if (text.size && (!wp_text_take(&text, "|") || !text.size))
            return false;
    }
    if (*is_preempted)
        *state = WP_STATE_RUNNING;
    return is_known;
}

/* --- scheduler --- */

/* NUMBER, or -1 (a dead thread), which is 0. */
static bool take_tid(struct wp_text *text, uint32_t *tid)
{
    *tid = 0;
    return wp_text_take(text, "-1") || wp_text_take_u32(text, WP_PERF_TIDS, tid);
}

static bool take_priority(struct wp_text *text)
{
    uint32_t ignored;
    wp_text_take(text, "-");
    return wp_text_take_u32(text, UINT32_MAX, &ignored);
}

/* "WORD NUMBER" off the end of `text`: the last " pid=" with all of what is behind it as its number. */
static bool take_last_tid(struct wp_text *text, const char *word, uint32_t *tid)
{
    size_t at = wp_text_rfind(*text, word);
    if (at == WP_TEXT_NONE)
        return false;
    struct wp_text value = wp_text_tail(*text, at + wp_text_of(word).size);
    if (!take_tid(&value, tid) || value.size)
        return false;
    text->size = at;
    return true;
}

/* From " prev_pid=" on. */
static bool switch_middle(struct wp_text text, struct wp_perf_trace *trace, struct wp_text *rest)
{
    if (!wp_text_take(&text, " prev_pid=") || !take_tid(&text, &trace->tid) || !wp_text_take(&text, " prev_prio=") ||
        !take_priority(&text) || !wp_text_take(&text, " prev_state="))
        return false;
    struct wp_text state = wp_text_take_word(&text);
    if (!wp_text_take(&text, "==> next_comm=") || !wp_perf_state_parse(state, &trace->state, &trace->is_preempted))
        return false;
    *rest = text;
    return true;
}

static bool parse_switch_fields(struct wp_text text, struct wp_perf_trace *trace)
{
    if (!wp_text_take(&text, "prev_comm="))
        return false;
    struct wp_text rest = {0};
    for (size_t from = 0, at; (at = wp_text_find(wp_text_tail(text, from), " prev_pid=")) != WP_TEXT_NONE;
         from += at + 1)
        if (switch_middle(wp_text_tail(text, from + at), trace, &rest)) {
            trace->comm = wp_text_head(text, from + at);
            break;
        }
    size_t priority = wp_text_rfind(rest, " next_prio=");
    if (priority == WP_TEXT_NONE)
        return false;
    trace->other_comm = wp_text_head(rest, priority);
    return take_last_tid(&trace->other_comm, " next_pid=", &trace->other_tid);
}

/* ":TID [PRIORITY]" at the front. */
static bool take_plugin_tid(struct wp_text *text, uint32_t *tid)
{
    return wp_text_take(text, ":") && take_tid(text, tid) && wp_text_take(text, " [") && take_priority(text) &&
        wp_text_take(text, "]");
}

/* The last "COMM:TID [PRIORITY]" of the text; what is behind it goes to `rest`. */
static bool last_plugin_task(struct wp_text text, struct wp_text *comm, uint32_t *tid, struct wp_text *rest)
{
    for (size_t at = text.size; (at = wp_text_rfind(wp_text_head(text, at), ":")) != WP_TEXT_NONE;) {
        *rest = wp_text_tail(text, at);
        *comm = wp_text_head(text, at);
        if (take_plugin_tid(rest, tid))
            return true;
        if (!at)
            break;
    }
    return false;
}

/* "COMM:TID [PRIORITY] STATE ==> COMM:TID [PRIORITY]" (tools/lib/traceevent/plugins/plugin_sched_switch.c) */
static bool parse_switch_plugin(struct wp_text text, struct wp_perf_trace *trace)
{
    for (size_t from = 0, at; (at = wp_text_find(wp_text_tail(text, from), ":")) != WP_TEXT_NONE; from += at + 1) {
        struct wp_text rest = wp_text_tail(text, from + at), end;
        if (!take_plugin_tid(&rest, &trace->tid) || !wp_text_take(&rest, " "))
            continue;
        struct wp_text state = wp_text_take_word(&rest);
        if (!wp_text_take(&rest, "==> ") || !wp_perf_state_parse(state, &trace->state, &trace->is_preempted))
            continue;
        trace->comm = wp_text_head(text, from + at);
        return last_plugin_task(rest, &trace->other_comm, &trace->other_tid, &end) && !wp_text_trim(end).size;
    }
    return false;
}

static bool parse_switch(struct wp_text text, struct wp_perf_trace *trace)
{
    return parse_switch_fields(text, trace) || parse_switch_plugin(text, trace);
}

/* "comm=C pid=N prio=N [success=1] target_cpu=N", or the plugin's "C:N [PRIORITY] [success=1] CPU:000". */
static bool parse_waking(struct wp_text text, struct wp_perf_trace *trace)
{
    struct wp_text fields = text, rest;
    size_t priority = wp_text_rfind(fields, " prio=");
    if (priority != WP_TEXT_NONE && wp_text_take(&fields, "comm=")) {
        trace->other_comm = wp_text_head(fields, priority - wp_text_of("comm=").size);
        return take_last_tid(&trace->other_comm, " pid=", &trace->other_tid);
    }
    return last_plugin_task(
               wp_text_head(text, wp_text_rfind(text, "CPU:")), &trace->other_comm, &trace->other_tid, &rest) &&
        wp_text_rfind(text, "CPU:") != WP_TEXT_NONE;
}

/* "comm=C pid=N child_comm=D child_pid=N" */
static bool parse_fork(struct wp_text text, struct wp_perf_trace *trace)
{
    if (!wp_text_take(&text, "comm=") || !take_last_tid(&text, " child_pid=", &trace->other_tid))
        return false;
    for (size_t from = 0, at; (at = wp_text_find(wp_text_tail(text, from), " pid=")) != WP_TEXT_NONE; from += at + 1) {
        struct wp_text rest = wp_text_tail(text, from + at + wp_text_of(" pid=").size);
        if (!take_tid(&rest, &trace->tid) || !wp_text_take(&rest, " child_comm="))
            continue;
        trace->comm = wp_text_head(text, from + at);
        trace->other_comm = rest;
        return true;
    }
    return false;
}

/* "filename=F pid=N old_pid=N" */
static bool parse_exec(struct wp_text text, struct wp_perf_trace *trace)
{
    if (!wp_text_take(&text, "filename=") || !take_last_tid(&text, " old_pid=", &trace->tid) ||
        !take_last_tid(&text, " pid=", &trace->other_tid))
        return false;
    trace->file = text;
    return true;
}

/* "comm=C pid=N prio=N [group_dead=true]" */
static bool parse_exit(struct wp_text text, struct wp_perf_trace *trace)
{
    size_t priority = wp_text_rfind(text, " prio=");
    if (priority == WP_TEXT_NONE)
        return false;
    text.size = priority;
    if (!wp_text_take(&text, "comm=") || !take_last_tid(&text, " pid=", &trace->tid))
        return false;
    trace->comm = text;
    return true;
}

/* "[pid=N ]oldcomm=C newcomm=D oom_score_adj=N"; without the number it is the thread of the head (tid 0). */
static bool parse_rename(struct wp_text text, struct wp_perf_trace *trace)
{
    if (wp_text_take(&text, "pid=") &&
        (!wp_text_take_u32(&text, WP_PERF_TIDS, &trace->tid) || !wp_text_take(&text, " ")))
        return false;
    size_t score = wp_text_rfind(text, " oom_score_adj=");
    if (score == WP_TEXT_NONE || !wp_text_take(&text, "oldcomm="))
        return false;
    text.size = score - wp_text_of("oldcomm=").size;
    size_t middle = wp_text_find(text, " newcomm=");
    if (middle == WP_TEXT_NONE)
        return false;
    trace->comm = wp_text_head(text, middle);
    trace->other_comm = wp_text_tail(text, middle + wp_text_of(" newcomm=").size);
    return true;
}

/* --- block requests --- */

/* Letters of blk_fill_rwbs (block/blk-core.c, kernel/trace/blktrace.c); the first F is a flush, one behind it FUA. */
static uint8_t block_flags(struct wp_text letters)
{
    uint8_t flags = wp_text_starts(letters, "F") ? WP_BLOCK_FLUSH : 0;
    for (size_t i = 0; i < letters.size; i++)
        switch (letters.at[i]) {
        case 'W':
            flags |= WP_BLOCK_WRITE;
            break;
        case 'A':
            flags |= WP_BLOCK_READAHEAD;
            break;
        case 'S':
            flags |= WP_BLOCK_SYNC;
            break;
        case 'D':
            flags |= WP_BLOCK_DISCARD;
            break;
        default:
            break;
        }
    return flags;
}

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014) over device and sector; never 0. */
static uint64_t request_key(uint32_t device, uint64_t sector)
{
    uint64_t x = sector + 0x9e3779b97f4a7c15u * ((uint64_t)device + 1);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return x ? x : 1;
}

static bool take_device(struct wp_text *text, uint32_t *device)
{
    uint32_t major, minor;
    if (!wp_text_take_u32(text, 4095, &major) || !wp_text_take(text, ",") ||
        !wp_text_take_u32(text, (1u << 20) - 1, &minor))
        return false;
    *device = major << 20 | minor;
    return wp_text_take(text, " ");
}

/* "MAJOR,MINOR RWBS [BYTES] (COMMAND) SECTOR + SECTORS [PRIORITY] [COMM or ERROR]"; completions say no bytes. */
static bool parse_block(enum wp_perf_kind kind, struct wp_text text, struct wp_perf_trace *trace)
{
    uint32_t sectors, bytes;
    if (!take_device(&text, &trace->device))
        return false;
    struct wp_text letters = wp_text_take_word(&text);
    bool has_bytes = wp_text_take_u32(&text, UINT32_MAX, &bytes) && wp_text_take(&text, " ");
    size_t close = wp_text_find(text, ") ");
    if (!wp_text_starts(text, "(") || close == WP_TEXT_NONE)
        return false;
    text = wp_text_tail(text, close + 2);
    if (!wp_text_take_number(&text, &trace->sector) || !wp_text_take(&text, " + ") ||
        !wp_text_take_u32(&text, UINT32_MAX / SECTOR_BYTES, &sectors))
        return false;
    trace->block_flags = block_flags(letters);
    trace->bytes = has_bytes && bytes ? bytes : sectors * SECTOR_BYTES;
    /* A flush has no data; it is issued at sector 0 and completes at 2^64 - 1, and with it ends, as an empty write, the
     * request that asked for it. The block layer has one in flight. N: a command of a driver. */
    if (!sectors && !wp_text_starts(letters, "N"))
        trace->sector = NO_SECTOR;
    trace->request = request_key(trace->device, trace->sector);
    if (kind == WP_PERF_BLOCK_COMPLETE && wp_text_ends(text, "]") && !wp_text_ends(text, "[0]"))
        trace->block_flags |= WP_BLOCK_ERROR;
    return true;
}

/* --- interrupts --- */

static bool parse_number(struct wp_text text, const char *word, struct wp_perf_trace *trace)
{
    return wp_text_take(&text, word) && wp_text_take_u32(&text, INT32_MAX, &trace->number);
}

bool wp_perf_trace_parse(enum wp_perf_kind kind, struct wp_text text, struct wp_perf_trace *trace)
{
    *trace = (struct wp_perf_trace){0};
    text = wp_text_trim(text);
    switch (kind) {
    case WP_PERF_SWITCH:
        return parse_switch(text, trace);
    case WP_PERF_WAKING:
    case WP_PERF_WAKEUP:
        return parse_waking(text, trace);
    case WP_PERF_FORK:
        return parse_fork(text, trace);
    case WP_PERF_EXEC:
        return parse_exec(text, trace);
    case WP_PERF_EXIT:
        return parse_exit(text, trace);
    case WP_PERF_RENAME:
        return parse_rename(text, trace);
    case WP_PERF_BLOCK_INSERT:
    case WP_PERF_BLOCK_ISSUE:
    case WP_PERF_BLOCK_COMPLETE:
        return parse_block(kind, text, trace);
    case WP_PERF_IRQ_ENTRY:
    case WP_PERF_IRQ_EXIT:
        return parse_number(text, "irq=", trace);
    case WP_PERF_SOFTIRQ_ENTRY:
    case WP_PERF_SOFTIRQ_EXIT:
        return parse_number(text, "vec=", trace);
    case WP_PERF_TCP_CONNECT:
    case WP_PERF_TCP_CONNECTED:
    case WP_PERF_TCP_SEND:
    case WP_PERF_TCP_ARRIVE:
    case WP_PERF_TCP_READ:
    case WP_PERF_UDP_SEND:
    case WP_PERF_UDP_ARRIVE:
    case WP_PERF_UDP_READ:
    case WP_PERF_SOCK_SENT:
    case WP_PERF_SOCK_RECEIVED:
    case WP_PERF_SOCK_READABLE:
        return wp_perf_net_parse(text, &trace->net);
    case WP_PERF_SOCK_STATE: /* a socket that is not connected has no port yet */
        return wp_perf_net_parse(text, &trace->net) || trace->net.new_state;
    default:
        return true;
    }
}
