/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/finding_beside.h"

#define LEAST_SHARE 10u /* of the total */
#define RANK_SHARE 4u   /* of its time: the same time is told as what is waited for */

void wp_finding_beside_raise(struct wp_facts *facts)
{
    struct wp_finding *longest = NULL;
    uint64_t first_ns = 0;
    for (size_t i = 0; i < facts->finding_count; i++) {
        struct wp_finding *finding = &facts->findings[i];
        first_ns = finding->rank_ns > first_ns ? finding->rank_ns : first_ns;
        if (finding->is_told_beside && !finding->rank_ns && (!longest || finding->ns > longest->ns))
            longest = finding;
    }
    if (longest && first_ns && longest->ns >= facts->total_ns / LEAST_SHARE)
        longest->rank_ns = longest->ns / RANK_SHARE < first_ns ? longest->ns / RANK_SHARE : first_ns - 1;
}
