/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile_ruby_fixture: sleeps while what Ruby keeps of its frames is nonsense. Lines of output: [thread, from, to,
 * most], CLOCK_MONOTONIC ns: in that sleep there are at most so many frames of Ruby. Status 77: there is no Ruby 3.1.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FRAMES 4096u
#define NOWHERE 0x600000000000u
#define ISEQ 0x701au

struct frame {
    uintptr_t pc, sp, iseq, self, ep, block, bp, jit;
};

struct state {
    uintptr_t stack, words, frame;
};

/* What a case has of it. */
struct places {
    struct frame frames[FRAMES];
    uintptr_t flags, iseq[5], body[64], code[16], text[5], path[5];
    char name[512];
};

struct nonsense {
    struct places places;
    struct state state;
    uintptr_t *current; /* ruby_current_ec */
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Frames without end of a function with a name of 2^62 bytes and a table of lines that is nowhere. */
static void fill(struct nonsense *n)
{
    struct places *p = &n->places;
    memset(p, 0, sizeof(*p));
    p->flags = 0x11110021; /* a method, with which its call ends */
    p->iseq[0] = ISEQ;
    p->iseq[2] = (uintptr_t)p->body;
    p->body[0] = (uintptr_t)16 << 32;
    p->body[1] = (uintptr_t)p->code;
    p->body[8] = (uintptr_t)p->path;
    p->body[10] = (uintptr_t)p->text;
    p->body[15] = p->body[18] = NOWHERE;
    p->body[17] = 0x7fffffff;
    p->text[0] = 5 | 1 << 13;
    p->text[2] = (uintptr_t)1 << 62;
    p->text[3] = (uintptr_t)memset(p->name, 'x', sizeof(p->name));
    p->path[0] = 7 | 1 << 13;
    p->path[2] = p->path[3] = (uintptr_t)p->path;
    for (unsigned i = 0; i < FRAMES; i++)
        p->frames[i] =
            (struct frame){.pc = (uintptr_t)&p->code[i % 8], .iseq = (uintptr_t)p->iseq, .ep = (uintptr_t)&p->flags};
    n->state = (struct state){(uintptr_t)p->frames, sizeof(p->frames) / 8, (uintptr_t)&p->frames[1]};
}

static void sleep_with(struct nonsense *n, unsigned most)
{
    const struct timespec nap = {.tv_nsec = 500000};
    uintptr_t real = *n->current;
    uint64_t before = now_ns();
    *n->current = (uintptr_t)&n->state;
    nanosleep(&nap, NULL);
    *n->current = real;
    printf("[%d,%" PRIu64 ",%" PRIu64 ",%u]\n", getpid(), before, now_ns(), most);
}

static uintptr_t sleep_often(uintptr_t argument)
{
    struct nonsense *n = (struct nonsense *)argument;
    for (unsigned i = 0; i < 200; i++) {
        struct frame *first = &n->places.frames[1];
        uintptr_t *const changed[] = {&first->iseq, &first->iseq, &first->iseq, &first->ep, &first->pc, &first->pc,
            &n->state.stack, &n->state.words, &n->state.words, &n->state.frame, &n->state.frame, &n->places.iseq[2],
            &n->places.iseq[0], &n->places.flags, &n->places.body[1]};
        const uintptr_t values[] = {NOWHERE, (uintptr_t)n, (uintptr_t)n->places.iseq + 1, NOWHERE, 8, UINTPTR_MAX,
            UINTPTR_MAX, (uintptr_t)1 << 40, UINTPTR_MAX, NOWHERE, 1, NOWHERE, 0, 0, UINTPTR_MAX};
        const unsigned cases = sizeof(values) / sizeof(*values), which = i % (cases + 1);
        fill(n);
        if (which < cases)
            *changed[which] = values[which];
        sleep_with(n, which < cases ? 0 : 128);
    }
    return 8;
}

/* Sleeps on a stack that leads through Ruby. */
int main(void)
{
    void *ruby = dlopen("libruby-3.1.so.3.1", RTLD_NOW | RTLD_GLOBAL);
    if (!ruby)
        return 77;
    struct nonsense *n = calloc(1, sizeof(*n));
    void (*init)(void) = (void (*)(void))dlsym(ruby, "ruby_init");
    uintptr_t (*protect)(uintptr_t(*)(uintptr_t), uintptr_t, int *) =
        (uintptr_t(*)(uintptr_t(*)(uintptr_t), uintptr_t, int *))dlsym(ruby, "rb_protect");
    int status = 0;
    if (!n || !init || !protect)
        return 1;
    init();
    n->current = dlsym(ruby, "ruby_current_ec");
    if (!n->current)
        return 1;
    protect(sleep_often, (uintptr_t)n, &status);
    free(n);
    return status;
}
