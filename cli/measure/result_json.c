/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/measure/result_json.h"

#include "common/standard_output.h"

#include <errno.h>

void wp_result_json_revision(struct wp_json *json, const struct wp_revision *revision)
{
    wp_json_text(json, "release", revision->release);
    wp_json_text(json, "commit", revision->commit);
    wp_json_text(json, "author", revision->author);
    wp_json_text(json, "date", revision->date);
    wp_json_text(json, "subject", revision->subject);
}

void wp_result_json_times(struct wp_json *json, const struct wp_odds_sample *sample)
{
    if (sample->count)
        wp_json_number(json, "median_ns", (uint64_t)wp_odds_median(sample));
    else
        wp_json_text_or_null(json, "median_ns", NULL);
    wp_json_array(json, "ns");
    for (uint32_t i = 0; i < sample->count; i++)
        wp_json_number(json, NULL, (uint64_t)sample->values[i]);
    wp_json_end(json);
}

int wp_result_json_print(struct wp_json *json, FILE *out, struct wp_error *err)
{
    int rc = wp_json_finish(json, "the result", err);
    if (!rc && (fwrite(json->out->data, 1, json->out->size, out) != json->out->size || fflush(out))) {
        rc = wp_error_errno(err, -errno, "cannot write the result");
        wp_standard_output_drop(out);
    }
    return rc;
}
