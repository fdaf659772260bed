/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_V8_LINES_H
#define WP_COLLECTOR_INTERP_V8_LINES_H
/*
 * Functions and lines of V8's stacks, from tables as collector/bpf/interp_v8_code.h sends them (enum wp_v8_kind). They
 * come from other processes: nothing outside of them is read, and numbers that lead nowhere have no line.
 */
#include "collector/host/source.h"
#include "collector/interp/line_table_types.h"
#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An object of a process, or a piece of a script's text. Borrowed. */
struct wp_v8_object {
    const char *function, *file;
    const char *task;     /* its name where it is the outermost async function */
    const uint8_t *table; /* struct wp_v8_head, then what it says, as wp_v8_table_put has it */
    size_t size;
    uint32_t version; /* WP_INTERP_VERSION */
};

/* The objects of a process. False: that one is not known. */
struct wp_v8_objects {
    bool (*find)(const void *context, uint64_t address, uint32_t part, struct wp_v8_object *object);
    const void *context;
};

/* What a word stands for (WP_INTERP_WORD), innermost first: more than one where functions were inlined. How many; 0:
 * the object is not known. */
uint32_t wp_v8_places(
    const struct wp_v8_objects *objects, uint64_t word, struct wp_interp_place *places, uint32_t room);
/* As put_texts of struct wp_interp_language, for V8: behind the file comes the name of the task, "task FUNCTION". */
size_t wp_v8_texts_put(struct wp_buffer *out, const struct wp_fact_code *code);
/* Appends what is kept of a table: of a piece of text where its lines end; of compiled code its parts without the room
 * between them; of functions all. */
void wp_v8_table_put(struct wp_buffer *out, const struct wp_fact_code *code);

#endif
