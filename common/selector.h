/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_SELECTOR_H
#define WP_COMMON_SELECTOR_H
/*
 * Selectors name a process of interest: "comm=nginx", "exe=/usr/sbin/nginx", "cgroup=/system.slice/nginx.service",
 * "pid=1234", "cmdline~worker [0-9]+", "unit=nginx.service", "container=3f4e8d1c2b5a", "pod=UID", "namespace=shop",
 * joined by ',' for "and"; a ',' or '\' inside a value is written "\,"/"\\". The word "command" alone selects the
 * recorded command from its exec on, in all its threads. "thread=poolworker" and "tid=1235" name single threads.
 * "pid=7+8+9" is any of those, up to WP_SELECTOR_IDS; so with "tid=". A
 * selector matches the names that the process has at that time. The words "progress", "busy" and "threads" are no
 * conditions: they say which threads' time is the base (enum wp_selector_view), and stand beside one. So does
 * "between=FROM-TO" (wall clock, ns since 1970): only time from FROM on and before TO is the base.
 */
#include "common/buffer.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

enum wp_selector_field {
    WP_SELECT_COMM, /* of the process, or of the thread itself */
    WP_SELECT_EXE,
    WP_SELECT_CGROUP,    /* the cgroup path or a folder above it */
    WP_SELECT_UNIT,      /* the systemd unit, the last *.service or *.scope part of the cgroup path */
    WP_SELECT_CONTAINER, /* a container's id, or at least twelve digits of it, by the cgroup path; or its name */
    WP_SELECT_POD,       /* a Kubernetes pod's uid; likewise, or NAME or NAMESPACE/NAME */
    WP_SELECT_NAMESPACE, /* of Kubernetes */
    WP_SELECT_PID,
    WP_SELECT_CMDLINE, /* extended regular expression; judged on the host: command lines never travel */
    WP_SELECT_COMMAND, /* the recorded command */
    WP_SELECT_THREAD,  /* the thread's own name */
    WP_SELECT_TID,
    WP_SELECT_VIEW,    /* no condition: one of the words of enum wp_selector_view */
    WP_SELECT_BETWEEN, /* no condition: an interval of time */
};

/* Whose time is the base of a report on what a selector picks (docs/engine.md, "What a total is"). */
enum wp_selector_view {
    WP_VIEW_BUSY,     /* all threads, without the sleeps of idle workers */
    WP_VIEW_PROGRESS, /* main threads, followed into the other threads of their process */
    WP_VIEW_THREADS,  /* all threads, all the time */
};

#define WP_SELECTOR_TERMS 8
#define WP_SELECTOR_IDS 64

/* From from_ns on and before to_ns, in ns since 1970. */
struct wp_selector_interval {
    uint64_t from_ns, to_ns;
};

/* One condition, a word of enum wp_selector_view, or an interval. */
struct wp_selector_term {
    enum wp_selector_field field;
    char *text;                           /* owned; the value as written, unescaped */
    uint32_t ids[WP_SELECTOR_IDS];        /* of PID and TID: one of them; 0 behind the last */
    struct wp_selector_interval interval; /* of BETWEEN; not empty */
};

/* The terms, all of which must hold; wp_selector_fini frees what they own. */
struct wp_selector {
    struct wp_selector_term terms[WP_SELECTOR_TERMS];
    unsigned count;
};

/* What a selector is held against; strings are borrowed and never NULL ("" unknown). */
struct wp_selector_subject {
    const char *comm, *exe, *cgroup;
    const char *process_comm; /* of its process, where that is another; may be NULL */
    const char *workload;     /* "NAMESPACE/POD/CONTAINER", or the name of a container that is in no pod; may be NULL */
    uint32_t pid, tid;
    bool is_command;
    /* Says whether the host found its command line to match `pattern`; may be NULL (no match). */
    bool (*cmdline_matches)(const void *context, const char *pattern);
    const void *context;
};

/* -EINVAL with a text that says what is wrong and shows the grammar; -E2BIG over WP_SELECTOR_TERMS; -ENOMEM. */
int wp_selector_parse(struct wp_selector *selector, const char *text, struct wp_error *err);
/* The selector as text that wp_selector_parse takes, terms in the order of their text: equal ones are printed alike. */
void wp_selector_print(const struct wp_selector *selector, struct wp_buffer *out);
/* Frees the texts of the terms; a zeroed selector, or one that wp_selector_parse refused, is allowed. */
void wp_selector_fini(struct wp_selector *selector);
/* What the selector says by a word; else PROGRESS of the recorded command, BUSY of all others. Single threads are not
 * followed into others. */
enum wp_selector_view wp_selector_view(const struct wp_selector *selector);
/* Cuts [*from_ns, *to_ns) to the interval; how long that is. */
static inline uint64_t wp_selector_cut(const struct wp_selector_interval *interval, uint64_t *from_ns, uint64_t *to_ns)
{
    *from_ns = *from_ns > interval->from_ns ? *from_ns : interval->from_ns;
    *to_ns = *to_ns < interval->to_ns ? *to_ns : interval->to_ns;
    return *to_ns > *from_ns ? *to_ns - *from_ns : 0;
}
/* Of which time it is; without an interval all there is: 0 and UINT64_MAX. */
struct wp_selector_interval wp_selector_interval(const struct wp_selector *selector);
/* Whether all terms hold of the subject; a zeroed selector matches nobody. */
bool wp_selector_matches(const struct wp_selector *selector, const struct wp_selector_subject *subject);

#endif
