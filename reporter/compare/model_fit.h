/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_MODEL_FIT_H
#define WP_REPORTER_COMPARE_MODEL_FIT_H
/*
 * Curves through points by least squares, in the order in which they grow. A power and an exponential are fitted to
 * logarithms, as regression tools do (Draper and Smith, Applied Regression Analysis, 3rd ed., 1998, chapter 24); how
 * well any of them fits is always said of the points themselves, so that they can be compared.
 */
#include <stdbool.h>
#include <stddef.h>

enum wp_model_kind {
    WP_MODEL_CONSTANT,
    WP_MODEL_LOGARITHMIC,
    WP_MODEL_LINEAR,
    WP_MODEL_QUADRATIC,
    WP_MODEL_POWER,
    WP_MODEL_EXPONENTIAL,
    WP_MODELS
};

/* A fitted curve. */
struct wp_model {
    enum wp_model_kind kind;
    double b[3];
    double r_square; /* of a constant: what no growth explains */
};

/* The best of them for some points, and between which x those lie. */
struct wp_fitted {
    struct wp_model model;
    double from, to;
};

/* "constant", "logarithmic" ... */
const char *wp_model_key(enum wp_model_kind kind);
/* The value of the curve at x; a logarithm or a power needs x > 0. */
double wp_model_at(const struct wp_model *model, double x);
/* The one with the greatest r_square of those that fit; of equals the one that grows least. x > 0; false: fewer than
 * four points. */
bool wp_model_best(struct wp_model *best, const double *x, const double *y, size_t count);
/* The same, with the interval; x ascends. */
bool wp_model_fit(struct wp_fitted *fitted, const double *x, const double *y, size_t count);
/* How many of b[] the curve has. */
unsigned wp_model_terms(enum wp_model_kind kind);

#endif
