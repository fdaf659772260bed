/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_HOST_PODMAN_PODS_H
#define WP_COLLECTOR_HOST_PODMAN_PODS_H
/* What Podman calls a pod. Only its database knows: bolt_state.db (BoltDB, up to Podman 4) or db.sql (SQLite, since).
 */
#include <stdbool.h>
#include <stddef.h>

/* `storage`: the folder of Podman's storage; `pod_id`: as in the annotations of its containers. `name` is what the file
 * says: anything. */
bool wp_podman_pod(const char *storage, const char *pod_id, char *name, size_t room);

#endif
