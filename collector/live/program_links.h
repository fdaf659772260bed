/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_PROGRAM_LINKS_H
#define WP_COLLECTOR_LIVE_PROGRAM_LINKS_H
/*
 * What the programs are attached to. Between windows those that only return are not attached: a call costs the kernel
 * more than such a program, and a busy service makes a million a second.
 */
#include "common/error.h"
#include "common/log.h"

#include <stdbool.h>
#include <stdint.h>

struct bpf_link;
struct bpf_program;

#define WP_PROGRAM_LINKS 64u

struct wp_program_link {
    struct bpf_program *program; /* borrowed */
    struct bpf_link *link;       /* NULL: not attached now */
    bool is_idle;                /* between windows it would only return */
};

struct wp_program_links {
    const struct wp_logger *logger; /* borrowed */
    struct wp_program_link items[WP_PROGRAM_LINKS];
    unsigned count;
    uint64_t detached_ns; /* the last time, on the monotonic clock */
    bool may_attach;      /* was seen to be allowed since the first were */
    bool are_kept;        /* they stay attached between windows */
};

/* The tracepoint or function that a program is attached to; NULL for those that are not attached so. */
const char *wp_program_hook(const struct bpf_program *program);
/* Attaches it. is_idle: it may be detached by wp_program_links_pause. A kernel function that refuses is only logged;
 * -errno: a tracepoint refused; -E2BIG. */
int wp_program_links_attach(
    struct wp_program_links *links, struct bpf_program *program, bool is_idle, struct wp_error *err);
/* Detaches those that are idle, but not twice a second, for it takes a millisecond; or attaches them again, in their
 * order. What cannot be attached again (the kernel's
 * memory) is logged, and tried the next time. Where the rights to attach are gone, nothing is detached. */
void wp_program_links_pause(struct wp_program_links *links, bool is_paused);
/* Detaches all. */
void wp_program_links_destroy(struct wp_program_links *links);

#endif
