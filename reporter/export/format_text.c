/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/format_text.h"

#include "reporter/display/escape.h"
#include "reporter/display/humanize.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LINE 78u
#define NAME_BYTES 36u
#define NAME_BYTES_LEAST 16u

struct writer {
    struct wp_buffer *out;
    struct wp_pool pool; /* cells of one table */
    size_t columns;      /* that a table may be wide */
};

static void spaces(struct wp_buffer *out, size_t count)
{
    while (count--)
        wp_buffer_putc(out, ' ');
}

/* Breaks clean text at spaces; the first line starts where the caller stands, the others after `indent` cells. */
static void wrap(struct wp_buffer *out, const char *text, size_t indent)
{
    struct wp_buffer clean = {0};
    wp_escape_text(&clean, text);
    size_t at = indent;
    const char *word = clean.data ? (const char *)clean.data : "";
    while (*word) {
        size_t size = strcspn(word, " ");
        char one[512];
        size_t copied = size < sizeof(one) ? size : sizeof(one) - 1;
        memcpy(one, word, copied);
        one[copied] = 0;
        size_t width = wp_escape_width(one);
        if (at > indent && at + 1 + width > LINE) {
            wp_buffer_putc(out, '\n');
            spaces(out, indent);
            at = indent;
        } else if (at > indent) {
            wp_buffer_putc(out, ' ');
            at++;
        }
        wp_buffer_append(out, word, size);
        at += width;
        word += size;
        word += strspn(word, " ");
    }
    wp_buffer_putc(out, '\n');
    out->failed |= clean.failed;
    wp_buffer_fini(&clean);
}

/* What stands in a cell, made safe and a name at most name_bytes long. */
static const char *cell_text(
    struct writer *writer, const struct wp_table *table, size_t row, size_t column, size_t name_bytes)
{
    const struct wp_field *field = &table->fields[row * table->column_count + column];
    struct wp_buffer clean = {0};
    const char *text = "";
    if (field->is_none)
        return "–";
    switch (table->columns[column].kind) {
    case WP_CELL_ID:
        return wp_pool_printf(&writer->pool, "%" PRIu64, field->number);
    case WP_CELL_COUNT:
        return wp_human_count(&writer->pool, field->number);
    case WP_CELL_DURATION:
        return wp_human_duration(&writer->pool, field->number);
    case WP_CELL_SHARE:
        return wp_human_share(&writer->pool, field->number, table->whole_ns);
    case WP_CELL_VALUE:
    case WP_CELL_TEXT:
    case WP_CELL_NAME:
    case WP_CELL_STACK:
        wp_escape_text(&clean, field->text);
        text = wp_pool_clip(&writer->pool, clean.data ? (const char *)clean.data : "",
            table->columns[column].kind == WP_CELL_STACK      ? 1000
                : table->columns[column].kind == WP_CELL_NAME ? name_bytes
                                                              : NAME_BYTES);
        writer->pool.failed |= clean.failed;
        wp_buffer_fini(&clean);
        break;
    }
    return text;
}

static bool is_number(enum wp_column_kind kind)
{
    return kind == WP_CELL_ID || kind == WP_CELL_COUNT || kind == WP_CELL_DURATION || kind == WP_CELL_SHARE ||
        kind == WP_CELL_VALUE;
}

static void put_cell(struct wp_buffer *out, const char *text, size_t width, bool right, bool last)
{
    size_t own = wp_escape_width(text), pad = width > own ? width - own : 0;
    if (right)
        spaces(out, pad);
    wp_buffer_puts(out, text);
    if (!right && !last)
        spaces(out, pad);
}

/* A stack has its own line, under the row that it belongs to. */
static void put_row(struct writer *writer, const struct wp_table *table, const char **cells, const size_t *widths)
{
    bool first = true;
    size_t last = 0; /* of those on the line */
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].kind != WP_CELL_STACK && *cells[i])
            last = i;
    wp_buffer_puts(writer->out, "  ");
    for (size_t i = 0; i <= last; i++) {
        if (table->columns[i].kind == WP_CELL_STACK)
            continue;
        if (!first)
            wp_buffer_puts(writer->out, "  ");
        first = false;
        put_cell(writer->out, cells[i], widths[i], is_number(table->columns[i].kind), i == last);
    }
    wp_buffer_putc(writer->out, '\n');
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].kind == WP_CELL_STACK && cells[i] != table->columns[i].title) {
            wp_buffer_puts(writer->out, "      ");
            wrap(writer->out, cells[i], 6);
        }
}

/* Fills cells (row 0: the titles) and widths; the width of a whole line. */
static size_t lay_out(
    struct writer *writer, const struct wp_table *table, const char **cells, size_t *widths, size_t name_bytes)
{
    size_t columns = table->column_count, line = 0;
    memset(widths, 0, columns * sizeof(*widths));
    for (size_t row = 0; row <= table->row_count; row++)
        for (size_t i = 0; i < columns; i++) {
            const char *text = row ? cell_text(writer, table, row - 1, i, name_bytes) : table->columns[i].title;
            size_t width = wp_escape_width(text);
            cells[row * columns + i] = text;
            if (width > widths[i])
                widths[i] = width;
        }
    for (size_t i = 0; i < columns; i++)
        line += table->columns[i].kind == WP_CELL_STACK ? 0 : widths[i] + 2;
    return line;
}

/* Names are cut the shorter the more columns there are, so that a line fits a mail. */
static void put_table(struct writer *writer, const struct wp_table *table)
{
    size_t columns = table->column_count, name_bytes = NAME_BYTES;
    name_bytes += writer->columns > LINE ? writer->columns - LINE : 0;
    const char **cells = wp_pool_alloc(&writer->pool, (table->row_count + 1) * columns * sizeof(*cells));
    size_t *widths = wp_pool_alloc(&writer->pool, columns * sizeof(*widths));
    if (!cells || !widths)
        return;
    while (lay_out(writer, table, cells, widths, name_bytes) > writer->columns && name_bytes > NAME_BYTES_LEAST)
        name_bytes -= 2;
    if (!table->row_count)
        wp_buffer_printf(writer->out, "  %s\n", table->empty);
    for (size_t row = 0; table->row_count && row <= table->row_count; row++)
        put_row(writer, table, &cells[row * columns], widths);
    if (table->left_out)
        wp_buffer_printf(writer->out, "  ... and %zu more\n", table->left_out);
    writer->out->failed |= writer->pool.failed;
    wp_pool_fini(&writer->pool);
}

static void underline(struct wp_buffer *out, const char *text, char with)
{
    wp_escape_text(out, text);
    wp_buffer_putc(out, '\n');
    for (size_t i = wp_escape_width(text); i; i--)
        wp_buffer_putc(out, with);
    wp_buffer_putc(out, '\n');
}

static void put_fact(struct wp_buffer *out, const struct wp_item *item)
{
    wp_buffer_puts(out, "  ");
    put_cell(out, item->label, 16, false, false);
    wp_escape_text(out, item->text);
    if (*item->note) {
        wp_buffer_putc(out, ' ');
        wp_escape_text(out, item->note);
    }
    wp_buffer_putc(out, '\n');
}

static void put_item(struct writer *writer, const struct wp_item *item)
{
    struct wp_buffer *out = writer->out;
    switch (item->kind) {
    case WP_ITEM_HEADING:
        wp_buffer_putc(out, '\n');
        underline(out, item->text, '-');
        break;
    case WP_ITEM_PARAGRAPH:
        wp_buffer_puts(out, "  ");
        wrap(out, item->text, 2);
        break;
    case WP_ITEM_NOTICE:
        wp_buffer_puts(out, "! ");
        wrap(out, item->text, 2);
        break;
    case WP_ITEM_FINDING:
        wp_buffer_printf(out, "%u. ", (unsigned)item->number);
        wrap(out, item->text, 3);
        break;
    case WP_ITEM_FACT:
        put_fact(out, item);
        break;
    case WP_ITEM_TABLE:
        put_table(writer, item->table);
        break;
    case WP_ITEM_CARD:
        wrap(out, item->text, 0);
        wp_buffer_puts(out, "  ");
        wrap(out, item->label, 2);
        if (item->worse || item->better)
            wp_buffer_printf(out, "  ▲ %" PRIu64 " worse, ▼ %" PRIu64 " better\n", item->worse, item->better);
        wp_buffer_puts(out, "  ");
        wrap(out, item->note, 2);
        break;
    case WP_ITEM_TREND:
        put_fact(out, item);
        break;
    case WP_ITEM_BAR:
    case WP_ITEM_CURVE:
    case WP_ITEM_STRIP:
    case WP_ITEM_GRAPH:
    case WP_ITEM_LATENCY:
    case WP_ITEM_LISTING:
    case WP_ITEM_OVER_TIME:
    case WP_ITEM_VIEW:
    case WP_ITEM_DETAILS:
    case WP_ITEM_END:
        break; /* drawings; their numbers stand in the tables */
    }
}

int wp_format_text(struct wp_buffer *out, const struct wp_display *display, struct wp_error *err)
{
    return wp_format_text_within(out, display, LINE, err);
}

int wp_format_text_within(struct wp_buffer *out, const struct wp_display *display, size_t columns, struct wp_error *err)
{
    struct writer writer = {.out = out, .columns = columns};
    enum wp_item_kind before = WP_ITEM_END;
    underline(out, display->title, '=');
    if (*display->subtitle) {
        wp_escape_text(out, display->subtitle);
        wp_buffer_putc(out, '\n');
    }
    wp_buffer_putc(out, '\n');
    for (const struct wp_item *item = display->first; item; item = item->next) {
        if (item->kind == WP_ITEM_FACT && (before == WP_ITEM_FINDING || before == WP_ITEM_PARAGRAPH))
            wp_buffer_putc(out, '\n');
        put_item(&writer, item);
        before = item->kind;
    }
    return out->failed ? wp_error_set(err, -ENOMEM, "out of memory for the text") : 0;
}
