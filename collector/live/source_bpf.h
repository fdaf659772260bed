/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_SOURCE_BPF_H
#define WP_COLLECTOR_LIVE_SOURCE_BPF_H
/* The live kernel as a source: the programs of collector/bpf, loaded by libbpf with CO-RE. Needs a kernel with BTF. */
#include "collector/host/source.h"
#include "collector/live/source_bpf_options.h"
#include "common/log.h"

/* Attaches and takes the snapshot of what exists: from its return on nothing is missed. Starts threads of ours: one
 * while programs are loaded, and the unwinder's. -EPERM, -ENOENT (no BTF) ...:
 * err says what to do. */
int wp_source_bpf_create(struct wp_source **source, const struct wp_source_bpf_options *options,
    const struct wp_logger *logger, struct wp_error *err);
/* Of a source made here: whether facts of EXEC have their command lines from now on. */
void wp_source_bpf_want_cmdlines(struct wp_source *source, bool is_wanted);
#define WP_DIRECT_IO_END "iomap_dio_bio_end_io"
/* Of a source made here: the function of the kernel that ends direct I/O, WP_DIRECT_IO_END, is at this address; 0: not
 * known, and files of direct I/O that is finished by it are known by its calls alone. */
void wp_source_bpf_direct_io(struct wp_source *source, uint64_t address);

#endif
