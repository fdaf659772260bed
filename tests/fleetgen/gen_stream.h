/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_GEN_STREAM_H
#define WP_TESTS_GEN_STREAM_H
/*
 * TCP connections between threads of two hosts: sequence numbers (they begin anywhere, so some wrap), segments,
 * retransmission, bytes of two segments told as one, reads in pieces, address translation, connections older than the
 * recording. Or between a thread and somebody whom nobody records.
 */
#include "tests/fleetgen/gen_host.h"

struct gen_stream;
struct gen_end;

/* A request or its answer: it is there when its last byte is. */
struct gen_message {
    struct gen_message *next;
    struct gen_trace *trace;      /* of what was done until it was sent; borrowed */
    uint64_t sent_ns, arrived_ns; /* the call's return; when its first byte arrived */
    uint32_t end;                 /* offset behind its last byte */
    uint64_t size;
    bool is_leaving; /* its call has not returned */
};

struct gen_end {
    struct gen_stream *stream;
    struct gen_host *host;        /* NULL: of nobody who is recorded */
    uint32_t socket, first;       /* id, initial sequence number */
    uint32_t sent, arrived, read; /* bytes so far, of its own stream and of the other's */
    uint64_t left_told_ns, last_arrival_ns;
    struct gen_message *inbox, **inbox_last; /* to it; owned */
    struct gen_thread *reader;               /* who sleeps until something comes */
    void (*readable)(struct gen_end *end);   /* nobody does: called when something comes */
    void *owner;
    bool is_queued; /* the owner's: waits for a reader */
};

struct gen_stream_options {
    uint64_t delay_ns, jitter_ns;                      /* one way */
    uint32_t retransmit_per_mille, coalesce_per_mille; /* of segments */
    uint32_t read_limit;                               /* bytes a read, 0: no limit */
    bool is_old;                                       /* no handshake is seen */
    bool is_translated;                                /* each end sees another address than the other's own */
    bool is_v6, is_mapped;
    bool backward_slower; /* twice the delay on the way back */
};

struct gen_stream {
    struct gen_end ends[2]; /* 0: the client's */
    struct gen_stream_options options;
    struct gen_sim *sim;
    struct gen_traffic *traffic; /* of both hosts, borrowed */
    uint32_t number;
    bool is_connected, is_closed;
};

/* Told of each message that was read by its application: end is the reader's. */
struct gen_traffic {
    void (*read)(void *context, const struct gen_end *end, uint64_t bytes);
    void *context;
    uint64_t retransmits, partial_reads, coalesced;
};

/* NULL for one of the hosts: it is not recorded. */
struct gen_stream *gen_stream_create(struct gen_sim *sim, struct gen_host *client, struct gen_host *server,
    uint32_t number, uint16_t port, const struct gen_stream_options *options, struct gen_traffic *traffic);
void gen_stream_destroy(struct gen_stream *stream);
/* The handshake, then `then`. The client's thread waits for it. */
void gen_stream_connect(struct gen_thread *thread, struct gen_stream *stream, gen_step then);
/* Both ends close. */
void gen_stream_close(struct gen_thread *thread, struct gen_stream *stream);
/* The thread sends; then `then`. */
void gen_stream_send(
    struct gen_thread *thread, struct gen_end *from, uint64_t bytes, struct gen_trace *trace, gen_step then);
/* Somebody not recorded sends. */
void gen_stream_send_unseen(struct gen_end *from, uint64_t bytes);
/* The thread reads the next message whole, waits for it, then `then`; thread->message is it. What it waited for is
 * added to its trace: what was done on the other side until then if the message has a trace. */
void gen_stream_read(struct gen_thread *thread, struct gen_end *end, gen_step then);
/* The message that was read is done with. */
void gen_message_drop(struct gen_end *end);

#endif
