/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_SOURCE_BPF_H
#define WP_COLLECTOR_LIVE_SOURCE_BPF_H
/* The live kernel as a source: the programs of collector/bpf, loaded by libbpf with CO-RE. Needs a kernel with BTF. */
#include "collector/host/source.h"
#include "collector/live/source_bpf_options.h"
#include "common/log.h"

/* Attaches and takes the snapshot of what exists: from its return on nothing is missed. -EPERM, -ENOENT (no BTF) ...:
 * err says what to do. */
int wp_source_bpf_create(struct wp_source **source, const struct wp_source_bpf_options *options,
    const struct wp_logger *logger, struct wp_error *err);
/* Of a source made here: whether facts of EXEC have their command lines from now on. */
void wp_source_bpf_want_cmdlines(struct wp_source *source, bool is_wanted);

#endif
