/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/symbols/kernel_symbols.h"

#include "common/array.h"
#include "common/buffer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOLS_LIMIT (8u << 20)
#define BLOCK 16384u     /* bytes; the kernel gives a page at a time, stdio asks for a quarter of one */
#define REACH (1u << 20) /* no function is longer: an address farther behind is in code that has no names */

struct symbol {
    uint64_t address;
    uint32_t name, module; /* in texts; module 0: the kernel */
};

struct wp_kernel_symbols {
    struct symbol *symbols;
    uint32_t count, room;
    struct wp_buffer texts; /* begins with an empty one */
    uint64_t text_start, text_end;
};

void wp_kernel_symbols_destroy(struct wp_kernel_symbols *s)
{
    if (!s)
        return;
    free(s->symbols);
    wp_buffer_fini(&s->texts);
    free(s);
}

static uint32_t add_text(struct wp_kernel_symbols *s, const char *text)
{
    uint32_t at = (uint32_t)s->texts.size;
    wp_buffer_append(&s->texts, text, strlen(text) + 1);
    return at;
}

/* "ffffffff81000000 T _text" or "ffffffffc0000000 t name\t[module]" */
static int take_line(struct wp_kernel_symbols *s, char *line)
{
    char *end;
    uint64_t address = strtoull(line, &end, 16);
    if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
        return 0;
    char type = end[1], *name = end + 3, *module = strchr(name, '\t');
    if (module)
        *module++ = 0;
    if (!module && !strcmp(name, "_text"))
        s->text_start = address;
    if (!module && !strcmp(name, "_etext"))
        s->text_end = address;
    if (!strchr("tTwW", type) || !address || !*name)
        return 0;
    if (s->count >= SYMBOLS_LIMIT || WP_ARRAY_FIT(s->symbols, s->room, s->count + 1))
        return -ENOMEM;
    struct symbol *symbol = &s->symbols[s->count];
    *symbol = (struct symbol){.address = address, .name = add_text(s, name)};
    if (module && s->count && symbol[-1].module && !strcmp((char *)s->texts.data + symbol[-1].module, module))
        symbol->module = symbol[-1].module;
    else if (module)
        symbol->module = add_text(s, module);
    s->count++;
    return s->texts.failed ? -ENOMEM : 0;
}

static int by_address(const void *x, const void *y)
{
    const struct symbol *a = x, *b = y;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* Without modules they come so. */
static bool are_sorted(const struct wp_kernel_symbols *s)
{
    for (uint32_t i = 1; i < s->count; i++)
        if (by_address(&s->symbols[i - 1], &s->symbols[i]) > 0)
            return false;
    return true;
}

int wp_kernel_symbols_read(struct wp_kernel_symbols **symbols, const char *path, struct wp_error *err)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return wp_error_errno(err, -errno, "cannot read '%s'", path);
    struct wp_kernel_symbols *s = calloc(1, sizeof(*s));
    char line[1024], block[BLOCK];
    setvbuf(file, block, _IOFBF, sizeof(block));
    int rc = s ? wp_buffer_append(&s->texts, "", 1) : -ENOMEM;
    while (!rc && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = 0;
        rc = take_line(s, line);
    }
    fclose(file);
    if (rc)
        wp_error_set(err, rc, "out of memory for the kernel's functions");
    else if (!s->count)
        rc = wp_error_set(err, -EACCES,
            "the kernel hides its addresses: it shows them to CAP_SYSLOG, unless kernel.kptr_restrict is 2");
    if (rc) {
        wp_kernel_symbols_destroy(s);
        return rc;
    }
    if (!are_sorted(s))
        qsort(s->symbols, s->count, sizeof(*s->symbols), by_address);
    *symbols = s;
    return 0;
}

int wp_kernel_symbols_find(const struct wp_kernel_symbols *s, uint64_t address, struct wp_kernel_function *function)
{
    uint32_t low = WP_LOWER_BOUND(middle, 0, s->count, s->symbols[middle].address <= address);
    if (!low || address - s->symbols[low - 1].address > REACH)
        return -ENOENT;
    const struct symbol *symbol = &s->symbols[low - 1];
    while (symbol > s->symbols && symbol[-1].address == symbol->address) /* the first of several names */
        symbol--;
    if (!symbol->module && s->text_end && symbol->address < s->text_end && address >= s->text_end)
        return -ENOENT;
    const char *texts = (const char *)s->texts.data;
    *function = (struct wp_kernel_function){.name = texts + symbol->name,
        .module = texts + symbol->module,
        .offset = symbol->module ? address - symbol->address : address - s->text_start};
    return 0;
}

uint64_t wp_kernel_symbols_address(const struct wp_kernel_symbols *s, const char *name)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (!strcmp((const char *)s->texts.data + s->symbols[i].name, name))
            return s->symbols[i].address;
    return 0;
}
