/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_QUEUE_QUOTAS_H
#define WP_AGGREGATOR_TIMELINE_QUEUE_QUOTAS_H
/*
 * While which a quota of the CPU kept the queue from running that a thread stood in: of those that did not leave their
 * CPU by it, but waited in the queue already or were woken into it (WP_REASON_QUEUE_QUOTA; kernels before 6.18). None
 * is in a checkpoint: they are told as the thread runs again, and come again if that is behind the horizon.
 */
#include "aggregator/net/thread_rings.h"
#include "proto/event.h"

/* One time of one thread. */
struct wp_queue_quota {
    uint64_t time_ns; /* when it was told */
    uint64_t from_ns, to_ns;
    uint64_t cgroup; /* whose quota: dictionary string id, 0 not known */
};

/* Embedded; wp_queue_quotas_init() comes first. */
struct wp_queue_quotas {
    struct wp_thread_rings rings; /* of struct wp_queue_quota */
};

/* Allocates nothing. */
void wp_queue_quotas_init(struct wp_queue_quotas *quotas);
/* Frees what is kept. */
void wp_queue_quotas_fini(struct wp_queue_quotas *quotas);
/* The thread of that index is gone. */
void wp_queue_quotas_forget(struct wp_queue_quotas *quotas, uint32_t thread);
/* What is held on the heap. */
size_t wp_queue_quotas_bytes(const struct wp_queue_quotas *quotas);
/* A WP_REASON_QUEUE_QUOTA event of the thread of that index. Out of memory it is not kept. */
void wp_queue_quotas_add(struct wp_queue_quotas *quotas, const struct wp_event *event, uint32_t thread);
/* The period of such an event, 0: not known. */
uint64_t wp_queue_quota_period_ns(const struct wp_event *event);
/* Cuts *in, whose time is until when it must have been told, to the last time of the thread in [from_ns, to_ns), and
 * says whose quota it was. False: there is none. */
bool wp_queue_quotas_last(const struct wp_queue_quotas *quotas, uint32_t thread, struct wp_queue_quota *in);

#endif
