/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/perf_events.h"

#include "common/buffer.h"
#include "common/nearest.h"
#include "common/path.h"
#include "common/standard_output.h"
#include "common/version.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_TRACEFS = 256, KEY_NO_PROBES };

#define FUNCTIONS_LIMIT (64u << 20)
#define README_LIMIT (1u << 20)
#define MOST_HZ 100000u

struct perf_events {
    const char *tracefs; /* borrowed */
    char **command;      /* of argv; NULL: sleep 10 */
    unsigned frequency;
    bool without_probes;
    struct wp_buffer functions; /* available_filter_functions, a name a line */
};

/* --- the command line --- */

static const struct argp_option option_table[] = {
    {"frequency", 'F', "HZ", 0, "Samples a second and CPU, 0 for none (default 99)", 0},
    {"no-probes", KEY_NO_PROBES, NULL, 0, "Tracepoints alone: nothing is added to the kernel's functions", 0},
    {"tracefs", KEY_TRACEFS, "DIR", 0,
        "Where tracefs is mounted (default: /sys/kernel/tracing, then /sys/kernel/debug/tracing)", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct perf_events *p = state->input;
    char *end;
    switch (key) {
    case 'F':
        p->frequency = (unsigned)strtoul(arg, &end, 10);
        if (*arg < '0' || *arg > '9' || *end || strlen(arg) > 6 || p->frequency > MOST_HZ)
            argp_error(state, "--frequency takes a number up to %u, not '%.100s'", MOST_HZ, arg);
        return 0;
    case KEY_NO_PROBES:
        p->without_probes = true;
        return 0;
    case KEY_TRACEFS:
        p->tracefs = arg;
        return 0;
    case ARGP_KEY_ARGS:
        p->command = state->argv + state->next;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* --- what this kernel has --- */

static bool has_file(const struct perf_events *p, const char *folder, const char *name)
{
    char path[PATH_MAX];
    return (size_t)snprintf(path, sizeof(path), "%s/%s%s", p->tracefs, folder, name) < sizeof(path) &&
        !access(path, F_OK);
}

/* "sched:sched_switch" is events/sched/sched_switch. */
static bool has_event(const struct perf_events *p, const char *event)
{
    char name[128];
    snprintf(name, sizeof(name), "%s", event);
    char *colon = strchr(name, ':');
    if (colon)
        *colon = '/';
    return has_file(p, "events/", name);
}

static bool has_function(const struct perf_events *p, const char *function)
{
    const char *text = p->functions.size ? (const char *)p->functions.data : "";
    size_t size = strlen(function);
    for (const char *at = text; (at = strstr(at, function)); at += size)
        if ((at == text || at[-1] == '\n') && (at[size] == '\n' || at[size] == ' ' || !at[size]))
            return true;
    return false;
}

/* The kernel can give a probe the arguments of a function by their number (Linux 4.20). */
static bool has_arguments(const struct perf_events *p)
{
    char path[PATH_MAX];
    struct wp_buffer text = {0};
    snprintf(path, sizeof(path), "%.*s/README", PATH_MAX - 16, p->tracefs);
    bool has = !wp_file_read(path, README_LIMIT, &text, NULL) && !wp_buffer_putc(&text, 0) &&
        strstr((char *)text.data, "$arg");
    wp_buffer_fini(&text);
    return has;
}

static int find_tracefs(struct perf_events *p, struct wp_error *err)
{
    static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    char path[PATH_MAX];
    for (size_t i = 0; !p->tracefs && i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, sizeof(path), "%s/events/sched", places[i]);
        if (!access(path, R_OK | X_OK))
            p->tracefs = places[i];
    }
    if (!p->tracefs)
        return wp_error_set(err, -ENOENT,
            "no tracefs can be read at /sys/kernel/tracing or /sys/kernel/debug/tracing: run as root, or mount it: "
            "mount -t tracefs tracefs /sys/kernel/tracing");
    if (!has_event(p, "sched:sched_switch"))
        return wp_error_set(
            err, -ENOENT, "'%s' has no events/sched/sched_switch: it is not a tracefs that can be read", p->tracefs);
    snprintf(path, sizeof(path), "%.*s/available_filter_functions", PATH_MAX - 64, p->tracefs);
    if (!wp_file_read(path, FUNCTIONS_LIMIT, &p->functions, NULL))
        wp_buffer_putc(&p->functions, 0);
    return p->functions.failed ? wp_error_set(err, -ENOMEM, "out of memory for the kernel's functions") : 0;
}

/* --- tracepoints --- */

struct tracepoint {
    const char *name;
    const char *instead; /* where that is there, this one is not needed; NULL: it is */
    const char *unknown; /* what is not known without it; NULL: nothing that matters */
};

static const struct tracepoint tracepoints[] = {
    {"sched:sched_switch", NULL, NULL},
    {"sched:sched_waking", NULL, NULL},
    {"sched:sched_wakeup", "sched:sched_waking", "who wakes whom"},
    {"sched:sched_wakeup_new", "sched:sched_waking", NULL},
    {"sched:sched_process_fork", NULL, "who starts whom"},
    {"sched:sched_process_exec", NULL, "which programs run"},
    {"sched:sched_process_exit", NULL, NULL},
    {"task:task_rename", NULL, NULL},
    {"block:block_rq_insert", NULL, NULL},
    {"block:block_rq_issue", NULL, "waits for disks"},
    {"block:block_rq_complete", NULL, "waits for disks"},
    {"irq:irq_handler_entry", NULL, NULL},
    {"irq:irq_handler_exit", NULL, NULL},
    {"irq:softirq_entry", NULL, NULL},
    {"irq:softirq_exit", NULL, NULL},
    {"sock:inet_sock_set_state", NULL, "which side opens a connection"},
    {"tcp:tcp_probe", NULL, "what arrives by TCP, and from where"},
    {"tcp:tcp_rcv_space_adjust", NULL, "when a server reads a request"},
};

static void put_tracepoints(const struct perf_events *p, struct wp_buffer *events, struct wp_buffer *missing)
{
    for (size_t i = 0; i < sizeof(tracepoints) / sizeof(tracepoints[0]); i++) {
        const struct tracepoint *point = &tracepoints[i];
        if (point->instead && has_event(p, point->instead))
            continue;
        if (has_event(p, point->name))
            wp_buffer_printf(events, "%s%s", events->size ? "," : "", point->name);
        else if (point->unknown)
            wp_buffer_printf(missing, "#   %s: not known: %s\n", point->name, point->unknown);
    }
}

/* --- probes --- */

static void put_word(struct wp_buffer *script, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
    wp_buffer_putc(script, ' ');
    if (*word && !word[strspn(word, plain)]) {
        wp_buffer_puts(script, word);
        return;
    }
    wp_buffer_putc(script, '\'');
    for (; *word; word++)
        if (*word == '\'')
            wp_buffer_puts(script, "'\\''");
        else
            wp_buffer_putc(script, *word);
    wp_buffer_putc(script, '\'');
}

/* Both ends of a socket as its struct sock_common has them (include/net/sock.h): the same since Linux 3.13 where IPv6
 * and network namespaces are built in. */
#define SOCKET                                                                                                         \
    "sk=$arg1:x64 skc_family=+16($arg1):u16 skc_num=+14($arg1):u16 skc_dport=+12($arg1):u16 skc_daddr=+0($arg1):u32 "  \
    "skc_rcv_saddr=+4($arg1):u32 skc_v6_daddr0=+56($arg1):x64 skc_v6_daddr1=+64($arg1):x64 "                           \
    "skc_v6_rcv_saddr0=+72($arg1):x64 skc_v6_rcv_saddr1=+80($arg1):x64"

static const struct probe {
    const char *function, *arguments;
} probes[] = {
    {"tcp_sendmsg", SOCKET " size=$arg3:u64"},
    {"udp_sendmsg", SOCKET " size=$arg3:u64"},
    {"udpv6_sendmsg", SOCKET " size=$arg3:u64"},
    {"__udp_enqueue_schedule_skb", SOCKET},
    {"skb_consume_udp", SOCKET},
};
#define PROBES (sizeof(probes) / sizeof(probes[0]))

/* Why there can be none; NULL: they can be. */
static const char *without_probes(const struct perf_events *p)
{
    if (p->without_probes)
        return "left out by --no-probes";
    if (!has_file(p, "", "kprobe_events"))
        return "this kernel has no kprobes";
    if (!has_arguments(p))
        return "this kernel's probes have no $argN (Linux 4.20 has)";
    for (size_t i = 0; i < PROBES; i++)
        if (has_function(p, probes[i].function))
            return NULL;
    return "available_filter_functions has none of their functions";
}

static void put_probes(const struct perf_events *p, struct wp_buffer *script, struct wp_buffer *events)
{
    const char *why = without_probes(p);
    bool has_sends = has_event(p, "sock:sock_send_length");
    char path[PATH_MAX];
    if (why) {
        wp_buffer_printf(script, "# 1. Probes: none, %s.\n", why);
        if (has_sends)
            wp_buffer_puts(events, ",sock:sock_send_length,sock:sock_recv_length");
        else
            wp_buffer_puts(script,
                "#    What is sent is not known: waits for a message are not followed to its sender on this host.\n"
                "#    Where the kernel's debug information is installed, `perf probe --add 'tcp_sendmsg sk size'` and\n"
                "#    `perf probe --add 'udp_sendmsg sk'` add probe:tcp_sendmsg and probe:udp_sendmsg to -e below.\n");
        return;
    }
    snprintf(path, sizeof(path), "%.*s/kprobe_events", PATH_MAX - 16, p->tracefs);
    wp_buffer_puts(
        script, "# 1. Once after each boot, as root: probes that say which socket a thread sends to\ncat >>");
    put_word(script, path);
    wp_buffer_puts(script, " <<'END'\n");
    for (size_t i = 0; i < PROBES; i++)
        if (has_function(p, probes[i].function)) {
            wp_buffer_printf(script, "p:probe/%s %s %s\n", probes[i].function, probes[i].function, probes[i].arguments);
            wp_buffer_printf(events, ",probe:%s", probes[i].function);
        }
    wp_buffer_puts(script, "END\n");
}

/* --- the script --- */

static void put_record(const struct perf_events *p, struct wp_buffer *script, const struct wp_buffer *events)
{
    char sleeps[] = "sleep", seconds[] = "10", *whole_host[] = {sleeps, seconds, NULL};
    wp_buffer_puts(script,
        p->command
            ? "# 2. As root: the command, with all that the host does meanwhile\n"
            : "# 2. As root: the whole host for ten seconds; or another command in place of the last two words\n");
    wp_buffer_printf(script, "perf record -a -g -k CLOCK_MONOTONIC -o perf.data -e %.*s", (int)events->size,
        events->size ? (const char *)events->data : "");
    if (p->frequency)
        wp_buffer_printf(script, ",cpu-clock/freq=%u/", p->frequency);
    wp_buffer_puts(script, " --");
    for (char **word = p->command ? p->command : whole_host; *word; word++)
        put_word(script, *word);
    wp_buffer_putc(script, '\n');
}

static void put_rest(struct wp_buffer *script, const struct wp_buffer *missing, bool has_probes)
{
    wp_buffer_puts(script,
        "# 3. Its text; all of these fields are read\n"
        "perf script -i perf.data --show-lost-events -F comm,pid,tid,cpu,time,event,ip,sym,symoff,dso,trace "
        ">recorded.txt\n"
        "# 4. On any machine, without root: a capture of the text\n"
        "wakepath collector --source perf-script:recorded.txt --output recorded.capture --release recorded\n"
        "# Then the pages of any process in it, until ^C:\n"
        "#   wakepath view recorded.capture\n");
    if (has_probes)
        wp_buffer_puts(
            script, "# 5. The probes go at the next boot, or each with echo -:probe/tcp_sendmsg >>.../kprobe_events\n");
    if (missing->size)
        wp_buffer_printf(script, "# Not on this machine:\n%s", (const char *)missing->data);
}

static int put_script(const struct perf_events *p, FILE *out, struct wp_error *err)
{
    struct wp_buffer script = {0}, events = {0}, missing = {0};
    wp_buffer_puts(&script,
        "#!/bin/sh\n# What perf can record on this machine for wakepath collector --source "
        "perf-script:FILE.\n");
    put_tracepoints(p, &events, &missing);
    put_probes(p, &script, &events);
    put_record(p, &script, &events);
    put_rest(&script, &missing, !without_probes(p));
    bool has_failed = script.failed || events.failed || missing.failed;
    int rc = has_failed ? wp_error_set(err, -ENOMEM, "out of memory for a script") : 0;
    if (!rc && (fwrite(script.data, 1, script.size, out) != script.size || fflush(out))) {
        rc = wp_error_errno(err, -errno, "cannot write the script");
        wp_standard_output_drop(out);
    }
    wp_buffer_fini(&script);
    wp_buffer_fini(&events);
    wp_buffer_fini(&missing);
    return rc;
}

int wp_perf_events_run(int argc, char **argv, FILE *out, struct wp_error *err)
{
    static const struct argp argp = {option_table, parse, "[--] [COMMAND [ARG...]]",
        "Prints how to record with perf on this machine, for hosts on which Wakepath's own collector does not run, or "
        "recordings that perf makes anyway.\v"
        "It prints a script of the shell: the events that this kernel has, with call stacks, how to make text of them, "
        "and how to read that. Nothing is recorded or changed.\n"
        "  wakepath perf-events                       the whole host for ten seconds\n"
        "  wakepath perf-events -- make -j2 >rec.sh   a command\n\n"
        "Exit status: 0 all is well, 1 failure, 64 usage.",
        NULL, NULL, NULL};
    struct perf_events p = {.frequency = 99};
    argp_err_exit_status = WP_EXIT_USAGE;
    wp_options_check(&argp, argc, argv, true);
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &p);
    int rc = find_tracefs(&p, err);
    if (!rc)
        rc = put_script(&p, out, err);
    wp_buffer_fini(&p.functions);
    return rc;
}
