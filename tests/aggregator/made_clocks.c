/* SPDX-License-Identifier: Apache-2.0 */
#include "made_clocks.h"

#include <math.h>

uint64_t made_next(struct made_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double made_unit(struct made_random *random)
{
    return (double)(made_next(random) >> 11) / 9007199254740992.0;
}

int64_t made_between(struct made_random *random, int64_t low, int64_t high)
{
    return low + (int64_t)(made_next(random) % (uint64_t)(high - low + 1));
}

uint64_t made_reading(const struct made_clock *clock, uint64_t time_ns)
{
    long double time = (long double)time_ns, reading = time + time * clock->drift + clock->offset_ns;
    if (clock->swing_ns != 0)
        reading += clock->swing_ns * sinl(2 * 3.14159265358979323846L * time / clock->swing_period_ns);
    for (unsigned i = 0; i < clock->turn_count; i++)
        if (time >= clock->turns[i].at_ns)
            reading += clock->turns[i].step_ns + (time - clock->turns[i].at_ns) * clock->turns[i].drift;
    return (uint64_t)floorl(reading);
}

static uint64_t delay(const struct made_link *link, int way, struct made_random *random)
{
    return link->delay_ns[way] + (uint64_t)(-log(1 - made_unit(random)) * (double)link->jitter_ns);
}

static void exchange(struct wp_clocks *clocks, const struct made_clock *hosts, const struct made_link *link,
    uint64_t at_ns, struct made_random *random)
{
    uint64_t there_ns = at_ns + delay(link, 0, random), answer_ns = there_ns + 20000;
    uint64_t back_ns = answer_ns + delay(link, 1, random);
    const struct made_clock *a = &hosts[link->a], *b = &hosts[link->b];
    wp_clocks_message(clocks, link->a, made_reading(a, at_ns), link->b, made_reading(b, there_ns));
    wp_clocks_message(clocks, link->b, made_reading(b, answer_ns), link->a, made_reading(a, back_ns));
}

void made_run(struct wp_clocks *clocks, const struct made_clock *hosts, struct made_link *links, unsigned link_count,
    uint64_t until_ns, struct made_random *random)
{
    for (unsigned i = 0; i < link_count; i++) {
        struct made_link *link = &links[i];
        for (; link->next_ns + link->phase_ns < until_ns; link->next_ns +=
             link->is_random ? (uint64_t)(-log(1 - made_unit(random)) * (double)link->period_ns) : link->period_ns)
            if (!link->until_ns || link->next_ns + link->phase_ns < link->until_ns)
                exchange(clocks, hosts, link, link->next_ns + link->phase_ns, random);
    }
}

enum made_answer made_ask(struct wp_clocks *clocks, const struct made_clock *hosts, uint32_t from, uint32_t to,
    uint64_t time_ns, struct wp_offset *offset)
{
    uint64_t here = made_reading(&hosts[from], time_ns), there = made_reading(&hosts[to], time_ns);
    if (!wp_clocks_map(clocks, from, here, to, offset))
        return MADE_UNKNOWN;
    __int128 error = (__int128)(int64_t)(there - here) - offset->offset_ns;
    return (error < 0 ? -error : error) <= (__int128)offset->bound_ns ? MADE_TRUE : MADE_WRONG;
}
