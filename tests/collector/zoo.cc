// SPDX-License-Identifier: Apache-2.0
// zoo WAY [LIBRARY]: sleeps again and again at one place, reached in a way that unwinders find hard. The same stack each time.
#include <alloca.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <stdexcept>
#include <thread>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone, noipa))

KEPT static void rest()
{
    for (;;) {
        struct timespec ts = {0, 20000000};
        nanosleep(&ts, nullptr);
    }
}

KEPT static int plain(int depth)
{
    if (!depth)
        rest();
    int below = plain(depth - 1);
    return below * 3 + depth;
}

// A frame whose size is known at run time only: the frame is found by bp.
KEPT static int sized(int size)
{
    volatile char *room = static_cast<char *>(alloca(static_cast<size_t>(size)));
    room[size - 1] = 1;
    int below = plain(3);
    return room[0] + below;
}

// A frame on a stack that is realigned: its caller's is found through memory.
KEPT __attribute__((force_align_arg_pointer)) static int realigned(int size)
{
    alignas(64) volatile char wide[128];
    volatile char *room = static_cast<char *>(alloca(static_cast<size_t>(size)));
    wide[5] = room[size - 1] = 2;
    int below = sized(size);
    return wide[5] + below;
}

// Frames that are larger than what most rows have room for.
template <int SIZE> KEPT static int wide(int depth)
{
    volatile char room[SIZE];
    room[depth] = 3;
    int below = depth ? wide<SIZE>(depth - 1) : plain(2);
    return room[depth] + below;
}

static void on_signal(int)
{
    plain(2);
}

KEPT static int signalled()
{
    signal(SIGUSR1, on_signal);
    int rc = raise(SIGUSR1);
    return rc + plain(1);
}

static int compare(const void *a, const void *b)
{
    plain(1);
    return memcmp(a, b, 1);
}

KEPT static int sorted()
{
    char text[] = "zoo of stacks";
    qsort(text, sizeof(text) - 1, 1, compare);
    return text[0];
}

KEPT static int thrown(int depth)
{
    if (!depth)
        throw std::runtime_error("up");
    int below = thrown(depth - 1);
    return below + depth;
}

KEPT static int caught()
{
    try {
        return thrown(5);
    } catch (const std::exception &error) {
        return plain(3) + error.what()[0];
    }
}

struct sleeper {
    KEPT ~sleeper() { plain(2); }
};

// Sleeps in a destructor while the exception is on its way: the unwinder of C++ stands between.
KEPT static int destroyed()
{
    try {
        sleeper one;
        return thrown(4);
    } catch (...) {
        return 1;
    }
}

KEPT static int threaded()
{
    std::thread other([] { plain(4); });
    other.join();
    return 0;
}

// As hand-written code does it: the caller's stack pointer is in a register, or on the stack, and its frame is described by that.
asm(R"(
        .text
        .type held_nap, @function
held_nap:
        .cfi_startproc
        leaq 8(%rsp), %r9
        .cfi_def_cfa %r9, 0
        subq $232, %rsp
        xorl %esi, %esi
1:      movl $35, %eax
        syscall
        jmp 1b
        .cfi_endproc
        .size held_nap, . - held_nap
        .type kept_nap, @function
kept_nap:
        .cfi_startproc
        movq %rsp, %rax
        .cfi_def_cfa_register %rax
        pushq %rbp
        .cfi_offset %rbp, -16
        subq $160, %rsp
        movq %rax, 80(%rsp)
        .cfi_escape 0x0f, 0x06, 0x77, 0xd0, 0x00, 0x06, 0x23, 0x08 # the frame is at *(rsp + 80) + 8
        xorl %esi, %esi
        xorl %ebp, %ebp
2:      movl $35, %eax
        syscall
        jmp 2b
        .cfi_endproc
        .size kept_nap, . - kept_nap
)");
extern "C" int held_nap(const struct timespec *), kept_nap(const struct timespec *);

KEPT static int by_hand(int (*nap)(const struct timespec *), int depth)
{
    struct timespec ts = {0, 20000000};
    int below = depth ? by_hand(nap, depth - 1) : nap(&ts);
    return below * 3 + depth;
}

static const char *library;
static char **arguments;

// Code that was not there when the program began; it calls back.
KEPT static int loaded()
{
    void *handle = dlopen(library, RTLD_NOW);
    auto call = handle ? reinterpret_cast<int (*)(int (*)(int))>(dlsym(handle, "call_back")) : nullptr;
    return call ? call(plain) + 1 : 1;
}

// Another program under the same number, mapped where it likes.
KEPT static int executed()
{
    char way[] = "plain";
    char *args[] = {arguments[0], way, nullptr};
    if (arguments[2] == nullptr) {
        char again[] = "again", self[] = "executed";
        char *first[] = {arguments[0], self, again, nullptr};
        execv("/proc/self/exe", first);
    }
    return execv("/proc/self/exe", args);
}

int main(int argc, char **argv)
{
    library = argc > 2 ? argv[2] : "";
    arguments = argv;
    static const struct { const char *name; int (*call)(); } ways[] = {{"plain", [] { return plain(6); }},
        {"sized", [] { return sized(333); }}, {"realigned", [] { return realigned(77); }}, {"signalled", signalled},
        {"sorted", sorted}, {"caught", caught}, {"destroyed", destroyed}, {"threaded", threaded},
        {"wide", [] { return wide<100000>(2); }}, {"wider", [] { return wide<1500000>(1); }}, {"loaded", loaded}, {"executed", executed},
        {"held", [] { return by_hand(held_nap, 4); }}, {"kept", [] { return by_hand(kept_nap, 4); }}};
    for (const auto &way : ways)
        if (argc > 1 && !strcmp(argv[1], way.name))
            return way.call() & 1;
    return 64;
}
