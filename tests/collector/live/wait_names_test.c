/* SPDX-License-Identifier: Apache-2.0 */
/* What cgroups and interrupts are called, by the records of the programs. */
#include "collector/live/wait_names.h"

#include "collector/bpf/ring_record.h"
#include "common/cgroup_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void add_name(struct wp_record_group *group, const char *name)
{
    strcpy(group->names + group->size, name);
    group->size += (uint32_t)strlen(name) + 1;
}

static void whole_path(void **state)
{
    struct wp_record_group group = {0};
    struct wp_cgroup_path path;
    char name[2048], small[12];
    (void)state;
    add_name(&group, "docker-" ID ".scope");
    add_name(&group, "system.slice");
    wp_wait_name_group(&group, name, sizeof(name));
    assert_string_equal(name, "/system.slice/docker-" ID ".scope");
    wp_cgroup_path_parse(&path, name);
    assert_string_equal(path.container, ID);
    group.is_cut = 1;
    wp_wait_name_group(&group, small, sizeof(small));
    assert_string_equal(small, "/.../system");
}

static void hostile(void **state)
{
    struct wp_record_group group = {.size = UINT32_MAX};
    char name[4096];
    (void)state;
    memset(group.names, 'x', sizeof(group.names));
    wp_wait_name_group(&group, name, sizeof(name));
    assert_int_equal(strlen(name), sizeof(group.names) + 1);
    group.size = 0;
    wp_wait_name_group(&group, name, sizeof(name));
    assert_string_equal(name, "");
    add_name(&group, "a\nb");
    wp_wait_name_group(&group, name, sizeof(name));
    assert_string_equal(name, "/a?b");
}

static void interrupts(void **state)
{
    struct wp_record_wait wait = {.type = WP_WAIT_SOFT_INTERRUPT, .address = 3};
    char name[128];
    (void)state;
    wp_wait_name_interrupt(&wait, name, sizeof(name));
    assert_string_equal(name, "net_rx");
    wait.address = 77;
    wp_wait_name_interrupt(&wait, name, sizeof(name));
    assert_string_equal(name, "77");
    wait.type = WP_WAIT_INTERRUPT;
    wp_wait_name_interrupt(&wait, name, sizeof(name));
    assert_string_equal(name, "77");
    memset(wait.path, '\t', sizeof(wait.path));
    wp_wait_name_interrupt(&wait, name, sizeof(name));
    assert_int_equal(strspn(name, "?"), sizeof(wait.path));
    strcpy(wait.path, "virtio0-input.0");
    wp_wait_name_interrupt(&wait, name, sizeof(name));
    assert_string_equal(name, "virtio0-input.0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_path), cmocka_unit_test(hostile), cmocka_unit_test(interrupts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
