/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_PARALLEL_LOAD_H
#define WP_COLLECTOR_LIVE_PARALLEL_LOAD_H
/*
 * Has the kernel verify the largest programs in threads of their own while libbpf loads the others: two programs are
 * most of what verification takes. libbpf hands a program over when all are relocated and the maps exist
 * (libbpf_prog_handler_opts.prog_prepare_load_fn), and loads two instructions in its place. What a program is attached
 * to is found in an index of the kernel's types, not in all of them.
 *
 * The order: open, bpf_object__open, set types, bpf_object__load, finish. libbpf's list of handlers is the process':
 * one of these at a time.
 */
#include <stdbool.h>

struct bpf_program;
struct hook;
struct wp_kernel_btf;

#define WP_PARALLEL_LOADS 6u

/* One kind of program. */
struct wp_parallel_target {
    const char *license;               /* borrowed */
    const struct hook *hook;           /* what kind of program */
    const struct wp_kernel_btf *types; /* borrowed */
    bool is_alone;                     /* no thread is started */
    int handler;                       /* libbpf's number; -1: none */
    struct wp_parallel_work *work;
};

struct wp_parallel_load {
    struct wp_parallel_target targets[WP_PARALLEL_LOADS];
    bool is_started; /* of at least one */
};

/* Takes over the programs of objects that are opened from now on: puts the kernel's numbers in
 * (collector/live/program_marks.h), and what each is attached to. bpf_program__attach knows nothing of them then:
 * bpf_program__attach_trace, _raw_tracepoint, _iter and _perf_event are their ways. A libbpf without handlers leaves
 * the marks in, which the kernel refuses; without memory for a thread, or `has_threads`, a program is loaded in its
 * turn. */
void wp_parallel_load_open(struct wp_parallel_load *load, const char *license, bool has_threads);
/* What hooks and marks are found in; they stay until it is loaded. */
void wp_parallel_load_set_types(struct wp_parallel_load *load, const struct wp_kernel_btf *types);
/* After bpf_object__load, whether it failed or not: waits for the threads. 0, and the descriptors of libbpf's programs
 * are those of the loaded ones; or why the kernel refused one. A second call does nothing. */
int wp_parallel_load_finish(struct wp_parallel_load *load);

#endif
