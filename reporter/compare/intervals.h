/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_INTERVALS_H
#define WP_REPORTER_COMPARE_INTERVALS_H
/*
 * The recordings that a report sums, as far as it tells: intervals of activity with gaps between them. How a row varies
 * from one to the next says what no single recording knows of itself. Intervals are the ultimate clusters of survey
 * sampling (Hansen, Hurwitz and Madow, Sample Survey Methods and Theory, 1953; Cochran, Sampling Techniques, 3rd ed.,
 * 1977, 9A): each gives one figure, whatever hangs together inside it, and the spread of these is the error of their
 * mean.
 */
#include "reporter/compare/significance.h"
#include "storage/report/report.h"

#include <stdbool.h>

/* The intervals of one operand; owns its arrays. */
struct wp_operand_intervals {
    uint32_t *of_bucket; /* which interval most of a bucket's activity lies in */
    double *wall_ns;     /* activity of each, ascending in time */
    uint32_t count;      /* 1 when nothing parts them */
};

/* At most `recordings` of them, parted by the longest gaps. -ENOMEM. */
int wp_intervals_find(struct wp_operand_intervals *intervals, const struct wp_report *report, uint64_t recordings);
/* Frees both arrays; zeroed intervals are allowed. */
void wp_intervals_fini(struct wp_operand_intervals *intervals);

enum wp_interval_unit {
    WP_INTERVAL_SIZE,   /* what is divided by is the sum of `activity` */
    WP_INTERVAL_ITSELF, /* each interval counts one: a command that is run again and again */
};

/*
 * The error of a rate (of `part` by bucket, as of wp_rate_of) between the intervals, in the units of `rate`. Its
 * degrees of freedom are one less than there are intervals of equal size (Kish's effective number where they differ); 0
 * when there is only one.
 */
struct wp_measured_rate wp_intervals_rate(const struct wp_operand_intervals *intervals,
    const struct wp_measured_rate *rate, const double *part, const double *activity, size_t buckets,
    enum wp_interval_unit unit);

/* Whether each interval has some of `part`. */
bool wp_intervals_have_all(const struct wp_operand_intervals *intervals, const double *part, size_t buckets);

#endif
