/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_EVENT_DECODE_H
#define WP_PROTO_EVENT_DECODE_H
/*
 * Message Events of wakepath.proto, read as its columns lie in the frame: a batch is nearly nothing else, and an
 * aggregator reads millions of events a second. A column that comes twice, or not packed, is refused, which no
 * collector writes.
 */
#include "common/error.h"
#include "proto/event_columns.h"
#include "proto/wire_fields.h"

#define WP_EVENT_CPUS 4096u  /* a CPU has a smaller number */
#define WP_EVENT_COLUMNS 29u /* by field number; 0 and 1 are none */

struct wp_event_reader {
    struct wp_wire_span columns[WP_EVENT_COLUMNS];
    uint64_t base_ns;
    uint32_t count;                 /* events */
    uint32_t on_cpu[WP_EVENT_CPUS]; /* thread id + 1 that the CPU went to */
    struct wp_messages_last messages;
    struct wp_event_shape {
        uint8_t kind, flags;
        uint32_t c, d;       /* 0 where the kind has none in a shape */
    } shapes[WP_SHAPES + 1]; /* by number */
    uint32_t shape_count;
};

/* Finds the columns of the message, which are borrowed; reader->count events are in it. -EINVAL. */
int wp_event_open(struct wp_event_reader *reader, struct wp_wire_span message, struct wp_error *err);
/* Reads them, once, into room for so many. -EINVAL: a column has more entries than the kinds ask for, or less, or one
 * that is none. */
int wp_event_read(struct wp_event_reader *reader, struct wp_event *events, struct wp_error *err);

#endif
