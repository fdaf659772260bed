/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_PARALLEL_LOAD_H
#define WP_COLLECTOR_LIVE_PARALLEL_LOAD_H
/*
 * Has the kernel verify the largest program in a thread of its own while libbpf loads the others: one program is most
 * of what verification takes. libbpf hands the program over when all are relocated and the maps exist
 * (libbpf_prog_handler_opts.prog_prepare_load_fn), and loads two instructions in its place.
 *
 * The order: open, bpf_object__open, target, bpf_object__load, finish. libbpf's list of handlers is the process': one
 * of these at a time.
 */
#include <stdbool.h>

struct bpf_program;

struct wp_parallel_load {
    const char *hook, *license; /* borrowed */
    int handler;                /* libbpf's number; -1: none */
    bool is_started;
    int fd; /* of the loaded program, or -errno */
    struct wp_parallel_work *work;
};

/* Takes over the program of section "tp_btf/<hook>" of objects that are opened from now on. Without memory, or a libbpf
 * that takes handlers, it is loaded as all others are. */
void wp_parallel_load_open(struct wp_parallel_load *load, const char *hook, const char *license);
/* Says what the program is attached to: libbpf leaves that to who has a handler. 0 or -errno. */
int wp_parallel_load_target(const struct wp_parallel_load *load, struct bpf_program *program);
/* After bpf_object__load, whether it failed or not: waits for the thread. 0, or why the kernel refused the program.
 * A second call does nothing. */
int wp_parallel_load_finish(struct wp_parallel_load *load);
/* The loaded program, which `program` stands for; finish has returned 0. */
int wp_parallel_load_fd(const struct wp_parallel_load *load, const struct bpf_program *program);
/* Closes the program. Waits for nothing: finish has been called, or open has not. */
void wp_parallel_load_close(struct wp_parallel_load *load);

#endif
