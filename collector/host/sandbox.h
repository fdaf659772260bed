/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_HOST_SANDBOX_H
#define WP_COLLECTOR_HOST_SANDBOX_H
/*
 * The collector reads what anybody on the host made (files, names, debug info), so it keeps no power that it does not
 * need: capabilities (capabilities(7)) go in two steps, before and after the kernel is attached to; no_new_privs; a
 * seccomp filter of the calls that are made afterwards (seccomp(2)).
 *
 * Capabilities belong to threads. What starts threads of its own (ZeroMQ) is called by wp_sandbox_apart; threads of
 * ours call wp_sandbox_thread first of all.
 */
#include "common/error.h"

#include <stdbool.h>

struct wp_sandbox {
    int for_writing; /* the capability that stays because what is written to lies where this user may not; -1: none */
};

enum wp_sandbox_use {
    WP_SANDBOX_SOCKET /* is connected to */,
    WP_SANDBOX_FILE /* is made */,
    WP_SANDBOX_FOLDER /* files are made in it */
};

struct wp_sandbox_place {
    const char *path;
    enum wp_sandbox_use use;
};

/* While there is one thread: keeps what is needed to attach, to read names, and to write at these places; CAP_SYS_ADMIN
 * only where this kernel asks it of perf events, and until wp_sandbox_enter. -EPERM ... */
int wp_sandbox_begin(
    struct wp_sandbox *sandbox, const struct wp_sandbox_place *places, unsigned count, struct wp_error *err);
/* Calls from a thread that holds no capability but that for writing, and waits for it. */
int wp_sandbox_apart(const struct wp_sandbox *sandbox, int (*call)(void *context), void *context, struct wp_error *err);
/* This thread keeps what reads names (and, before Linux 5.19, BPF maps). */
void wp_sandbox_thread(void);
/* Everything is attached: as wp_sandbox_thread, and all threads may make the calls of the filter only. -EINVAL: this
 * kernel has no filters. */
int wp_sandbox_enter(const struct wp_sandbox *sandbox, bool has_filter, struct wp_error *err);

#endif
