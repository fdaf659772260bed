/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SESSION_AGGREGATE_BUCKET_H
#define WP_AGGREGATOR_SESSION_AGGREGATE_BUCKET_H
/* Which bucket of the store (storage/value/bucket.h) an aggregate's reports go to: by its selector, by how the
 * session's host samples, and by the tolerances of the explanation. */
#include "aggregator/session/host_session_types.h"

/* Sets `bucket` and `bucket_facts` of an aggregate whose options are set. -ENOMEM. */
int wp_aggregate_choose_bucket(struct wp_aggregate *aggregate, const struct wp_host_session *session);

#endif
