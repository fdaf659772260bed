/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_H
#define WP_STORAGE_TOOL_TOOL_H
/* A command of wakepath-store: what it was given and what it works with. Each command is a function in a tool_*.c that
 * takes it. */
#include "common/buffer.h"
#include "common/error.h"
#include "storage/value/keys.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct json_object;
struct wp_store;
struct wp_txn;

enum wp_tool_flags {
    WP_TOOL_JSON = 1,
    WP_TOOL_RECURSIVE = 2,
    WP_TOOL_LONG = 4,
    WP_TOOL_DRY_RUN = 8,
    WP_TOOL_ROLL_UP = 16,
    WP_TOOL_NO_ROLL_UP = 32,
    WP_TOOL_RENAME_SHARD = 64,
    WP_TOOL_DROP_DAMAGED = 128,
    WP_TOOL_FORCE = 256,
    WP_TOOL_QUIET = 512,
};

/* Options with a value. In a command's flags option n is bit WP_TOOL_VALUE(n). */
enum wp_tool_value {
    WP_TOOL_TRACES,
    WP_TOOL_HOURS,
    WP_TOOL_DAYS,
    WP_TOOL_MONTHS,
    WP_TOOL_STATE,
    WP_TOOL_LATE,
    WP_TOOL_NOW,
    WP_TOOL_QUOTA,
    WP_TOOL_INTO,
    WP_TOOL_SHARD,
    WP_TOOL_AGGREGATE,
    WP_TOOL_TIMEBOX,
    WP_TOOL_RELEASE,
    WP_TOOL_LABEL,
    WP_TOOL_KEEP_RELEASES,
    WP_TOOL_KEEP_AGE,
    WP_TOOL_KEEP,
    WP_TOOL_SYSTEM,
    WP_TOOL_VALUES
};
#define WP_TOOL_VALUE(n) ((uint64_t)1 << (16 + (n)))

#define WP_TOOL_ARGUMENTS 1024 /* as many stores or captures as somebody names at once */
#define WP_TOOL_GIVEN 32       /* options with a value, of one command line */

struct wp_tool_given {
    enum wp_tool_value option;
    const char *value;
};

struct wp_tool_location {
    char root[PATH_MAX];
    char release[3 * WP_ID_ROOM];   /* "": all; wp_tool_open makes an id of a reference */
    char rest[WP_KEY_ROOM];         /* a key or the start of keys, "" none */
    bool is_reference, has_timebox; /* of an aggregate: `rest` begins with its name */
    char aggregate[WP_ID_ROOM];     /* of a reference */
    uint64_t timebox_s;
};

/* What a command returns when its words make no sense, not the store: exit status 64. Nothing else is this. */
#define WP_TOOL_MISUSE EBADRQC

struct wp_tool {
    uint64_t flags;                            /* given ones */
    const char *arguments[WP_TOOL_ARGUMENTS];  /* NULL: not given */
    const char *values[WP_TOOL_VALUES];        /* NULL: not given; the last one of several */
    struct wp_tool_given given[WP_TOOL_GIVEN]; /* all of them, as they came */
    unsigned given_count;
    struct wp_tool_location location; /* what they say */
    bool is_changing;                 /* what is there: no other release than the one of that name is meant */
    struct wp_buffer complaints;      /* lines for standard error: releases that were passed over */
    struct wp_store *store;           /* opened by wp_tool_open, closed by the caller of the command */
    struct wp_buffer out;             /* printed when the command ends, whatever it returns */
};

#endif
