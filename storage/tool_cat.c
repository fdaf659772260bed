/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store cat */
#include "storage/json_parts.h"
#include "storage/store_tool.h"
#include "storage/txn.h"

#include <errno.h>

static int read_value(struct wp_tool *tool, struct wp_txn *txn, struct json_object **object, struct wp_error *err)
{
    struct wp_key key;
    struct wp_value value;
    struct wp_buffer raw = {0};
    int rc = wp_key_parse(&key, tool->arguments[2], err);
    if (!rc)
        rc = wp_txn_value(txn, tool->arguments[2], key.kind, &value, err);
    if (!rc) {
        rc = wp_value_unwrap(&value, &raw, err);
        if (!rc && !(*object = wp_value_json(&key, &value, &raw, err)))
            rc = -EBADMSG;
        if (rc)
            wp_error_wrap(err, rc, "%s", tool->arguments[2]);
    }
    wp_buffer_fini(&raw);
    return rc;
}

int wp_tool_cat(struct wp_tool *tool, struct wp_error *err)
{
    struct wp_txn *txn = NULL;
    struct json_object *object = NULL;
    int rc = wp_tool_open(tool, err);
    if (!rc)
        rc = wp_txn_begin(&txn, tool->store, tool->arguments[1], false, err);
    if (!rc)
        rc = read_value(tool, txn, &object, err);
    wp_txn_abort(txn);
    if (rc)
        return rc;
    if (tool->flags & WP_TOOL_JSON)
        return wp_tool_json(tool, object, err);
    wp_json_print(&tool->out, object);
    json_object_put(object);
    return 0;
}
