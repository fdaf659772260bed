/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_METHOD_H
#define WP_REPORTER_COMPARE_METHOD_H
/*
 * The ways to tell whether a row of a comparison has changed, and what each finds: how severe, at what rate, how sure.
 * The test of compare.h is the one that knows what varies by itself; the others are those that users of Perun know
 * (github.com/Perfexionists/perun, documentation "Detecting Performance Changes"). docs/compare.md has each with its
 * source.
 */
#include "reporter/compare/model_fit.h"

#include <stdbool.h>
#include <stddef.h>

enum wp_method {
    WP_METHOD_T_TEST,
    WP_METHOD_AVERAGE,  /* the average piece, against a threshold */
    WP_METHOD_MODEL,    /* the kind of curve that the row follows over the course of a recording */
    WP_METHOD_INTEGRAL, /* the area under that curve */
    WP_METHOD_LOCAL,    /* statistics of sections of the course */
    WP_METHOD_OUTLIERS, /* functions whose own time changed unlike all others', new and gone ones */
    WP_METHODS
};

enum wp_severity {
    WP_SEVERITY_NONE,
    WP_SEVERITY_UNKNOWN, /* cannot be told */
    WP_SEVERITY_MAYBE,
    WP_SEVERITY_CHANGE,
    WP_SEVERITY_SEVERE,
    WP_SEVERITY_NEW,   /* not in the older one */
    WP_SEVERITY_GONE,  /* not in the newer one */
    WP_SEVERITY_TOTAL, /* of all functions of an object together */
    WP_SEVERITY_LESS,  /* takes less: how severe is said of what takes longer alone */
};

/* What a method finds of one row. */
struct wp_assessment {
    enum wp_severity severity;
    int direction;               /* 1 takes longer, -1 less, 0 neither */
    double rate;                 /* what it is, the method says: a ratio less one, a difference of orders, a share */
    double confidence;           /* NAN: the method knows none */
    const char *confidence_kind; /* "1 - p", "r_square", "sections", "IQR_multiple", "StdDev_multiple"; NULL none */
    bool has_models;             /* of both sides, by MODEL and INTEGRAL */
    struct wp_fitted models[2];  /* rate over seconds since the recording began */
};

/* A row on one operand: its rate, interval by interval. */
struct wp_series {
    const double *part, *activity; /* by bucket; those without activity are no points */
    size_t count;
    double mean_piece; /* ns of one happening, 0 none */
};

/* "t-test", "average-amount", "best-model", "integral", "local-statistics", "exclusive-time-outliers"; -1 for another
 * word. */
const char *wp_method_key(enum wp_method method);
/* The enum wp_method of such a key; -1 for another word. */
int wp_method_find(const char *key);
/* What it does, in a sentence. */
const char *wp_method_words(enum wp_method method);
/* "Severe degradation", "Optimization", "Not in baseline" ... */
const char *wp_severity_words(const struct wp_assessment *assessment);
/* "none", "unknown", "maybe", "change", "severe", "new", "gone", "total", "less" */
const char *wp_severity_key(enum wp_severity severity);
/* What is a change when nobody says otherwise, percent. */
double wp_method_threshold(enum wp_method method);

/* A function, as the method of outliers sees it. */
struct wp_outlier_row {
    double before, after; /* exclusive time, ns a unit; 0 not there */
    double whole;         /* of its object before, all functions */
    struct wp_assessment assessment;
};

#endif
