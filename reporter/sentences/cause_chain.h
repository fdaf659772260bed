/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SENTENCES_CAUSE_CHAIN_H
#define WP_REPORTER_SENTENCES_CAUSE_CHAIN_H
/* Who is asked waits for others itself, and the last one of them runs. */
#include "reporter/causes/cause_case.h"

/* "; that one waits in `render` (web.c:2) for sh, which waits for gzip, which runs its own code, first of all in
 * `deflate`", of a service that is asked: where one that it waits for runs in half of the cause's time or more. ""
 * else. In the facts' pool. */
const char *wp_cause_chain_text(const struct wp_cause_case *of);
/* Whether who is asked in the sleep `first` answers when another one of its clients has done something, in half of the
 * cause's time or more: who asks then waits for work. */
bool wp_cause_chain_is_of_client(const struct wp_cause_case *of, uint32_t first);

#endif
