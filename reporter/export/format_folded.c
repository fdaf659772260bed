/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/format_folded.h"

#include "reporter/display/escape.h"
#include "reporter/export/stack_choice.h"

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

/* The stacks of the cells, in preorder, one behind the other; starts[cell] is where a cell's begins. */
static void put_stacks(struct wp_buffer *out, const struct wp_facts *facts, uint32_t *stack, size_t *starts)
{
    const struct wp_flame *flame = &facts->flame;
    for (uint32_t i = 0; i < flame->count && !out->failed; i++) {
        const struct wp_flame_node *node = &flame->nodes[i];
        if (node->depth)
            stack[node->depth - 1] = i;
        for (uint32_t cell = node->cell; cell < node->cell + node->cell_count; cell++) {
            starts[cell] = out->size;
            put_stack(out, facts, stack, node->depth);
            wp_buffer_printf(out, " %" PRIu64 "\n", flame->cells[cell].ns);
        }
    }
    starts[flame->cell_count] = out->size;
}

static uint32_t deepest_of(const struct wp_flame *flame)
{
    uint32_t deepest = 0;
    for (uint32_t i = 0; i < flame->count; i++)
        if (flame->nodes[i].depth > deepest)
            deepest = flame->nodes[i].depth;
    return deepest;
}

int wp_format_folded_chosen(
    struct wp_buffer *out, const struct wp_facts *facts, const struct wp_export_choice *choice, struct wp_error *err)
{
    struct wp_buffer text = {0};
    uint32_t *stack = calloc(deepest_of(&facts->flame) + 1u, sizeof(*stack));
    size_t *starts = calloc(facts->flame.cell_count + 1u, sizeof(*starts));
    uint32_t *order = wp_stack_choice_order(&facts->flame, choice);
    bool has_memory = stack && starts && order;
    if (has_memory) {
        put_stacks(&text, facts, stack, starts);
        for (uint32_t i = 0; i < facts->flame.cell_count && !text.failed; i++)
            wp_buffer_append(out, text.data + starts[order[i]], starts[order[i] + 1] - starts[order[i]]);
        has_memory = !text.failed && !out->failed;
    }
    free(stack);
    free(starts);
    free(order);
    wp_buffer_fini(&text);
    return has_memory ? 0 : wp_error_set(err, -ENOMEM, "out of memory for the folded stacks");
}

int wp_format_folded(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    return wp_format_folded_chosen(out, facts, &(struct wp_export_choice){0}, err);
}
