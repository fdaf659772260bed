/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/format_model.h"

void wp_format_model(struct wp_json *json, const struct wp_fitted *fitted)
{
    static const char *const names[] = {"b0", "b1", "b2"};
    wp_json_text(json, "model", wp_model_key(fitted->model.kind));
    wp_json_text(json, "method", "full");
    wp_json_real(json, "r_square", fitted->model.r_square);
    wp_json_array(json, "coeffs");
    for (unsigned i = 0; i < wp_model_terms(fitted->model.kind); i++) {
        wp_json_object(json, NULL);
        wp_json_text(json, "name", names[i]);
        wp_json_real(json, "value", fitted->model.b[i]);
        wp_json_end(json);
    }
    wp_json_end(json);
    wp_json_real(json, "x_interval_start", fitted->from);
    wp_json_real(json, "x_interval_end", fitted->to);
}
