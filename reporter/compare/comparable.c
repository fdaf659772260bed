/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/comparable.h"

#include "storage/report/report_read.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPHEMERAL_PORT 32768u /* where Linux begins to choose (net.ipv4.ip_local_port_range) */

/* Whoever listens on a port that the kernel chose has another one each time: "tcp:127.0.0.1:37453" is "tcp:127.0.0.1:*"
 * here. */
static const char *without_port(char room[WP_ROLE_BYTES], const char *name)
{
    const char *colon = strrchr(name, ':');
    char *end = NULL;
    unsigned long port = colon && colon[1] >= '1' && colon[1] <= '9' ? strtoul(colon + 1, &end, 10) : 0;
    if (port < EPHEMERAL_PORT || port > UINT16_MAX || (*end && *end != ' '))
        return name;
    int size = snprintf(room, WP_ROLE_BYTES, "%.*s:*%s", (int)(colon - name), name, end);
    return size >= 0 && (size_t)size < WP_ROLE_BYTES ? room : name;
}

const char *wp_comparable_service(char room[WP_ROLE_BYTES], const char *name)
{
    const char *space = strrchr(name, ' ');
    char *end = NULL;
    unsigned long port = space && space[1] >= '1' && space[1] <= '9' ? strtoul(space + 1, &end, 10) : 0;
    if (port < EPHEMERAL_PORT || port > UINT16_MAX || *end)
        return name;
    int size = snprintf(room, WP_ROLE_BYTES, "%.*s *", (int)(space - name), name);
    return size >= 0 && (size_t)size < WP_ROLE_BYTES ? room : name;
}

/* The process in a frame's name: the whole, or what stands in "path:[comm]"; NULL none. */
static const char *process_of(const char *name, uint32_t style)
{
    const char *colon = style == WP_STYLE_WAIT ? strstr(name, ":[") : NULL;
    return style == WP_STYLE_PROCESS ? name : colon ? colon + 1 : NULL;
}

static int add_processes(struct wp_intern *names, const struct wp_report *report)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(report, &count);
    for (uint32_t i = 1; i < count; i++) {
        const char *process = process_of(wp_report_text(report, frames[i].name), frames[i].style);
        if (process && wp_intern_str(names, process) == UINT32_MAX)
            return -ENOMEM;
    }
    return 0;
}

/* The roles of those that the other side has not. */
static int add_roles(struct wp_intern *roles, const struct wp_intern *names, const struct wp_intern *others)
{
    for (uint32_t i = 0; i < wp_intern_count(names); i++) {
        char room[WP_ROLE_BYTES];
        const char *name = wp_intern_text(names, i), *role = wp_role_name(room, name);
        bool is_alike = wp_intern_find(others, name, strlen(name)) != UINT32_MAX && !wp_role_is_kernel(name);
        if (role != name && !is_alike && wp_intern_str(roles, role) == UINT32_MAX)
            return -ENOMEM;
    }
    return 0;
}

struct wp_intern *wp_comparable_roles(const struct wp_report *before, const struct wp_report *after)
{
    struct wp_intern *roles = wp_intern_create(), *names[2] = {wp_intern_create(), wp_intern_create()};
    int rc = roles && names[0] && names[1] ? 0 : -ENOMEM;
    if (!rc)
        rc = add_processes(names[0], before);
    if (!rc)
        rc = add_processes(names[1], after);
    if (!rc)
        rc = add_roles(roles, names[0], names[1]);
    if (!rc)
        rc = add_roles(roles, names[1], names[0]);
    wp_intern_destroy(names[0]);
    wp_intern_destroy(names[1]);
    if (rc) {
        wp_intern_destroy(roles);
        roles = NULL;
    }
    return roles;
}

const char *wp_comparable_frame(
    char room[WP_ROLE_BYTES], const char *name, uint32_t style, const struct wp_intern *roles)
{
    if (style == WP_STYLE_NET || style == WP_STYLE_SLEEP)
        return without_port(room, name);
    const char *process = process_of(name, style), *role = process ? wp_role_name(room, process) : NULL;
    if (!role || role == process || wp_intern_find(roles, role, strlen(role)) == UINT32_MAX)
        return name;
    if (process == name)
        return role;
    char own[WP_ROLE_BYTES]; /* the path may have brackets itself, and numbers in them */
    snprintf(own, sizeof(own), "%s", role);
    int size = snprintf(room, WP_ROLE_BYTES, "%.*s%s", (int)(process - name), name, own);
    return size >= 0 && (size_t)size < WP_ROLE_BYTES ? room : name;
}
