/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration file. */
#include "fuzz.h"

#include "common/config_file.h"

#include <stdlib.h>
#include <string.h>

static const struct argp_option keys[] = {
    {"connect", 'c', "ENDPOINT", 0, "send there", 0},
    {"label", 'l', "KEY=VALUE", 0, "a label; may be repeated", 0},
    {"stats", 's', 0, 0, "print counts", 0},
    {0},
};

static int take(void *context, const struct argp_option *option, const char *value, unsigned line, struct wp_error *err)
{
    (void)context;
    (void)err;
    if (!option->name || strlen(value) > WP_CONFIG_VALUE_LIMIT || !line)
        abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct wp_error err = {0};
    char *text = size > 65536 ? NULL : malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, bytes, size);
    text[size] = 0;
    if (wp_config_file_parse("F", text, keys, &(struct wp_config_taker){take, NULL}, &err) && !*err.text)
        abort();
    free(text);
    return 0;
}
