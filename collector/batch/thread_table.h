/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_BATCH_THREAD_TABLE_H
#define WP_COLLECTOR_BATCH_THREAD_TABLE_H
/*
 * Which thread of the dictionary a thread number of the host means now. A number gets a new identity when a thread is
 * born with it and when its process starts another program. What a fact does not say is read from /proc, if the thread
 * is still there. Command lines are judged here and go no further.
 */
#include "collector/batch/dict_writer.h"
#include "collector/batch/heir.h"
#include "collector/host/cgroups.h"
#include "collector/host/source.h"

struct wp_thread_table;

/* Settings of a table; they are copied, the patterns as well. */
struct wp_thread_table_options {
    struct wp_dict_writer *dict; /* borrowed */
    uint32_t command_pid;        /* its program, from its exec on, is the recorded command; 0: none */
    uint32_t self_pid;           /* Wakepath's own; 0: none */
    uint32_t
        recorder_pid; /* who records: it and its children are Wakepath's own, but for the command's program; 0: none */
    bool reads_proc;  /* the host that is looked at is this one */
    const char *const *patterns; /* of command lines, extended regular expressions; at most 4 match a thread */
    size_t pattern_count;
};

/* -EINVAL: a pattern is none. */
int wp_thread_table_create(
    struct wp_thread_table **table, const struct wp_thread_table_options *options, struct wp_error *err);
/* Command lines are judged by these patterns from now on, which are borrowed until it returns. -EINVAL, -ENOMEM: by
 * those before. */
int wp_thread_table_match(
    struct wp_thread_table *table, const char *const *patterns, size_t count, struct wp_error *err);
/* Frees the table, not the dictionary. NULL is allowed. */
void wp_thread_table_destroy(struct wp_thread_table *table);

/* The id of thread number tid; 0 for 0. pid and comm may be unknown (0, NULL). */
uint32_t wp_thread_table_id(struct wp_thread_table *table, uint32_t tid, uint32_t pid, const char *comm);
/* A thread that existed before the source did (a STATE fact). */
uint32_t wp_thread_table_existing(struct wp_thread_table *table, const struct wp_fact *fact);
/* The child of a FORK fact. */
uint32_t wp_thread_table_born(struct wp_thread_table *table, const struct wp_fact *fact);
/* An EXEC fact; exe: the file that runs, or NULL for what the fact says. *before gets the identity that ended. */
uint32_t wp_thread_table_exec(
    struct wp_thread_table *table, const struct wp_fact *fact, const char *exe, uint32_t *before);
/* A new comm; its string id. */
uint32_t wp_thread_table_rename(struct wp_thread_table *table, uint32_t tid, const char *comm);
/* The comm (string id) that the last renaming of this identity replaced; 0: none. */
uint32_t wp_thread_table_comm_before(const struct wp_thread_table *table, uint32_t tid);
/* It has left the CPU for the last time. */
void wp_thread_table_dead(struct wp_thread_table *table, uint32_t tid);
/* Forgets threads that are gone without a last switch that was told, as wp_address_spaces_sweep does processes. */
void wp_thread_table_sweep(struct wp_thread_table *table, bool (*is_there)(void *context, uint32_t tid), void *context);
/* It has left the CPU; and when it did last, 0 not seen. */
void wp_thread_table_left(struct wp_thread_table *table, uint32_t tid, uint64_t time_ns);
/* The time of the last wp_thread_table_left of this thread, CLOCK_MONOTONIC; 0: none, or the thread is unknown. */
uint64_t wp_thread_table_left_ns(const struct wp_thread_table *table, uint32_t tid);

/* The session goes on in another one, whose dictionary is `dict`: all threads that live get their ids there, which
 * `heir` is told. -ENOMEM. */
int wp_thread_table_renew(struct wp_thread_table *table, struct wp_dict_writer *dict, struct wp_heir *heir);
/* The entry of one that died, or became another one, lately; NULL: it is not there any more. Of the session before the
 * last renewal while that goes on. */
const struct wp_thread_entry *wp_thread_table_dead_entry(const struct wp_thread_table *table, uint32_t id);
/* Called at the end of a renewal, for what wp_thread_table_dead_entry returns has ids of the session before. */
void wp_thread_table_forget_dead(struct wp_thread_table *table);

#endif
