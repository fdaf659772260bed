/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_GEN_HOST_H
#define WP_TESTS_GEN_HOST_H
/*
 * A host: processors, a run queue, threads, a disk, and what a collector on it would tell: its events in its own clock,
 * the entries of its dictionary, what it lost. Batches are cut as the collector cuts them and go to `uplink`.
 */
#include "proto/batch.h"
#include "tests/fleetgen/gen_clock.h"
#include "tests/fleetgen/gen_sim.h"
#include "tests/fleetgen/gen_trace.h"

struct gen_host;
struct gen_thread;
struct gen_end;
struct gen_message;

typedef void (*gen_step)(struct gen_thread *thread);

enum gen_place { GEN_NOWHERE, GEN_ASLEEP, GEN_RUNNABLE, GEN_ON_CPU };

/* Where in the program a thread is; a stack each. */
enum gen_spot {
    GEN_SPOT_WORK = 1,
    GEN_SPOT_READ,
    GEN_SPOT_SEND,
    GEN_SPOT_NAP,
    GEN_SPOT_SYNC,
    GEN_SPOT_WAIT,
    GEN_SPOTS
};

struct gen_thread {
    struct gen_host *host; /* borrowed */
    uint32_t number;       /* in host->threads */
    uint32_t entry;        /* dictionary id */
    uint32_t tid, pid;
    uint16_t service;
    enum gen_place place;
    enum gen_spot spot;
    uint16_t cpu;            /* where it runs */
    uint64_t since_ns;       /* in this place */
    uint64_t left_ns;        /* of its burst, when it is not running */
    uint64_t burst;          /* its number: older timers say nothing */
    gen_step then;           /* what comes after the burst; it is on a processor then */
    uint64_t used_ns;        /* on its processor since it came there */
    uint32_t state, syscall; /* while asleep */
    bool was_preempted;
    struct gen_trace *trace;     /* borrowed: on whose behalf; may be NULL */
    gen_step after;              /* of a call that takes several bursts */
    struct gen_end *waits_on;    /* the connection that it is at; borrowed */
    struct gen_message *message; /* sent or read last; borrowed */
    void *program;               /* the service's own, owned by it */
};

struct gen_cpu {
    struct gen_thread *running; /* NULL: idle */
    bool is_coming;             /* idle, and on its way to the queue */
};

struct gen_loss {
    uint64_t from_ns, to_ns; /* true time; nothing that happens then is told */
};

struct gen_host {
    struct gen_sim *sim; /* borrowed */
    char name[16];
    uint32_t number;
    struct gen_clock clock;
    struct gen_cpu *cpus; /* owned */
    uint32_t cpu_count;
    struct gen_thread **threads; /* owned */
    uint32_t thread_count, thread_room;
    struct gen_thread **queue; /* runnable, first come first served; owned */
    uint32_t queue_count, queue_room;
    uint32_t next_tid, next_port;
    uint64_t disk_free_ns, disk_key;
    uint32_t sample_ns; /* 0: none */
    /* What is told. */
    struct wp_batch batch; /* its arrays: all there is; owned */
    uint32_t event_room, string_room, thread_entry_room, socket_room, stack_room, drop_room;
    uint32_t told_strings, told_threads, told_sockets, told_frames, told_stacks;
    uint32_t stacks[GEN_SERVICES][GEN_SPOTS]; /* ids, 0: not made yet */
    bool is_recording, is_over;
    bool is_paused; /* between two windows: births, programs and deaths alone are told */
    uint64_t start_ns, cut_ns, events, dropped;
    struct gen_loss loss;
    uint64_t lost[WP_EVENT_KINDS];
    void (*uplink)(void *context, struct gen_host *host, const struct wp_batch *batch);
    void *context;
    const char *(*service_name)(const void *context, uint32_t service);
    const void *names;
};

struct gen_host *gen_host_create(struct gen_sim *sim, uint32_t number, uint32_t cpus);
void gen_host_destroy(struct gen_host *host);
/* The recording begins: what is there is told as states. Ends: the last batch. */
void gen_host_begin(struct gen_host *host);
void gen_host_end(struct gen_host *host);
/* Between two windows of the recording; at the end of a pause what is there is told again. */
void gen_host_pause(struct gen_host *host, bool is_paused);
/* A fact, now. */
void gen_host_tell(struct gen_host *host, struct wp_event event);
uint32_t gen_host_string(struct gen_host *host, const char *text);
uint32_t gen_host_entry(struct gen_host *host, const struct wp_thread_entry *entry);
uint32_t gen_host_stack(struct gen_host *host, uint32_t service, enum gen_spot spot);
uint32_t gen_host_socket(struct gen_host *host, const struct wp_socket_entry *entry);
/* An interrupt: on some processor; *thread is the entry of who runs there. */
uint16_t gen_host_interrupt(struct gen_host *host, uint32_t *thread);

/* --- threads --- */

struct gen_thread *gen_thread_create(
    struct gen_host *host, uint16_t service, struct gen_thread *parent, bool is_process);
/* It becomes runnable, and begins with `then` after so much time on a processor. */
void gen_thread_start(struct gen_thread *thread, uint64_t first_ns, gen_step then);
/* It computes for so long, then goes on with `then`. It is on a processor. */
void gen_thread_compute(struct gen_thread *thread, enum gen_spot spot, uint64_t ns, gen_step then);
/* It goes to sleep; when it has been woken and runs again it computes for `resume_ns` and goes on with `then`. */
void gen_thread_block(struct gen_thread *thread, enum gen_spot spot, uint32_t syscall, enum wp_task_state state,
    uint64_t resume_ns, gen_step then);
/* The waking: cpu, thread, c, flags and what the cause wants are the caller's. */
void gen_thread_wake(struct gen_thread *thread, struct wp_event waking);
/* Woken by a timer at that time. */
void gen_thread_nap(struct gen_thread *thread, uint64_t until_ns, gen_step then);
/* Writes and waits for the disk, which is busy with it for `ns`. */
void gen_thread_sync(struct gen_thread *thread, uint64_t ns, gen_step then);
/* Its last switch. */
void gen_thread_exit(struct gen_thread *thread);
/* Becomes another program. */
void gen_thread_exec(struct gen_thread *thread, uint16_t service);
/* Creates a process that begins with `then` after some time on a processor. */
struct gen_thread *gen_thread_fork(struct gen_thread *thread, uint64_t first_ns, gen_step then);

#endif
