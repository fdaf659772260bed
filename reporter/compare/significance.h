/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_SIGNIFICANCE_H
#define WP_REPORTER_COMPARE_SIGNIFICANCE_H
/*
 * Whether two rates differ by more than they vary by themselves. docs/compare.md tells the method in words.
 *
 * A rate is a ratio of sums over buckets of time (time / activity); its variance is that of a ratio estimate (Cochran,
 * Sampling Techniques, 3rd ed., 1977, 2.11 and 6.4). Neighbouring buckets are not independent: the variance is raised
 * by (1 + r) / (1 - r) and the number of buckets lowered by it, r being the lag-one autocorrelation of the residuals
 * where it is positive (Zwiers and von Storch, J. Climate 8, 1995). Two rates are compared by Welch's t (Biometrika 34,
 * 1947), the degrees of freedom by Satterthwaite (Biometrics Bulletin 2, 1946).
 */
#include <stddef.h>

/* A rate and how well it is known. */
struct wp_measured_rate {
    double value;   /* sum of the parts / divisor */
    double error;   /* its standard error */
    double freedom; /* degrees of freedom of the error; 0: too few buckets for one */
};

/* `part[i]` of a bucket in which the activity was `activity[i]` > 0; `divisor` 0: the sum of the activity. */
struct wp_measured_rate wp_rate_of(const double *part, const double *activity, size_t count, double divisor);

/* With one more standard error, which is no estimate and has degrees of freedom without end (Satterthwaite). */
struct wp_measured_rate wp_rate_with_known(struct wp_measured_rate rate, double known_error);

/* The outcome of a t-test. */
struct wp_welch {
    double t, freedom, p; /* p: two-sided; 1 when nothing can be said */
};

/* `t` > 0: `after` is larger. p is 1 when a side has no degrees of freedom or both are equal but for rounding; 0 when
 * they differ and neither varies. */
struct wp_welch wp_welch_test(const struct wp_measured_rate *before, const struct wp_measured_rate *after);
/* P(|T| > |t|) of Student's t. */
double wp_student_tail(double t, double freedom);

/* Student's pooled t (Biometrika 6, 1908): equal sides have one variance. `freedom` 0: nothing can be said. */
struct wp_welch wp_pooled_test(
    const struct wp_measured_rate *before, const struct wp_measured_rate *after, double freedom);

/* p values adjusted for there being `count` of them; they may be the same array. Holm (Scand. J. Statistics 6, 1979)
 * bounds the chance of a single false one, with a `weight` > 0 for each as its section 4 has it (NULL: all alike);
 * Benjamini and Hochberg (J. Royal Stat. Soc. B 57, 1995) the share of false ones. -ENOMEM. */
int wp_adjust_holm(const double *p, const double *weight, double *adjusted, size_t count);
/* Benjamini and Hochberg, as described above. -ENOMEM. */
int wp_adjust_hochberg(const double *p, double *adjusted, size_t count);

#endif
