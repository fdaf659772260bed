/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/comparable.h"

#include "storage/report/report.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPHEMERAL_PORT 32768u /* where Linux begins to choose (net.ipv4.ip_local_port_range) */

/* Whoever listens on a port that the kernel chose has another one each time: "tcp:127.0.0.1:37453" is "tcp:127.0.0.1:*"
 * here. */
static const char *without_port(char room[WP_COMPARABLE_BYTES], const char *name)
{
    const char *colon = strrchr(name, ':');
    char *end = NULL;
    unsigned long port = colon && colon[1] >= '1' && colon[1] <= '9' ? strtoul(colon + 1, &end, 10) : 0;
    if (port < EPHEMERAL_PORT || port > UINT16_MAX || (*end && *end != ' '))
        return name;
    int size = snprintf(room, WP_COMPARABLE_BYTES, "%.*s:*%s", (int)(colon - name), name, end);
    return size >= 0 && (size_t)size < WP_COMPARABLE_BYTES ? room : name;
}

/* Threads of the kernel whose numbers are a CPU's, a pool's or a worker's own. */
static bool is_kernel_worker(const char *name)
{
    static const char *const roles[] = {"[kworker/", "[ksoftirqd/", "[migration/", "[cpuhp/", "[idle_inject/",
        "[rcuop/", "[rcuos/", "[rcuog/", "[rcuc/", "[rcub/", "[swapper/"};
    for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
        if (!strncmp(name, roles[i], strlen(roles[i])))
            return true;
    return false;
}

/* "*" for each number; of what is no kernel worker only for those that something parts from a word before them: "cc1",
 * "node16" and "x86_64" stay. */
static const char *without_numbers(char room[WP_COMPARABLE_BYTES], const char *name, bool is_kernel)
{
    const char *end = strrchr(name, ']');
    size_t size = 0;
    for (const char *at = name; *at && size + 1 < WP_COMPARABLE_BYTES;) {
        char before = at > name ? at[-1] : 0;
        bool is_parted = is_kernel ? !isdigit((unsigned char)before) : before && strchr("-/:# ", before);
        size_t digits = at < end && is_parted ? strspn(at, "0123456789") : 0;
        char after = digits ? at[digits] : 0;
        if (digits && (is_kernel || !isalpha((unsigned char)after))) {
            room[size++] = '*';
            at += digits;
        } else {
            room[size++] = *at++;
        }
    }
    room[size] = 0;
    return room;
}

const char *wp_comparable_frame(
    char room[WP_COMPARABLE_BYTES], const char *name, uint32_t style, const struct wp_intern *others)
{
    if (style == WP_STYLE_NET || style == WP_STYLE_SLEEP)
        return without_port(room, name);
    if (style != WP_STYLE_PROCESS || strlen(name) >= WP_COMPARABLE_BYTES)
        return name;
    if (is_kernel_worker(name))
        return without_numbers(room, name, true);
    return wp_intern_find(others, name, strlen(name)) == UINT32_MAX ? without_numbers(room, name, false) : name;
}
