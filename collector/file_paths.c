/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/file_paths.h"

#include "collector/bpf/ring_record.h"
#include "common/buffer.h"
#include "common/intern.h"
#include "common/intmap.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 65536u       /* remembered */
#define WHOLE 4096u       /* different paths that are told whole; then their folders, as many, then nothing */
#define DIGITS 4u         /* in a row: a number that a program gave */
#define HEX 16u           /* in a row: a hash */
#define MOUNT_LINE 8192

struct wp_file_paths {
    const char *mounts;
    struct wp_intern *texts;
    struct wp_intmap by_key;   /* -> id of its text */
};

struct wp_file_paths *wp_file_paths_create(const char *mounts)
{
    struct wp_file_paths *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->mounts = mounts;
    p->texts = wp_intern_create();
    if (!p->texts) {
        free(p);
        return NULL;
    }
    return p;
}

void wp_file_paths_destroy(struct wp_file_paths *p)
{
    if (!p)
        return;
    wp_intern_destroy(p->texts);
    wp_intmap_fini(&p->by_key);
    free(p);
}

/* "\040" of mountinfo is a blank. In place. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++)
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3]) {
            *to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    *to = 0;
}

struct mount {
    char root[1024], point[1024], type[64];
};

/* The mount of that device whose root is above `path`; of several the one that shows most of it, the first of equal ones. */
static bool find_mount(const struct wp_file_paths *p, uint32_t device, const char *path, struct mount *best)
{
    char line[MOUNT_LINE];
    bool is_found = false;
    FILE *file = fopen(p->mounts, "re");
    while (file && fgets(line, sizeof(line), file)) {
        struct mount m;
        unsigned major, minor;
        const char *dash = strstr(line, " - ");
        if (!dash || sscanf(line, "%*u %*u %u:%u %1023s %1023s", &major, &minor, m.root, m.point) != 4 ||
            (major << 20 | minor) != device || sscanf(dash, " - %63s", m.type) != 1)
            continue;
        unescape(m.root);
        unescape(m.point);
        size_t size = strcmp(m.root, "/") ? strlen(m.root) : 0;
        if (strncmp(path, m.root, size) || (size && path[size] && path[size] != '/'))
            continue;
        if (!is_found || strlen(m.root) < strlen(best->root))
            *best = m;
        is_found = true;
    }
    if (file)
        fclose(file);
    return is_found;
}

/* Runs of digits become N, of hexadecimal ones with digits in them H. In place. */
void wp_file_path_generalize(char *text)
{
    char *to = text;
    for (const char *from = text; *from;) {
        size_t digits = strspn(from, "0123456789"), hex = strspn(from, "0123456789abcdefABCDEF");
        size_t first = strcspn(from, "0123456789");
        if (hex >= HEX && first < hex) {
            *to++ = 'H';
            from += hex;
        } else if (digits >= DIGITS) {
            *to++ = 'N';
            from += digits;
        } else {
            size_t size = digits ? digits : 1;
            memmove(to, from, size);
            to += size;
            from += size;
        }
    }
    *to = 0;
}

static void join(const struct wp_record_path *path, char *text, size_t room)
{
    uint32_t count = path->count < WP_RECORD_NAMES ? path->count : WP_RECORD_NAMES;
    size_t used = (size_t)snprintf(text, room, "%s", count == WP_RECORD_NAMES ? "/..." : "");
    for (uint32_t i = count; i && used < room; i--)
        used += (size_t)snprintf(text + used, room - used, "/%.*s", WP_RECORD_NAME - 1, path->names[i - 1]);
    for (char *at = text; *at; at++)
        if (iscntrl((unsigned char)*at))
            *at = '?';
}

/* Beyond the bounds a folder, then nothing. */
static const char *bound(const struct wp_file_paths *p, char *text)
{
    uint32_t known = wp_intern_count(p->texts);
    char *slash = strrchr(text, '/');
    if (known < WHOLE || !slash || wp_intern_find(p->texts, text, strlen(text)) != UINT32_MAX)
        return text;
    slash[1] = 0;
    return known < 2 * WHOLE || wp_intern_find(p->texts, text, strlen(text)) != UINT32_MAX ? text : "";
}

void wp_file_paths_add(struct wp_file_paths *p, uint64_t key, uint32_t device, const struct wp_record_path *path)
{
    char text[WP_RECORD_NAMES * WP_RECORD_NAME + 1024 + 16], inside[WP_RECORD_NAMES * WP_RECORD_NAME + 16];
    struct mount mount;
    if (!path->count)
        snprintf(text, sizeof(text), "[metadata]");
    else {
        join(path, inside, sizeof(inside));
        bool is_cut = path->count >= WP_RECORD_NAMES;
        if (!is_cut && find_mount(p, device, inside, &mount)) {
            size_t root = strcmp(mount.root, "/") ? strlen(mount.root) : 0;
            snprintf(text, sizeof(text), "%s%s", strcmp(mount.point, "/") ? mount.point : "", inside + root);
        } else {
            snprintf(text, sizeof(text), "%s", inside);
        }
        wp_file_path_generalize(text);
    }
    if (p->by_key.count >= KEYS)
        wp_intmap_clear(&p->by_key);
    uint32_t id = wp_intern_str(p->texts, bound(p, text));
    if (id != UINT32_MAX)
        wp_intmap_put(&p->by_key, (struct wp_intkey){key, 0}, id);
}

const char *wp_file_paths_get(const struct wp_file_paths *p, uint64_t key)
{
    uint32_t id;
    return wp_intmap_get(&p->by_key, (struct wp_intkey){key, 0}, &id) ? wp_intern_text(p->texts, id) : NULL;
}
