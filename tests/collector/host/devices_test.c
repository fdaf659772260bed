/* SPDX-License-Identifier: Apache-2.0 */
/* Names of block devices, by a folder that is laid out as the kernel lays out /sys
 * (Documentation/ABI/testing/sysfs-block-dm), and by /sys itself. */
#include "collector/host/devices.h"

#include "common/path.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char root[] = "/tmp/wp-sys-XXXXXX";

/* /sys/dev/block/MAJOR:MINOR is a link to the device's folder, in which a mapped one has dm/name. */
static void add(const char *number, const char *device, const char *mapped)
{
    char path[256], target[256];
    snprintf(path, sizeof(path), "%s/devices/virtual/block/%s/dm", root, device);
    assert_int_equal(wp_path_make(path, NULL), 0);
    if (mapped) {
        strcat(path, "/name");
        assert_int_equal(wp_file_write_cached(path, mapped, strlen(mapped), NULL), 0);
    }
    snprintf(target, sizeof(target), "../../devices/virtual/block/%s", device);
    snprintf(path, sizeof(path), "%s/dev/block/%s", root, number);
    assert_int_equal(symlink(target, path), 0);
}

static int create(void **state)
{
    char path[64];
    (void)state;
    if (!mkdtemp(root))
        return -1;
    snprintf(path, sizeof(path), "%s/dev/block", root);
    return wp_path_make(path, NULL);
}

static int destroy(void **state)
{
    (void)state;
    return wp_path_remove(root, NULL);
}

static void expect(uint32_t major, uint32_t minor, const char *wanted)
{
    char name[64];
    wp_device_name_in(root, major << 20 | minor, name, sizeof(name));
    assert_string_equal(name, wanted);
}

static void named(void **state)
{
    (void)state;
    add("8:0", "sda", NULL);
    add("253:0", "dm-0", "vg-root\n");
    add("253:1", "dm-1", "two words\x1b\n");
    add("253:2", "dm-2", "");
    expect(8, 0, "sda");
    expect(253, 0, "vg-root");
    expect(253, 1, "two?words?"); /* a name is a word of a frame */
    expect(253, 2, "dm-2");       /* it is being made */
    expect(7, 9, "7:9");          /* it has gone */
}

/* All of this machine's own. */
static void of_this_machine(void **state)
{
    (void)state;
    DIR *dir = opendir("/sys/dev/block");
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        unsigned major, minor;
        char name[64];
        if (sscanf(entry->d_name, "%u:%u", &major, &minor) != 2)
            continue;
        wp_device_name(major << 20 | minor, name, sizeof(name));
        assert_true(*name && !strchr(name, ':') && !strchr(name, ' '));
    }
    if (dir)
        closedir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(named), cmocka_unit_test(of_this_machine)};
    return cmocka_run_group_tests(tests, create, destroy);
}
