/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/parallel_load.h"

#include "collector/live/kernel_btf.h"
#include "collector/live/program_marks.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_ROOM 128u

struct wp_parallel_work {
    pthread_t thread;
    struct bpf_program *program; /* that it is loaded for */
    enum bpf_prog_type type;
    const char *name, *license; /* the object's, which is open until the thread has ended */
    struct bpf_prog_load_opts options;
    size_t count;
    int fd; /* what the thread came to */
    struct bpf_insn insns[];
};

static void *load_program(void *context)
{
    struct wp_parallel_work *work = context;
    work->fd = bpf_prog_load(work->type, work->name, work->license, work->insns, work->count, &work->options);
    return NULL;
}

/* libbpf frees its own when it gives up over another program. */
static const void *copy_lines(char **to, const void *lines, size_t size)
{
    if (!size)
        return NULL;
    void *copy = memcpy(*to, lines, size);
    *to += size;
    return copy;
}

static struct wp_parallel_work *make_work(
    const struct wp_parallel_target *target, struct bpf_program *program, const struct bpf_prog_load_opts *options)
{
    size_t count = bpf_program__insn_cnt(program);
    size_t funcs = (size_t)options->func_info_cnt * options->func_info_rec_size;
    size_t lines = (size_t)options->line_info_cnt * options->line_info_rec_size;
    struct wp_parallel_work *work = calloc(1, sizeof(*work) + count * sizeof(*work->insns) + funcs + lines);
    if (!work)
        return NULL;
    work->type = bpf_program__type(program);
    work->name = bpf_program__name(program);
    work->license = target->license;
    work->program = program;
    memcpy(&work->options, options, options->sz < sizeof(work->options) ? options->sz : sizeof(work->options));
    work->options.sz = sizeof(work->options);
    work->options.log_level = 0; /* a refusal is explained by who loads it again in its turn */
    work->options.log_buf = NULL;
    work->options.log_size = 0;
    work->count = count;
    memcpy(work->insns, bpf_program__insns(program), count * sizeof(*work->insns));
    char *after = (char *)&work->insns[count];
    work->options.func_info = copy_lines(&after, options->func_info, funcs);
    work->options.line_info = copy_lines(&after, options->line_info, lines);
    return work;
}

/* What a kind of program is attached to. */
static const struct hook {
    const char *section;
    enum bpf_prog_type type;
    enum bpf_attach_type attach;
    const char *prefix; /* of its name among the kernel's types, ... */
    uint32_t kind;      /* ... where it is such a one; 0: in none */
} hooks[WP_PARALLEL_LOADS] = {{"tp_btf", BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, "btf_trace_", BTF_KIND_TYPEDEF},
    {"fentry", BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, "", BTF_KIND_FUNC},
    {"fexit", BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT, "", BTF_KIND_FUNC},
    {"iter", BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, "bpf_iter_", BTF_KIND_FUNC},
    {"raw_tp", BPF_PROG_TYPE_RAW_TRACEPOINT, 0, NULL, 0}, {"perf_event", BPF_PROG_TYPE_PERF_EVENT, 0, NULL, 0}};

/* libbpf leaves that to who has a handler. */
static int set_hook(
    const struct wp_parallel_target *target, struct bpf_program *program, struct bpf_prog_load_opts *options)
{
    char name[NAME_ROOM];
    if (!target->hook->kind)
        return 0;
    snprintf(name, sizeof(name), "%s%s", target->hook->prefix,
        bpf_program__section_name(program) + strlen(target->hook->section) + 1);
    options->attach_btf_id = wp_kernel_btf_find(target->types, name, target->hook->kind);
    int rc = bpf_program__set_type(program, target->hook->type);
    return options->attach_btf_id ? rc : -ESRCH;
}

static bool is_large(const struct bpf_program *program)
{
    return bpf_program__type(program) == BPF_PROG_TYPE_PERF_EVENT ||
        !strcmp(bpf_program__section_name(program), "tp_btf/sched_switch");
}

/* libbpf is about to load the program. What cannot be handed over, it loads itself. */
static int prepare(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
    static struct bpf_insn stub[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0}, {.code = BPF_JMP | BPF_EXIT}};
    struct wp_parallel_target *target = (struct wp_parallel_target *)cookie;
    int rc = target->types ? set_hook(target, program, options) : -ESRCH;
    if (rc)
        return rc;
    wp_program_marks_put(
        target->types, (struct bpf_insn *)(uintptr_t)bpf_program__insns(program), bpf_program__insn_cnt(program));
    if (target->is_alone || !is_large(program) || options->fd_array ||
        target->work) /* libbpf frees that when it has loaded its last program */
        return 0;
    struct wp_parallel_work *work = make_work(target, program, options);
    if (!work || pthread_create(&work->thread, NULL, load_program, work)) {
        free(work);
        return 0;
    }
    target->work = work;
    options->func_info_cnt = options->line_info_cnt = 0;
    return bpf_program__set_insns(program, stub, sizeof(stub) / sizeof(*stub));
}

/* libbpf 1.1 frees its list with the last handler in it, and goes on using it: there is always another one. */
static void keep_list(void)
{
    libbpf_register_prog_handler("wakepath/none", BPF_PROG_TYPE_UNSPEC, 0, NULL);
}

void wp_parallel_load_open(struct wp_parallel_load *load, const char *license, bool has_threads)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT; /* as the list, the process' */
    pthread_once(&once, keep_list);
    *load = (struct wp_parallel_load){.is_started = false};
    for (unsigned i = 0; i < WP_PARALLEL_LOADS; i++) {
        struct wp_parallel_target *target = &load->targets[i];
        LIBBPF_OPTS(libbpf_prog_handler_opts, options, .cookie = (long)target, .prog_prepare_load_fn = prepare);
        const struct hook *hook = &hooks[i];
        char section[NAME_ROOM];
        snprintf(section, sizeof(section), "%s+", hook->section);
        target->license = license;
        target->is_alone = !has_threads;
        target->hook = hook;
        /* Of what it knows to be attached to a type libbpf reads all of the kernel's. */
        target->handler = libbpf_register_prog_handler(
            section, hook->kind ? BPF_PROG_TYPE_RAW_TRACEPOINT : hook->type, hook->attach, &options);
    }
}

void wp_parallel_load_set_types(struct wp_parallel_load *load, const struct wp_kernel_btf *types)
{
    for (unsigned i = 0; i < WP_PARALLEL_LOADS; i++)
        load->targets[i].types = types;
}

/* In the place of the two instructions, if libbpf came to load them. */
static int take_place(const struct wp_parallel_work *work)
{
    int place = bpf_program__fd(work->program);
    if (work->fd < 0)
        return work->fd;
    int rc = place >= 0 && dup3(work->fd, place, O_CLOEXEC) < 0 ? -errno : 0;
    close(work->fd);
    return rc;
}

int wp_parallel_load_finish(struct wp_parallel_load *load)
{
    int refused = 0;
    for (unsigned i = 0; i < WP_PARALLEL_LOADS; i++) {
        struct wp_parallel_target *target = &load->targets[i];
        if (target->handler >= 0)
            libbpf_unregister_prog_handler(target->handler);
        target->handler = -1;
        if (!target->work)
            continue;
        load->is_started = true;
        pthread_join(target->work->thread, NULL);
        int rc = take_place(target->work);
        refused = refused ? refused : rc;
        free(target->work);
        target->work = NULL;
    }
    return refused;
}
