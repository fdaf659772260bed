/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_SOURCE_BPF_OPTIONS_H
#define WP_COLLECTOR_LIVE_SOURCE_BPF_OPTIONS_H
/* What the live kernel is asked for as a source. */
#include <stdbool.h>
#include <stdint.h>

struct wp_error;

struct wp_source_bpf_options {
    uint32_t frequency_hz;                 /* samples a second and CPU; 0: none */
    uint32_t ring_bytes;                   /* a power of two; 0: 16 MiB, half of it on few CPUs */
    uint32_t filter_pid;                   /* stacks and samples only of this process and those it starts; 0: of all */
    uint32_t recorder_pid, aggregator_pid; /* no stacks and no samples of these, nor of the collector; 0: none */
    uint32_t netns_inum;                   /* only threads and sockets of this network namespace; 0: all */
    bool wants_cmdline;
    bool is_native_only;      /* frames of interpreted languages are not read */
    const char *const *learn; /* programs whose unwind rows are to be known from the start. Borrowed */
    unsigned learn_count;
    bool learns_running; /* so are those of the processes that are busiest so far, unless there are such programs */
    const char *unwind_cache; /* folder of unwind rows that are kept; NULL: none are. Borrowed */
    const char *left_out;     /* programs that are not to be used (collector/live/probe.h); NULL: none. Borrowed */
    /* Called when the programs are loaded and tell nothing as yet; 0, or the error of the source. NULL: nobody is. */
    int (*loaded)(void *context, struct wp_error *err);
    void *context;
};

#endif
