/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/parallel_load.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct wp_parallel_work {
    pthread_t thread;
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
    const struct wp_parallel_load *load, const struct bpf_program *program, const struct bpf_prog_load_opts *options)
{
    size_t count = bpf_program__insn_cnt(program);
    size_t funcs = (size_t)options->func_info_cnt * options->func_info_rec_size;
    size_t lines = (size_t)options->line_info_cnt * options->line_info_rec_size;
    struct wp_parallel_work *work = calloc(1, sizeof(*work) + count * sizeof(*work->insns) + funcs + lines);
    if (!work)
        return NULL;
    work->type = bpf_program__type(program);
    work->name = bpf_program__name(program);
    work->license = load->license;
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

/* libbpf is about to load the program. What cannot be handed over, it loads itself. */
static int prepare(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
    static struct bpf_insn stub[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0}, {.code = BPF_JMP | BPF_EXIT}};
    struct wp_parallel_load *load = (struct wp_parallel_load *)cookie;
    if (options->fd_array || load->is_started) /* libbpf frees that when it has loaded its last program */
        return 0;
    load->work = make_work(load, program, options);
    if (!load->work || pthread_create(&load->work->thread, NULL, load_program, load->work))
        return 0;
    load->is_started = true;
    options->func_info_cnt = options->line_info_cnt = 0;
    return bpf_program__set_insns(program, stub, sizeof(stub) / sizeof(*stub));
}

/* libbpf 1.1 frees its list with the last handler in it, and goes on using it: there is always another one. */
static void keep_list(void)
{
    libbpf_register_prog_handler("wakepath/none", BPF_PROG_TYPE_UNSPEC, 0, NULL);
}

void wp_parallel_load_open(struct wp_parallel_load *load, const char *hook, const char *license)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT; /* as the list, the process' */
    char section[64];
    LIBBPF_OPTS(libbpf_prog_handler_opts, options, .cookie = (long)load, .prog_prepare_load_fn = prepare);
    *load = (struct wp_parallel_load){.hook = hook, .license = license, .fd = -ENOENT};
    snprintf(section, sizeof(section), "tp_btf/%s", hook);
    pthread_once(&once, keep_list);
    load->handler = libbpf_register_prog_handler(section, BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, &options);
}

int wp_parallel_load_target(const struct wp_parallel_load *load, struct bpf_program *program)
{
    return load->handler < 0 ? 0 : bpf_program__set_attach_target(program, 0, load->hook);
}

int wp_parallel_load_finish(struct wp_parallel_load *load)
{
    if (load->handler >= 0)
        libbpf_unregister_prog_handler(load->handler);
    load->handler = -1;
    if (load->is_started && load->work) {
        pthread_join(load->work->thread, NULL);
        load->fd = load->work->fd;
    }
    free(load->work);
    load->work = NULL;
    return load->is_started && load->fd < 0 ? load->fd : 0;
}

int wp_parallel_load_fd(const struct wp_parallel_load *load, const struct bpf_program *program)
{
    return load->is_started ? load->fd : bpf_program__fd(program);
}

void wp_parallel_load_close(struct wp_parallel_load *load)
{
    if (load->is_started && load->fd >= 0)
        close(load->fd);
    *load = (struct wp_parallel_load){.handler = -1, .fd = -ENOENT};
}
