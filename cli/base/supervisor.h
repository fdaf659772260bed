/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_BASE_SUPERVISOR_H
#define WP_CLI_BASE_SUPERVISOR_H
/*
 * One place to wait for whatever comes first: a signal to us, the end of a child, a readable descriptor, a deadline.
 * While it is open SIGINT, SIGTERM, SIGHUP and SIGQUIT are events and not interruptions. One thread.
 */
#include "cli/base/child.h"
#include "common/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define WP_SUPERVISOR_CHILDREN 5u

struct wp_supervisor {
    int signal_fd;
    sigset_t previous;                                 /* the mask before, which children start with */
    struct wp_child *children[WP_SUPERVISOR_CHILDREN]; /* borrowed; ended ones are passed over */
    unsigned count;
};

enum wp_wake_kind { WP_WAKE_DEADLINE, WP_WAKE_SIGNAL, WP_WAKE_CHILD, WP_WAKE_READABLE };

/* What ended a wait. */
struct wp_wake {
    enum wp_wake_kind kind;
    int signal;             /* SIGNAL */
    bool is_from_terminal;  /* SIGNAL: the whole foreground group has got it, not we alone */
    struct wp_child *child; /* CHILD: collected already */
};

/* Blocks the four signals. -errno: no signalfd; the signal mask is then as before. */
int wp_supervisor_init(struct wp_supervisor *supervisor, struct wp_error *err);
/* Discards pending signals, then restores the mask. May be called twice or after a failed init. */
void wp_supervisor_fini(struct wp_supervisor *supervisor);
/* Borrows a child until fini; WP_SUPERVISOR_CHILDREN at most (asserted). */
void wp_supervisor_add(struct wp_supervisor *supervisor, struct wp_child *child);
/* `fd` may be -1. deadline_ns is CLOCK_MONOTONIC, 0 for none. Signals come before children before the descriptor. */
int wp_supervisor_wait(
    struct wp_supervisor *supervisor, int fd, uint64_t deadline_ns, struct wp_wake *wake, struct wp_error *err);
/* CLOCK_MONOTONIC now. */
uint64_t wp_supervisor_now(void);

#endif
