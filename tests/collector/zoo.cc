// SPDX-License-Identifier: Apache-2.0
// zoo WAY: sleeps again and again at one place, reached in a way that unwinders find hard. The same stack each time.
#include <alloca.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

int main(int argc, char **argv)
{
    static const struct { const char *name; int (*call)(); } ways[] = {{"plain", [] { return plain(6); }},
        {"sized", [] { return sized(333); }}, {"realigned", [] { return realigned(77); }}, {"signalled", signalled},
        {"sorted", sorted}, {"caught", caught}, {"destroyed", destroyed}, {"threaded", threaded}};
    for (const auto &way : ways)
        if (argc > 1 && !strcmp(argv[1], way.name))
            return way.call() & 1;
    return 64;
}
