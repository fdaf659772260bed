/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/perf_script/perf_script_stack.h"

#include <errno.h>

void wp_perf_stack_fini(struct wp_perf_stack *stack)
{
    wp_buffer_fini(&stack->text);
    stack->count = 0;
}

void wp_perf_stack_clear(struct wp_perf_stack *stack)
{
    wp_buffer_clear(&stack->text);
    stack->count = 0;
}

static size_t put_name(struct wp_perf_stack *stack, struct wp_text name)
{
    char text[WP_PERF_NAME_LIMIT];
    size_t at = stack->text.size;
    wp_text_copy(name, text, sizeof(text));
    wp_buffer_puts(&stack->text, text);
    wp_buffer_putc(&stack->text, 0);
    return at;
}

int wp_perf_stack_add(struct wp_perf_stack *stack, const struct wp_perf_frame *frame)
{
    if (stack->count == WP_PERF_STACK_DEPTH)
        return 0;
    struct wp_perf_stack_slot *slot = &stack->slots[stack->count++];
    slot->function = put_name(stack, frame->function);
    slot->object = put_name(stack, frame->object);
    slot->offset = frame->is_kernel ? frame->offset : frame->address;
    slot->is_kernel = frame->is_kernel;
    slot->is_inlined = frame->is_inlined;
    return stack->text.failed ? -ENOMEM : 0;
}

uint32_t wp_perf_stack_frames(struct wp_perf_stack *stack)
{
    const char *text = (const char *)stack->text.data;
    for (uint32_t i = 0; i < stack->count; i++) {
        const struct wp_perf_stack_slot *slot = &stack->slots[stack->count - 1 - i];
        struct wp_named_frame *frame = &stack->frames[i];
        *frame = (struct wp_named_frame){text + slot->function, text + slot->object, slot->offset, slot->is_kernel};
        if (slot->is_inlined && i) { /* it is code of the function that stands below it */
            frame->object = frame[-1].object;
            frame->is_kernel = frame[-1].is_kernel;
        }
    }
    return stack->count;
}
