/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's types are what libbpf reads of them, mapped and read; what is damaged is refused, or harms nobody. */
#include "collector/live/kernel_btf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KERNEL "/sys/kernel/btf/vmlinux"

void *__real_mmap(void *place, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *place, size_t size, int protection, int flags, int fd, off_t offset);

static bool files_are_mapped = true;

/* As kernels before 6.16, which do not let theirs be mapped. */
void *__wrap_mmap(void *place, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fd < 0 || files_are_mapped)
        return __real_mmap(place, size, protection, flags, fd, offset);
    errno = ENODEV;
    return MAP_FAILED;
}

static void assert_same(const struct wp_kernel_btf *types, const struct btf *want)
{
    uint32_t count = btf__type_cnt(want);
    for (uint32_t id = 1; id < count; id++) {
        const struct btf_type *one = wp_kernel_btf_type(types, id), *other = btf__type_by_id(want, id);
        assert_memory_equal(one, other, sizeof(*one));
        const char *name = btf__name_by_offset(want, other->name_off);
        assert_string_equal(wp_kernel_btf_text(types, one->name_off), name);
        if (btf_kind(other) == BTF_KIND_STRUCT && btf_vlen(other))
            assert_memory_equal(btf_members(one), btf_members(other), btf_vlen(other) * sizeof(struct btf_member));
        uint32_t found = *name ? wp_kernel_btf_find(types, name, btf_kind(other)) : id;
        assert_in_range(found, 1, id);
        if (id % 1000 == 1 && *name)
            assert_int_equal(found, btf__find_by_name_kind(want, name, btf_kind(other)));
    }
    assert_int_equal(btf_kind(wp_kernel_btf_type(types, count)), BTF_KIND_UNKN);
    assert_int_equal(btf_kind(wp_kernel_btf_type(types, 0)), BTF_KIND_UNKN);
    assert_string_equal(wp_kernel_btf_text(types, UINT32_MAX), "");
    assert_int_equal(wp_kernel_btf_find(types, "no such type", BTF_KIND_STRUCT), 0);
}

static void test_the_running_kernel(void **state)
{
    (void)state;
    struct btf *want = btf__parse_raw(KERNEL);
    assert_non_null(want);
    for (int turn = 0; turn < 2; turn++) {
        struct wp_kernel_btf *types = NULL;
        files_are_mapped = !turn;
        assert_int_equal(wp_kernel_btf_create(&types, KERNEL), 0);
        assert_same(types, want);
        wp_kernel_btf_destroy(types);
    }
    files_are_mapped = true;
    btf__free(want);
}

/* One of each kind. */
static struct btf *make_small(void)
{
    struct btf *made = btf__new_empty();
    assert_non_null(made);
    int number = btf__add_int(made, "int", 4, BTF_INT_SIGNED);
    btf__add_float(made, "double", 8);
    btf__add_ptr(made, number);
    btf__add_array(made, number, number, 8);
    int one = btf__add_struct(made, "one", 16);
    btf__add_field(made, "first", number, 0, 0);
    btf__add_field(made, "", number, 64, 0);
    btf__add_union(made, "either", 4);
    btf__add_field(made, "a", number, 0, 0);
    btf__add_enum(made, "colours", 4);
    btf__add_enum_value(made, "RED", 1);
    btf__add_enum64(made, "wide", 8, false);
    btf__add_enum64_value(made, "FAR", UINT64_MAX);
    btf__add_fwd(made, "later", BTF_FWD_STRUCT);
    btf__add_typedef(made, "number", number);
    btf__add_volatile(made, number);
    btf__add_const(made, number);
    btf__add_restrict(made, number);
    int prototype = btf__add_func_proto(made, number);
    btf__add_func_param(made, "x", number);
    int function = btf__add_func(made, "call", BTF_FUNC_STATIC, prototype);
    int variable = btf__add_var(made, "count", BTF_VAR_STATIC, number);
    btf__add_datasec(made, ".data", 4);
    btf__add_datasec_var_info(made, variable, 0, 4);
    btf__add_decl_tag(made, "tag", function, -1);
    assert_true(btf__add_type_tag(made, "user", one) > 0);
    return made;
}

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

static void look_everywhere(const struct wp_kernel_btf *types)
{
    unsigned sum = 0;
    for (uint32_t id = 0; id < 64; id++) {
        const struct btf_type *type = wp_kernel_btf_type(types, id);
        sum += (unsigned)strlen(wp_kernel_btf_text(types, type->name_off));
        for (unsigned i = 0; btf_is_composite(type) && i < btf_vlen(type); i++)
            sum += btf_members(type)[i].offset;
        for (unsigned i = 0; btf_kind(type) == BTF_KIND_DATASEC && i < btf_vlen(type); i++)
            sum += btf_var_secinfos(type)[i].offset;
    }
    wp_kernel_btf_find(types, "one", BTF_KIND_STRUCT);
    assert_true(sum < UINT32_MAX);
}

static void test_damaged(void **state)
{
    (void)state;
    char path[64];
    uint32_t size = 0;
    unsigned refused = 0;
    struct wp_kernel_btf *types = NULL;
    struct btf *made = make_small();
    const uint8_t *whole = btf__raw_data(made, &size);
    snprintf(path, sizeof(path), "/tmp/wakepath-btf-%d", (int)getpid());
    uint8_t *bytes = malloc(size);
    write_file(path, whole, size);
    assert_int_equal(wp_kernel_btf_create(&types, path), 0);
    assert_same(types, made);
    wp_kernel_btf_destroy(types);
    files_are_mapped = false; /* behind what was read is memory of nobody */
    for (uint32_t i = 0; i < size; i++) {
        int rc;
        write_file(path, whole, i);
        assert_int_equal(wp_kernel_btf_create(&types, path), -EINVAL);
        for (int turn = 0; turn < 3; turn++) {
            memcpy(bytes, whole, size);
            bytes[i] = turn == 0 ? 0xff : turn == 1 ? 0 : (uint8_t)(bytes[i] ^ 1u);
            write_file(path, bytes, size);
            rc = wp_kernel_btf_create(&types, path);
            assert_true(rc == 0 || rc == -EINVAL);
            refused += rc != 0;
            if (!rc) {
                look_everywhere(types);
                wp_kernel_btf_destroy(types);
            }
        }
    }
    files_are_mapped = true;
    assert_in_range(refused, 20, 3 * size - 20);
    unlink(path);
    assert_int_equal(wp_kernel_btf_create(&types, path), -ENOENT);
    free(bytes);
    btf__free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_running_kernel), cmocka_unit_test(test_damaged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
