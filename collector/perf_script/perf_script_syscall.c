/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/perf_script/perf_script_syscall.h"

#include "common/syscall_table.h"

#include <string.h>

#define NAME_ROOM 48u

struct syscall_name {
    const char *name;
    uint16_t number;
};

/* What stands before the name in the kernel's functions, by architecture and age; the longer one of a pair first. */
static const char *const prefixes[] = {"__x64_sys_", "__arm64_sys_", "__arm64_compat_sys_", "__ia32_compat_sys_",
    "__ia32_sys_", "__riscv_sys_", "__s390x_sys_", "__se_sys_", "__do_sys_", "__sys_", "ksys_", "SyS_", "SYSC_",
    "sys_"};

/* Functions of another name that stand alone on stacks: the entry was a tail call. */
static const struct syscall_name helpers[] = {{"do_sys_poll", 7}, {"kernel_wait4", 61}, {"kernel_waitid", 247}};

static uint32_t number_of(const char *name)
{
    char key[NAME_ROOM];
    size_t size = strcspn(name, "."); /* .isra.0, .constprop.0 */
    if (!size || size >= sizeof(key))
        return 0;
    memcpy(key, name, size);
    key[size] = 0;
    return wp_syscall_number(key);
}

uint32_t wp_perf_syscall(const char *function)
{
    for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++)
        if (!strcmp(function, helpers[i].name))
            return helpers[i].number + 1u;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        size_t size = strlen(prefixes[i]);
        uint32_t number = strncmp(function, prefixes[i], size) ? 0 : number_of(function + size);
        if (number)
            return number;
    }
    return 0;
}
