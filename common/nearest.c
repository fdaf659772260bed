/* SPDX-License-Identifier: Apache-2.0 */
#include "common/nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES 64u
#define OPTIONS 256u

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: no substring is edited twice. Words are shorter than WORD_BYTES. */
static unsigned distance(const char *a, const char *b)
{
    unsigned rows[3][WORD_BYTES + 1], m = (unsigned)strlen(a), n = (unsigned)strlen(b);
    for (unsigned j = 0; j <= n; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= m; i++) {
        unsigned *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (unsigned j = 1; j <= n; j++) {
            now[j] = least(least(last[j] + 1, now[j - 1] + 1), last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return rows[m % 3][n];
}

const char *wp_nearest(const char *word, const char *const *words, size_t count)
{
    size_t size = strlen(word);
    const char *best = NULL;
    unsigned most = size < 5 ? 1 : size < 6 ? 2 : 3, nearest = most + 1;
    if (!size || size >= WORD_BYTES)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (strlen(words[i]) >= WORD_BYTES)
            continue;
        unsigned away = !strncmp(words[i], word, size) ? 1 : distance(word, words[i]);
        if (away < nearest && away < least((unsigned)size, (unsigned)strlen(words[i]))) {
            nearest = away;
            best = words[i];
        }
    }
    return best;
}

struct options {
    const struct argp_option *rows[OPTIONS]; /* with a name or a letter; those that argp adds are not among them */
    const char *names[OPTIONS + 3];
    size_t count, name_count;
};

static void collect(struct options *options, const struct argp *argp)
{
    for (const struct argp_option *row = argp->options;
         row && (row->name || row->key || row->doc || row->group) && options->count < OPTIONS; row++) {
        if (row->flags & OPTION_DOC)
            continue;
        options->rows[options->count++] = row;
        if (row->name)
            options->names[options->name_count++] = row->name;
    }
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        collect(options, child->argp);
}

/* As getopt has it: whole, or the beginning of one. */
static bool is_known(const struct options *options, const char *name)
{
    for (size_t i = 0; i < options->name_count; i++)
        if (!strncmp(options->names[i], name, strlen(name)))
            return true;
    return false;
}

/* Whether the value of this option is the next word. */
static bool takes_next(const struct options *options, const char *word)
{
    bool is_long = !strncmp(word, "--", 2);
    for (size_t i = 0; i < options->count; i++) {
        const struct argp_option *row = options->rows[i];
        bool is_it = is_long ? row->name && !strncmp(row->name, word + 2, strlen(word + 2))
                             : word[1] == (char)row->key && row->key < 256 && !word[2];
        if (is_it && row->arg && !(row->flags & OPTION_ARG_OPTIONAL))
            return !is_long || !strchr(word, '=');
    }
    return false;
}

void wp_options_check(const struct argp *argp, int argc, char **argv, bool in_order)
{
    struct options options = {.names = {"help", "usage", "version"}, .name_count = 3};
    char name[WORD_BYTES];
    collect(&options, argp);
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
        if (argv[i][0] != '-' && in_order)
            return;
        if (argv[i][0] != '-')
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(argv[i] + 1, "="), argv[i] + 1);
        if (name[0] == '-' && !is_known(&options, name + 1)) {
            const char *meant = wp_nearest(name + 1, options.names, options.name_count);
            if (!meant)
                return; /* argp says it */
            fprintf(stderr, "%s: no option '-%s': did you mean '--%s'?\n", argv[0], name, meant);
            exit(argp_err_exit_status);
        }
        i += takes_next(&options, argv[i]);
    }
}
