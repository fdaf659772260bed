/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_HOST_CONTAINERS_H
#define WP_COLLECTOR_HOST_CONTAINERS_H
/*
 * What a container is called, by the files that the kubelet and the runtimes leave on the host; no API is asked.
 * "NAMESPACE/POD/CONTAINER" in Kubernetes, "NAME" elsewhere. In this order:
 *   /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log (the kubelet's links, of any runtime)
 *   /run/containerd/io.containerd.runtime.v2.task/SPACE/ID/config.json, annotations io.kubernetes.cri.* (containerd)
 *   /run/containers/storage/overlay-containers/ID/userdata/config.json, annotations io.kubernetes.*, or its
 *     hostname (CRI-O, Podman)
 *   /var/lib/docker/containers/ID/config.v2.json, Name and labels io.kubernetes.* (Docker)
 *   /var/log/pods/NAMESPACE_POD_UID (the pod alone: "NAMESPACE/POD/")
 */
#include <stdint.h>

struct wp_containers;

/* root: before these paths, "" here. NULL when out of memory. */
struct wp_containers *wp_containers_create(const char *root);
/* Frees it with the name it returned last. NULL is allowed. */
void wp_containers_destroy(struct wp_containers *containers);
/* Of a control group by its number (it is looked up once) and path; "" when it is of no container, or nobody says.
 * Valid until the next call. */
const char *wp_containers_name(struct wp_containers *containers, uint64_t cgroup_id, const char *cgroup_path);

#endif
