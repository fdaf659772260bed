/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_BPF_PROGRAMS_H
#define WP_COLLECTOR_LIVE_BPF_PROGRAMS_H
/* The BPF object: which programs this kernel can have, loading, attaching, the snapshot of tasks, drops. */
#include "collector/bpf/interp_row.h"
#include "collector/bpf/ring_record.h"
#include "collector/bpf/unwind_row.h"
#include "collector/live/source_bpf_options.h"
#include "common/error.h"
#include "common/log.h"

#include <bpf/libbpf.h>

struct wp_programs;

/* Loads the programs that this kernel can have; none runs yet. A thread of ours has the largest one verified, and has
 * ended on return. `logger` is borrowed until destroy. -ENOENT: no BTF;
 * -EOPNOTSUPP: a fact cannot be had; -EPERM, -EACCES: no right to load; -ENOMEM, -errno of bpf(2). */
int wp_programs_load(struct wp_programs **programs, const struct wp_source_bpf_options *options,
    const struct wp_logger *logger, struct wp_error *err);
/* Events are recorded from now on. frequency_hz: samples a second and CPU, 0 for none. A kernel function that refuses
 * is only logged. -errno: a tracepoint or sampler refused; what is attached by then needs detach. */
int wp_programs_attach(struct wp_programs *programs, uint32_t frequency_hz, struct wp_error *err);
/* Makes every existing thread a record. */
int wp_programs_snapshot(struct wp_programs *programs, struct wp_error *err);
/* The same before programs are attached: who threads are, for what is told of them before the snapshot. */
int wp_programs_introduce(struct wp_programs *programs, struct wp_error *err);
/* Whether a thread has had to free pages of a cgroup since the last list of who has how many. */
bool wp_programs_is_memory_short(struct wp_programs *programs);
/* Each process of such a cgroup tells what it has. -errno: the kernel refuses. After a snapshot. */
int wp_programs_list_memory(struct wp_programs *programs, struct wp_error *err);
/* While paused the programs report births, execs, names and deaths of threads alone. */
void wp_programs_pause(struct wp_programs *programs, bool is_paused);
/* The address of the kernel's function that ends direct I/O; 0: not known. */
void wp_programs_direct_io(struct wp_programs *programs, uint64_t address);
/* Command lines of what is executed from now on are told, or are not. */
void wp_programs_want_cmdlines(struct wp_programs *programs, bool is_wanted);
/* Ends recording: the programs tell nothing from now on, and what is already in the maps can still be read. They are
 * detached as all is destroyed, which takes the kernel a while. May be called again. */
void wp_programs_end(struct wp_programs *programs);
/* Detaches and unloads. Closes all descriptors, and frees the probe, that the functions below return. NULL is
 * allowed. */
void wp_programs_destroy(struct wp_programs *programs);
struct wp_probe;
/* What the kernel offered and what was chosen of it. The programs own it. */
const struct wp_probe *wp_programs_probe(const struct wp_programs *programs);
struct wp_records_options;
/* Fills *options with the maps that the programs write to; they own the descriptors. */
void wp_programs_records(const struct wp_programs *programs, struct wp_records_options *options);
/* How many CPUs the host can have, offline ones included. */
unsigned wp_programs_cpus(const struct wp_programs *programs);
/* Fills drops[cpu] for wp_programs_cpus(); -errno. */
int wp_programs_drops(const struct wp_programs *programs, struct wp_record_drops *drops);
struct wp_unwinder_options;
/* Fills *options with what the unwinder works on, without a cache; the programs own the descriptors and *generation.
 * False: this kernel cannot unwind. */
bool wp_programs_unwinding(const struct wp_programs *programs, struct wp_unwinder_options *options);
/* How walks of user stacks ended so far, of all CPUs. */
void wp_programs_unwind_counts(const struct wp_programs *programs, struct wp_unwind_counts *counts);
/* The map of files that are interpreters, -1: their frames are not read. The programs own it. */
int wp_programs_interp_files(const struct wp_programs *programs);
/* How walks of interpreters' frames ended so far, of all CPUs. */
void wp_programs_interp_counts(const struct wp_programs *programs, struct wp_interp_counts *counts);
/* How often all programs ran and, by those runs whose time was taken, how long. */
void wp_programs_run_time(const struct wp_programs *programs, uint64_t *runs, uint64_t *ns);
/* CPUs that came online after wp_programs_attach: there are no samples of them. To be looked at now and then
 * (sample_event.h). */
unsigned wp_programs_unsampled(struct wp_programs *programs);
/* Stacks that were not walked because of wp_programs_thin. */
uint64_t wp_programs_unwalked(const struct wp_programs *programs);
/* As thin of struct wp_source_ops. */
void wp_programs_thin(struct wp_programs *programs, uint32_t walk_one_in);
/* From now on stacks are sent whole again. */
void wp_programs_forget_stacks(struct wp_programs *programs);

#endif
