/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/file_paths.h"

#include "collector/bpf/ring_record.h"
#include "common/array.h"
#include "common/intern.h"
#include "common/intmap.h"

#include <ctype.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 65536u /* in each generation: more than the source remembers to have told */
#define WHOLE 4096u /* different paths that are told whole; then their folders, as many, then nothing */
#define DIGITS 4u   /* in a row: a number that a program gave */
#define HEX 16u     /* in a row: a hash */
#define MOUNT_LINE 8192
#define MOUNTS 65536u

struct mount {
    uint32_t device;
    char *root, *point; /* owned; without a "/" alone */
    char type[32];
};

struct wp_file_paths {
    const char *mounts;
    FILE *file;          /* of them: /proc says by it when they change. NULL: it cannot be read */
    struct mount *known; /* owned */
    uint32_t known_count, known_room;
    bool has_read;
    struct wp_intern *texts;
    struct wp_intmap recent,
        before; /* key -> id of its text. What is used moves to `recent`; when that is full it is the one before */
};

struct wp_file_paths *wp_file_paths_create(const char *mounts)
{
    struct wp_file_paths *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->mounts = mounts;
    p->file = fopen(mounts, "re");
    p->texts = wp_intern_create();
    if (!p->texts) {
        free(p);
        return NULL;
    }
    return p;
}

static void forget_mounts(struct wp_file_paths *p)
{
    for (uint32_t i = 0; i < p->known_count; i++) {
        free(p->known[i].root);
        free(p->known[i].point);
    }
    p->known_count = 0;
}

void wp_file_paths_destroy(struct wp_file_paths *p)
{
    if (!p)
        return;
    forget_mounts(p);
    free(p->known);
    if (p->file)
        fclose(p->file);
    wp_intern_destroy(p->texts);
    wp_intmap_fini(&p->recent);
    wp_intmap_fini(&p->before);
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

static void add_mount(struct wp_file_paths *p, uint32_t device, char *root, char *point, const char *type)
{
    if (p->known_count >= MOUNTS || WP_ARRAY_FIT(p->known, p->known_room, p->known_count + 1))
        return;
    unescape(root);
    unescape(point);
    struct mount mount = {.device = device,
        .root = strdup(strcmp(root, "/") ? root : ""),
        .point = strdup(strcmp(point, "/") ? point : "")};
    snprintf(mount.type, sizeof(mount.type), "%s", type);
    if (mount.root && mount.point) {
        p->known[p->known_count++] = mount;
    } else {
        free(mount.root);
        free(mount.point);
    }
}

/* What is mounted, read anew when /proc says that it has changed (proc(5): POLLPRI): a host may have thousands. */
static void read_mounts(struct wp_file_paths *p)
{
    char line[MOUNT_LINE], root[1024], point[1024], type[32];
    unsigned major, minor;
    struct pollfd change = {.fd = p->file ? fileno(p->file) : -1, .events = POLLPRI};
    if (!p->file || (p->has_read && poll(&change, 1, 0) <= 0))
        return;
    p->has_read = true;
    forget_mounts(p);
    rewind(p->file);
    while (fgets(line, sizeof(line), p->file)) {
        const char *dash = strstr(line, " - ");
        if (dash && sscanf(line, "%*u %*u %u:%u %1023s %1023s", &major, &minor, root, point) == 4 &&
            sscanf(dash, " - %31s", type) == 1)
            add_mount(p, major << 20 | minor, root, point, type);
    }
}

/* The mount of that device whose root is above `path`; of several the one that shows most of it, the first of equal
 * ones. */
static const struct mount *find_mount(struct wp_file_paths *p, uint32_t device, const char *path)
{
    const struct mount *best = NULL;
    read_mounts(p);
    for (uint32_t i = 0; i < p->known_count; i++) {
        const struct mount *m = &p->known[i];
        size_t size = strlen(m->root);
        if (m->device != device || strncmp(path, m->root, size) || (size && path[size] && path[size] != '/'))
            continue;
        if (!best || strlen(m->root) < strlen(best->root))
            best = m;
    }
    return best;
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

/* The path below its filesystem's root as it is told, "/..." before one that is cut; control characters become '?'. Cut
 * to `room` bytes, which are not 0. */
static void join_path(const struct wp_record_path *path, char *text, size_t room)
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

/* What a filesystem keeps for itself is read and written as the device's own: "[metadata ext4 /var]". */
static void name_metadata(struct wp_file_paths *p, uint32_t device, char *text, size_t room)
{
    const struct mount *mount = find_mount(p, device, "");
    if (mount)
        snprintf(text, room, "[metadata %s %s]", mount->type, *mount->point ? mount->point : "/");
    else
        snprintf(text, room, "[metadata]");
}

static void remember(struct wp_file_paths *p, uint64_t key, uint32_t id)
{
    if (p->recent.count >= KEYS) {
        wp_intmap_fini(&p->before);
        p->before = p->recent;
        p->recent = (struct wp_intmap){0};
    }
    wp_intmap_put(&p->recent, (struct wp_intkey){key, 0}, id);
}

void wp_file_paths_add(struct wp_file_paths *p, uint64_t key, uint32_t device, const struct wp_record_path *path)
{
    char text[WP_RECORD_NAMES * WP_RECORD_NAME + 1024 + 16], inside[WP_RECORD_NAMES * WP_RECORD_NAME + 16];
    if (!path->count)
        name_metadata(p, path->special, text, sizeof(text));
    else {
        join_path(path, inside, sizeof(inside));
        bool is_cut = path->count >= WP_RECORD_NAMES;
        const struct mount *mount = is_cut ? NULL : find_mount(p, device, inside);
        snprintf(text, sizeof(text), "%s%s", mount ? mount->point : "", inside + (mount ? strlen(mount->root) : 0));
        wp_file_path_generalize(text);
    }
    uint32_t id = wp_intern_str(p->texts, bound(p, text));
    if (id != UINT32_MAX)
        remember(p, key, id);
}

const char *wp_file_paths_get(struct wp_file_paths *p, uint64_t key)
{
    uint32_t id;
    if (!wp_intmap_get(&p->recent, (struct wp_intkey){key, 0}, &id)) {
        if (!wp_intmap_get(&p->before, (struct wp_intkey){key, 0}, &id))
            return NULL;
        remember(p, key, id);
    }
    return wp_intern_text(p->texts, id);
}
