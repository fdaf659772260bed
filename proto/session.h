/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_SESSION_H
#define WP_PROTO_SESSION_H
/* The small messages of a session in plain form, and their protobuf encoding. Strings are owned by the caller on
 * encode, by the struct on decode (free with the _fini). All of them are bounded: 256 bytes, labels 64 x 256. */
#include "common/buffer.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/window.h"

#include <stdint.h>

#define WP_WIRE_MAJOR 1u
#define WP_WIRE_MINOR 9u
#define WP_WIRE_WINDOWS 2u   /* the minor version from which on a peer knows that recordings pause (WP_EVENT_WINDOW) */
#define WP_WIRE_NAMES 4u     /* the minor version from which on a peer talks of names (proto/name_talk.h) */
#define WP_WIRE_LOCAL 5u     /* the minor version from which on a peer knows WP_EVENT_LOCAL */
#define WP_WIRE_REASON 6u    /* the minor version from which on a peer knows WP_EVENT_REASON */
#define WP_WIRE_PLANES 7u    /* the minor version from which on a peer reads times in two planes (Events.dt_low) */
#define WP_WIRE_POSITIONS 8u /* ... and the positions of messages by their sockets (Events.position) */
#define WP_WIRE_SHAPES 9u    /* ... and what events share once a batch (Events.shape) */
#define WP_LABELS 64u
/* The reason of a fatal Refused ends so when the session is too large, and what it has still to say is welcome in
 * another one. */
#define WP_REFUSED_TOO_LARGE "it must begin anew"
#define WP_AHEAD_NS ((uint64_t)86400 * WP_NS_PER_S) /* what a host's clock may be ahead of an aggregator's */

/* Whether a session has samples of what ran. */
enum wp_samples_state {
    WP_SAMPLES_UNSAID, /* a peer that does not say */
    WP_SAMPLES_TAKEN,
    WP_SAMPLES_UNASKED,
    WP_SAMPLES_IMPOSSIBLE, /* asked for; the kernel gives none: no_samples says why */
};

/* A free label of a collector: key and value. */
struct wp_label {
    char *key, *value;
};

/* The first message of a session: which host it is, how it records and when it began. */
struct wp_hello {
    uint32_t wire_major, wire_minor;
    uint8_t host[16]; /* stable host UUID (from /etc/machine-id when there is one) */
    uint8_t session[16];
    char *hostname, *kernel, *machine, *boot_id, *version, *source; /* source: "bpf", "perf-script" ... */
    char *release; /* what code runs; "" leaves it to the aggregator's default */
    uint32_t cpus;
    uint64_t start_mono_ns, start_real_ns; /* anchor */
    uint32_t sample_period_ns;             /* as asked for; 0: no samples */
    uint32_t samples;                      /* enum wp_samples_state; what a later peer may say besides is UNSAID */
    char *no_samples;
    struct wp_window window; /* when it records, as far as it says */
    uint8_t continues[16];   /* the session that it goes on behind; zeros: none */
    struct wp_label labels[WP_LABELS];
    uint32_t label_count;
};

/* The answer to a Hello. */
struct wp_welcome {
    uint32_t wire_major, wire_minor;
    uint64_t resume_seq;     /* the first batch wanted */
    uint32_t credit;         /* batches that may be in flight unacknowledged */
    struct wp_window window; /* when the collector shall record; unsaid: as it likes */
};

/* The last message of a session, with its totals. */
struct wp_bye {
    uint64_t last_seq;
    uint64_t events, dropped;
    uint8_t successor[16]; /* the session that goes on behind it; zeros: none */
};

/* Appends the message to `out`, without a frame. NULL texts become empty. -EINVAL: what wp_hello_decode would
 * refuse, too many labels or a text of more than 256 bytes; -ENOMEM. */
int wp_hello_encode(const struct wp_hello *hello, struct wp_buffer *out, struct wp_error *err);
/* -EPROTONOSUPPORT: another major version; -EINVAL: not a message, out of bounds, no host or no session; -ENOMEM. On
 * error *hello is zeroed and owns nothing. */
int wp_hello_decode(struct wp_hello *hello, const uint8_t *bytes, size_t size, struct wp_error *err);
/* A deep copy; texts that are NULL become empty. -ENOMEM. */
int wp_hello_copy(struct wp_hello *to, const struct wp_hello *from);
/* The anchor's times against this host's clock: a clock that is days ahead, or an uptime of centuries, is -EINVAL. One
 * that is behind is good: captures are replayed long after. */
int wp_hello_check_clock(const struct wp_hello *hello, uint64_t now_real_ns, struct wp_error *err);
/* Frees all texts; a zeroed hello is allowed. */
void wp_hello_fini(struct wp_hello *hello);
/* Appends the message to `out`, without a frame. -ENOMEM. */
int wp_welcome_encode(const struct wp_welcome *welcome, struct wp_buffer *out, struct wp_error *err);
/* -EINVAL: not a message. The caller compares the version; an invalid window becomes unsaid. Owns nothing. */
int wp_welcome_decode(struct wp_welcome *welcome, const uint8_t *bytes, size_t size, struct wp_error *err);
/* True when an id of a session (continues, successor) says one. */
bool wp_session_is_named(const uint8_t id[16]);
/* As wp_welcome_encode. */
int wp_bye_encode(const struct wp_bye *bye, struct wp_buffer *out, struct wp_error *err);
/* -EINVAL: not a message. Owns nothing. */
int wp_bye_decode(struct wp_bye *bye, const uint8_t *bytes, size_t size, struct wp_error *err);

#endif
