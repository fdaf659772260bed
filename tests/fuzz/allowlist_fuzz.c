/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of an allowlist: what is taken says the same when it is written down again. */
#include "fuzz.h"

#include "proto/curve_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(const struct wp_public_key *key)
{
    struct wp_public_key again;
    char host[WP_HOST_TEXT], line[256];
    wp_host_format(key->host, host);
    int size = snprintf(line, sizeof(line), "%s %s %s", key->text,
        key->kind == WP_KEY_OF_ANY         ? "*"
            : key->kind == WP_KEY_OF_NONE  ? "-"
            : key->kind == WP_KEY_OF_SHARD ? "shard"
                                           : host,
        key->name);
    if (wp_public_key_parse(&again, line, (size_t)size, NULL) != 1 || memcmp(key, &again, sizeof(again)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *text = (const char *)bytes;
    struct wp_public_key key;
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end ? (size_t)(end - text) - at : size - at;
        if (wp_public_key_parse(&key, text + at, length, NULL) == 1)
            check(&key);
        at += length + 1;
    }
    return 0;
}
