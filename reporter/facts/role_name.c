/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/role_name.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define KWORKER "[kworker/"

bool wp_role_is_kernel(const char *name)
{
    static const char *const roles[] = {KWORKER, "[ksoftirqd/", "[migration/", "[cpuhp/", "[idle_inject/", "[rcuop/",
        "[rcuos/", "[rcuog/", "[rcuc/", "[rcub/", "[swapper/"};
    for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
        if (!strncmp(name, roles[i], strlen(roles[i])))
            return true;
    return false;
}

/* The size of "u8:6", "1:0H": a worker's pool and number, with the mark of a pool of high priority. 0: a rescuer, which
 * is named after its queue. */
static size_t kworker_size(const char *at)
{
    size_t size = *at == 'u', digits = strspn(at + size, "0123456789");
    if (!digits || at[size + digits] != ':')
        return 0;
    size += digits + 1;
    digits = strspn(at + size, "0123456789");
    return digits ? size + digits + (at[size + digits] == 'H') : 0;
}

/* Where the description of a kernel's worker begins ("-events" of its last work, "+flush" of its present one), in
 * front of `end`; NULL: it has none. */
static const char *description_of(const char *open, const char *end)
{
    size_t own = !strncmp(open, KWORKER, strlen(KWORKER)) ? kworker_size(open + strlen(KWORKER)) : 0;
    const char *at = open + strlen(KWORKER) + own;
    return own && at < end && (*at == '-' || *at == '+') ? at : NULL;
}

/* Whether the digits at `at` are a number of its own. */
static bool is_number(const char *open, const char *at, size_t digits, bool is_kernel)
{
    char before = at > open ? at[-1] : 0, after = at[digits];
    if (is_kernel)
        return !isdigit((unsigned char)before);
    return before && strchr("-/:# ", before) && !isalpha((unsigned char)after);
}

const char *wp_role_name(char room[WP_ROLE_BYTES], const char *name)
{
    const char *open = strchr(name, '['), *end = strrchr(name, ']');
    if (!open || !end || end < open || strlen(name) >= WP_ROLE_BYTES)
        return name;
    bool is_kernel = wp_role_is_kernel(open);
    const char *description = description_of(open, end);
    size_t size = (size_t)(open - name);
    memcpy(room, name, size);
    for (const char *at = open; *at;) {
        size_t digits = at < end ? strspn(at, "0123456789") : 0;
        if (at == description) {
            at = end;
        } else if (digits && is_number(open, at, digits, is_kernel)) {
            room[size++] = '*';
            at += digits;
        } else {
            room[size++] = *at++;
        }
    }
    room[size] = 0;
    return room;
}
