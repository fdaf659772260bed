/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_MEASURE_RESULT_JSON_H
#define WP_CLI_MEASURE_RESULT_JSON_H
/* The parts that the JSON of a measurement and of a bisection share. */
#include "cli/measure/odds.h"
#include "cli/measure/revisions.h"
#include "common/json.h"

#include <stdio.h>

/* Members release, commit, author, date and subject of the object that is open. */
void wp_result_json_revision(struct wp_json *json, const struct wp_revision *revision);
/* Members median_ns (null of no figure) and ns: whole nanoseconds, in the order of the sample. */
void wp_result_json_times(struct wp_json *json, const struct wp_odds_sample *sample);
/* Ends the text and writes it to `out`. -ENOMEM, or the errno of the writing. */
int wp_result_json_print(struct wp_json *json, FILE *out, struct wp_error *err);

#endif
