/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_TRANSACTIONS_H
#define WP_REPORTER_PAGE_PAGE_TRANSACTIONS_H
/* How long requests take, and why the slow ones do. */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"
#include "reporter/requests/slow_requests.h"

/* The page of requests, by service, or a notice that there are none. Out of memory: display->pool.failed. */
void wp_page_transactions(struct wp_display *display, const struct wp_facts *facts);
/* A chart of a service's latencies; borrows its columns. Out of memory: display->pool.failed. */
void wp_page_latency(struct wp_display *display, const struct wp_service_fact *service);

#endif
