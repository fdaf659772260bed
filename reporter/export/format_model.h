/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EXPORT_FORMAT_MODEL_H
#define WP_REPORTER_EXPORT_FORMAT_MODEL_H
/* A fitted curve by the keys of Perun's profiles (its documentation, "Specification of Profile Format", models). */
#include "common/json.h"
#include "reporter/compare/model_fit.h"

/* Into the object that is open: model, method, r_square, coeffs (name, value), x_interval_start, x_interval_end. */
void wp_format_model(struct wp_json *json, const struct wp_fitted *fitted);

#endif
