/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store cat */
#include "storage/tool/tool_cat.h"

#include "storage/env/txn.h"
#include "storage/env/txn_body.h"
#include "storage/text/json_parts.h"
#include "storage/text/value_json.h"
#include "storage/tool/tool_reference.h"
#include "storage/tool/tool_shared.h"

#include <errno.h>

static int read_value(struct wp_tool *tool, struct wp_txn *txn, struct wp_json *json, struct wp_error *err)
{
    const char *text = tool->location.rest;
    struct wp_key key;
    struct wp_value value;
    struct wp_buffer raw = {0};
    int rc = *text ? wp_key_parse(&key, text, err)
                   : wp_error_set(err, -WP_TOOL_MISUSE, "cat needs a key: 'wakepath-store ls -R' lists them");
    if (!rc)
        rc = wp_txn_value(txn, text, key.kind, &value, err);
    if (!rc) {
        rc = wp_value_unwrap(&txn->zstd, &value, &raw, err);
        if (!rc)
            rc = wp_value_json(json, &key, &value, &raw, err);
        if (rc)
            wp_error_wrap(err, rc, "%s", text);
    }
    wp_buffer_fini(&raw);
    return rc;
}

int wp_tool_cat(struct wp_tool *tool, struct wp_error *err)
{
    struct wp_txn *txn = NULL;
    struct wp_buffer text = {0};
    bool is_json = tool->flags & WP_TOOL_JSON;
    struct wp_json json = {.out = &text, .style = is_json ? WP_JSON_PRETTY : WP_JSON_PLAIN};
    int rc = wp_tool_open(tool, err);
    if (!rc && !*tool->location.release)
        rc = wp_error_set(
            err, -WP_TOOL_MISUSE, "cat needs ROOT/RELEASE/KEY, or ROOT and a reference such as REV:AGGREGATE");
    if (!rc)
        rc = wp_txn_begin(&txn, tool->store, tool->location.release, false, err);
    if (!rc)
        rc = tool->location.is_reference ? wp_tool_cat_reference(tool, txn, &json, err)
                                         : read_value(tool, txn, &json, err);
    wp_txn_abort(txn);
    if (!rc)
        rc = wp_json_finish(&json, "JSON", err);
    if (!rc && is_json)
        wp_buffer_append(&tool->out, text.data, text.size);
    else if (!rc)
        rc = wp_json_print_text(&tool->out, &text, err);
    wp_buffer_fini(&text);
    return rc;
}
