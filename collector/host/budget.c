/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/host/budget.h"

#include "common/clock.h"

#include <math.h>

#define SECOND WP_NS_PER_S
#define FAR_OVER 8.0 /* times the limit: stacks alone will not do */
#define WAIT_NS (4ull * SECOND)
#define WAIT_MOST_NS (64ull * SECOND)
#define CALM_NS (60ull * SECOND) /* without too much: earlier mistakes are forgotten */

void wp_budget_init(struct wp_budget *b, double limit_percent)
{
    *b = (struct wp_budget){
        .limit_percent = limit_percent, .wait_ns = WAIT_NS, .credit_ns = limit_percent / 100 * WP_BUDGET_CREDIT_NS};
}

void wp_budget_change(struct wp_budget *b, double limit_percent)
{
    struct wp_budget before = *b;
    wp_budget_init(b, limit_percent);
    b->share_percent = before.share_percent;
    if (limit_percent > 0 && before.level) { /* taken back one by one, as far as it goes */
        b->level = before.level;
        b->credit_ns = 0;
    }
}

/* From a quarter on a window keeps its length, since a wait that its end cuts is not explained, and comes less often.
 */
static uint64_t period_ns(const struct wp_budget *b)
{
    unsigned by_level = b->level > WP_BUDGET_WINDOWS ? b->level - WP_BUDGET_WINDOWS - 1 : 0;
    return (uint64_t)WP_BUDGET_PERIOD_NS << (by_level > b->doublings ? by_level : b->doublings);
}

/* How long one level is looked at before it is judged. Windows: a whole period. */
static uint64_t judging_ns(const struct wp_budget *b)
{
    return b->level >= WP_BUDGET_WINDOWS ? period_ns(b) : b->level ? SECOND : SECOND / 4;
}

void wp_budget_lengthen(struct wp_budget *b, uint64_t list_ns)
{
    unsigned doublings = b->level >= WP_BUDGET_WINDOWS ? b->doublings : 0;
    if (b->limit_percent <= 0)
        return;
    double part = b->limit_percent / 100 * WP_BUDGET_LIST_PART;
    while (doublings < WP_BUDGET_DOUBLINGS &&
        (double)list_ns > part * (double)((uint64_t)WP_BUDGET_PERIOD_NS << doublings))
        doublings++;
    b->doublings = doublings;
}

static unsigned less(const struct wp_budget *b)
{
    double times = b->share_percent / b->limit_percent;
    unsigned level = b->level + 1;
    if (b->level < WP_BUDGET_NO_STACKS)
        level = times > FAR_OVER ? WP_BUDGET_NO_STACKS : b->level + 1;
    else if (times > 2)
        level = b->level + (unsigned)ceil(log2(times < 64 ? times : 64));
    return level < WP_BUDGET_LEVELS ? level : WP_BUDGET_LEVELS - 1;
}

static void pay(struct wp_budget *b, uint64_t now_ns, uint64_t cost_ns)
{
    double part = b->limit_percent / 100;
    double most = part * WP_BUDGET_CREDIT_NS, least = -part * WP_BUDGET_DEBT_NS;
    double spent = cost_ns > b->looked_cost_ns ? (double)(cost_ns - b->looked_cost_ns) : 0;
    b->credit_ns += part * (double)(now_ns - b->looked_ns) - spent;
    b->credit_ns = b->credit_ns > most ? most : b->credit_ns < least ? least : b->credit_ns;
    b->looked_ns = now_ns;
    b->looked_cost_ns = cost_ns;
}

static bool judge(struct wp_budget *b, uint64_t now_ns)
{
    unsigned before = b->level;
    if (b->over_ns && now_ns - b->over_ns > CALM_NS)
        b->wait_ns = WAIT_NS;
    if (b->share_percent > b->limit_percent && b->credit_ns < 0) {
        if (b->changed_ns && now_ns - b->changed_ns < CALM_NS)
            b->wait_ns = b->wait_ns < WAIT_MOST_NS ? b->wait_ns * 2 : WAIT_MOST_NS;
        b->changed_ns = 0; /* one mistake is counted once */
        b->level = less(b);
        b->over_ns = now_ns;
    } else if (b->level && b->credit_ns >= 0 && b->share_percent * 2 < b->limit_percent &&
        now_ns - b->over_ns >= b->wait_ns) {
        b->level--;
        b->changed_ns = now_ns;
    }
    return b->level != before;
}

bool wp_budget_look(struct wp_budget *b, uint64_t now_ns, uint64_t cost_ns)
{
    if (!b->looked_ns) {
        b->looked_ns = b->judged_ns = now_ns;
        b->looked_cost_ns = b->judged_cost_ns = cost_ns;
        return false;
    }
    pay(b, now_ns, cost_ns);
    uint64_t since = now_ns - b->judged_ns, whole = judging_ns(b);
    double spent = cost_ns > b->judged_cost_ns ? (double)(cost_ns - b->judged_cost_ns) : 0;
    /* A window that has cost twice what its whole period may is judged at once, as if the rest of it cost nothing. */
    bool is_far_over =
        b->level >= WP_BUDGET_WINDOWS && b->limit_percent > 0 && spent > 2 * b->limit_percent / 100 * (double)whole;
    if (since < whole && !is_far_over)
        return false;
    b->share_percent = 100 * spent / (double)(since > whole ? since : whole);
    b->share_ns = now_ns;
    b->judged_ns = now_ns;
    b->judged_cost_ns = cost_ns;
    return b->limit_percent > 0 && judge(b, now_ns);
}

bool wp_budget_pauses(const struct wp_budget *b, uint64_t real_ns)
{
    if (b->level < WP_BUDGET_WINDOWS)
        return false;
    return real_ns % period_ns(b) >= period_ns(b) >> (b->level - WP_BUDGET_WINDOWS + 1);
}

const char *wp_budget_name(unsigned level)
{
    static const char *const names[WP_BUDGET_LEVELS] = {
        "whole", "few stacks", "no stacks", "1/2", "1/4", "1/8", "1/16", "1/32", "1/64"};
    return level < WP_BUDGET_LEVELS ? names[level] : "";
}
