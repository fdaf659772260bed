/* SPDX-License-Identifier: Apache-2.0 */
#include "common/rate.h"

bool wp_rate_allow(struct wp_rate *rate, uint64_t now_ns, uint64_t interval_ns, uint32_t burst)
{
    uint64_t due_ns = rate->due_ns > now_ns ? rate->due_ns : now_ns;
    if (!burst || due_ns - now_ns > (burst - 1) * interval_ns)
        return false;
    rate->due_ns = due_ns + interval_ns;
    return true;
}
