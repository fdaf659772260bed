/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/kernel_btf.h"

#include "common/large.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define BUCKETS (1u << 16)
#define BYTES_LIMIT ((off_t)1 << 30)
#define LEAST_TYPE sizeof(struct btf_type)

struct wp_kernel_btf {
    uint8_t *bytes; /* of the whole file */
    size_t size;
    bool is_mapped;
    const uint8_t *types; /* in it, as the texts */
    const char *texts;
    uint32_t types_size, texts_size;
    uint32_t *places; /* of each type, among the types; it is followed by what belongs to it, and that is there */
    uint32_t *next;   /* of each type the one behind it in its bucket, 0: none */
    uint32_t count;
    uint32_t heads[BUCKETS]; /* by name */
};

static uint32_t *bucket_of(struct wp_kernel_btf *types, const char *name)
{
    return &types->heads[XXH3_64bits(name, strlen(name)) & (BUCKETS - 1)];
}

/* From the last one on, so that the first of a name comes first. */
static void index_names(struct wp_kernel_btf *types)
{
    for (uint32_t id = types->count - 1; id; id--) {
        const char *name = wp_kernel_btf_text(types, wp_kernel_btf_type(types, id)->name_off);
        if (!*name)
            continue;
        uint32_t *head = bucket_of(types, name);
        types->next[id] = *head;
        *head = id;
    }
}

/* Bytes of what follows a type; -EINVAL: a kind that is not known. */
static int64_t following_bytes(const struct btf_type *type)
{
    int64_t count = btf_vlen(type);
    switch (btf_kind(type)) {
    case BTF_KIND_PTR:
    case BTF_KIND_FWD:
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_CONST:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_FUNC:
    case BTF_KIND_FLOAT:
    case BTF_KIND_TYPE_TAG:
        return 0;
    case BTF_KIND_INT:
    case BTF_KIND_VAR:
    case BTF_KIND_DECL_TAG:
        return sizeof(uint32_t);
    case BTF_KIND_ARRAY:
        return sizeof(struct btf_array);
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
        return count * (int64_t)sizeof(struct btf_member);
    case BTF_KIND_ENUM:
        return count * (int64_t)sizeof(struct btf_enum);
    case BTF_KIND_ENUM64:
        return count * (int64_t)sizeof(struct btf_enum64);
    case BTF_KIND_FUNC_PROTO:
        return count * (int64_t)sizeof(struct btf_param);
    case BTF_KIND_DATASEC:
        return count * (int64_t)sizeof(struct btf_var_secinfo);
    default:
        return -EINVAL;
    }
}

static int find_types(struct wp_kernel_btf *types)
{
    uint32_t most = types->types_size / LEAST_TYPE + 1, at = 0, id = 1;
    types->places = malloc(most * sizeof(*types->places));
    types->next = calloc(most, sizeof(*types->next));
    if (!types->places || !types->next)
        return -ENOMEM;
    for (; types->types_size - at >= LEAST_TYPE; id++) {
        int64_t more = following_bytes((const struct btf_type *)(const void *)(types->types + at));
        if (more < 0 || more > types->types_size - at - (int64_t)LEAST_TYPE)
            return -EINVAL;
        types->places[id] = at;
        at += (uint32_t)(LEAST_TYPE + (size_t)more);
    }
    types->count = id;
    return at == types->types_size ? 0 : -EINVAL;
}

static int find_parts(struct wp_kernel_btf *types)
{
    const struct btf_header *head = (const void *)types->bytes;
    if (types->size < sizeof(*head) || head->magic != BTF_MAGIC || head->version != BTF_VERSION ||
        head->hdr_len < sizeof(*head) || head->hdr_len > types->size)
        return -EINVAL;
    size_t room = types->size - head->hdr_len;
    if (head->type_off > room || head->type_len > room - head->type_off || head->type_off % sizeof(uint32_t) ||
        head->hdr_len % sizeof(uint32_t) || head->str_off > room || head->str_len > room - head->str_off ||
        !head->str_len)
        return -EINVAL;
    types->types = types->bytes + head->hdr_len + head->type_off;
    types->types_size = head->type_len;
    types->texts = (const char *)types->bytes + head->hdr_len + head->str_off;
    types->texts_size = head->str_len;
    return types->texts[types->texts_size - 1] ? -EINVAL : 0;
}

static int read_bytes(struct wp_kernel_btf *types, int fd)
{
    types->bytes = wp_large_resize(NULL, 0, types->size);
    if (!types->bytes)
        return -ENOMEM;
    for (size_t at = 0; at < types->size;) {
        ssize_t got = read(fd, types->bytes + at, types->size - at);
        if (got <= 0)
            return got < 0 ? -errno : -EINVAL;
        at += (size_t)got;
    }
    return 0;
}

static int map_or_read(struct wp_kernel_btf *types, int fd)
{
    struct stat file;
    if (fstat(fd, &file))
        return -errno;
    if (file.st_size <= 0 || file.st_size > BYTES_LIMIT)
        return -EINVAL;
    types->size = (size_t)file.st_size;
    void *mapped = mmap(NULL, types->size, PROT_READ, MAP_PRIVATE, fd, 0);
    types->is_mapped = mapped != MAP_FAILED;
    types->bytes = types->is_mapped ? mapped : NULL;
    return types->is_mapped ? 0 : read_bytes(types, fd);
}

int wp_kernel_btf_create(struct wp_kernel_btf **out, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = fd < 0 ? -errno : 0;
    struct wp_kernel_btf *types = rc ? NULL : calloc(1, sizeof(*types));
    if (!rc)
        rc = types ? map_or_read(types, fd) : -ENOMEM;
    if (fd >= 0)
        close(fd);
    if (!rc)
        rc = find_parts(types);
    if (!rc)
        rc = find_types(types);
    if (rc) {
        wp_kernel_btf_destroy(types);
        return rc;
    }
    index_names(types);
    *out = types;
    return 0;
}

void wp_kernel_btf_destroy(struct wp_kernel_btf *types)
{
    if (!types)
        return;
    if (types->is_mapped)
        munmap(types->bytes, types->size);
    else if (types->bytes)
        wp_large_free(types->bytes, types->size);
    free(types->places);
    free(types->next);
    free(types);
}

/* From a type on, in its bucket. */
static uint32_t find_from(const struct wp_kernel_btf *types, uint32_t id, const char *name, uint32_t kind)
{
    for (; id; id = types->next[id]) {
        const struct btf_type *type = wp_kernel_btf_type(types, id);
        if (btf_kind(type) == kind && !strcmp(wp_kernel_btf_text(types, type->name_off), name))
            return id;
    }
    return 0;
}

uint32_t wp_kernel_btf_find(const struct wp_kernel_btf *types, const char *name, uint32_t kind)
{
    return find_from(types, *bucket_of((struct wp_kernel_btf *)(uintptr_t)types, name), name, kind);
}

uint32_t wp_kernel_btf_next(const struct wp_kernel_btf *types, uint32_t id)
{
    const struct btf_type *type = wp_kernel_btf_type(types, id);
    return id < types->count
        ? find_from(types, types->next[id], wp_kernel_btf_text(types, type->name_off), btf_kind(type))
        : 0;
}

uint32_t wp_kernel_btf_count(const struct wp_kernel_btf *types)
{
    return types->count;
}

const struct btf_type *wp_kernel_btf_type(const struct wp_kernel_btf *types, uint32_t id)
{
    static const struct btf_type none = {.info = BTF_KIND_UNKN};
    return id && id < types->count ? (const void *)(types->types + types->places[id]) : &none;
}

const char *wp_kernel_btf_text(const struct wp_kernel_btf *types, uint32_t offset)
{
    return offset < types->texts_size ? types->texts + offset : "";
}
