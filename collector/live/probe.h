/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_PROBE_H
#define WP_COLLECTOR_LIVE_PROBE_H
/*
 * What the running kernel offers: for every fact that the collector reports, the BPF programs that can tell it, best
 * first, whether this kernel can have them, and why not. docs/kernels.md has the table and what was seen on which
 * kernel.
 */
#include "common/buffer.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

#define WP_PROBE_CHOICES 4u

/* Whether a choice is in use. */
enum wp_probe_state {
    WP_PROBE_USED,
    WP_PROBE_SPARE,  /* could be used, a better one is */
    WP_PROBE_LACKING /* see `why` */
};

/* One set of programs that can report a fact. */
struct wp_probe_choice {
    const char *programs; /* their sections, one blank between: all of them or none. Borrowed from the program */
    enum wp_probe_state state;
    char why[96];
};

/* A fact with its choices, best first. */
struct wp_probe_fact {
    const char *name;
    const char *without; /* what stands in when no choice is left; NULL: the collector cannot start */
    unsigned count;
    struct wp_probe_choice choices[WP_PROBE_CHOICES];
};

struct wp_kernel_btf;

/* From a processor's __preempt_count on, in bytes; 0: the kernel does not say. */
struct wp_probe_offsets {
    int64_t packets;          /* the number of packets that came */
    int64_t vectors, pending; /* of soft interrupts: the numbers of those that have begun, those to come */
};

struct wp_probe;

/*
 * Looks at the kernel, with the capabilities that are in effect. Loads nothing but, where a program at a function's
 * start or end may come to be needed, one that does nothing. left_out: sections, one blank between, that are not to be
 * used, or NULL. -ENOENT when the kernel describes itself nowhere (BTF): nothing can be loaded then.
 */
int wp_probe_create(struct wp_probe **probe, const char *left_out, struct wp_error *err);
/* Whether there can be CPU samples, as "perf_event" of wp_probe_wants; *why: why not. Needs no BTF. */
bool wp_probe_samples(const char *left_out, char *why, size_t room);
/* Frees it with the facts it returned. NULL is allowed. */
void wp_probe_destroy(struct wp_probe *probe);
/* How many facts there are; the same number on every kernel. */
unsigned wp_probe_count(const struct wp_probe *probe);
/* Fact number `index`, which must be below wp_probe_count. The probe owns it. */
const struct wp_probe_fact *wp_probe_fact(const struct wp_probe *probe, unsigned index);
/* The choice in use, NULL when none is left. */
const struct wp_probe_choice *wp_probe_used(const struct wp_probe_fact *fact);
/* Is the program of this section (or the feature of this name) one to be used? */
bool wp_probe_wants(const struct wp_probe *probe, const char *section);
/* What it has looked at; borrowed. */
const struct wp_kernel_btf *wp_probe_types(const struct wp_probe *probe);
/* Frees them, some megabytes: what follows from them is known; the offsets below are not any more. */
void wp_probe_drop_types(struct wp_probe *probe);
/* Where __preempt_count is from a processor's run queue on, in bytes; 0: the kernel does not say. */
int64_t wp_probe_count_offset(const struct wp_probe *probe);
/* By what the kernel says of its variables, whatever is to be used. */
void wp_probe_offsets(const struct wp_probe *probe, struct wp_probe_offsets *out);
/* 0, or -EOPNOTSUPP with what is missing that nothing stands in for. */
int wp_probe_suffices(const struct wp_probe *probe, struct wp_error *err);

#endif
