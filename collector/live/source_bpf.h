/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_SOURCE_BPF_H
#define WP_COLLECTOR_LIVE_SOURCE_BPF_H
/* The live kernel as a source: the programs of collector/bpf, loaded by libbpf with CO-RE. Needs a kernel with BTF. */
#include "collector/host/source.h"
#include "common/log.h"

struct wp_source_bpf_options {
    uint32_t frequency_hz;  /* samples a second and CPU; 0: none */
    uint32_t ring_bytes;    /* a power of two; 0: 16 MiB */
    uint32_t filter_pid;    /* stacks and samples only of this process and those it starts; 0: of all */
    uint32_t netns_inum;    /* only threads and sockets of this network namespace; 0: all */
    bool wants_cmdline;
    const char *const *learn; /* programs whose unwind rows are to be known from the start. Borrowed */
    unsigned learn_count;
    const char *unwind_cache; /* folder of unwind rows that are kept; NULL: none are. Borrowed */
    const char *left_out;   /* programs that are not to be used (collector/live/probe.h); NULL: none. Borrowed */
};

/* Attaches and takes the snapshot of what exists: from its return on nothing is missed. -EPERM, -ENOENT (no BTF) ...: err
 * says what to do. */
int wp_source_bpf_create(struct wp_source **source, const struct wp_source_bpf_options *options,
    const struct wp_logger *logger, struct wp_error *err);
/* Of a source made here: whether facts of EXEC have their command lines from now on. */
void wp_source_bpf_want_cmdlines(struct wp_source *source, bool is_wanted);

#endif
