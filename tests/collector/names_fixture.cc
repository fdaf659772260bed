/* SPDX-License-Identifier: Apache-2.0 */
// Sleeps inside a template's method inside a namespace, by a function that is inlined: names_fixture N
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

namespace shop {

static inline __attribute__((always_inline)) void pause_ms(int ms)
{
    timespec pause = {0, ms * 1000000L};
    nanosleep(&pause, nullptr); // line 13
}

template <typename T> class Till {
public:
    __attribute__((noinline)) size_t settle(const T &)
    {
        pause_ms(2); // line 20
        return ++count;
    }
private:
    size_t count = 0;
};

} // namespace shop

int main(int argc, char **argv)
{
    shop::Till<std::vector<std::string>> till;
    size_t all = 0;
    for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 1); i++)
        all += till.settle({});
    return all ? 0 : 1;
}
