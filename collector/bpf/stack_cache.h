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
#define RUN_GAP 1024u /* bytes */
#define RUN_BELOW 64u
#define CHAINS 8u /* of a thread; a power of two */
#define CHAIN_NS 4000000u

/* Frames of an interpreter that were walked: what they said of themselves, and the hash of the walk. */
struct interp_chain {
    __u64 chain, interp, walked_ns;
};
struct interp_chains {
    struct interp_chain at[CHAINS];
};

struct stack_cache {
    __u64 ip, sp, bp, exec_vm, epoch, key;
    __u64 native;    /* hash of the addresses */
    __u64 interp;    /* hash of an interpreter's frames, 0: there is none */
    __u64 place;     /* of number_of */
    __u64 kernel_at; /* of the search: where the window begins */
    __u32 generation, exec_id;
    __u32 user_count, kernel_count;
    __u32 kernel_words, kernel_next; /* of the search */
    struct word user[WALK_WORDS];
    /* By the first word of a run: bytes that hold it, else 0; and how many of them lie below that word. */
    __u16 runs[WALK_WORDS], below[WALK_WORDS];
    struct word kernel[KERNEL_WORDS]; /* `at`: see kernel_word */
};

/* A thread that sleeps at several places by turns: those besides the one that it remembers itself. */
struct cache_place {
    __u64 ip, sp, tid;
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 4096); /* 7 MiB */
    __type(key, struct cache_place);
    __type(value, struct stack_cache);
} stack_caches SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct stack_cache);
} empty_cache SEC(".maps");

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

/* One copy of some of the user's stack is cheaper than a word at a time. */
static __always_inline bool is_user_same(struct stack_cache *m)
{
    __u32 zero = 0;
    struct window *window = bpf_map_lookup_elem(&windows, &zero);
    __u64 begin = 0;
    for (__u32 i = 0; i < WALK_WORDS; i++) {
        if (!window || i >= m->user_count)
            break;
        __u64 at = m->user[i].at, size = m->runs[i];
        if (size) {
            begin = at - m->below[i];
            barrier_var(size);
            if (size > sizeof(*window) || bpf_probe_read_user(window, size, (void *)begin))
                return false;
        }
        if (window->words[(at - begin) / 8 & (KERNEL_WINDOW - 1)] != m->user[i].value)
            return false;
    }
    return window;
}

struct runs {
    struct stack_cache *cache;
    __u64 begin, end, first; /* first: the run's first word, which is at first_at */
    __u64 first_at;
};

/* Words that lie near each other are read together: the walk goes up the stack, but for what a frame has saved below
 * its return address. */
static long add_to_run(__u32 index, void *argument)
{
    struct runs *runs = argument;
    struct stack_cache *m = runs->cache;
    __u64 i = index, first = runs->first;
    if (!m || i >= m->user_count)
        return 1;
    barrier_var(i);
    barrier_var(first);
    i &= WALK_WORDS - 1;
    first &= WALK_WORDS - 1;
    __u64 at = m->user[i].at, low = at < runs->begin ? at : runs->begin, high = at + 8 > runs->end ? at + 8 : runs->end;
    bool is_near = i && !((at - runs->begin) & 7) && runs->begin - low <= RUN_BELOW &&
        (at < runs->end || at - runs->end <= RUN_GAP) && high - low <= sizeof(struct window);
    m->runs[i] = m->below[i] = 0;
    if (!is_near) {
        first = runs->first = i;
        runs->first_at = low = at;
        high = at + 8;
    }
    runs->begin = low;
    runs->end = high;
    m->runs[first] = (__u16)(high - low);
    m->below[first] = (__u16)(runs->first_at - low);
    return 0;
}

/* `frame`: where the arguments of the tracepoint's program are. */
static __always_inline bool is_as_remembered(
    __u64 frame, struct stack_cache *m, struct task_struct *task, struct pt_regs *regs)
{
    if (!m->key || m->ip != REGS_IP(regs) || m->sp != regs->sp || m->bp != REGS_BP(regs) ||
        m->exec_vm != LOOSE(task_struct, task)->mm->exec_vm || m->epoch != wp_stack_epoch ||
        m->generation != wp_unwind_generation || m->exec_id != task->self_exec_id)
        return false;
    __u64 top = stack_top(m, task);
    for (__u32 i = 0; i < KERNEL_WORDS; i++) {
        if (i >= m->kernel_count)
            break;
        if (word_at(kernel_word(m, i, frame, top)) != m->kernel[i].value)
            return false;
    }
    return is_user_same(m);
}

/*
 * The hash of the interpreter's frames, which change without a word of the stack. Most of a walk is to look at the code
 * objects. They hold still while the frames say the same of themselves, unless one is freed, another is made at its
 * address, and a function at the same address is at the same place in that: they are looked at every CHAIN_NS.
 */
static __always_inline __u64 interp_now(struct stack_record *r, struct interp_chains *chains)
{
    __u64 chain = interp_chain(0), now_ns = r->head.time_ns;
    struct interp_chain *known = &chains->at[chain & (CHAINS - 1)];
    if (chain && known->chain == chain && now_ns - known->walked_ns < CHAIN_NS)
        return known->interp;
    walk_interp((struct interp_words *)r->ips, 0);
    __u64 found = apart_hash(0);
    if (chain)
        *known = (struct interp_chain){chain, found, now_ns};
    return found;
}

/* Of the stack in the scratch, all of whose addresses are as remembered under `key`: its key, 0: nobody knows it. */
static __always_inline __u64 key_now(__u64 key, struct stack_record *r, struct interp_chains *chains)
{
    if (!wp_interps || !r->interp)
        return key;
    __u64 interp = interp_now(r, chains);
    if (interp == r->interp)
        return key;
    key = mix(r->native, interp);
    return interp > NO_FRAMES && bpf_map_lookup_elem(&seen, &key) ? key : 0;
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

static __always_inline void remember(
    __u64 frame, struct stack_cache *m, struct stack_record *r, struct task_struct *task, struct pt_regs *regs)
{
    __u32 which = 0;
    struct walk *w = bpf_map_lookup_elem(&walks, &which);
    m->key = 0;
    if (!w || w->word_count > WALK_WORDS)
        return;
    m->kernel_at = frame;
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
    bpf_probe_read_kernel(m->user, sizeof(m->user), w->words);
    struct runs runs = {.cache = m};
    bpf_loop(WALK_WORDS, add_to_run, &runs, 0);
    m->native = r->native;
    m->interp = wp_interps ? apart_hash(which) : 0;
    m->key = r->head.stack_key;
}

/* The key of the stack at another place of the running thread, which is as remembered but for an interpreter's frames,
 * whose hash goes to the scratch of switches; 0: it is not. `at`: what tells stacks of one place apart, else 0. An
 * entry may be given to another thread meanwhile, whose place has another key. Not static, as the next one: verified
 * once. */
__noinline __u64 recall(__u64 frame, __u64 at)
{
    struct task_struct *task = current_task();
    struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
    struct stack_record *r = stack_scratch(0);
    if (!regs || !r)
        return 0;
    struct cache_place place = {.ip = at ? at : REGS_IP(regs), .sp = regs->sp, .tid = (__u32)task->pid};
    struct stack_cache *m = bpf_map_lookup_elem(&stack_caches, &place);
    __u64 key = m ? *(volatile __u64 *)&m->key : 0;
    if (!key || !is_as_remembered(frame, m, task, regs))
        return 0;
    r->interp = m->interp;
    r->native = m->native;
    return *(volatile __u64 *)&m->key == key ? key : 0;
}

/* The stack in the scratch of switches, which has just been walked. */
__noinline int remember_elsewhere(__u64 frame, __u64 at)
{
    __u32 zero = 0;
    struct task_struct *task = current_task();
    struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
    struct stack_record *r = stack_scratch(0);
    struct stack_cache *empty = bpf_map_lookup_elem(&empty_cache, &zero);
    if (!regs || !r || !empty)
        return 0;
    struct cache_place place = {.ip = at ? at : REGS_IP(regs), .sp = regs->sp, .tid = (__u32)task->pid};
    struct stack_cache *m = bpf_map_lookup_elem(&stack_caches, &place);
    if (!m && !bpf_map_update_elem(&stack_caches, &place, empty, BPF_NOEXIST))
        m = bpf_map_lookup_elem(&stack_caches, &place);
    if (m)
        remember(frame, m, r, task, regs);
    return 0;
}

#endif
