/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_CONTENTION_H
#define WP_REPORTER_COMPARE_CONTENTION_H
/*
 * Waits for a CPU that others had, in requests. Of few recordings a side nobody knows how these vary from one to the
 * next, and they are mostly the machine's: what is left of a difference without them is compared.
 */
#include "reporter/compare/compare_build.h"

/* By the request, of few recordings a side: how waits for a CPU vary from one to the next is not known. */
bool wp_compare_is_unsettled(const struct wp_compare_build *build);
/* What others than the service's own processes have of its waits for a CPU: fills build->requests.others. */
void wp_contention_find(struct wp_compare_build *build);
/* The share of such waits in the slowest `share` of the requests of a side; 0 where it is no matter. */
double wp_contention_of(const struct wp_compare_build *build, int side, double share);
/* The difference of two logarithms of times, or what is left of it when either is without its share of such waits. */
double wp_contention_rest(double difference, double before, double after);

#endif
