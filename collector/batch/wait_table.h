/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_BATCH_WAIT_TABLE_H
#define WP_COLLECTOR_BATCH_WAIT_TABLE_H
/*
 * What system calls wait for, by the source's keys. While an event waits to be sent it names what it waits for by a
 * number of this table, for the name of a lock may come later; when it is sent, by a string of the dictionary.
 */
#include "collector/batch/dict_writer.h"
#include "proto/event.h"

struct wp_wait_table;

/* dict: borrowed. NULL when out of memory. */
struct wp_wait_table *wp_wait_table_create(struct wp_dict_writer *dict);
/* Frees the table with its names, not the dictionary. NULL is allowed. */
void wp_wait_table_destroy(struct wp_wait_table *table);
/* What a key stands for; name NULL: it is not known yet. The number, 0: no room. */
uint32_t wp_wait_table_define(struct wp_wait_table *table, uint64_t key, const char *name);
/* The name of a number that had none yet. */
void wp_wait_table_name(struct wp_wait_table *table, uint32_t number, const char *name);
/* 0: never heard of it. */
uint32_t wp_wait_table_number(struct wp_wait_table *table, uint64_t key);
/* The session goes on in another one, whose dictionary is `dict`. Numbers that no key stands for any more go; those of
 * `events`, which wait to be sent, are changed. -ENOMEM. */
int wp_wait_table_renew(
    struct wp_wait_table *table, struct wp_dict_writer *dict, struct wp_event *events, size_t count);
/* Numbers become strings; of events that are about to be sent. */
void wp_wait_table_settle(struct wp_wait_table *table, struct wp_event *events, size_t count);

#endif
