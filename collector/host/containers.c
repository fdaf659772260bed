/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/host/containers.h"

#include "collector/host/podman_pods.h"
#include "common/buffer.h"
#include "common/cgroup_path.h"
#include "common/intern.h"
#include "common/intmap.h"
#include "common/path.h"

#include <ctype.h>
#include <dirent.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_BYTES 512u
#define PATH_BYTES 1024u
#define FILE_BYTES ((size_t)4 << 20)
#define ENTRIES 65536u /* of a folder that are looked at */
#define TRIES 4u       /* files come a little later than the first process */
#define GROUPS 65536u  /* remembered */

struct wp_containers {
    char root[256];
    struct wp_intern *names;
    struct wp_intmap by_group; /* cgroup id -> text << 3 | tries so far */
};

struct wp_containers *wp_containers_create(const char *root)
{
    struct wp_containers *c = calloc(1, sizeof(*c));
    if (!c || !(c->names = wp_intern_create())) {
        free(c);
        return NULL;
    }
    snprintf(c->root, sizeof(c->root), "%s", root);
    return c;
}

void wp_containers_destroy(struct wp_containers *c)
{
    if (!c)
        return;
    wp_intern_destroy(c->names);
    wp_intmap_fini(&c->by_group);
    free(c);
}

/* Kubernetes' names and those of runtimes: letters, digits, '-', '_' and '.'. */
static bool is_name(const char *text)
{
    size_t size = 0;
    for (; text && text[size]; size++)
        if (!isalnum((unsigned char)text[size]) && !strchr("-_.", text[size]))
            return false;
    return size && size <= 253;
}

static bool put(char *name, const char *space, const char *pod, const char *container)
{
    if (!is_name(space) || !is_name(pod) || (*container && !is_name(container)))
        return false;
    snprintf(name, NAME_BYTES, "%s/%s/%s", space, pod, container);
    return true;
}

/* Calls `take` for the names in a folder until it says true. */
static bool each_in(const char *root, const char *folder,
    bool (*take)(const char *entry, const char *wanted, char *name), const char *wanted, char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s%s", root, folder);
    DIR *dir = opendir(path);
    bool is_found = false;
    struct dirent *entry;
    for (unsigned i = 0; dir && !is_found && i < ENTRIES && (entry = readdir(dir)); i++)
        is_found = take(entry->d_name, wanted, name);
    if (dir)
        closedir(dir);
    return is_found;
}

/* "web-7d9f_shop_app-<id>.log" */
static bool take_log(const char *entry, const char *id, char *name)
{
    char copy[NAME_BYTES];
    size_t size = strlen(entry), id_size = strlen(id);
    if (size < id_size + 8 || size >= sizeof(copy) || strcmp(entry + size - 4, ".log") ||
        strncmp(entry + size - 4 - id_size, id, id_size) || entry[size - 5 - id_size] != '-')
        return false;
    memcpy(copy, entry, size + 1);
    copy[size - 5 - id_size] = 0;
    char *space = strchr(copy, '_'), *container = space ? strchr(space + 1, '_') : NULL;
    if (!container)
        return false;
    *space++ = *container++ = 0;
    return *container && put(name, space, copy, container);
}

/* "shop_web-7d9f_0a1b2c3d-..." */
static bool take_pod(const char *entry, const char *uid, char *name)
{
    char copy[NAME_BYTES];
    size_t size = strlen(entry), uid_size = strlen(uid);
    if (size < uid_size + 4 || size >= sizeof(copy) || strcmp(entry + size - uid_size, uid) ||
        entry[size - uid_size - 1] != '_')
        return false;
    memcpy(copy, entry, size + 1);
    copy[size - uid_size - 1] = 0;
    char *pod = strchr(copy, '_');
    if (!pod)
        return false;
    *pod++ = 0;
    return put(name, copy, pod, "");
}

static const char *text_at(json_object *in, const char *key)
{
    json_object *value;
    bool is_text = json_object_is_type(in, json_type_object) && json_object_object_get_ex(in, key, &value) &&
        json_object_is_type(value, json_type_string);
    return is_text ? json_object_get_string(value) : NULL;
}

static json_object *read_json(const char *path)
{
    struct wp_buffer bytes = {0};
    json_object *json = NULL;
    struct json_tokener *tokener = json_tokener_new_ex(32);
    if (tokener && !wp_file_read(path, FILE_BYTES, &bytes, NULL))
        json = json_tokener_parse_ex(tokener, (const char *)bytes.data, (int)bytes.size);
    if (tokener)
        json_tokener_free(tokener);
    wp_buffer_fini(&bytes);
    return json;
}

/* The same facts under the keys of several runtimes. */
static bool take_annotations(json_object *in, char *name)
{
    static const char *const keys[][3] = {
        {"io.kubernetes.cri.sandbox-namespace", "io.kubernetes.cri.sandbox-name", "io.kubernetes.cri.container-name"},
        {"io.kubernetes.pod.namespace", "io.kubernetes.pod.name", "io.kubernetes.container.name"}};
    for (size_t i = 0; in && i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *space = text_at(in, keys[i][0]), *pod = text_at(in, keys[i][1]),
                   *container = text_at(in, keys[i][2]);
        if (space && pod && put(name, space, pod, container ? container : ""))
            return true;
    }
    return false;
}

/* The configuration that OCI runtimes are given. */
static bool from_bundle(const char *path, char *name)
{
    json_object *json = read_json(path), *annotations = NULL;
    bool is_found = json_object_is_type(json, json_type_object) &&
        json_object_object_get_ex(json, "annotations", &annotations) && take_annotations(annotations, name);
    const char *own =
        text_at(annotations, "io.container.manager") ? text_at(annotations, "org.opencontainers.image.name") : NULL;
    if (!own)
        own = text_at(annotations, "nerdctl/name");
    if (!is_found && own && is_name(own)) {
        snprintf(name, NAME_BYTES, "%s", own);
        is_found = true;
    }
    json_object_put(json);
    return is_found;
}

static bool from_containerd(const char *root, const char *id, char *name)
{
    static const char *const spaces[] = {"k8s.io", "default", "moby"};
    char path[PATH_BYTES];
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        snprintf(path, sizeof(path), "%s/run/containerd/io.containerd.runtime.v2.task/%s/%s/config.json", root,
            spaces[i], id);
        if (from_bundle(path, name))
            return true;
    }
    return false;
}

/* Podman keeps the names of its containers in one list. */
static bool from_storage_list(const char *storage, const char *id, char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s/overlay-containers/containers.json", storage);
    json_object *json = read_json(path);
    bool is_found = false;
    size_t count = json && json_object_is_type(json, json_type_array) ? json_object_array_length(json) : 0;
    for (size_t i = 0; !is_found && i < count; i++) {
        json_object *one = json_object_array_get_idx(json, i), *names;
        const char *own = text_at(one, "id");
        if (!own || strcmp(own, id) || !json_object_object_get_ex(one, "names", &names) || /* an object: it has an id */
            !json_object_is_type(names, json_type_array) || !json_object_array_length(names))
            continue;
        const char *first = json_object_get_string(json_object_array_get_idx(names, 0));
        if (!is_name(first))
            break;
        snprintf(name, NAME_BYTES, "%s", first);
        is_found = true;
    }
    json_object_put(json);
    return is_found;
}

/* Podman's pods have a name and no namespace: "/web/app". */
static void put_pod(const char *storage, const char *id, char *name)
{
    char path[PATH_BYTES], pod[NAME_BYTES], container[NAME_BYTES];
    json_object *annotations = NULL;
    snprintf(path, sizeof(path), "%s/overlay-containers/%s/userdata/config.json", storage, id);
    json_object *json = read_json(path);
    if (json_object_is_type(json, json_type_object))
        json_object_object_get_ex(json, "annotations", &annotations);
    const char *pod_id = text_at(annotations, "io.kubernetes.cri-o.SandboxID");
    if (is_name(pod_id) && wp_podman_pod(storage, pod_id, pod, sizeof(pod)) && is_name(pod)) {
        snprintf(container, sizeof(container), "%s", name);
        if (snprintf(name, NAME_BYTES, "/%s/%s", pod, container) >= (int)NAME_BYTES)
            memcpy(name, container, sizeof(container));
    }
    json_object_put(json);
}

/* Home of the user whose own containers these are ("rootless"), by the path's user-UID.slice. */
static bool home_of(const char *root, const char *cgroup_path, char *home)
{
    char path[PATH_BYTES], wanted[32];
    unsigned uid;
    struct wp_buffer text = {0};
    const char *slice = strstr(cgroup_path, "/user-");
    if (!slice || sscanf(slice, "/user-%u.slice", &uid) != 1)
        return false;
    snprintf(path, sizeof(path), "%s/etc/passwd", root);
    snprintf(wanted, sizeof(wanted), "%u", uid);
    *home = 0;
    if (!wp_file_read(path, FILE_BYTES, &text, NULL) && !wp_buffer_append(&text, "", 1)) {
        char *rest = NULL;
        for (char *line = strtok_r((char *)text.data, "\n", &rest); line && !*home;
             line = strtok_r(NULL, "\n", &rest)) {
            const char *fields[7] = {NULL};
            for (size_t i = 0; i < 7 && line; i++)
                fields[i] = strsep(&line, ":");
            if (fields[5] && *fields[5] == '/' && !strcmp(fields[2], wanted))
                snprintf(home, PATH_BYTES / 2, "%s", fields[5]);
        }
    }
    wp_buffer_fini(&text);
    return *home;
}

static bool from_storage_at(const char *storage, const char *id, char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s/overlay-containers/%s/userdata/config.json", storage, id);
    if (from_bundle(path, name))
        return true;
    if (!from_storage_list(storage, id, name))
        return false;
    put_pod(storage, id, name);
    return true;
}

static bool from_storage(const char *root, const struct wp_cgroup_path *path, const char *cgroup_path, char *name)
{
    char storage[PATH_BYTES], home[PATH_BYTES / 2];
    snprintf(storage, sizeof(storage), "%s/run/containers/storage/overlay-containers/%s/userdata/config.json", root,
        path->container);
    if (from_bundle(storage, name))
        return true;
    snprintf(storage, sizeof(storage), "%s/var/lib/containers/storage", root);
    if (from_storage_at(storage, path->container, name))
        return true;
    if (!home_of(root, cgroup_path, home))
        return false;
    snprintf(storage, sizeof(storage), "%s%s/.local/share/containers/storage", root, home);
    return from_storage_at(storage, path->container, name);
}

static bool from_docker(const char *root, const char *id, char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s/var/lib/docker/containers/%s/config.v2.json", root, id);
    json_object *json = read_json(path), *config = NULL, *labels = NULL;
    if (json_object_is_type(json, json_type_object) && json_object_object_get_ex(json, "Config", &config) &&
        json_object_is_type(config, json_type_object))
        json_object_object_get_ex(config, "Labels", &labels);
    bool is_found = take_annotations(labels, name);
    const char *own = text_at(json, "Name");
    own = own && *own == '/' ? own + 1 : own;
    if (!is_found && is_name(own)) {
        snprintf(name, NAME_BYTES, "%s", own);
        is_found = true;
    }
    json_object_put(json);
    return is_found;
}

static bool exists(const char *root, const char *folder, const char *name, const char *file)
{
    char path[PATH_BYTES];
    return snprintf(path, sizeof(path), "%s%s/%s%s", root, folder, name, file) < (int)sizeof(path) &&
        !access(path, F_OK);
}

/* What was started without an engine (`ctr run`, `runc run`, `crun run`) has the name that it was given:
 * "/default/web", "/web" or
 * "/system.slice/runc-web.scope", and a folder of that name at the one that runs it. */
static bool from_state(const char *root, const char *cgroup_path, char *name)
{
    char before[NAME_BYTES] = "", part[NAME_BYTES], task[NAME_BYTES * 2];
    for (const char *at = cgroup_path + strspn(cgroup_path, "/"); *at; at += strspn(at, "/")) {
        size_t size = strcspn(at, "/");
        snprintf(part, sizeof(part), "%.*s", (int)(size < NAME_BYTES ? size : NAME_BYTES - 1), at);
        at += size;
        char *end = size > 6 && size < NAME_BYTES ? part + size - 6 : NULL, *own = part;
        if (end && !strcmp(end, ".scope") && (!strncmp(part, "runc-", 5) || !strncmp(part, "crun-", 5))) {
            *end = 0;
            own = part + 5;
        }
        snprintf(task, sizeof(task), "%s/%s", before, own);
        if (is_name(own) &&
            (exists(root, "/run/runc", own, "/state.json") || exists(root, "/run/crun", own, "/status") ||
                (is_name(before) &&
                    exists(root, "/run/containerd/io.containerd.runtime.v2.task", task, "/config.json")))) {
            snprintf(name, NAME_BYTES, "%s", own);
            return true;
        }
        memcpy(before, part, sizeof(before));
    }
    return false;
}

static bool look_up(
    const struct wp_containers *c, const struct wp_cgroup_path *path, const char *cgroup_path, char *name)
{
    if (!strcmp(path->runtime, "lxc") && is_name(path->container)) {
        snprintf(name, NAME_BYTES, "%s", path->container);
        return true;
    }
    return (*path->container &&
               (each_in(c->root, "/var/log/containers", take_log, path->container, name) ||
                   from_containerd(c->root, path->container, name) || from_storage(c->root, path, cgroup_path, name) ||
                   from_docker(c->root, path->container, name))) ||
        (*path->pod && each_in(c->root, "/var/log/pods", take_pod, path->pod, name)) ||
        from_state(c->root, cgroup_path, name);
}

const char *wp_containers_name(struct wp_containers *c, uint64_t id, const char *cgroup_path)
{
    struct wp_intkey key = {id, 0};
    uint32_t known = 0;
    if (wp_intmap_get(&c->by_group, key, &known) && (known >> 3 || (known & 7) >= TRIES))
        return wp_intern_text(c->names, known >> 3);
    struct wp_cgroup_path path;
    char name[NAME_BYTES] = "";
    wp_cgroup_path_parse(&path, cgroup_path);
    bool is_one = *path.container || *path.pod;
    if (!look_up(c, &path, cgroup_path, name))
        *name = 0;
    struct wp_intern *names = c->by_group.count >= GROUPS ? wp_intern_create() : NULL;
    if (names) {
        wp_intern_destroy(c->names);
        c->names = names;
        wp_intmap_clear(&c->by_group);
    }
    uint32_t text = *name ? wp_intern_str(c->names, name) : 0;
    if (text >= UINT32_MAX >> 3)
        return "";
    wp_intmap_put(&c->by_group, key, text << 3 | (is_one ? (known & 7) + 1 : TRIES));
    return wp_intern_text(c->names, text);
}
