/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_SOCKET_KEY_H
#define WP_AGGREGATOR_NET_SOCKET_KEY_H
/* A socket's end of a connection as a hash key. IPv4-mapped IPv6 addresses are IPv4 (RFC 4291, 2.5.5.2). */
#include "common/intmap.h"
#include "proto/dictionary.h"

#include <stdbool.h>

/* The end at the local address; mirrored: the other end's own key. netns 0: in whichever namespace. */
struct wp_intkey wp_socket_key(const struct wp_socket_entry *entry, bool mirrored, uint32_t netns);
/* 127.0.0.0/8 or ::1: both ends are on one host. */
bool wp_socket_is_loopback(const struct wp_socket_entry *entry);

#endif
