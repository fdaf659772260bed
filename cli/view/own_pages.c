/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view/own_pages.h"

#include "cli/args.h"
#include "cli/program.h"
#include "common/buffer.h"
#include "common/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_ID 4194304u
#define LOG_BYTES (1u << 20)
#define LOG "own.log"
#define STORE "own.store"

static const char *kind_of(const struct wp_own_page *page)
{
    return page->is_thread ? "tid" : "pid";
}

void wp_own_page_file(const struct wp_own_page *page, char name[40])
{
    snprintf(name, 40, "~own-%s-%u.html", kind_of(page), (unsigned)page->id);
}

bool wp_own_page_parse(struct wp_own_page *page, const char *text)
{
    char *end;
    *page = (struct wp_own_page){.is_thread = !strncmp(text, "tid-", 4)};
    if (!page->is_thread && strncmp(text, "pid-", 4))
        return false;
    unsigned long id = text[4] >= '1' && text[4] <= '9' ? strtoul(text + 4, &end, 10) : 0;
    page->id = (uint32_t)id;
    return id && id <= MOST_ID && !*end;
}

/* "cc1-4711", of the bytes that an id may have. */
static void name_aggregate(const struct wp_own_page *page, char name[64])
{
    char known[32];
    wp_id_from(*page->name ? page->name : kind_of(page), known, sizeof(known));
    snprintf(name, 64, "%s-%u", known, (unsigned)page->id);
}

static void log_path(const struct wp_own_pages *own, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/" LOG, own->options.folder);
}

/* `args` is freed. */
static int start(struct wp_own_pages *own, struct wp_args *args, struct wp_error *err)
{
    char path[PATH_MAX], log[PATH_MAX];
    int rc = args->failed ? wp_error_set(err, -ENOMEM, "out of memory for a command line")
                          : wp_program_sibling(args->items[0], path, sizeof(path), err);
    log_path(own, log);
    int fd = rc ? -1 : open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (!rc && fd < 0)
        rc = wp_error_errno(err, -errno, "cannot write '%s'", log);
    if (!rc)
        rc = wp_child_start(&own->child,
            &(struct wp_child_options){.name = args->items[0],
                .path = path,
                .argv = args->items,
                .kind = WP_CHILD_PART,
                .mask = own->options.mask,
                .log_fd = fd,
                .keep_fd = -1},
            err);
    if (fd >= 0)
        close(fd);
    wp_args_fini(args);
    return rc;
}

static int start_import(struct wp_own_pages *own, struct wp_error *err)
{
    struct wp_args args = {0};
    wp_args_add(&args, "wakepath-store");
    wp_args_add(&args, "import");
    wp_args_add(&args, own->options.capture);
    wp_args_add(&args, "--into");
    wp_args_addf(&args, "%s/" STORE, own->options.folder);
    if (own->options.release) {
        wp_args_add(&args, "--force");
        wp_args_add(&args, "--release");
        wp_args_add(&args, own->options.release);
    }
    for (unsigned i = 0; i < own->count; i++) {
        char name[64];
        name_aggregate(&own->pages[i], name);
        wp_args_add(&args, "--aggregate");
        wp_args_addf(&args, "%s=%s=%u", name, kind_of(&own->pages[i]), (unsigned)own->pages[i].id);
    }
    return start(own, &args, err);
}

static int start_page(struct wp_own_pages *own, const struct wp_own_page *page, struct wp_error *err)
{
    struct wp_args args = {0};
    char name[64], file[40];
    name_aggregate(page, name);
    wp_own_page_file(page, file);
    wp_args_add(&args, "wakepath-reporter");
    wp_args_add(&args, "--no-config");
    wp_args_add(&args, "--store");
    wp_args_addf(&args, "%s/" STORE, own->options.folder);
    wp_args_add(&args, "--aggregate");
    wp_args_add(&args, name);
    wp_args_add(&args, "--single-file");
    wp_args_add(&args, "--source-disk");
    wp_args_add(&args, "/");
    wp_args_add(&args, "--out");
    wp_args_addf(&args, "%s/%s", own->options.out, file);
    return start(own, &args, err);
}

int wp_own_pages_begin(struct wp_own_pages *own, const struct wp_own_pages_options *options,
    const struct wp_own_page *pages, unsigned count, struct wp_error *err)
{
    *own = (struct wp_own_pages){.options = *options, .count = count, .child = WP_CHILD_NONE};
    memcpy(own->pages, pages, count * sizeof(*pages));
    return start_import(own, err);
}

/* What the program said last, without its name and level. */
static int explain(const struct wp_own_pages *own, struct wp_error *err)
{
    char path[PATH_MAX];
    struct wp_buffer log = {0};
    log_path(own, path);
    wp_file_read(path, LOG_BYTES, &log, NULL);
    while (log.size && log.data[log.size - 1] == '\n')
        log.size--;
    wp_buffer_putc(&log, 0);
    const char *text = log.failed ? "" : (const char *)log.data, *line = strrchr(text, '\n');
    const char *words = strstr(line ? line : text, ": error: ");
    words = words ? words + strlen(": error: ") : line ? line + 1 : text;
    wp_error_set(err, -EIO, "%s%s%s", own->child.name, *words ? ": " : " failed", words);
    wp_buffer_fini(&log);
    return -EIO;
}

int wp_own_pages_step(struct wp_own_pages *own, struct wp_error *err)
{
    if (wp_child_exit_code(&own->child))
        return explain(own, err);
    wp_child_fini(&own->child);
    if (own->step == own->count)
        return 1;
    return start_page(own, &own->pages[own->step++], err);
}

void wp_own_pages_end(struct wp_own_pages *own)
{
    char path[PATH_MAX];
    wp_child_end(&own->child, 2000);
    wp_child_fini(&own->child);
    snprintf(path, sizeof(path), "%s/" STORE, own->options.folder);
    wp_path_remove(path, NULL);
    log_path(own, path);
    unlink(path);
}
