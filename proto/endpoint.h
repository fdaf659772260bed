/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_ENDPOINT_H
#define WP_PROTO_ENDPOINT_H
/* Where servers listen: ipc:///path, for those whom the file's mode lets in, and tcp://address:port, for those with
 * keys. */
#include "common/error.h"

#include <stdbool.h>

/* True for tcp://. -EINVAL when it is no endpoint at all, or its port none; -EACCES for ipc://@name, which has no file
 * and so no mode. */
int wp_endpoint_is_network(const char *endpoint, bool *is_network, struct wp_error *err);
/* Whether the two keys of this end suffice: `keys` of them were given. -EACCES says what to give: tcp:// takes both, or
 * none and --insecure. */
int wp_endpoint_check_keys(
    const char *endpoint, bool is_listening, unsigned keys, bool is_insecure, struct wp_error *err);
/* Binds a ZeroMQ socket. The file of a server that died is replaced, any other left alone; an ipc file gets mode 0600.
 * -EADDRINUSE says which endpoint and what to do. */
int wp_endpoint_bind(void *socket, const char *endpoint, struct wp_error *err);

#endif
