/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/format_folded.h"

#include "reporter/display/escape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES 255 /* of a file's name, at most */

/* A frame without a symbol is named after its file, "[libc.so.6]"; brackets alone say what is a process, here:
 * "libc.so.6+?". */
static void put_frame(struct wp_buffer *out, const struct wp_facts *facts, uint32_t frame)
{
    const char *name = wp_facts_frame_name(facts, frame);
    size_t size = strlen(name);
    char plain[FILE_BYTES + 3];
    if (wp_facts_frame_style(facts, frame) != WP_STYLE_PROCESS && size > 2 && name[0] == '[' && name[size - 1] == ']') {
        snprintf(plain, sizeof(plain), "%.*s+?", (int)(size - 2 < FILE_BYTES ? size - 2 : FILE_BYTES), name + 1);
        name = plain;
    }
    wp_escape_folded(out, *name ? name : "?");
}

/* Readers split at the first frame's bracket: a stack that does not start with a process gets one that says so. */
static void put_stack(struct wp_buffer *out, const struct wp_facts *facts, const uint32_t *stack, uint32_t depth)
{
    uint32_t first = depth ? facts->flame.nodes[stack[0]].frame : 0;
    if (!depth || wp_facts_frame_name(facts, first)[0] != '[' || wp_facts_frame_style(facts, first) != WP_STYLE_PROCESS)
        wp_buffer_puts(out, depth ? "[unknown];" : "[unknown]");
    for (uint32_t i = 0; i < depth; i++) {
        if (i)
            wp_buffer_putc(out, ';');
        put_frame(out, facts, facts->flame.nodes[stack[i]].frame);
    }
}

int wp_format_folded(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    const struct wp_flame *flame = &facts->flame;
    uint32_t deepest = 0;
    for (uint32_t i = 0; i < flame->count; i++)
        if (flame->nodes[i].depth > deepest)
            deepest = flame->nodes[i].depth;
    uint32_t *stack = calloc(deepest + 1u, sizeof(*stack));
    if (!stack)
        return wp_error_set(err, -ENOMEM, "out of memory for stacks of %u frames", deepest);
    for (uint32_t i = 0; i < flame->count && !out->failed; i++) {
        const struct wp_flame_node *node = &flame->nodes[i];
        if (node->depth)
            stack[node->depth - 1] = i;
        for (uint32_t cell = node->cell; cell < node->cell + node->cell_count; cell++) {
            put_stack(out, facts, stack, node->depth);
            wp_buffer_printf(out, " %" PRIu64 "\n", flame->cells[cell].ns);
        }
    }
    free(stack);
    return out->failed ? wp_error_set(err, -ENOMEM, "out of memory for the folded stacks") : 0;
}
