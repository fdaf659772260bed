/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/privilege.h"

#include "common/buffer.h"
#include "common/path.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t effective_capabilities(void)
{
    struct wp_buffer status = {0};
    uint64_t set = 0;
    if (!wp_file_read("/proc/self/status", 65536, &status, NULL)) {
        const char *line = strstr((const char *)status.data, "CapEff:");
        if (line)
            set = strtoull(line + strlen("CapEff:"), NULL, 16);
    }
    wp_buffer_fini(&status);
    return set;
}

static bool has(uint64_t set, int capability)
{
    return set >> capability & 1;
}

int wp_privilege_check(struct wp_error *err)
{
    uint64_t set = effective_capabilities();
    if (has(set, CAP_SYS_ADMIN) || (has(set, CAP_BPF) && has(set, CAP_PERFMON)))
        return 0;
    if (geteuid() == 0)
        return wp_error_set(err, -EPERM,
            "recording needs CAP_SYS_ADMIN, or CAP_BPF and CAP_PERFMON, which this container or session withholds "
            "even from root: give it them (docker: --privileged)");
    return wp_error_set(err, -EPERM,
        "recording reads the kernel's events and needs root: run it with sudo (or give CAP_BPF and CAP_PERFMON)");
}

void wp_privilege_missing(char *text, size_t room)
{
    static const struct {
        int capability;
        const char *name;
    } rows[] = {
        {CAP_SYSLOG, "CAP_SYSLOG"}, {CAP_SYS_PTRACE, "CAP_SYS_PTRACE"}, {CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"}};
    uint64_t set = effective_capabilities();
    size_t used = 0;
    *text = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && used < room; i++)
        if (!has(set, rows[i].capability))
            used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "", rows[i].name);
}
