/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_RECORDING_UNSAMPLED_H
#define WP_REPORTER_RECORDING_UNSAMPLED_H
/* Hosts of a report whose kernel gave no CPU samples though they were asked for: their time is accounted for, and no
 * function that ran there is known. As the last session of each host said (host.NAME.samples of the release's
 * metadata). */
#include "reporter/facts/facts.h"

struct wp_unsampled_host {
    const char *host, *why;
};

/* facts->unsampled, from the hosts and the metadata that are there. */
void wp_unsampled_build(struct wp_facts *facts);
/* One or two sentences of them all: what it means, and what to do; NULL when there is none. */
const char *wp_unsampled_sentence(struct wp_pool *pool, const struct wp_facts *facts);

#endif
