/* SPDX-License-Identifier: Apache-2.0 */
#include "common/syscall_table.h"

#include "common/syscall_rows.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct row {
    const char *name;
    uint16_t number;
};

static const char *const names[] = {WP_SYSCALL_NAMES};
static const uint16_t of_arm64[] = {WP_SYSCALLS_OF_ARM64};
static const struct row numbers[] = {WP_SYSCALL_NUMBERS}; /* sorted by name */

const char *wp_syscall_name(unsigned number)
{
    return number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
}

static int compare(const void *key, const void *item)
{
    return strcmp(key, ((const struct row *)item)->name);
}

uint32_t wp_syscall_number(const char *name)
{
    const struct row *found = bsearch(name, numbers, sizeof(numbers) / sizeof(numbers[0]), sizeof(numbers[0]), compare);
    return found ? found->number + 1u : 0;
}

uint32_t wp_syscall_of(unsigned machine, uint32_t number)
{
    if (machine == EM_X86_64)
        return number;
    bool is_known = machine == EM_AARCH64 && number && number <= sizeof(of_arm64) / sizeof(of_arm64[0]);
    return is_known ? of_arm64[number - 1] : 0;
}
