/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/live_view.h"

#include "cli/record/live_text.h"
#include "common/clock.h"
#include "common/standard_output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINE_NS (2 * WP_NS_PER_S)
#define WORDS "wakepath: "
#define PREFIX ((unsigned)sizeof(WORDS) - 1) /* columns */
#define READING_SHARE 50u /* a reading takes at most this part of the time, which is that of what is recorded, too */

/* "main", else the first that was asked for; NULL: the recording chooses. */
static const char *aggregate_of(const struct wp_record_options *options, char *name, size_t room)
{
    for (unsigned i = 0; i < options->aggregate_count; i++)
        if (!strncmp(options->aggregates[i], "main=", 5))
            return "main";
    if (!options->aggregate_count)
        return NULL;
    snprintf(name, room, "%.*s", (int)strcspn(options->aggregates[0], "="), options->aggregates[0]);
    return name;
}

static bool is_wanted(const struct wp_live_view *view)
{
    const struct wp_record_options *record = view->options.record;
    return record->top.is_on ||
        (!record->is_quiet && !record->is_json && !record->is_verbose && view->line.mode != WP_STATUS_OFF);
}

void wp_live_view_begin(struct wp_live_view *view, const struct wp_live_view_options *options)
{
    const struct wp_record_options *record = options->record;
    bool is_shared = record->command && (isatty(STDOUT_FILENO) == 1 || isatty(STDERR_FILENO) == 1);
    *view = (struct wp_live_view){.options = *options, .began_ns = wp_clock_ns()};
    wp_status_line_init(&view->line, options->say, is_shared);
    view->waits = (struct wp_live_waits){.store = options->store,
        .release = options->release,
        .aggregate = aggregate_of(record, view->name, sizeof(view->name))};
    if (!is_wanted(view))
        return;
    if (view->waits.aggregate && record->store) /* what an older recording left there is not this one's */
        wp_live_waits_read(&view->waits, NULL);
    view->next_ns = view->began_ns + (record->top.is_on ? record->top.delay_ns : LINE_NS);
}

static void show_line(struct wp_live_view *view, const struct wp_live_look *look)
{
    struct wp_buffer text = {0};
    wp_buffer_puts(&text, WORDS);
    wp_live_text_line(&text, &view->waits.now, look);
    wp_buffer_putc(&text, 0);
    if (!text.failed)
        wp_status_line_show(&view->line, (const char *)text.data);
    wp_buffer_fini(&text);
}

static int show_table(struct wp_live_view *view, struct wp_live_look *look, struct wp_error *err)
{
    const struct wp_record_options *record = view->options.record;
    FILE *out = view->options.print;
    struct wp_buffer text = {0};
    struct winsize size;
    bool is_terminal = isatty(fileno(out)) == 1;
    int rc = 0;
    if (is_terminal && !ioctl(fileno(out), TIOCGWINSZ, &size) && size.ws_col)
        look->columns = size.ws_col;
    look->has_colour = is_terminal && !getenv("NO_COLOR");
    look->rows = record->top.rows;
    if (record->is_json) {
        rc = wp_live_text_json(&text, &view->waits.now, look, err);
    } else {
        if (is_terminal && !record->top.is_once)
            wp_buffer_puts(&text, "\033[H\033[2J");
        wp_live_text_table(&text, &view->waits.now, look);
    }
    if (!rc && text.failed)
        rc = wp_error_set(err, -ENOMEM, "out of memory for what is waited for");
    if (!rc && (fwrite(text.data, 1, text.size, out) != text.size || fflush(out))) {
        rc = errno == EPIPE ? -EPIPE : wp_error_errno(err, -errno, "cannot write what is waited for");
        wp_standard_output_drop(out);
    }
    wp_buffer_fini(&text);
    return rc;
}

int wp_live_view_tick(struct wp_live_view *view, struct wp_error *err)
{
    const struct wp_record_options *record = view->options.record;
    uint64_t started = wp_clock_ns(), delay = record->top.is_on ? record->top.delay_ns : LINE_NS;
    int rc = view->waits.aggregate ? wp_live_waits_read(&view->waits, record->top.is_on ? err : NULL) : 0;
    uint64_t now = wp_clock_ns(), rest = (now - started) * READING_SHARE;
    unsigned columns = view->line.columns;
    struct wp_live_look look = {.title = view->options.what,
        .elapsed_ns = now - view->began_ns,
        .columns = columns > PREFIX ? columns - PREFIX : 0};
    view->next_ns = now + (rest > delay ? rest : delay);
    if (!record->top.is_on) {
        show_line(view, &look);
        return 0;
    }
    look.columns = 0;
    view->shown_ns = view->waits.now.since_ns;
    if (!rc && record->top.is_once && !view->shown_ns) /* the engine has not come that far */
        return 0;
    return rc ? rc : show_table(view, &look, err);
}

void wp_live_view_end(struct wp_live_view *view)
{
    wp_status_line_clear(&view->line);
    wp_live_waits_fini(&view->waits);
    view->next_ns = 0;
}
