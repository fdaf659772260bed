/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aggregator/scenario.h"

#include "aggregator/timeline/names.h"
#include "common/syscall_table.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 4096u
#define NAMES 64u
#define TCP_ESTABLISHED 1 /* include/net/tcp_states.h */
#define TCP_CLOSE_WAIT 8
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_CLOSE 7

struct parser {
    struct scenario *scenario;
    struct scenario_host *host; /* whose section it is */
    struct wp_error *err;
    char *names[NAMES]; /* of threads, index = dictionary id */
    char *socket_names[NAMES];
    unsigned line;
};

static int fail(struct parser *p, const char *what, const char *text)
{
    return wp_error_set(p->err, -EINVAL, "line %u: %s '%s'", p->line, what, text ? text : "");
}

static uint32_t string_id(struct parser *p, const char *text, size_t size)
{
    struct wp_batch *b = &p->host->batch;
    for (uint32_t i = 0; i < b->string_count; i++)
        if (b->strings[i].size == size && !memcmp(b->strings[i].data, text, size))
            return i + 1;
    b->strings[b->string_count++] = (struct wp_bytes){strndup(text, size), (uint32_t)size};
    return b->string_count;
}

/* "~" is a blank: on=tcp~10.0.0.7:5432 */
static uint32_t spaced_id(struct parser *p, const char *text, size_t size)
{
    char name[256];
    snprintf(name, sizeof(name), "%.*s", (int)size, text);
    for (char *at = name; *at; at++)
        *at = *at == '~' ? ' ' : *at;
    return string_id(p, name, strlen(name));
}

static uint32_t object_id(struct parser *p, const char *text, size_t size) /* "@web.py", or nothing */
{
    struct wp_batch *b = &p->host->batch;
    uint32_t path = size > 1 ? string_id(p, text + 1, size - 1) : 0, id = 0;
    while (id < b->object_count && b->objects[id].path != path)
        id++;
    if (path && id == b->object_count)
        b->objects[b->object_count++].path = path;
    return path ? id + 1 : 0;
}

static uint32_t find_name(char *const *names, uint32_t count, const char *name)
{
    for (uint32_t i = 1; i <= count; i++)
        if (names[i] && !strcmp(names[i], name))
            return i;
    return 0;
}

/* "a;b@web.py;k:c": user functions a, b of the file web.py, kernel function c, outermost first. */
static uint32_t stack_id(struct parser *p, const char *text)
{
    struct wp_batch *b = &p->host->batch;
    uint32_t parent = 0;
    while (*text) {
        size_t size = strcspn(text, ";"), named = strcspn(text, ";@"), skip = strncmp(text, "k:", 2) ? 0 : 2;
        uint32_t name = spaced_id(p, text + skip, named - skip), frame = 0, found = 0;
        uint32_t object = object_id(p, text + named, size - named);
        for (uint32_t i = 0; i < b->frame_count && !frame; i++)
            if (b->frames[i].function == name && b->frames[i].is_kernel == !!skip && b->frames[i].object == object)
                frame = i + 1;
        if (!frame)
            b->frames[(frame = ++b->frame_count) - 1] =
                (struct wp_frame_entry){.object = object, .function = name, .offset = name, .is_kernel = !!skip};
        for (uint32_t i = 0; i < b->stack_count && !found; i++)
            if (b->stacks[i].parent == parent && b->stacks[i].frame == frame)
                found = i + 1;
        if (!found)
            b->stacks[(found = ++b->stack_count) - 1] = (struct wp_stack_entry){parent, frame};
        parent = found;
        text += size + (text[size] == ';');
    }
    return parent;
}

static int parse_thread(struct parser *p, char **words, int count)
{
    struct wp_batch *b = &p->host->batch;
    if (count < 3 || b->thread_count + 1 == NAMES)
        return fail(p, "thread NAME TID", words[0]);
    struct wp_thread_entry entry = {.tid = (uint32_t)atoi(words[2])};
    entry.pid = entry.tid;
    const char *comm = words[1];
    for (int i = 3; i < count; i++) {
        if (!strncmp(words[i], "pid=", 4))
            entry.pid = (uint32_t)atoi(words[i] + 4);
        else if (!strncmp(words[i], "comm=", 5))
            comm = words[i] + 5;
        else if (!strncmp(words[i], "start=", 6))
            entry.start_ns = SCENARIO_START_NS + (uint64_t)(strtod(words[i] + 6, NULL) * 1000);
        else if (!strncmp(words[i], "parent=", 7))
            entry.parent = find_name(p->names, b->thread_count, words[i] + 7);
        else if (!strcmp(words[i], "base"))
            entry.flags |= WP_THREAD_COMMAND;
        else if (!strcmp(words[i], "kernel"))
            entry.flags |= WP_THREAD_KERNEL;
        else if (!strcmp(words[i], "recorder"))
            entry.flags |= WP_THREAD_SELF;
        else
            return fail(p, "unknown word", words[i]);
    }
    entry.comm = string_id(p, comm, strlen(comm));
    b->threads[b->thread_count++] = entry;
    p->names[b->thread_count] = strdup(words[1]);
    return 0;
}

/* A.B.C.D:PORT or [IPV6]:PORT */
static int parse_end(struct parser *p, char *text, uint8_t *family, uint8_t *address, uint16_t *port)
{
    char *colon = strrchr(text, ':');
    if (!colon || colon == text)
        return fail(p, "not an address", text);
    *colon = 0;
    *port = (uint16_t)atoi(colon + 1);
    *family = AF_INET;
    if (*text == '[' && colon[-1] == ']') {
        *family = AF_INET6;
        colon[-1] = 0;
        text++;
    }
    return inet_pton(*family, text, address) == 1 ? 0 : fail(p, "not an address", text);
}

static int parse_socket(struct parser *p, char **words, int count)
{
    struct wp_batch *b = &p->host->batch;
    uint8_t family = AF_INET;
    if (count < 4 || b->socket_count + 1 == NAMES)
        return fail(p, "socket NAME LOCAL REMOTE", words[0]);
    bool is_udp = count > 4 && !strcmp(words[4], "udp");
    struct wp_socket_entry entry = {.protocol = is_udp ? IPPROTO_UDP : IPPROTO_TCP, .netns = 1};
    if (count > 4 && !is_udp)
        entry.opener = !strcmp(words[4], "opened") ? WP_OPENER_HERE : WP_OPENER_THERE;
    int rc = parse_end(p, words[2], &entry.family, entry.local, &entry.local_port);
    if (!rc)
        rc = parse_end(p, words[3], &family, entry.remote, &entry.remote_port);
    if (!rc && family != entry.family)
        rc = fail(p, "addresses of two families at socket", words[1]);
    if (rc)
        return rc;
    b->sockets[b->socket_count++] = entry;
    p->socket_names[b->socket_count] = strdup(words[1]);
    return 0;
}

static int thread_word(struct parser *p, const char *name, uint32_t *id)
{
    *id = find_name(p->names, p->host->batch.thread_count, name);
    return *id || !strcmp(name, "idle") ? 0 : fail(p, "no thread", name);
}

static int socket_word(struct parser *p, const char *name, uint32_t *id)
{
    *id = find_name(p->socket_names, p->host->batch.socket_count, name);
    return *id ? 0 : fail(p, "no socket", name);
}

static uint32_t syscall_number(const char *name)
{
    for (uint32_t number = 0; number < 512; number++) {
        const char *known = wp_syscall_name(number);
        if (known && !strcmp(known, name))
            return number + 1;
    }
    return 0;
}

/* switch CPU PREV STATE NEXT [SYSCALL] [stack=...] [on=...] [deliberate] [throttled] [elsewhere] [timeout=US]
 * [held=TID] [ran=US] */
static int parse_switch(struct parser *p, char **w, int n, struct wp_event *e)
{
    static const char states[] = "RSDTtXIP";
    if (n < 5)
        return fail(p, "switch CPU PREV STATE NEXT", w[0]);
    const char *state = strchr(states, *w[3]);
    if (!state || !*w[3])
        return fail(p, "not a state", w[3]);
    e->kind = WP_EVENT_SWITCH;
    e->cpu = (uint16_t)atoi(w[1]);
    e->c = (uint32_t)(state - states);
    if (e->c == WP_STATE_RUNNING)
        e->flags |= WP_SWITCH_PREEMPTED;
    for (int i = 5; i < n; i++) {
        if (!strncmp(w[i], "stack=", 6))
            e->stack = stack_id(p, w[i] + 6);
        else if (!strncmp(w[i], "on=", 3))
            e->wait = spaced_id(p, w[i] + 3, 255);
        else if (!strcmp(w[i], "deliberate"))
            e->flags |= WP_SWITCH_DELIBERATE;
        else if (!strcmp(w[i], "throttled"))
            e->flags |= WP_SWITCH_THROTTLED;
        else if (!strcmp(w[i], "elsewhere"))
            e->flags |= WP_SWITCH_ELSEWHERE;
        else if (!strcmp(w[i], "anywhere"))
            e->flags |= WP_SWITCH_HELD_ANYWHERE;
        else if (!strncmp(w[i], "timeout=", 8)) {
            e->flags |= WP_SWITCH_TIMED;
            e->a = (uint64_t)(strtod(w[i] + 8, NULL) * 1000);
        } else if (!strncmp(w[i], "held=", 5)) {
            e->flags |= WP_SWITCH_HELD;
            e->a = strtoull(w[i] + 5, NULL, 0);
        } else if (!strncmp(w[i], "ran=", 4)) {
            e->flags |= WP_SWITCH_RAN;
            e->b = (uint64_t)(strtod(w[i] + 4, NULL) * 1000);
        } else if (!(e->d = syscall_number(w[i])))
            return fail(p, "no such system call", w[i]);
    }
    int rc = thread_word(p, w[2], &e->thread);
    return rc ? rc : thread_word(p, w[4], &e->other);
}

/* waking CPU CURRENT TARGET [timer | irq N | softirq N | message SOCKET POSITION [empty] | block DEVICE KEY | unknown]
 * [signal=N] [stream=N] [on=...] [stack=...] */
static int parse_waking(struct parser *p, char **w, int n, struct wp_event *e)
{
    if (n < 4)
        return fail(p, "waking CPU CURRENT TARGET", w[0]);
    e->kind = WP_EVENT_WAKING;
    e->cpu = (uint16_t)atoi(w[1]);
    e->c = WP_CAUSE_TASK;
    int rc = thread_word(p, w[2], &e->thread);
    rc = rc ? rc : thread_word(p, w[3], &e->other);
    if (!rc && n > 4 && !strncmp(w[n - 1], "stack=", 6))
        e->stack = stack_id(p, w[--n] + 6);
    if (!rc && n > 4 && !strncmp(w[n - 1], "on=", 3))
        e->wait = spaced_id(p, w[--n] + 3, 255);
    if (!rc && n > 4 && !strncmp(w[n - 1], "stream=", 7))
        e->d = (uint32_t)strtoul(w[--n] + 7, NULL, 0);
    if (!rc && n > 4 && !strncmp(w[n - 1], "signal=", 7))
        e->a = strtoull(w[--n] + 7, NULL, 0);
    if (rc || n == 4)
        return rc;
    e->flags = WP_CONTEXT_SOFTIRQ;
    bool is_timer = !strcmp(w[4], "timer");
    if (is_timer || !strcmp(w[4], "unknown")) {
        e->c = is_timer ? WP_CAUSE_TIMER : WP_CAUSE_UNKNOWN;
    } else if ((!strcmp(w[4], "irq") || !strcmp(w[4], "softirq")) && n > 5) {
        e->c = *w[4] == 'i' ? WP_CAUSE_IRQ : WP_CAUSE_SOFTIRQ;
        e->d = (uint32_t)atoi(w[5]);
    } else if (!strcmp(w[4], "message") && n > 6) {
        e->c = WP_CAUSE_MESSAGE;
        e->a = strtoull(w[6], NULL, 0);
        if (n > 7 && !strcmp(w[7], "empty"))
            e->a |= WP_POSITION_ACKNOWLEDGES;
        rc = socket_word(p, w[5], &e->d);
    } else if (!strcmp(w[4], "block") && n > 6) {
        e->c = WP_CAUSE_BLOCK;
        e->d = (uint32_t)atoi(w[5]);
        e->a = strtoull(w[6], NULL, 0);
    } else {
        rc = fail(p, "not a cause", w[4]);
    }
    return rc;
}

static int parse_two_threads(struct parser *p, char **w, int n, struct wp_event *e, uint8_t kind)
{
    e->kind = kind;
    if (n < 3)
        return fail(p, "two threads are needed after", w[0]);
    int rc = thread_word(p, w[1], &e->thread);
    return rc ? rc : thread_word(p, w[2], &e->other);
}

/* send|recv THREAD SOCKET END BYTES [datagram] */
static int parse_bytes(struct parser *p, char **w, int n, struct wp_event *e, uint8_t kind)
{
    e->kind = kind;
    if (n < 5)
        return fail(p, "THREAD SOCKET END BYTES are needed after", w[0]);
    e->a = strtoull(w[3], NULL, 0);
    e->c = (uint32_t)atoi(w[4]);
    if (n > 5 && !strcmp(w[5], "datagram"))
        e->flags |= WP_SOCK_DATAGRAM;
    int rc = thread_word(p, w[1], &e->thread);
    return rc ? rc : socket_word(p, w[2], &e->d);
}

/* leave SOCKET END | arrive SOCKET END BYTES [datagram] */
static int parse_packet(struct parser *p, char **w, int n, struct wp_event *e, uint8_t kind)
{
    e->kind = kind;
    if (n < 3 + (kind == WP_EVENT_SOCK_ARRIVE))
        return fail(p, "SOCKET END [BYTES] are needed after", w[0]);
    e->a = strtoull(w[2], NULL, 0);
    e->c = kind == WP_EVENT_SOCK_ARRIVE ? (uint32_t)atoi(w[3]) : 0;
    if (n > 4 && !strcmp(w[4], "datagram"))
        e->flags |= WP_SOCK_DATAGRAM;
    return socket_word(p, w[1], &e->d);
}

/* established SOCKET OWN_ISN PEER_ISN [opened|accepted] | closed THREAD SOCKET | ended THREAD SOCKET */
static int parse_socket_state(struct parser *p, char **w, int n, struct wp_event *e)
{
    bool is_established = !strcmp(w[0], "established");
    e->kind = WP_EVENT_SOCK_STATE;
    if (n < 3 + is_established)
        return fail(p, "SOCKET OWN_ISN PEER_ISN, or THREAD SOCKET, are needed after", w[0]);
    if (is_established) {
        e->c = TCP_ESTABLISHED;
        e->a = (uint32_t)strtoul(w[2], NULL, 0) | strtoull(w[3], NULL, 0) << 32;
        e->b = n < 5 ? 0 : !strcmp(w[4], "opened") ? TCP_SYN_SENT : TCP_SYN_RECV;
        return socket_word(p, w[1], &e->d);
    }
    e->b = TCP_ESTABLISHED;
    e->c = *w[0] == 'c' ? TCP_CLOSE : TCP_CLOSE_WAIT;
    int rc = thread_word(p, w[1], &e->thread);
    return rc ? rc : socket_word(p, w[2], &e->d);
}

/* insert|issue|serve|complete THREAD DEVICE KEY BYTES [write] */
static int parse_block(struct parser *p, char **w, int n, struct wp_event *e, uint8_t kind)
{
    e->kind = kind;
    if (n < 5)
        return fail(p, "THREAD DEVICE KEY BYTES are needed after", w[0]);
    e->d = (uint32_t)atoi(w[2]);
    e->b = strtoull(w[3], NULL, 0);
    e->c = (uint32_t)atoi(w[4]);
    if (n > 5 && !strcmp(w[5], "write"))
        e->flags |= WP_BLOCK_WRITE;
    if (n > 5 && !strcmp(w[5], "flush"))
        e->flags |= WP_BLOCK_FLUSH;
    return thread_word(p, w[1], &e->thread);
}

static int parse_event(struct parser *p, char **w, int n, struct wp_event *e)
{
    const char *what = w[0];
    if (!strcmp(what, "switch"))
        return parse_switch(p, w, n, e);
    if (!strcmp(what, "waking"))
        return parse_waking(p, w, n, e);
    if (!strcmp(what, "fork"))
        return parse_two_threads(p, w, n, e, WP_EVENT_FORK);
    if (!strcmp(what, "exec"))
        return parse_two_threads(p, w, n, e, WP_EVENT_EXEC);
    if (!strcmp(what, "send") || !strcmp(what, "recv"))
        return parse_bytes(p, w, n, e, *what == 's' ? WP_EVENT_SOCK_SEND : WP_EVENT_SOCK_RECV);
    if ((!strcmp(what, "read") || !strcmp(what, "wrote")) && n > 2) { /* read|wrote THREAD STREAM [US-AGO] */
        e->kind = WP_EVENT_LOCAL;
        e->c = *what == 'r';
        e->d = (uint32_t)strtoul(w[2], NULL, 0);
        e->a = n > 3 ? strtoull(w[3], NULL, 0) * 1000 : 0;
        return thread_word(p, w[1], &e->thread);
    }
    bool is_queue = !strcmp(what, "queue-quota");
    if ((is_queue || !strcmp(what, "quota")) && n > 4 + is_queue) { /* ... THREAD US [ENDED-US-AGO] CGROUP PERIOD_US */
        e->kind = WP_EVENT_REASON;
        e->a = strtoull(w[2], NULL, 0) * 1000;
        e->b = strtoull(w[is_queue ? 3 : 4], NULL, 0) * 1000;
        e->c = is_queue ? WP_REASON_QUEUE_QUOTA | (uint32_t)strtoul(w[5], NULL, 0) << 8 : WP_REASON_QUOTA;
        e->wait = string_id(p, w[3 + is_queue], strlen(w[3 + is_queue]));
        return thread_word(p, w[1], &e->thread);
    }
    if (!strcmp(what, "sleeps-for") && n > 2) { /* sleeps-for THREAD WHAT */
        e->kind = WP_EVENT_REASON;
        e->c = WP_REASON_SLEEP;
        e->wait = string_id(p, w[2], strlen(w[2]));
        return thread_word(p, w[1], &e->thread);
    }
    if (!strcmp(what, "memory") && n > 3) { /* memory THREAD BYTES CGROUP, - the whole machine */
        char group[128];
        e->kind = WP_EVENT_REASON;
        e->c = WP_REASON_MEMORY;
        e->a = strtoull(w[2], NULL, 0);
        snprintf(group, sizeof(group), WP_MEMORY_GROUP "%s", strcmp(w[3], "-") ? w[3] : "");
        e->wait = string_id(p, group, strlen(group));
        return thread_word(p, w[1], &e->thread);
    }
    if (!strcmp(what, "seize") && n > 3) { /* seize CPU US 2|3|4 [NAME]: interrupt, soft interrupt, steal */
        e->kind = WP_EVENT_REASON;
        e->b = strtoull(w[1], NULL, 0);
        e->a = strtoull(w[2], NULL, 0) * 1000;
        e->c = (uint32_t)atoi(w[3]);
        e->wait = n > 4 ? string_id(p, w[4], strlen(w[4])) : 0;
        return 0;
    }
    if (!strcmp(what, "leave") || !strcmp(what, "arrive"))
        return parse_packet(p, w, n, e, *what == 'l' ? WP_EVENT_SOCK_LEAVE : WP_EVENT_SOCK_ARRIVE);
    if (!strcmp(what, "established") || !strcmp(what, "closed") || !strcmp(what, "ended"))
        return parse_socket_state(p, w, n, e);
    if (!strcmp(what, "insert"))
        return parse_block(p, w, n, e, WP_EVENT_BLOCK_INSERT);
    if (!strcmp(what, "issue"))
        return parse_block(p, w, n, e, WP_EVENT_BLOCK_ISSUE);
    if (!strcmp(what, "complete"))
        return parse_block(p, w, n, e, WP_EVENT_BLOCK_COMPLETE);
    if (!strcmp(what, "serve")) {
        e->flags |= WP_BLOCK_SERVED;
        return parse_block(p, w, n, e, WP_EVENT_BLOCK_ISSUE);
    }
    if (!strcmp(what, "rename") && n > 2) { /* rename THREAD NAME [own]: it took it itself */
        e->kind = WP_EVENT_RENAME;
        e->flags = n > 3 && !strcmp(w[3], "own") ? WP_RENAME_OWN : 0;
        e->c = string_id(p, w[2], strlen(w[2]));
        return thread_word(p, w[1], &e->thread);
    }
    if (!strcmp(what, "sample") && n > 2) { /* sample CPU THREAD [stack=...] */
        e->kind = WP_EVENT_SAMPLE;
        e->cpu = (uint16_t)atoi(w[1]);
        if (n > 3 && !strncmp(w[3], "stack=", 6))
            e->stack = stack_id(p, w[3] + 6);
        return thread_word(p, w[2], &e->thread);
    }
    if (!strcmp(what, "state") && n > 2) { /* state THREAD STATE [SYSCALL]: what existed at the start */
        e->kind = WP_EVENT_STATE;
        e->c = *w[2] == 'D' ? WP_STATE_UNINTERRUPTIBLE : WP_STATE_INTERRUPTIBLE;
        e->d = n > 3 ? syscall_number(w[3]) : 0;
        return thread_word(p, w[1], &e->thread);
    }
    if (!strcmp(what, "window") && n > 1) { /* window on|off: the recording goes on, or pauses */
        e->kind = WP_EVENT_WINDOW;
        e->c = !strcmp(w[1], "on");
        return 0;
    }
    return fail(p, "unknown event", what);
}

/* --- sections --- */

static void forget_names(struct parser *p)
{
    for (unsigned i = 0; i < NAMES; i++) {
        free(p->names[i]);
        free(p->socket_names[i]);
        p->names[i] = p->socket_names[i] = NULL;
    }
}

static int begin_host(struct parser *p, const char *name)
{
    if (p->scenario->host_count == SCENARIO_HOSTS)
        return fail(p, "one host too many", name);
    p->host = &p->scenario->hosts[p->scenario->host_count++];
    p->host->name = strdup(name);
    struct wp_batch *b = &p->host->batch;
    *b = (struct wp_batch){.seq = 1,
        .first_string = 1,
        .first_thread = 1,
        .first_socket = 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1,
        .is_last = true,
        .watermark_ns = SCENARIO_START_NS};
    b->events = calloc(ROWS, sizeof(*b->events));
    b->strings = calloc(ROWS, sizeof(*b->strings));
    b->threads = calloc(NAMES, sizeof(*b->threads));
    b->sockets = calloc(NAMES, sizeof(*b->sockets));
    b->objects = calloc(ROWS, sizeof(*b->objects));
    b->frames = calloc(ROWS, sizeof(*b->frames));
    b->stacks = calloc(ROWS, sizeof(*b->stacks));
    forget_names(p);
    return 0;
}

/* host NAME [clock OFFSET_US]; before anything else it names the first one. */
static int parse_host(struct parser *p, char **w, int n)
{
    const struct wp_batch *b = &p->host->batch;
    bool is_first = p->scenario->host_count == 1 && !b->thread_count && !b->socket_count && !b->event_count;
    if (n != 2 && (n != 4 || strcmp(w[2], "clock")))
        return fail(p, "host NAME [clock OFFSET_US]", w[0]);
    int rc = is_first ? 0 : begin_host(p, w[1]);
    if (is_first) {
        free(p->host->name);
        p->host->name = strdup(w[1]);
    }
    if (!rc && n == 4)
        p->host->offset_ns = (int64_t)(strtod(w[3], NULL) * 1000);
    return rc;
}

/* option fit|join|late-sample|history|lookback US, option depth|width|budget|lookback-bytes N, option asks 1 */
static int parse_option(struct parser *p, char **w, int n)
{
    if (n != 3)
        return fail(p, "option NAME VALUE", w[0]);
    double number = strtod(w[2], NULL);
    struct scenario *to = p->scenario;
    uint64_t *const times[] = {&to->fit_ns, &to->join_ns, &to->late_sample_ns, &to->history_ns, &to->lookback_ns};
    static const char *const names[] = {"fit", "join", "late-sample", "history", "lookback"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(w[1], names[i])) {
            *times[i] = (uint64_t)(number * 1000);
            return 0;
        }
    if (!strcmp(w[1], "lookback-bytes"))
        p->scenario->lookback_bytes = (uint64_t)number;
    else if (!strcmp(w[1], "depth"))
        p->scenario->depth = (uint32_t)number;
    else if (!strcmp(w[1], "width"))
        p->scenario->width = (uint32_t)number;
    else if (!strcmp(w[1], "view") && strlen(w[2]) < sizeof(p->scenario->view))
        strcpy(p->scenario->view, w[2]);
    else if (!strcmp(w[1], "selector") && strlen(w[2]) < sizeof(p->scenario->selector))
        strcpy(p->scenario->selector, w[2]);
    else if (!strcmp(w[1], "budget"))
        p->scenario->budget = (uint32_t)number;
    else if (!strcmp(w[1], "asks"))
        p->scenario->has_asks = true;
    else
        return fail(p, "no option", w[1]);
    return 0;
}

static int parse_line(struct parser *p, char *line)
{
    char *words[16], *save = NULL;
    int count = 0;
    for (char *word = strtok_r(line, " \t", &save); word && count < 16 && *word != '#';
         word = strtok_r(NULL, " \t", &save))
        words[count++] = word;
    if (!count)
        return 0;
    if (!strcmp(words[0], "host"))
        return parse_host(p, words, count);
    if (!strcmp(words[0], "option"))
        return parse_option(p, words, count);
    if (!strcmp(words[0], "thread"))
        return parse_thread(p, words, count);
    if (!strcmp(words[0], "socket"))
        return parse_socket(p, words, count);
    struct wp_batch *b = &p->host->batch;
    if (count < 2 || b->event_count == ROWS)
        return fail(p, "not a line of a scenario", words[0]);
    if (!strcmp(words[0], "probe")) {
        p->host->probe_ns = (uint64_t)(strtod(words[1], NULL) * 1000);
        return 0;
    }
    char *end;
    double us = strtod(words[0], &end);
    if (*end || us < 0)
        return fail(p, "not a time in microseconds", words[0]);
    struct wp_event *e = &b->events[b->event_count++];
    *e = (struct wp_event){.time_ns = SCENARIO_START_NS + (uint64_t)(us * 1000 + 0.5)};
    return parse_event(p, words + 1, count - 1, e);
}

int scenario_parse(struct scenario *scenario, const char *text, struct wp_error *err)
{
    struct parser p = {.scenario = scenario, .err = err};
    *scenario = (struct scenario){0};
    const char *below = strstr(text, "\n--\n");
    scenario->expected = strdup(below ? below + 4 : "");
    char *copy = strndup(text, below ? (size_t)(below - text) + 1 : strlen(text)), *at = copy;
    int rc = begin_host(&p, "h1");
    for (char *line = strsep(&at, "\n"); line && !rc; line = strsep(&at, "\n")) {
        p.line++;
        rc = parse_line(&p, line);
    }
    free(copy);
    forget_names(&p);
    return rc;
}

void scenario_fini(struct scenario *scenario)
{
    for (unsigned i = 0; i < scenario->host_count; i++) {
        struct wp_batch *b = &scenario->hosts[i].batch;
        for (uint32_t j = 0; j < b->string_count; j++)
            free((char *)(uintptr_t)b->strings[j].data);
        free(b->events);
        free(b->strings);
        free(b->threads);
        free(b->sockets);
        free(b->objects);
        free(b->frames);
        free(b->stacks);
        free(scenario->hosts[i].name);
    }
    free(scenario->expected);
}
