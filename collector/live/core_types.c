/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/core_types.h"

#include "common/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FLAVOR "___" /* of a type whose name the kernel has without it */
#define NAME_ROOM 256u

/* A copy in the making. Each type has the number that it was met as. */
struct copy {
    const struct wp_kernel_btf *kernel;
    struct btf *btf;
    uint32_t *numbers; /* by the kernel's */
    uint32_t *met;     /* the kernel's, in their order */
    size_t count, room;
    int rc;
};

/* 0 is void. */
static int number_in(struct copy *c, uint32_t id)
{
    if (!id || id >= wp_kernel_btf_count(c->kernel) || c->rc)
        return 0;
    if (c->numbers[id])
        return (int)c->numbers[id];
    c->rc = WP_ARRAY_FIT(c->met, c->room, c->count + 1);
    if (c->rc)
        return 0;
    c->met[c->count++] = id;
    c->numbers[id] = (uint32_t)c->count;
    return (int)c->count;
}

static int add_members(struct copy *c, const struct btf_type *type)
{
    int rc = 0;
    for (uint32_t i = 0; i < btf_vlen(type) && rc >= 0; i++) {
        const struct btf_member *member = &btf_members(type)[i];
        rc = btf__add_field(c->btf, wp_kernel_btf_text(c->kernel, member->name_off), number_in(c, member->type),
            btf_member_bit_offset(type, i), btf_member_bitfield_size(type, i));
    }
    return rc;
}

static int add_composite(struct copy *c, const struct btf_type *type, const char *name)
{
    int id = btf_is_union(type) ? btf__add_union(c->btf, name, type->size) : btf__add_struct(c->btf, name, type->size);
    int rc = id < 0 ? id : add_members(c, type);
    return rc < 0 ? rc : id;
}

static int add_enum(struct copy *c, const struct btf_type *type, const char *name)
{
    int id = btf__add_enum(c->btf, name, type->size), rc = 0;
    for (uint32_t i = 0; i < btf_vlen(type) && id >= 0 && rc >= 0; i++)
        rc = btf__add_enum_value(
            c->btf, wp_kernel_btf_text(c->kernel, btf_enum(type)[i].name_off), btf_enum(type)[i].val);
    return rc < 0 ? rc : id;
}

static int add_enum64(struct copy *c, const struct btf_type *type, const char *name)
{
    int id = btf__add_enum64(c->btf, name, type->size, btf_kflag(type)), rc = 0;
    for (uint32_t i = 0; i < btf_vlen(type) && id >= 0 && rc >= 0; i++)
        rc = btf__add_enum64_value(c->btf, wp_kernel_btf_text(c->kernel, btf_enum64(type)[i].name_off),
            btf_enum64_value(&btf_enum64(type)[i]));
    return rc < 0 ? rc : id;
}

/* Its number, or -errno. What no member has by value (a function, a variable) is not looked into. */
static int add_type(struct copy *c, const struct btf_type *type)
{
    const char *name = wp_kernel_btf_text(c->kernel, type->name_off);
    switch (btf_kind(type)) {
    case BTF_KIND_INT:
        return btf__add_int(c->btf, name, type->size, btf_int_encoding(type));
    case BTF_KIND_FLOAT:
        return btf__add_float(c->btf, name, type->size);
    case BTF_KIND_ARRAY:
        return btf__add_array(c->btf, number_in(c, btf_array(type)->index_type), number_in(c, btf_array(type)->type),
            btf_array(type)->nelems);
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
        return add_composite(c, type, name);
    case BTF_KIND_ENUM:
        return add_enum(c, type, name);
    case BTF_KIND_ENUM64:
        return add_enum64(c, type, name);
    case BTF_KIND_TYPEDEF:
        return btf__add_typedef(c->btf, name, number_in(c, type->type));
    case BTF_KIND_VOLATILE:
    case BTF_KIND_CONST:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_TYPE_TAG: /* none of them changes what an access reads */
        return btf__add_const(c->btf, number_in(c, type->type));
    default:
        return btf__add_ptr(c->btf, 0);
    }
}

/* All of the kernel's that have the local type's name. */
static void meet_namesakes(struct copy *c, const struct btf *local, const struct btf_type *type)
{
    char name[NAME_ROOM];
    const char *whole = btf__name_by_offset(local, type->name_off), *flavor = whole ? strstr(whole, FLAVOR) : NULL;
    size_t size = !whole ? 0 : flavor && flavor != whole ? (size_t)(flavor - whole) : strlen(whole);
    if (!size || size >= sizeof(name))
        return;
    memcpy(name, whole, size);
    name[size] = 0;
    uint32_t kind = btf_kind(type), other = kind == BTF_KIND_ENUM ? BTF_KIND_ENUM64 : kind;
    for (uint32_t id = wp_kernel_btf_find(c->kernel, name, kind); id; id = wp_kernel_btf_next(c->kernel, id))
        number_in(c, id);
    for (uint32_t id = other == kind ? 0 : wp_kernel_btf_find(c->kernel, name, other); id;
         id = wp_kernel_btf_next(c->kernel, id))
        number_in(c, id);
}

static bool has_namesakes(const struct btf_type *type)
{
    return btf_is_composite(type) || btf_is_enum(type) || btf_is_typedef(type);
}

static int copy_types(struct copy *c, const struct btf *local)
{
    for (uint32_t id = 1; id < btf__type_cnt(local); id++)
        if (has_namesakes(btf__type_by_id(local, id)))
            meet_namesakes(c, local, btf__type_by_id(local, id));
    for (size_t i = 0; i < c->count && !c->rc; i++) { /* more are met meanwhile */
        int number = add_type(c, wp_kernel_btf_type(c->kernel, c->met[i]));
        if (number != (int)i + 1 && !c->rc)
            c->rc = number < 0 ? number : -EINVAL;
    }
    return c->rc;
}

static int write_types(int fd, const struct btf *btf)
{
    uint32_t size;
    const uint8_t *bytes = btf__raw_data(btf, &size);
    if (!bytes)
        return -ENOMEM;
    for (uint32_t at = 0; at < size;) {
        ssize_t put = write(fd, bytes + at, size - at);
        if (put <= 0)
            return put < 0 ? -errno : -EIO;
        at += (uint32_t)put;
    }
    return 0;
}

int wp_core_types_create(struct wp_core_types *types)
{
    *types = (struct wp_core_types){.fd = memfd_create("wakepath-types", MFD_CLOEXEC)};
    snprintf(types->path, sizeof(types->path), "/proc/self/fd/%d", types->fd);
    return types->fd < 0 ? -errno : 0;
}

int wp_core_types_fill(struct wp_core_types *types, const struct wp_kernel_btf *kernel, const struct btf *local)
{
    struct copy c = {.kernel = kernel, .btf = btf__new_empty()};
    c.numbers = calloc(wp_kernel_btf_count(kernel), sizeof(*c.numbers));
    int rc = c.btf && c.numbers ? copy_types(&c, local) : -ENOMEM;
    if (!rc)
        rc = write_types(types->fd, c.btf);
    btf__free(c.btf);
    free(c.numbers);
    free(c.met);
    return rc;
}

void wp_core_types_fini(struct wp_core_types *types)
{
    if (types->fd >= 0)
        close(types->fd);
    types->fd = -1;
}
