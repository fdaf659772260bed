/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_CGROUP_PATH_H
#define WP_COMMON_CGROUP_PATH_H
/*
 * What the path of a control group tells: the container, the Kubernetes pod, the systemd unit and slice. By the paths
 * that runtimes make: Docker, containerd (CRI), CRI-O, Podman with the systemd and the cgroupfs driver (runc and crun
 * name them), the kubelet ("kubepods", its documentation of cgroup drivers), LXC, systemd (systemd.unit(5),
 * systemd.slice(5)).
 */
#include <stdbool.h>
#include <stddef.h>

/* What one path says; owns nothing. */
struct wp_cgroup_path {
    char container[72]; /* its id, 64 hexadecimal digits, or LXC's name of it; "" in none */
    char runtime[24];   /* "docker", "cri-containerd", "crio", "libpod", "lxc"; "" unknown */
    char pod[40];       /* its uid, with dashes where the kubelet has such: "0a1b...-..."; "" in none */
    char unit[256];     /* the innermost "*.service" or "*.scope"; "" in none */
    char slice[256];    /* the innermost "*.slice"; "" in none */
};

/* Fills all of *parsed from a path as in /proc/PID/cgroup. Any text will do; names that do not fit are cut. */
void wp_cgroup_path_parse(struct wp_cgroup_path *parsed, const char *path);
/* What people call the cgroup of that path: "container 0123456789ab", "nginx.service", else the path. */
void wp_cgroup_path_name(const char *path, char *name, size_t room);
/* `id`: the whole one or at least its first twelve digits, as `docker ps` prints them. */
bool wp_cgroup_path_in_container(const struct wp_cgroup_path *parsed, const char *id);
/* `uid`: with dashes, with underscores or without any. */
bool wp_cgroup_path_in_pod(const struct wp_cgroup_path *parsed, const char *uid);

#endif
