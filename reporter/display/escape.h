/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_DISPLAY_ESCAPE_H
#define WP_REPORTER_DISPLAY_ESCAPE_H
/*
 * Names come from outside and are hostile: each function appends `text` to `out` made safe for one context. All of them
 * give well-formed UTF-8: a byte that is not becomes U+FFFD. Where people read (html, text, javascript), control
 * characters become their visible pictures (U+2400...) and characters that turn the writing direction become U+FFFD.
 */
#include "common/buffer.h"

/* Well-formed UTF-8 and nothing else changed: for JSON, whose writer escapes the rest. */
void wp_escape_utf8(struct wp_buffer *out, const char *text);
/* HTML text and double- or single-quoted attribute values. */
void wp_escape_html(struct wp_buffer *out, const char *text);
/* A JavaScript string literal with its quotes; also safe should the file ever be put inside a page. */
void wp_escape_js(struct wp_buffer *out, const char *text);
/* A JSON string with its quotes; nothing is lost but what was no UTF-8. Whatever anybody takes for the end of a line is
 * written as an escape. */
void wp_escape_json(struct wp_buffer *out, const char *text);
/* A field of a CSV line (RFC 4180), control characters as their pictures so that a record is one line. One that a
 * spreadsheet would take for a formula (=, +, -, @ in front) gets an apostrophe before it. */
void wp_escape_csv(struct wp_buffer *out, const char *text);
/* One part of a URL's path or fragment: everything but letters, digits and -._~ as %XX. */
void wp_escape_url(struct wp_buffer *out, const char *text);
/* A frame of a folded stack: ';' becomes ',', control characters become '?'. */
void wp_escape_folded(struct wp_buffer *out, const char *text);
/* A terminal or a mail: nothing that moves the cursor. */
void wp_escape_text(struct wp_buffer *out, const char *text);
/* Character cells that wp_escape_text's result takes on a terminal, wide characters counted as one. */
size_t wp_escape_width(const char *text);

#endif
