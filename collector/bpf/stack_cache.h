/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_STACK_CACHE_H
#define WP_COLLECTOR_BPF_STACK_CACHE_H
/*
 * Most sleeps of a thread are at the place of its last one. A thread remembers that stack with every word of memory
 * that the walk had read, and the words that hold the kernel's return addresses. While the registers and all those
 * words are the same a walk would find the same stack: it need not be walked again. Nothing is guessed.
 */
#include "cause.h"
#include "stack.h"

#define KERNEL_WINDOW 256u /* words of a stack that are looked at in one piece */
#define KERNEL_WORDS 32u

struct stack_cache {
    __u64 ip, sp, bp, exec_vm, epoch, key;
    __u64 interp;    /* hash of an interpreter's frames, 0: there is none */
    __u64 place;     /* of number_of */
    __u64 kernel_at; /* of the search: where the window begins */
    __u32 generation, exec_id;
    __u32 user_count, kernel_count;
    __u32 kernel_words, kernel_next; /* of the search */
    __u32 near_size;                 /* bytes from sp on that hold all words of `user`; 0: they lie farther apart */
    __u32 reserved;
    struct word user[WALK_WORDS];
    struct word kernel[KERNEL_WORDS]; /* `at`: see kernel_word */
};

struct window {
    __u64 words[KERNEL_WINDOW];
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct window);
} windows SEC(".maps");

static __always_inline __u64 stack_top(struct stack_cache *m, struct task_struct *task)
{
    return number_of(&m->place, task->stack) + THREAD_SIZE;
}

/*
 * The kernel shifts its stack by a random amount at each system call (randomize_kstack_offset), just below the frame of
 * the entry code: the outermost word has its distance from the stack's top, all others theirs from the tracepoint's
 * frame.
 */
static __always_inline __u64 kernel_word(const struct stack_cache *m, __u32 index, __u64 frame, __u64 top)
{
    __u64 at = m->kernel[index & (KERNEL_WORDS - 1)].at;
    return index + 1 == m->kernel_count ? top - at : frame + at;
}

/* One copy of the user's stack is cheaper than a word at a time. */
static __always_inline bool is_near_same(struct stack_cache *m)
{
    __u32 zero = 0;
    struct window *window = bpf_map_lookup_elem(&windows, &zero);
    __u64 size = m->near_size;
    barrier_var(size);
    if (!window || size > sizeof(*window) || bpf_probe_read_user(window, size, (void *)m->sp))
        return false;
    for (__u32 i = 0; i < WALK_WORDS; i++) {
        if (i >= m->user_count)
            break;
        if (window->words[(m->user[i].at - m->sp) / 8 & (KERNEL_WINDOW - 1)] != m->user[i].value)
            return false;
    }
    return true;
}

static __always_inline bool is_far_same(struct stack_cache *m)
{
    for (__u32 i = 0; i < WALK_WORDS; i++) {
        __u64 now;
        if (i >= m->user_count)
            break;
        if (bpf_probe_read_user(&now, sizeof(now), (void *)m->user[i].at) || now != m->user[i].value)
            return false;
    }
    return true;
}

static __always_inline bool is_as_remembered(
    void *ctx, struct stack_cache *m, struct task_struct *task, struct pt_regs *regs)
{
    if (!m->key || m->ip != REGS_IP(regs) || m->sp != regs->sp || m->bp != REGS_BP(regs) ||
        m->exec_vm != LOOSE(task_struct, task)->mm->exec_vm || m->epoch != wp_stack_epoch ||
        m->generation != wp_unwind_generation || m->exec_id != task->self_exec_id)
        return false;
    __u64 frame = number_of(&m->place, ctx), top = stack_top(m, task);
    for (__u32 i = 0; i < KERNEL_WORDS; i++) {
        if (i >= m->kernel_count)
            break;
        if (word_at(kernel_word(m, i, frame, top)) != m->kernel[i].value)
            return false;
    }
    return m->near_size ? is_near_same(m) : is_far_same(m);
}

/* An interpreter's frames change without a word of the stack: they are walked again. */
static __always_inline bool is_interp_same(struct stack_cache *m, struct task_struct *task, struct stack_record *r)
{
    if (!wp_interps || !m->interp)
        return true;
    walk_interp((struct interp_words *)r->ips, 0);
    return interp_hash(0) == m->interp;
}

struct search {
    struct stack_cache *cache;
    struct stack_record *record;
    struct window *window;
};

/* One word of the kernel's stack: is it the next return address? The innermost ones lie below it, in this program's
 * frame. */
static long look_at_word(__u32 index, void *argument)
{
    struct search *search = argument;
    struct stack_cache *m = search->cache;
    struct stack_record *r = search->record;
    if (!m || !r || !search->window || index >= m->kernel_words || m->kernel_count >= KERNEL_WORDS ||
        m->kernel_next >= r->head.kernel_ips)
        return 1;
    __u32 place = index, next = m->kernel_next;
    barrier_var(place);
    __u64 word = search->window->words[place & (KERNEL_WINDOW - 1)];
    if (!m->kernel_count) {
        if (word == r->ips[(next + 1) & 63])
            next += 1;
        else if (word == r->ips[(next + 2) & 63])
            next += 2;
        else if (word == r->ips[(next + 3) & 63])
            next += 3;
    }
    if (word != r->ips[next & 63])
        return 0;
    __u32 count = m->kernel_count;
    m->kernel[count & (KERNEL_WORDS - 1)].at = place * 8ull;
    m->kernel[count & (KERNEL_WORDS - 1)].value = word;
    m->kernel_count = count + 1;
    m->kernel_next = next + 1;
    return 0;
}

/* Finds the words that hold the kernel's return addresses; false when not all of them are found. */
static __always_inline bool find_kernel_words(struct stack_cache *m, struct stack_record *r, __u64 top)
{
    __u32 zero = 0;
    struct search search = {.cache = m, .record = r, .window = bpf_map_lookup_elem(&windows, &zero)};
    __u64 size = top - m->kernel_at;
    if (!search.window || top <= m->kernel_at)
        return false;
    if (size > sizeof(struct window))
        size = sizeof(struct window);
    barrier_var(size);
    if (size > sizeof(struct window) || bpf_probe_read_kernel(search.window, size, (void *)m->kernel_at))
        return false;
    m->kernel_words = (__u32)size / 8;
    m->kernel_count = m->kernel_next = 0;
    bpf_loop(KERNEL_WINDOW, look_at_word, &search, 0);
    if (!m->kernel_count || m->kernel_next < r->head.kernel_ips)
        return false;
    struct word *outermost = &m->kernel[(m->kernel_count - 1) & (KERNEL_WORDS - 1)];
    outermost->at = top - (m->kernel_at + outermost->at);
    return true;
}

static __always_inline void remember(void *ctx, struct stack_cache *m, struct stack_record *r, struct task_struct *task,
    struct pt_regs *regs, __u32 which)
{
    struct walk *w = bpf_map_lookup_elem(&walks, &which);
    m->key = 0;
    if (!w || w->word_count > WALK_WORDS)
        return;
    m->kernel_at = number_of(&m->place, ctx);
    if (!find_kernel_words(m, r, stack_top(m, task)))
        return;
    m->ip = REGS_IP(regs);
    m->sp = regs->sp;
    m->bp = REGS_BP(regs);
    m->exec_vm = LOOSE(task_struct, task)->mm->exec_vm;
    m->epoch = wp_stack_epoch;
    m->generation = wp_unwind_generation;
    m->exec_id = task->self_exec_id;
    m->user_count = w->word_count;
    __u64 span = w->highest + 8 - m->sp;
    m->near_size = !((w->mixed | m->sp) & 7) && w->highest >= m->sp && span <= sizeof(struct window) ? (__u32)span : 0;
    bpf_probe_read_kernel(m->user, sizeof(m->user), w->words);
    m->interp = wp_interps ? apart_hash(which) : 0;
    m->key = r->head.stack_key;
}

#endif
