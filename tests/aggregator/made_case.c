/* SPDX-License-Identifier: Apache-2.0 */
#include "made_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* cmocka wants the headers above */
#include <cmocka.h>

static unsigned long setting(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);
    return text ? strtoul(text, NULL, 0) : otherwise;
}

void made_case_begin(struct made_case *c, uint64_t seed, unsigned host_count)
{
    *c = (struct made_case){.host_count = host_count, .random = {seed}, .lateness_ns = LATENESS};
    assert_int_equal(wp_clocks_create(&c->clocks), 0);
    for (uint32_t i = 0, node; i < host_count; i++) {
        assert_int_equal(wp_clocks_add(c->clocks, &node), 0);
        assert_int_equal(node, i);
        c->hosts[i].offset_ns =
            2.0L * 3600 * SECOND + made_between(&c->random, -3600 * (int64_t)SECOND, 3600 * (int64_t)SECOND);
        c->hosts[i].drift = (long double)made_between(&c->random, -200000, 200000) * 1e-9L;
    }
}

void made_case_end(struct made_case *c)
{
    wp_clocks_destroy(c->clocks);
}

struct made_link *made_case_link(
    struct made_case *c, uint32_t a, uint32_t b, uint64_t period_ns, uint64_t most_delay_ns)
{
    struct made_link *link = &c->links[c->link_count++];
    *link = (struct made_link){.a = a, .b = b, .period_ns = period_ns, .phase_ns = made_next(&c->random) % period_ns};
    for (int i = 0; i < 2; i++)
        link->delay_ns[i] = (uint64_t)made_between(&c->random, 20000, (int64_t)most_delay_ns);
    link->jitter_ns = (uint64_t)made_between(&c->random, 1000, (int64_t)link->delay_ns[0]);
    return link;
}

struct made_turn *made_turn_at(struct made_clock *clock, uint64_t at_ns, long double step_ns, long double drift)
{
    clock->turns[clock->turn_count] = (struct made_turn){at_ns, step_ns, drift};
    return &clock->turns[clock->turn_count++];
}

void made_case_run(struct made_case *c, uint64_t until_ns)
{
    made_run(c->clocks, c->hosts, c->links, c->link_count, until_ns, &c->random);
    c->run_until_ns = until_ns;
}

/* A clock that goes back shows the same times twice; which is meant cannot be told. */
bool made_is_shown_twice(const struct made_case *c, uint32_t host, uint64_t time_ns, uint64_t margin_ns)
{
    const struct made_clock *clock = &c->hosts[host];
    for (unsigned i = 0; i < clock->turn_count; i++) {
        long double back_ns = -clock->turns[i].step_ns, after_ns = (long double)time_ns - clock->turns[i].at_ns;
        if (back_ns <= 0 || fabsl(after_ns) > back_ns * 1.001L)
            continue;
        long double other_ns = after_ns < 0 ? (long double)time_ns + back_ns : (long double)time_ns - back_ns;
        if (other_ns > -(long double)margin_ns && other_ns < (long double)(c->run_until_ns + margin_ns))
            return true;
    }
    return false;
}

/* What is asked for must be true; what is not settled only if `wants_all`. */
bool made_case_ask(
    struct made_case *c, uint32_t from, uint32_t to, uint64_t time_ns, bool wants_all, struct wp_offset *offset)
{
    enum made_answer answer = made_ask(c->clocks, c->hosts, from, to, time_ns, offset);
    c->asked++;
    c->unknown += answer == MADE_UNKNOWN;
    c->unsettled += answer != MADE_UNKNOWN && !offset->is_settled;
    if (answer == MADE_WRONG && (wants_all || offset->is_settled) && !made_is_shown_twice(c, from, time_ns, SECOND))
        fail_msg("%u to %u at %.3f s: the truth is not inside %llu ns", from, to, (double)time_ns / 1e9,
            (unsigned long long)offset->bound_ns);
    return answer != MADE_UNKNOWN;
}

double made_one_way(const struct made_link *link)
{
    return (double)(link->delay_ns[0] + link->delay_ns[1]) / 2 + (double)link->jitter_ns;
}

/* Runs on to `until_ns` and asks ten times a second, in either direction; the mean bound of what was answered. */
double made_case_inquire(struct made_case *c, uint64_t from_ns, uint64_t until_ns, bool wants_all)
{
    double sum = 0;
    unsigned count = 0;
    for (uint64_t t = from_ns; t < until_ns; t += (uint64_t)made_between(&c->random, SECOND / 20, SECOND / 7)) {
        struct wp_offset offset;
        uint32_t from = (uint32_t)made_between(&c->random, 0, c->host_count - 1);
        uint32_t to = (from + (uint32_t)made_between(&c->random, 1, c->host_count - 1)) % c->host_count;
        made_case_run(c, t + c->lateness_ns);
        if (made_case_ask(c, from, to, t, wants_all, &offset)) {
            sum += (double)offset.bound_ns;
            count++;
        }
    }
    return count ? sum / count : INFINITY;
}

void made_run_cases(made_case_check one, unsigned long count)
{
    unsigned long only = setting("WP_SEED", 0);
    count = setting("WP_CASES", count);
    for (unsigned long seed = only ? only : 1; seed <= (only ? only : count); seed++) {
        if (only)
            print_message("seed %lu\n", seed);
        one(seed * 7919);
    }
}
