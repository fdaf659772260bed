/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_MODERATION_H
#define WP_REPORTER_COMPARE_MODERATION_H
/*
 * How much more a row varies from one recording to the next than inside of one. A few recordings tell that badly of one
 * row, but there are many rows: their variance ratios are taken for draws from one distribution, a scaled F, whose two
 * parameters the ratios themselves tell, and each row's ratio is drawn towards its middle by as much as that
 * distribution is narrow. This is the moderated t of Smyth (Linear models and empirical Bayes methods for assessing
 * differential expression in microarray experiments, Statistical Applications in Genetics and Molecular Biology 3,
 * 2004, sections 6.1 and 6.2). Where rows really differ it is wide, and each row speaks for itself.
 */
#include <stddef.h>

struct wp_variance_ratio {
    double ratio;   /* between recordings over within them, of the variance of a rate */
    double freedom; /* degrees of freedom of the former, > 0 */
};

struct wp_moderation {
    double ratio;   /* of a row that nothing is known of */
    double freedom; /* how much that is worth; 0: nothing */
};

/* From the ratios of rows; fewer than three tell nothing. */
struct wp_moderation wp_moderation_of(const struct wp_variance_ratio *ratios, size_t count);
/* One row's ratio as it is to be taken, and what it is worth. */
struct wp_variance_ratio wp_moderate(const struct wp_moderation *all, const struct wp_variance_ratio *row);

#endif
