/* SPDX-License-Identifier: Apache-2.0 */
// Sleeps for SECONDS by another function each for the words "buy" and "sell": names_shop WORD SECONDS
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace shop {

static inline __attribute__((always_inline)) void pause_ms(int ms)
{
    timespec pause = {0, ms * 1000000L};
    nanosleep(&pause, nullptr);
}

__attribute__((noinline)) int buy(int n)
{
    pause_ms(2);
    return n + 1;
}

__attribute__((noinline)) int sell(int n)
{
    pause_ms(2);
    return n - 1;
}

} // namespace shop

int main(int argc, char **argv)
{
    time_t end = time(nullptr) + atoi(argv[argc - 1]);
    int n = 0;
    while (time(nullptr) <= end)
        n += strcmp(argv[1], "buy") ? shop::sell(n) : shop::buy(n);
    return n == 7;
}
