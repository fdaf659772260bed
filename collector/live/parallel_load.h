/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_PARALLEL_LOAD_H
#define WP_COLLECTOR_LIVE_PARALLEL_LOAD_H
/*
 * Has the kernel verify the largest programs in threads of their own while libbpf loads the others: two programs are
 * most of what verification takes. libbpf hands a program over when all are relocated and the maps exist
 * (libbpf_prog_handler_opts.prog_prepare_load_fn), and loads two instructions in its place.
 *
 * The order: open, bpf_object__open, target, bpf_object__load, finish. libbpf's list of handlers is the process': one
 * of these at a time.
 */
#include <stdbool.h>

struct bpf_program;

#define WP_PARALLEL_LOADS 2u

/* One program. */
struct wp_parallel_target {
    const char *license; /* borrowed */
    int handler;         /* libbpf's number; -1: none */
    struct wp_parallel_work *work;
};

struct wp_parallel_load {
    struct wp_parallel_target targets[WP_PARALLEL_LOADS];
    bool is_started; /* of at least one */
};

/* Takes over the programs of sections "tp_btf/sched_switch" and "perf_event" of objects that are opened from now on.
 * Without memory, or a libbpf that takes handlers, they are loaded as all others are. */
void wp_parallel_load_open(struct wp_parallel_load *load, const char *license);
/* Says which tracepoint the program of "tp_btf/sched_switch" is attached to: libbpf leaves that to who has a handler.
 * 0 or -errno. */
int wp_parallel_load_target(const struct wp_parallel_load *load, struct bpf_program *program);
/* After bpf_object__load, whether it failed or not: waits for the threads. 0, and the descriptors of libbpf's programs
 * are those of the loaded ones; or why the kernel refused one. A second call does nothing. */
int wp_parallel_load_finish(struct wp_parallel_load *load);

#endif
