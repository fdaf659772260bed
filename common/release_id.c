/* SPDX-License-Identifier: Apache-2.0 */
#include "common/release_id.h"

#include "common/hex.h"
#include "common/path.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <uuid/uuid.h>

#define DIGITS 32u
#define KEPT (WP_ID_ROOM - 1 - 1 - DIGITS)

static bool ends_with_digest(const char *name)
{
    size_t size = strlen(name);
    return size > DIGITS && name[size - DIGITS - 1] == '+' &&
        strspn(name + size - DIGITS, "0123456789abcdef") == DIGITS;
}

void wp_release_id(const char *name, char id[WP_ID_ROOM])
{
    static const uuid_t releases = {
        0x0b, 0x6a, 0x41, 0x9f, 0x3c, 0x55, 0x4d, 0x0e, 0x8f, 0x12, 0xd2, 0x71, 0x9a, 0x5e, 0x24, 0x6b};
    char kept[KEPT + 1];
    uuid_t digest;
    if (wp_id_valid(name) && !ends_with_digest(name)) {
        snprintf(id, WP_ID_ROOM, "%s", name);
        return;
    }
    wp_id_from(name, kept, sizeof(kept));
    uuid_generate_sha1(digest, releases, name, strlen(name));
    int at = snprintf(id, WP_ID_ROOM, "%s+", kept);
    wp_hex(id + at, digest, sizeof(digest));
}
