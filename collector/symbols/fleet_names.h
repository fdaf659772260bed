/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SYMBOLS_FLEET_NAMES_H
#define WP_COLLECTOR_SYMBOLS_FLEET_NAMES_H
/*
 * Asks the aggregator what places are called before an object is read for it (proto/name_talk.h,
 * aggregator/daemon/symbol_broker.h): what another host has read comes from there. Questions go out with the next pump;
 * what is not answered in time, or is to be read here, comes back so. What is read here is told. Without an aggregator
 * that knows names it is off, and takes no question. All calls from one thread.
 */
#include "collector/symbols/object_names.h"
#include "proto/frame.h"
#include "proto/name_talk.h"

struct wp_fleet_names;

/* What a struct wp_fleet_named says. */
enum wp_fleet_reply {
    WP_FLEET_NAMED,
    WP_FLEET_READ /* read it here */,
    WP_FLEET_WANTED /* others ask what is there */
};

/* The answer for a place, or a place that other hosts ask for. */
struct wp_fleet_named {
    enum wp_fleet_reply reply;
    uint32_t object, ticket; /* as asked; not of WANTED */
    struct wp_build build;
    uint64_t offset;
    struct wp_place_name place; /* NAMED; texts valid until the next call */
};

/* Counts since it was created. */
struct wp_fleet_names_counts {
    uint64_t asked, named, read, told, late; /* places; late: of those to be read here, for no answer came */
};

/* Begins off. NULL: out of memory. */
struct wp_fleet_names *wp_fleet_names_create(void);
/* Drops open questions without an answer. NULL is allowed. */
void wp_fleet_names_destroy(struct wp_fleet_names *names);
/* Off: what was asked is to be read here. It begins so. */
void wp_fleet_names_turn(struct wp_fleet_names *names, bool is_on);
/* What wp_fleet_names_turn set last. */
bool wp_fleet_names_are_on(const struct wp_fleet_names *names);
/* Of an object that is not read here; `object` and `ticket` come back. False: it is off, or too much waits. */
bool wp_fleet_names_ask(
    struct wp_fleet_names *names, const struct wp_build *build, uint32_t object, uint64_t offset, uint32_t ticket);
/* The next answer, or place that others want; false: none is there. */
bool wp_fleet_names_next(struct wp_fleet_names *names, struct wp_fleet_named *named);
/* What a place is called that was read here. place->count 0: it has no name. NULL: the object is not here. */
void wp_fleet_names_tell(
    struct wp_fleet_names *names, const struct wp_build *build, uint64_t offset, const struct wp_place_name *place);
/* Nothing is asked that is not answered. */
bool wp_fleet_names_are_settled(const struct wp_fleet_names *names);

/* What the aggregator says. */
void wp_fleet_names_take(void *names, enum wp_frame_type type, const uint8_t *raw, size_t size);
/* Sends what is due; send: -EAGAIN ends it for now, another error too. */
void wp_fleet_names_pump(struct wp_fleet_names *names, uint64_t now_ms,
    int (*send)(void *context, enum wp_frame_type type, const uint8_t *raw, size_t size), void *context);
/* A copy of the counts. */
struct wp_fleet_names_counts wp_fleet_names_counts(const struct wp_fleet_names *names);

#endif
