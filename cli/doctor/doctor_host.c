/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/doctor_host.h"

#include "cli/doctor/doctor_probe.h"
#include "cli/base/privilege.h"
#include "common/buffer.h"
#include "common/host_pids.h"
#include "common/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#define TRACEFS 0x74726163 /* linux/magic.h */
#define USUAL_HZ 99

/* The first line of a small file; "" when it cannot be read. */
static void first_line(const char *path, char *line, size_t room)
{
    struct wp_buffer text = {0};
    *line = 0;
    if (!wp_file_read(path, 65536, &text, NULL) && text.size)
        snprintf(line, room, "%.*s", (int)strcspn((const char *)text.data, "\n"), (const char *)text.data);
    wp_buffer_fini(&text);
}

static bool number_in(const char *path, long *number)
{
    char line[64], *end;
    first_line(path, line, sizeof(line));
    *number = strtol(line, &end, 10);
    return end != line;
}

static void look_at_kernel(struct wp_findings *f)
{
    struct utsname name;
    unsigned major = 0, minor = 0;
    char lockdown[128];
    uname(&name);
    int parts = sscanf(name.release, "%u.%u", &major, &minor);
    unsigned version = major * 1000 + minor;
    if (parts != 2 || version < 5018)
        wp_findings_add(f, WP_FINDING_WRONG, "kernel",
            "Linux 5.18 or later; a recording of perf can be read on any: "
            "wakepath perf-events",
            "Linux %s does not report the state in which a thread leaves its CPU", name.release);
    else if (version < 6001 || strcmp(name.machine, "x86_64"))
        wp_findings_add(f, WP_FINDING_NOTE, "kernel",
            "Linux 6.1 on x86-64 unwinds the others too; or build with -fno-omit-frame-pointer",
            "Linux %s on %s: stacks of programs without frame pointers are cut", name.release, name.machine);
    else
        wp_findings_add(f, WP_FINDING_GOOD, "kernel", NULL,
            "Linux %s on %s: events, samples, and stacks without frame pointers", name.release, name.machine);
    first_line("/sys/kernel/security/lockdown", lockdown, sizeof(lockdown));
    if (strstr(lockdown, "[confidentiality]"))
        wp_findings_add(f, WP_FINDING_WRONG, "lockdown", "boot with lockdown=integrity at most",
            "the kernel is locked down and lets no "
            "BPF program read it");
}

static void look_at_privileges(struct wp_findings *f, bool has_service)
{
    struct wp_error err = {0};
    char missing[256];
    wp_privilege_missing(missing, sizeof(missing));
    if (wp_privilege_check(&err))
        wp_findings_add(f, has_service ? WP_FINDING_NOTE : WP_FINDING_WRONG, "privileges",
            has_service ? "the service has its own "
                          "(its unit gives them); to record by hand, use sudo"
                        : "sudo wakepath doctor, as recording would be; or a service: docs/first-fleet.md",
            "%s", err.text);
    else if (*missing)
        wp_findings_add(f, WP_FINDING_NOTE, "privileges",
            "give them too: without them functions and files of others have no names",
            "recording is allowed, but not %s", missing);
    else
        wp_findings_add(f, WP_FINDING_GOOD, "privileges", NULL, "recording is allowed, with names");
}

static void look_at_pids(struct wp_findings *f)
{
    if (!wp_host_pids_are_seen())
        wp_findings_add(f, WP_FINDING_NOTE, "pids", "run in the host's pid namespace (hostPID, --pid=host)",
            "this is a pid namespace of its own: functions and files of processes have no names");
}

static void look_at_btf(struct wp_findings *f)
{
    if (!access("/sys/kernel/btf/vmlinux", R_OK))
        wp_findings_add(f, WP_FINDING_GOOD, "btf", NULL, "/sys/kernel/btf/vmlinux is there");
    else
        wp_findings_add(f, WP_FINDING_WRONG, "btf",
            "a distribution's kernel, or one with CONFIG_DEBUG_INFO_BTF=y; in a container, /sys "
            "of the host",
            "/sys/kernel/btf/vmlinux: %s", strerror(errno));
}

static void look_at_tracefs(struct wp_findings *f)
{
    struct statfs status;
    static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (!statfs(places[i], &status) && status.f_type == TRACEFS) {
            wp_findings_add(f, WP_FINDING_GOOD, "tracefs", NULL, "is mounted at %s", places[i]);
            return;
        }
    wp_findings_add(f, WP_FINDING_WRONG, "tracefs", "mount -t tracefs tracefs /sys/kernel/tracing", "is not mounted");
}

static void look_at_perf(struct wp_findings *f)
{
    long paranoid, rate, kptr;
    if (!number_in("/proc/sys/kernel/perf_event_paranoid", &paranoid))
        wp_findings_add(
            f, WP_FINDING_WRONG, "perf", "a kernel with CONFIG_PERF_EVENTS=y", "the kernel has no perf events");
    else if (wp_privilege_check(NULL) && paranoid > 0) /* else the collector is asked: wp_doctor_probe */
        wp_findings_add(f, WP_FINDING_NOTE, "perf",
            paranoid > 2 ? "CAP_SYS_ADMIN for the collector, which gives it up; or sysctl kernel.perf_event_paranoid=2 "
                           "and CAP_PERFMON"
                         : "CAP_PERFMON is not bound by it; prefer that to lowering it",
            "kernel.perf_event_paranoid is %ld: no samples of the host for this user", paranoid);
    if (number_in("/proc/sys/kernel/perf_event_max_sample_rate", &rate) && rate < USUAL_HZ)
        wp_findings_add(f, WP_FINDING_WRONG, "samples",
            "sysctl kernel.perf_event_max_sample_rate=100000, or --frequency below it",
            "kernel.perf_event_max_sample_rate is %ld, fewer than the usual %d a second", rate, USUAL_HZ);
    if (number_in("/proc/sys/kernel/kptr_restrict", &kptr) && kptr > 1)
        wp_findings_add(f, WP_FINDING_NOTE, "names", "sysctl kernel.kptr_restrict=1",
            "kernel.kptr_restrict is %ld: functions of the kernel have no names", kptr);
}

static void look_at_clock(struct wp_findings *f)
{
    struct timex clock = {.modes = 0};
    char source[64], machine[64];
    int state = adjtimex(&clock);
    if (state < 0 || state == TIME_ERROR || clock.status & STA_UNSYNC)
        wp_findings_add(f, WP_FINDING_NOTE, "clock",
            "timedatectl set-ntp true, or chrony; hosts are compared by their messages all the same",
            "is not synchronised: the times of day on pages may be wrong");
    else
        wp_findings_add(
            f, WP_FINDING_GOOD, "clock", NULL, "is synchronised, wrong by at most %ld ms", clock.maxerror / 1000);
    first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof(source));
    if (!strcmp(source, "hpet") || !strcmp(source, "acpi_pm") || !strcmp(source, "jiffies") ||
        !strcmp(source, "refined-jiffies"))
        wp_findings_add(f, WP_FINDING_NOTE, "clocksource",
            "tsc or the hypervisor's: see the kernel's log for why it was given up",
            "is %s: each event costs a slow reading of it", source);
    first_line("/etc/machine-id", machine, sizeof(machine));
    if (strlen(machine) != 32)
        wp_findings_add(f, WP_FINDING_NOTE, "machine-id", "systemd-machine-id-setup",
            "/etc/machine-id is missing: this host is known by "
            "its name, which others may have too");
}

void wp_doctor_host(struct wp_findings *f, bool has_service)
{
    look_at_kernel(f);
    look_at_privileges(f, has_service);
    look_at_pids(f);
    look_at_btf(f);
    look_at_tracefs(f);
    look_at_perf(f);
    look_at_clock(f);
}
