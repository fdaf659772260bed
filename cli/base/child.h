/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_BASE_CHILD_H
#define WP_CLI_BASE_CHILD_H
/*
 * One child process: started, perhaps held back before its exec, signalled, reaped. Its pid cannot be taken by another
 * process while `running` holds, because only wp_child_reap collects it. Not thread safe.
 */
#include "common/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct wp_child {
    const char *name; /* borrowed; for messages */
    pid_t pid;        /* 0: never started */
    int pidfd;        /* readable when it has ended; -1 none */
    int gate_fd;      /* a byte lets a held child go on to its exec; -1 not held */
    int exec_fd;      /* errno of a failed exec comes here; ends with nothing when it succeeded */
    bool running;
    bool leads_group;              /* its process group ends with it */
    int status;                    /* as from wait4, once it has ended ... */
    struct rusage usage;           /* ... and this, of it and of what it waited for */
    uint64_t started_ns, ended_ns; /* its exec, and when it was collected; wp_clock_ns */
};

#define WP_CHILD_NONE                                                                                                  \
    {                                                                                                                  \
        .pidfd = -1, .gate_fd = -1, .exec_fd = -1                                                                      \
    }

enum wp_child_kind {
    WP_CHILD_COMMAND, /* the user's: same process group, standard files untouched */
    WP_CHILD_PART,    /* ours: own group (a terminal's ^C passes it by), no input, output to the log, killed when we are
                         gone */
};

/* How a child starts; borrowed during wp_child_start. */
struct wp_child_options {
    const char *name, *path;
    char *const *argv;
    enum wp_child_kind kind;
    const sigset_t *mask; /* signal mask that it starts with */
    mode_t file_mask;     /* COMMAND: its umask */
    int log_fd;           /* PART: its standard output and error */
    const char *dir;      /* PART: its working directory; NULL: ours */
    bool is_build;        /* PART: root becomes who owns `dir`, and what it leaves running in its group ends with it */
    int keep_fd;          /* stays open across the exec; -1 none */
    bool is_held;         /* waits before its exec until wp_child_release */
};

/* Sets *child anew. Returns after the fork of a held child, else after its exec with the errors of wp_child_release. On
 * error nothing runs; wp_child_fini follows in any case. */
int wp_child_start(struct wp_child *child, const struct wp_child_options *options, struct wp_error *err);
/* Lets a held child exec and waits for the outcome: -ENOENT, -EACCES ... of the exec, and then it has ended. */
int wp_child_release(struct wp_child *child, struct wp_error *err);
/* NULL- and end-safe. */
void wp_child_signal(const struct wp_child *child, int signal);
/* Collects it if it has ended; true then. */
bool wp_child_reap(struct wp_child *child);
/* Asks with SIGTERM, waits up to grace_ms, kills; returns when it is gone. The same then with what is left of a build's
 * group, also where the build has ended by itself. */
void wp_child_end(struct wp_child *child, int grace_ms);
/* The exit status as a shell says it: 0..255, 128 + the signal that ended it. */
int wp_child_exit_code(const struct wp_child *child);
/* Frees the descriptors; the child must have ended or never started. */
void wp_child_fini(struct wp_child *child);

#endif
