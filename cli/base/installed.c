/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/installed.h"

#include "cli/base/answer.h"
#include "cli/base/program.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void find_file(struct wp_installed *installed, const char *name)
{
    char variable[64];
    snprintf(variable, sizeof(variable), "WAKEPATH_%s_CONFIG", name);
    for (char *c = variable; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    const char *named = getenv(variable);
    snprintf(installed->file, sizeof(installed->file), "/etc/wakepath/%s.conf", name);
    installed->is_set_up = (named && *named) || !access(installed->file, F_OK);
    if (named && *named)
        snprintf(installed->file, sizeof(installed->file), "%s", named);
}

int wp_installed_read(struct wp_installed *installed, const char *name, struct wp_error *err)
{
    char program[64], path[PATH_MAX], print[] = "--print-config";
    *installed = (struct wp_installed){.is_set_up = false};
    find_file(installed, name);
    snprintf(program, sizeof(program), "wakepath-%s", name);
    int rc = wp_program_sibling(program, path, sizeof(path), installed->is_set_up ? err : NULL);
    installed->is_missing = rc != 0;
    if (!installed->is_set_up)
        return 0; /* a host needs what its settings say, no more */
    if (!rc)
        rc = wp_answer_read(path, (char *[]){program, print, NULL}, &installed->text);
    else
        return rc;
    if (rc < 0)
        return wp_error_errno(err, rc, "cannot run '%s'", path);
    installed->is_sound = !rc && !installed->text.failed;
    return 0;
}

void wp_installed_fini(struct wp_installed *installed)
{
    wp_buffer_fini(&installed->text);
}

/* What is behind `key = ` or `key += `; NULL: the line is another one. */
static const char *value_in(const char *line, const char *key)
{
    size_t size = strlen(key);
    if (strncmp(line, key, size) || line[size] != ' ')
        return NULL;
    line += size + 1;
    line += *line == '+';
    return *line == '=' && line[1] == ' ' ? line + 2 : NULL;
}

static void unquote(const char *at, char *value, size_t room)
{
    size_t used = 0;
    bool is_quoted = *at == '"';
    at += is_quoted;
    for (; *at && *at != (is_quoted ? '"' : ' ') && *at != '\n' && used + 1 < room; at++) {
        at += *at == '\\' && at[1];
        value[used++] = *at;
    }
    value[used] = 0;
}

bool wp_installed_value(const struct wp_installed *installed, const char *key, unsigned index, char *value, size_t room)
{
    *value = 0;
    if (!installed->is_sound)
        return false;
    for (const char *line = (const char *)installed->text.data; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *at = value_in(line, key);
        if (!at || index--)
            continue;
        unquote(at, value, room);
        return strcmp(value, "false") != 0;
    }
    return false;
}

void wp_installed_metrics(const struct wp_installed *installed, const char *usual, char *address, size_t room)
{
    if (!installed->is_sound)
        snprintf(address, room, "%s", usual);
    else if (!wp_installed_value(installed, "metrics", 0, address, room) || !strcmp(address, "none"))
        *address = 0;
}
