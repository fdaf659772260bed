/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_STORE_TOOL_H
#define WP_STORAGE_TOOL_STORE_TOOL_H
/*
 * wakepath-store: a table of commands, each with its flags and one function. A new command is a row in the table of
 * store_tool.c and a function in a tool_*.c; what they share is here.
 */
#include "storage/env/store.h"
#include "storage/value/keys.h"

#include <limits.h>

struct json_object;

enum wp_tool_flags {
    WP_TOOL_JSON = 1, WP_TOOL_RECURSIVE = 2, WP_TOOL_LONG = 4, WP_TOOL_DRY_RUN = 8, WP_TOOL_ROLL_UP = 16, WP_TOOL_NO_ROLL_UP = 32,
    WP_TOOL_RENAME_SHARD = 64, WP_TOOL_DROP_DAMAGED = 128, WP_TOOL_FORCE = 256, WP_TOOL_QUIET = 512,
};

/* Options with a value. In a command's flags option n is bit WP_TOOL_VALUE(n). */
enum wp_tool_value {
    WP_TOOL_TRACES, WP_TOOL_HOURS, WP_TOOL_DAYS, WP_TOOL_MONTHS, WP_TOOL_STATE, WP_TOOL_LATE, WP_TOOL_NOW, WP_TOOL_QUOTA,
    WP_TOOL_INTO, WP_TOOL_SHARD, WP_TOOL_AGGREGATE, WP_TOOL_TIMEBOX, WP_TOOL_RELEASE, WP_TOOL_LABEL, WP_TOOL_KEEP_RELEASES, WP_TOOL_KEEP_AGE, WP_TOOL_KEEP, WP_TOOL_VALUES
};
#define WP_TOOL_VALUE(n) ((uint64_t)1 << (16 + (n)))

#define WP_TOOL_ARGUMENTS 1024 /* as many stores or captures as somebody names at once */
#define WP_TOOL_GIVEN 32       /* options with a value, of one command line */

struct wp_tool_given {
    enum wp_tool_value option;
    const char *value;
};

struct wp_tool_place {
    char root[PATH_MAX];
    char release[3 * WP_ID_ROOM]; /* "": all; wp_tool_open makes an id of a reference */
    char rest[WP_KEY_ROOM];       /* a key or the start of keys, "" none */
    bool is_reference, has_timebox; /* of an aggregate: `rest` begins with its name */
    char aggregate[WP_ID_ROOM];     /* of a reference */
    uint64_t timebox_s;
};

/* What a command returns when its words make no sense, not the store: exit status 64. Nothing else is this. */
#define WP_TOOL_MISUSE EBADRQC

struct wp_tool {
    uint64_t flags;                             /* given ones */
    const char *arguments[WP_TOOL_ARGUMENTS];   /* NULL: not given */
    const char *values[WP_TOOL_VALUES];         /* NULL: not given; the last one of several */
    struct wp_tool_given given[WP_TOOL_GIVEN];  /* all of them, as they came */
    unsigned given_count;
    struct wp_tool_place place;                 /* what they say */
    struct wp_buffer complaints;                /* lines for standard error: releases that were passed over */
    struct wp_store *store;                     /* opened by wp_tool_open, closed by the caller of the command */
    struct wp_buffer out;                       /* printed when the command ends, whatever it returns */
};

/* "ROOT", "ROOT RELEASE", "ROOT/RELEASE/KEY" ...: any way to part it. */
int wp_tool_place_of(struct wp_tool_place *place, const char *const arguments[WP_TOOL_ARGUMENTS], struct wp_error *err);
/* -ENOENT: a folder with other things in it than a store's. */
int wp_tool_expect_store(const char *root, struct wp_error *err);
/* Takes the arguments apart, opens tool->store, and resolves a reference; nothing is made where there is no store. */
int wp_tool_open(struct wp_tool *tool, struct wp_error *err);
/* The same with other arguments than the tool's own. */
int wp_tool_open_at(struct wp_tool *tool, const char *const arguments[WP_TOOL_ARGUMENTS], struct wp_error *err);
int wp_tool_resolve(struct wp_tool *tool, struct wp_error *err);
int wp_tool_cat_reference(struct wp_tool *tool, struct wp_txn *txn, struct json_object **object, struct wp_error *err);
/* The releases that are meant: the given one, or all. Free with wp_strings_free. */
int wp_tool_releases(struct wp_tool *tool, char ***releases, size_t *count, struct wp_error *err);
/* One of several releases is damaged: notes it as a complaint, which makes the command fail in the end, and gives 0.
 * Any other result is given back, and so is this one where the release was asked for by name. */
int wp_tool_pass_over(struct wp_tool *tool, int rc, const struct wp_error *err);
/* Runs `work` in a process of its own and gives what it returned (0 to 127), or -signal that it died of. LMDB believes
 * the pages of its file: where damage has hit its own structure, reading may kill the reader. */
int wp_tool_apart(int (*work)(void *context), void *context, struct wp_error *err);
/* What such a signal means, or NULL: something else. */
const char *wp_tool_signal_text(int signal);
/* Prints the JSON object and drops it. -ENOMEM. */
int wp_tool_json(struct wp_tool *tool, struct json_object *object, struct wp_error *err);
/* The age ("90", "12h", "7d", "1y", "never"), size ("10G") or number that an option gives, or the default. -EINVAL. */
int wp_tool_age(const struct wp_tool *tool, enum wp_tool_value option, uint64_t *seconds, struct wp_error *err);
int wp_tool_bytes(const struct wp_tool *tool, enum wp_tool_value option, uint64_t *bytes, struct wp_error *err);
int wp_tool_number(const struct wp_tool *tool, enum wp_tool_value option, uint64_t *number, struct wp_error *err);
/* A write transaction would make a release that is not there: -ENOENT. */
int wp_tool_release_is_there(struct wp_tool *tool, const char *release, struct wp_error *err);
/* "1.5 MiB", "2.31 s"; a static rule, at most `room` bytes. */
const char *wp_tool_size(uint64_t bytes, char *text, size_t room);
const char *wp_tool_time(uint64_t ns, char *text, size_t room);

/* The commands. 0, -errno with an error, or 1: failed and said so itself. */
int wp_tool_ls(struct wp_tool *tool, struct wp_error *err);
int wp_tool_cat(struct wp_tool *tool, struct wp_error *err);
int wp_tool_stat(struct wp_tool *tool, struct wp_error *err);
int wp_tool_verify(struct wp_tool *tool, struct wp_error *err);
int wp_tool_releases_list(struct wp_tool *tool, struct wp_error *err);
int wp_tool_compact(struct wp_tool *tool, struct wp_error *err);
int wp_tool_prune(struct wp_tool *tool, struct wp_error *err);
int wp_tool_dump(struct wp_tool *tool, struct wp_error *err);
int wp_tool_load(struct wp_tool *tool, struct wp_error *err);
int wp_tool_backup(struct wp_tool *tool, struct wp_error *err);
int wp_tool_metadata(struct wp_tool *tool, struct wp_error *err);
int wp_tool_source(struct wp_tool *tool, struct wp_error *err);
int wp_tool_repair(struct wp_tool *tool, struct wp_error *err);
int wp_tool_merge(struct wp_tool *tool, struct wp_error *err);
int wp_tool_import(struct wp_tool *tool, struct wp_error *err);

/* All of it: parses, runs, prints. The exit status. */
int wp_store_tool_main(int argc, char **argv);

#endif
