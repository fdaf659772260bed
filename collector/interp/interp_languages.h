/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_INTERP_LANGUAGES_H
#define WP_COLLECTOR_INTERP_INTERP_LANGUAGES_H
/* The languages whose frames are read: how an interpreter of each is known, and what its code objects say. */
#include "collector/bpf/interp_row.h"
#include "collector/elf/elf_file.h"
#include "collector/host/source.h"
#include "collector/interp/interp_splice.h"
#include "collector/interp/line_table_types.h"
#include "common/buffer.h"

struct wp_interp_language {
    const char *name; /* "python" */
    /* As wp_interp_languages_read, of this language. */
    int (*read_file)(
        const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err);
    /* The line of the instruction `unit` (collector/bpf/interp_row.h). False: it is not known. NULL: wp_v8_places. */
    bool (*line)(const struct wp_line_table *table, uint32_t unit, uint32_t *line);
    bool has_tables;           /* code objects have tables of lines */
    enum wp_interp_part inner; /* what `inner` of struct wp_interp_file is */
    const char *unnamed;       /* function of a code object whose name is empty; NULL: it stays so */
    /* Appends function and file, each with its end (0), where they are not what the code object says; where the file
     * begins. NULL: they are that. */
    size_t (*put_texts)(struct wp_buffer *out, const struct wp_fact_code *code);
    /* Appends what is kept of the table. NULL: all. */
    void (*put_table)(struct wp_buffer *out, const struct wp_fact_code *code);
};

/* By WP_INTERP_VERSION. Of a language that is not known: the first. */
const struct wp_interp_language *wp_interp_language(uint32_t version);
/* Whether a file is an interpreter, and where it keeps its frames. 0 with *out; -ENOENT: it is none; -ENOTSUP: a
 * version, or a build, that is not known: *version says which (its lower half 0: not even that), err why. The file is
 * borrowed, and only read. */
int wp_interp_languages_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err);

#endif
