/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/java_names.h"

#include "collector/bpf/interp_row.h"
#include "collector/interp/interp_text.h"
#include "collector/interp/task_names.h"

#include <string.h>

#define UNNAMED "virtual thread"
#define ADDRESS "+0x" /* "Till$$Lambda$14+0x0000000800c03000.run" */

/* In place; `text` is the end of the buffer. */
static void cut_address(struct wp_buffer *out, char *text)
{
    char *address = strstr(text, ADDRESS);
    if (!address)
        return;
    const char *rest = address + strlen(ADDRESS);
    rest += strspn(rest, "0123456789abcdef");
    size_t cut = (size_t)(rest - address);
    memmove(address, rest, strlen(rest) + 1);
    out->size -= cut;
}

/* A virtual thread's, which the program gave to it, or which has none. */
static size_t put_given(struct wp_buffer *out, const struct wp_fact_text *name)
{
    static const char file[] = "java/lang/VirtualThread.java";
    if (name->size)
        wp_task_name_put(out, name);
    else
        wp_buffer_append(out, UNNAMED, sizeof(UNNAMED));
    size_t file_at = out->size;
    wp_buffer_append(out, file, sizeof(file));
    return file_at;
}

size_t wp_java_names_put(struct wp_buffer *out, const struct wp_fact_code *code)
{
    char package[512];
    size_t folder = 0;
    if (code->part == WP_INTERP_TASK_PART) {
        wp_buffer_puts(out, "task ");
        if (code->name.unit == 1)
            return put_given(out, &code->name);
    }
    size_t start = out->size;
    wp_interp_text_put(out, &code->name);
    if (out->failed)
        return start;
    char *text = (char *)out->data + start;
    const char *last = strrchr(text, '/');
    if (last && (size_t)(last - text) < sizeof(package))
        folder = (size_t)(last - text) + 1;
    memcpy(package, text, folder);
    cut_address(out, text);
    for (char *c = text; (c = strchr(c, '/'));)
        *c = '.';
    size_t file_at = out->size;
    if (code->file.size)
        wp_buffer_append(out, package, folder);
    wp_interp_text_put(out, &code->file);
    return file_at;
}
