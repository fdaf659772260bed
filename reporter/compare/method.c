/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/method.h"

#include <string.h>

static const struct {
    const char *key, *words;
    double threshold_percent;
} methods[WP_METHODS] = {
    [WP_METHOD_T_TEST] = {"t-test", "Welch's t test of the rates, interval by interval, corrected for all rows", 3},
    [WP_METHOD_AVERAGE] = {"average-amount", "the average piece of time against a threshold", 100},
    [WP_METHOD_MODEL] = {"best-model", "the order of the curve that fits a row best over the course of a recording", 0},
    [WP_METHOD_INTEGRAL] = {"integral", "the area under the curve that fits a row best", 25},
    [WP_METHOD_LOCAL] = {"local-statistics", "eight statistics of each section of the course of a recording", 25},
    [WP_METHOD_OUTLIERS] = {"exclusive-time-outliers",
        "functions whose own time changed unlike that of all others, and new and gone ones", 0},
};

const char *wp_method_key(enum wp_method method)
{
    return methods[method].key;
}

const char *wp_method_words(enum wp_method method)
{
    return methods[method].words;
}

double wp_method_threshold(enum wp_method method)
{
    return methods[method].threshold_percent;
}

int wp_method_find(const char *key)
{
    for (int i = 0; i < WP_METHODS; i++)
        if (!strcmp(methods[i].key, key))
            return i;
    return -1;
}

const char *wp_severity_key(enum wp_severity severity)
{
    static const char *const keys[] = {"none", "unknown", "maybe", "change", "severe", "new", "gone", "total", "less"};
    return keys[severity];
}

const char *wp_severity_words(const struct wp_assessment *assessment)
{
    static const char *const words[][2] = {[WP_SEVERITY_NONE] = {"No change", "No change"},
        [WP_SEVERITY_UNKNOWN] = {"Unknown", "Unknown"},
        [WP_SEVERITY_MAYBE] = {"Maybe degradation", "Maybe optimization"},
        [WP_SEVERITY_CHANGE] = {"Degradation", "Optimization"},
        [WP_SEVERITY_SEVERE] = {"Severe degradation", "Severe optimization"},
        [WP_SEVERITY_NEW] = {"Not in baseline", "Not in baseline"},
        [WP_SEVERITY_GONE] = {"Not in target", "Not in target"},
        [WP_SEVERITY_TOTAL] = {"Total degradation", "Total optimization"},
        [WP_SEVERITY_LESS] = {"Optimization", "Optimization"}};
    return words[assessment->severity][assessment->direction < 0];
}
