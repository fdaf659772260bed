/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_DAEMON_INGEST_OPTIONS_H
#define WP_AGGREGATOR_DAEMON_INGEST_OPTIONS_H
/* What the loop of the daemon is asked for. */
#include "aggregator/engine/engine.h"

#include <signal.h>

struct wp_service;

/* Another aggregator of the fleet. */
struct wp_ingest_peer {
    const char *endpoint, *key_path; /* key_path: its public key; NULL: none */
};

struct wp_ingest_options {
    const char *endpoint;
    const char *key_path, *allow_path;  /* of a tcp:// endpoint; NULL: none */
    bool is_insecure;                   /* tcp:// without keys is meant so */
    const struct wp_ingest_peer *peers; /* borrowed */
    uint32_t peer_count;
    uint32_t exit_after_sessions;                /* 0: goes on */
    bool ends_when_full;                         /* else a full disk is waited for */
    int ready_fd;                                /* "ready\n" goes there when bound; -1 none */
    const volatile sig_atomic_t *stop;           /* set by a signal: finish what is there and end */
    volatile sig_atomic_t *reload;               /* set by a signal: read again what can be; NULL: none */
    const struct wp_host_session_options *rules; /* aggregates and releases; borrowed, read at each reload */
    const struct wp_window
        *window;                /* when collectors shall record; borrowed, read at the beginning and at each reload */
    struct wp_service *service; /* borrowed; NULL: no supervisor */
    const char *metrics;        /* where to tell them; NULL: nowhere */
    const char *system_window;  /* file that all that happens on the first host goes to; NULL: none */
};

#endif
