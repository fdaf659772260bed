/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/host/podman_pods.h"

#include "common/buffer.h"
#include "common/path.h"

#include <stdio.h>
#include <string.h>

#define FILE_BYTES ((size_t)16 << 20)
#define PATH_BYTES 1024u

/* Both databases keep a pod as its JSON, which begins with id and name, in one piece: it is looked for, for the files
 * may be in use, and what was deleted of them does no harm, as ids are never used again. */
static bool find_in(const char *path, const char *pod_id, char *name, size_t room)
{
    struct wp_buffer bytes = {0};
    char wanted[128];
    int size = snprintf(wanted, sizeof(wanted), "{\"id\":\"%s\",\"name\":\"", pod_id);
    bool is_found = false;
    if (size > 0 && (size_t)size < sizeof(wanted) && !wp_file_read(path, FILE_BYTES, &bytes, NULL)) {
        const char *at = memmem(bytes.data, bytes.size, wanted, (size_t)size);
        const char *start = at ? at + size : NULL, *limit = (const char *)bytes.data + bytes.size;
        const char *end = start ? memchr(start, '"', (size_t)(limit - start)) : NULL;
        is_found = end && end > start && (size_t)(end - start) < room;
        if (is_found) {
            memcpy(name, start, (size_t)(end - start));
            name[end - start] = 0;
        }
    }
    wp_buffer_fini(&bytes);
    return is_found;
}

bool wp_podman_pod(const char *storage, const char *pod_id, char *name, size_t room)
{
    static const char *const files[] = {"libpod/bolt_state.db", "db.sql"};
    char path[PATH_BYTES];
    bool is_found = false;
    for (size_t i = 0; !is_found && i < sizeof(files) / sizeof(files[0]); i++)
        is_found = (size_t)snprintf(path, sizeof(path), "%s/%s", storage, files[i]) < sizeof(path) &&
            find_in(path, pod_id, name, room);
    return is_found;
}
