/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_EXPLAINED_H
#define WP_AGGREGATOR_ACCOUNT_EXPLAINED_H
/*
 * What an interval of a base thread's time consisted of, for those that look at it after its epoch was accounted for:
 * transactions and windows. The account's own explanation is read (request_pieces.h). What is not whole in it is
 * explained apart; all of it, when a host has left since.
 */
#include <stdint.h>

struct wp_aggregate;
struct wp_interval;
struct wp_request_parts;
struct wp_sink;

/* `parts`: those of its thread; NULL: they are looked up. */
struct wp_explained {
    const struct wp_interval *interval; /* of a thread of the aggregate's host */
    const struct wp_request_parts *parts;
    uint64_t window_ns; /* what is explained apart begins there, or with the interval, and stays until the epoch is
                         * done, for a window that is kept; UINT64_MAX: it does not */
};

/* The sink gets the pieces of the interval, latest first, and nothing else. */
void wp_explained_tell(
    struct wp_aggregate *aggregate, const struct wp_explained *explained, const struct wp_sink *sink);

#endif
