/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_BATCH_SOCKET_TABLE_H
#define WP_COLLECTOR_BATCH_SOCKET_TABLE_H
/*
 * Which socket of the dictionary a key of the source means now. A stream is forgotten a while after it closed: a reset
 * closes first and then wakes who waited. Of others, and of streams whose close was not seen, those go that were not
 * used for longest.
 */
#include "collector/batch/dict_writer.h"
#include "collector/host/source.h"

struct wp_socket_table;

/* dict: borrowed. NULL when out of memory. */
struct wp_socket_table *wp_socket_table_create(struct wp_dict_writer *dict);
/* Frees the table, not the dictionary. NULL is allowed. */
void wp_socket_table_destroy(struct wp_socket_table *table);
/* The id of the fact's socket, 0: none, or never heard of it. A fact of kind 0 says what its key stands for from now
 * on. */
uint32_t wp_socket_table_id(struct wp_socket_table *table, const struct wp_fact *fact);
/* Takes note of a SOCK_STATE fact: of how the connection began, or that it is closed. */
void wp_socket_table_state(struct wp_socket_table *table, const struct wp_fact *fact);

/* The session goes on in another one, whose dictionary is `dict`. Ids are made anew when they are used. */
void wp_socket_table_renew(struct wp_socket_table *table, struct wp_dict_writer *dict);
/* The id of the socket that had this one before the last renewal; 0: it is not there any more. */
uint32_t wp_socket_table_again(struct wp_socket_table *table, uint32_t id_before);
/* Says of each connection that is open and whose beginning was seen how it began, as a SOCK_STATE event without a
 * thread. */
int wp_socket_table_tell(
    struct wp_socket_table *table, int (*tell)(void *context, const struct wp_event *event), void *context);

#endif
