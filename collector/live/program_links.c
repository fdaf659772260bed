/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/program_links.h"

#include "common/clock.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#define DETACHED_APART_NS 800000000ull

const char *wp_program_hook(const struct bpf_program *program)
{
    static const char *const kinds[] = {"tp_btf/", "raw_tp/", "fentry/", "fexit/"};
    const char *section = bpf_program__section_name(program);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (!strncmp(section, kinds[i], strlen(kinds[i])))
            return section + strlen(kinds[i]);
    return NULL;
}

/* parallel_load.h: not bpf_program__attach. NULL: errno. */
static struct bpf_link *link_of(const struct bpf_program *program)
{
    bool is_raw = bpf_program__type(program) == BPF_PROG_TYPE_RAW_TRACEPOINT;
    return is_raw ? bpf_program__attach_raw_tracepoint(program, wp_program_hook(program))
                  : bpf_program__attach_trace(program);
}

int wp_program_links_attach(
    struct wp_program_links *links, struct bpf_program *program, bool is_idle, struct wp_error *err)
{
    if (links->count == WP_PROGRAM_LINKS)
        return wp_error_set(err, -E2BIG, "too many programs");
    struct bpf_link *link = link_of(program);
    if (link) {
        links->items[links->count++] = (struct wp_program_link){program, link, is_idle};
    } else if (bpf_program__type(program) == BPF_PROG_TYPE_TRACING &&
        bpf_program__expected_attach_type(program) != BPF_TRACE_RAW_TP) { /* what it would tell has a substitute */
        wp_log(links->logger, WP_LOG_WARN,
            "cannot attach to a kernel function, what it reports is not recorded function=%s reason=\"%s\"",
            wp_program_hook(program), strerror(errno));
    } else {
        return wp_error_errno(err, -errno, "cannot attach to the tracepoint %s", wp_program_hook(program));
    }
    return 0;
}

/* A second time, which Linux before 6.10 refuses for being one. */
static bool may_attach(const struct bpf_program *program)
{
    struct bpf_link *link = link_of(program);
    bool may = link || errno == EEXIST;
    bpf_link__destroy(link);
    return may;
}

static void detach_idle(struct wp_program_links *links)
{
    uint64_t now_ns = wp_clock_ns();
    if (links->detached_ns && now_ns - links->detached_ns < DETACHED_APART_NS)
        return;
    links->detached_ns = now_ns;
    for (unsigned i = links->count; i && !links->are_kept; i--) {
        struct wp_program_link *item = &links->items[i - 1];
        if (!item->is_idle || !item->link)
            continue;
        if (!links->may_attach && !(links->may_attach = may_attach(item->program))) {
            links->are_kept = true;
            wp_log(links->logger, WP_LOG_INFO, "programs stay attached between windows reason=\"%s\"", strerror(errno));
            continue;
        }
        bpf_link__destroy(item->link);
        item->link = NULL;
    }
}

static void attach_idle(struct wp_program_links *links)
{
    for (unsigned i = 0; i < links->count; i++) {
        struct wp_program_link *item = &links->items[i];
        if (item->link || !item->is_idle)
            continue;
        item->link = link_of(item->program);
        if (!item->link)
            wp_log(links->logger, WP_LOG_WARN,
                "cannot attach again, what it reports is not recorded in this window tracepoint=%s reason=\"%s\"",
                wp_program_hook(item->program), strerror(errno));
    }
}

void wp_program_links_pause(struct wp_program_links *links, bool is_paused)
{
    if (is_paused)
        detach_idle(links);
    else
        attach_idle(links);
}

void wp_program_links_destroy(struct wp_program_links *links)
{
    for (unsigned i = links->count; i; i--)
        bpf_link__destroy(links->items[i - 1].link);
    links->count = 0;
}
