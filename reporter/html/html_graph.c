/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/html/html_graph.h"

#include "reporter/display/escape.h"
#include "reporter/html/html_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Geometry of the drawing, in its own units. */
#define BOX_WIDTH 156.0
#define BOX_HEIGHT 46.0
#define COLUMN 292.0
#define NARROW_COLUMN 250.0 /* where there are many */
#define MANY_COLUMNS 5u
#define ROW 82.0
#define EDGE 26.0
#define TEXT_BYTES 17u
#define LETTER_WIDTH 7.0
#define LABEL_HEIGHT 15.0
#define WIDE 1000.0 /* takes the window's width, not only that of the text */
#define NONE UINT32_MAX

struct place {
    uint32_t column, row;
    double x, y; /* of the upper left corner */
};

/* What an arrow says: the middle of its text's line. */
struct label {
    double x, y, width;
};

struct drawing {
    struct wp_buffer *out;
    enum wp_page_kind from;
    const struct wp_graph *graph;
    struct place *places; /* by box */
    struct label *labels; /* by arrow */
    struct wp_pool pool;
    double width, height;
    uint64_t heaviest;
};

/* The fewest arrows from a first box; what none leads to stands in the second column. */
static uint32_t place_columns(struct drawing *drawing)
{
    const struct wp_graph *graph = drawing->graph;
    uint32_t columns = 1;
    for (uint32_t i = 0; i < graph->box_count; i++)
        drawing->places[i].column = graph->boxes[i].is_first || !i ? 0 : NONE;
    for (uint32_t step = 0; step < graph->box_count; step++)
        for (uint32_t i = 0; i < graph->arrow_count; i++) {
            const struct wp_arrow *arrow = &graph->arrows[i];
            if (drawing->places[arrow->from].column == step && drawing->places[arrow->to].column == NONE)
                drawing->places[arrow->to].column = step + 1;
        }
    for (uint32_t i = 0; i < graph->box_count; i++) {
        if (drawing->places[i].column == NONE)
            drawing->places[i].column = 1;
        if (drawing->places[i].column + 1 > columns)
            columns = drawing->places[i].column + 1;
    }
    return columns;
}

/* In a column the boxes stand as they come, each column in the middle of the drawing. */
static void place_rows(struct drawing *drawing, uint32_t columns)
{
    const struct wp_graph *graph = drawing->graph;
    uint32_t *filled = wp_pool_alloc(&drawing->pool, columns * sizeof(*filled)), most = 1;
    if (!filled)
        return;
    for (uint32_t i = 0; i < graph->box_count; i++) {
        drawing->places[i].row = filled[drawing->places[i].column]++;
        if (drawing->places[i].row + 1 > most)
            most = drawing->places[i].row + 1;
    }
    double column = columns < MANY_COLUMNS ? COLUMN : NARROW_COLUMN;
    drawing->width = EDGE * 2 + (columns - 1) * column + BOX_WIDTH;
    for (uint32_t i = 0; i < graph->arrow_count; i++) /* those go around on the right */
        if (drawing->places[graph->arrows[i].from].column == columns - 1 &&
            drawing->places[graph->arrows[i].to].column == columns - 1) {
            drawing->width += 56;
            break;
        }
    drawing->height = EDGE * 2 + (most - 1) * ROW + BOX_HEIGHT + 34;
    for (uint32_t i = 0; i < graph->box_count; i++) {
        struct place *place = &drawing->places[i];
        place->x = EDGE + place->column * column;
        place->y = EDGE + (place->row + (most - filled[place->column]) / 2.0) * ROW;
    }
}

static void put_open(struct drawing *drawing, const struct wp_link *link, const char *class_name, const char *title)
{
    struct wp_buffer *out = drawing->out;
    if (link->set) {
        wp_buffer_puts(out, "<a href=\"");
        wp_html_href(out, drawing->from, link);
        wp_buffer_puts(out, "\">");
    }
    wp_buffer_printf(out, "<g class=\"%s\"><title>", class_name);
    wp_escape_html(out, title);
    wp_buffer_puts(out, "</title>");
}

static void put_close(struct drawing *drawing, const struct wp_link *link)
{
    wp_buffer_puts(drawing->out, link->set ? "</g></a>\n" : "</g>\n");
}

/* A cubic curve and its head: forward from side to side, back or within a column around below or beside. */
struct curve {
    double x0, y0, x1, y1, x2, y2, x3, y3;
};

static struct curve bend(const struct drawing *drawing, const struct wp_arrow *arrow)
{
    const struct place *a = &drawing->places[arrow->from], *b = &drawing->places[arrow->to];
    if (a->column < b->column) {
        double x0 = a->x + BOX_WIDTH, y0 = a->y + BOX_HEIGHT * 0.42, y3 = b->y + BOX_HEIGHT * 0.42;
        double lift = b->column > a->column + 1 ? -ROW * 0.5 : 0; /* past the boxes between */
        return (struct curve){x0, y0, x0 + 70, y0 + lift, b->x - 76, y3 + lift, b->x - 6, y3};
    }
    if (a->column == b->column) {
        double x = a->x + BOX_WIDTH, down = a->y < b->y ? 1 : -1;
        return (struct curve){x, a->y + BOX_HEIGHT / 2 + 8 * down, x + 52, a->y + BOX_HEIGHT / 2, x + 58,
            b->y + BOX_HEIGHT / 2, x + 6, b->y + BOX_HEIGHT / 2 - 8 * down};
    }
    double y = a->y + BOX_HEIGHT * 0.8, y3 = b->y + BOX_HEIGHT * 0.8, sag = 34;
    return (struct curve){a->x, y, a->x - 60, y + sag, b->x + BOX_WIDTH + 66, y3 + sag, b->x + BOX_WIDTH + 6, y3};
}

static double overlap(double a, double a_size, double b, double b_size)
{
    double size = (a_size + b_size) / 2 - fabs(a - b);
    return size > 0 ? size : 0;
}

/* How much of a label would lie on boxes and on the labels before it. */
static double covered(const struct drawing *drawing, const struct label *label, uint32_t before)
{
    double area = 0;
    for (uint32_t i = 0; i < drawing->graph->box_count; i++)
        area += overlap(label->x, label->width, drawing->places[i].x + BOX_WIDTH / 2, BOX_WIDTH) *
            overlap(label->y, LABEL_HEIGHT, drawing->places[i].y + BOX_HEIGHT / 2, BOX_HEIGHT);
    for (uint32_t i = 0; i < before; i++)
        area += overlap(label->x, label->width, drawing->labels[i].x, drawing->labels[i].width) *
            overlap(label->y, LABEL_HEIGHT, drawing->labels[i].y, LABEL_HEIGHT);
    return area;
}

/* The heaviest choose first; nearer to the head is better, since several often leave one box. */
static void place_labels(struct drawing *drawing)
{
    static const double along[] = {0.68, 0.6, 0.76, 0.52, 0.84, 0.44, 0.36, 0.28, 0.9, 0.2, 0.14};
    for (uint32_t i = 0; i < drawing->graph->arrow_count; i++) {
        struct curve c = bend(drawing, &drawing->graph->arrows[i]);
        double width = LETTER_WIDTH * (double)strlen(drawing->graph->arrows[i].label), least = INFINITY;
        for (size_t k = 0; k < 2 * sizeof(along) / sizeof(*along) && least > 0;
             k++) { /* over the arrow, then under it */
            double t = along[k / 2], s = 1 - t, side = k % 2 ? 12 : -11;
            struct label label = {s * s * s * c.x0 + 3 * s * s * t * c.x1 + 3 * s * t * t * c.x2 + t * t * t * c.x3,
                s * s * s * c.y0 + 3 * s * s * t * c.y1 + 3 * s * t * t * c.y2 + t * t * t * c.y3 + side, width};
            double area = covered(drawing, &label, i);
            if (area < least) {
                least = area;
                drawing->labels[i] = label;
            }
        }
    }
}

static void put_arrow(struct drawing *drawing, uint32_t number)
{
    const struct wp_arrow *arrow = &drawing->graph->arrows[number];
    const struct label *label = &drawing->labels[number];
    struct wp_buffer *out = drawing->out;
    struct curve c = bend(drawing, arrow);
    double share = drawing->heaviest ? (double)arrow->weight / (double)drawing->heaviest : 0;
    double way = atan2(c.y3 - c.y2, c.x3 - c.x2) * 180 / 3.14159265358979;
    put_open(drawing, &arrow->link, arrow->is_knot ? "arrow knot" : "arrow", arrow->text);
    wp_buffer_printf(out, "<path class=\"w%d\" d=\"M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f\"/>",
        1 + (int)(share * 6.999), c.x0, c.y0, c.x1, c.y1, c.x2, c.y2, c.x3, c.y3);
    wp_buffer_printf(out,
        "<path class=\"head\" d=\"M6 0 L-7 -6 L-7 6 Z\" transform=\"translate(%.1f %.1f) rotate(%.1f)\"/>", c.x3, c.y3,
        way);
    wp_buffer_printf(
        out, "<text class=\"weight\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">", label->x, label->y + 4);
    wp_escape_html(out, arrow->label);
    wp_buffer_puts(out, "</text>");
    put_close(drawing, &arrow->link);
}

static void put_line(struct wp_buffer *out, const char *class_name, const struct place *at, double y, const char *text)
{
    wp_buffer_printf(
        out, "<text class=\"%s\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">", class_name, at->x + BOX_WIDTH / 2, y);
    wp_escape_html(out, text);
    wp_buffer_puts(out, "</text>");
}

static void put_box(struct drawing *drawing, uint32_t box)
{
    static const char *const kinds[] = {[WP_BOX_PROCESS] = "process",
        [WP_BOX_DISK] = "io",
        [WP_BOX_PEER] = "net",
        [WP_BOX_UNKNOWN] = "wait",
        [WP_BOX_HOST] = "process"};
    const struct wp_box *row = &drawing->graph->boxes[box];
    const struct place *at = &drawing->places[box];
    struct wp_buffer *out = drawing->out;
    struct wp_pool *pool = &drawing->pool;
    const char *name = row->place ? wp_pool_printf(pool, "%.*s", (int)(row->place - row->text), row->text) : row->text;
    double top = at->y + (row->place ? 15 : 20), step = row->place ? 12.6 : 17;
    put_open(drawing, &row->link,
        wp_pool_printf(&drawing->pool, "box f-%s%s", kinds[row->kind], row->is_knot ? " knot" : ""), row->text);
    wp_buffer_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" rx=\"9\"/>", at->x, at->y,
        BOX_WIDTH, BOX_HEIGHT);
    put_line(out, "name", at, top, wp_pool_clip(pool, name, TEXT_BYTES));
    if (row->place)
        put_line(
            out, "note", at, top += step, wp_pool_clip(pool, row->place + strspn(row->place, " "), TEXT_BYTES + 6));
    put_line(out, "note", at, top + step, row->note);
    put_close(drawing, &row->link);
}

void wp_html_graph(struct wp_buffer *out, enum wp_page_kind from, const struct wp_graph *graph, const char *label)
{
    struct drawing drawing = {.out = out, .from = from, .graph = graph};
    drawing.places = wp_pool_alloc(&drawing.pool, (graph->box_count + 1u) * sizeof(*drawing.places));
    drawing.labels = wp_pool_alloc(&drawing.pool, (graph->arrow_count + 1u) * sizeof(*drawing.labels));
    if (drawing.places && drawing.labels && graph->box_count) {
        place_rows(&drawing, place_columns(&drawing));
        place_labels(&drawing);
        for (uint32_t i = 0; i < graph->arrow_count; i++)
            if (graph->arrows[i].weight > drawing.heaviest)
                drawing.heaviest = graph->arrows[i].weight;
        wp_buffer_printf(out,
            "<div class=\"scroll%s\"><svg class=\"graph\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
            "role=\"group\" aria-label=\"",
            drawing.width > WIDE ? " wide" : "", drawing.width, drawing.height, drawing.width, drawing.height);
        wp_escape_html(out, label);
        wp_buffer_puts(out, "\">\n");
        for (uint32_t i = graph->arrow_count; i > 0; i--) /* the heaviest last, on top */
            put_arrow(&drawing, i - 1);
        for (uint32_t i = 0; i < graph->box_count; i++)
            put_box(&drawing, i);
        wp_buffer_puts(out, "</svg></div>\n");
    }
    out->failed |= drawing.pool.failed;
    wp_pool_fini(&drawing.pool);
}
