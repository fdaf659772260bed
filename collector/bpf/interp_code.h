/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_INTERP_CODE_H
#define WP_COLLECTOR_BPF_INTERP_CODE_H
/*
 * What the code objects of a new stack are: name, file, table of lines, as they are in memory now. Sent once for each
 * process and again when there is another code object at the same address, so nobody has to look into the process
 * later.
 */
#include "interp.h"
#include "interp_v8_code.h"

/* False: it cannot be read. */
static __always_inline bool fill_code(
    struct interp_sending *s, struct interp_walk *w, const struct wp_interp_file *file, __u64 address)
{
    if (s->record.code.part)
        return WP_INTERP_LANGUAGE(file->version) == WP_INTERP_JAVA ? fill_virtual(s, w, file)
                                                                   : fill_python_task(s, w, &file->at);
    switch (WP_INTERP_LANGUAGE(file->version)) {
    case WP_INTERP_PYTHON:
        return fill_python(s, w, file, address);
    case WP_INTERP_RUBY:
        return fill_ruby(s, w, file, address);
    case WP_INTERP_PHP:
        return fill_php(s, w, file, address);
    case WP_INTERP_PERL:
        return fill_perl(s, w, address);
    case WP_INTERP_JAVA:
        return fill_java(s, w, file, address);
    default:
        return false;
    }
}

static __always_inline __u32 part_of(const struct wp_interp_process *process, __u64 word)
{
    bool is_task = WP_INTERP_UNIT_OF(word) == WP_INTERP_UNIT_TASK;
    return is_task && WP_INTERP_HAS_TASKS(process->file.version) ? WP_INTERP_TASK_PART : 0;
}

static long send_one(__u32 index, void *argument)
{
    struct interp_sending_context *context = argument;
    struct interp_walk *w = context->walk;
    struct interp_sending *s = context->sending;
    struct wp_interp_process *process = context->process;
    if (!w || !s || !process || !context->words || index >= context->count || index >= WP_INTERP_DEPTH)
        return 1;
    __u32 place = index;
    barrier_var(place);
    place &= WP_INTERP_DEPTH - 1;
    struct interp_code_key key = {.code = WP_INTERP_CODE_OF(context->words[place]), .tgid = process->tgid};
    if (!key.code)
        return 0;
    key.part = part_of(process, context->words[place]);
    __u64 print = w->prints[place];
    int begun = begin_code(s, process, &key, print);
    if (begun == CODE_SENT || (begun == CODE_SEND && !fill_code(s, w, &process->file, key.code)))
        return 0;
    if (begun == CODE_SEND && !end_code(s, process, &key, print))
        return 0;
    s->is_all = false;
    return 1;
}

/* Of the running thread's frames, which were walked last. epoch: what was sent before another one is forgotten. False:
 * not all are sent. Not static: as walk_interp. */
__noinline bool send_codes(const struct interp_words *words, __u32 count, __u32 which, __u64 epoch)
{
    if (!wp_interps || !words)
        return true;
    struct task_struct *task = current_task();
    struct interp_sending_context context = {.walk = bpf_map_lookup_elem(&interp_walks, &which),
        .process = interp_here(task),
        .sending = bpf_map_lookup_elem(&interp_sendings, &which),
        .words = words->at,
        .count = count};
    struct interp_sending *s = context.sending;
    if (!context.process || !s)
        return true;
    s->epoch = epoch;
    s->program = mix(BPF_CORE_READ(task, group_leader, start_time), task->self_exec_id);
    s->parent = BPF_CORE_READ(task, group_leader, real_parent, tgid);
    s->sent = 0;
    s->is_all = report_process(context.process, epoch);
    if (WP_INTERP_LANGUAGE(context.process->file.version) == WP_INTERP_V8)
        send_v8_codes(&context);
    else
        bpf_loop(WP_INTERP_DEPTH, send_one, &context, 0);
    if (!s->is_all)
        count_held_back();
    return s->is_all;
}

#endif
