/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view/own_pages.h"

#include "cli/base/args.h"
#include "cli/base/program.h"
#include "common/buffer.h"
#include "common/log.h"
#include "common/path.h"
#include "common/selector.h"
#include "storage/value/bucket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define MOST_ID 4194304u
#define LOG_BYTES (1u << 20)
#define LOG "own.log"
#define STORE "own.store"
#define SYSTEM "own.system"
#define IDS_ROOM 72u        /* eight numbers */
#define AGGREGATE_ROOM 112u /* a name of 31 bytes with them */

static const char *kind_of(const struct wp_own_page *page)
{
    return page->is_thread ? "tid" : "pid";
}

/* "4711", "4711+4712" */
static void put_ids(const struct wp_own_page *page, char ids[IDS_ROOM])
{
    int size = snprintf(ids, IDS_ROOM, "%u", (unsigned)page->id);
    for (unsigned i = 0; i < WP_OWN_OTHERS && page->others[i]; i++)
        size += snprintf(ids + size, IDS_ROOM - (size_t)size, "+%u", (unsigned)page->others[i]);
}

void wp_own_page_key(const struct wp_own_page *page, char key[WP_OWN_NAME])
{
    char ids[IDS_ROOM];
    put_ids(page, ids);
    if (*page->selector)
        snprintf(
            key, WP_OWN_NAME, "of-%016llx", (unsigned long long)XXH3_64bits(page->selector, strlen(page->selector)));
    else
        snprintf(key, WP_OWN_NAME, "%s-%s", kind_of(page), ids);
}

void wp_own_page_file(const struct wp_own_page *page, char name[WP_OWN_NAME])
{
    char key[WP_OWN_NAME];
    wp_own_page_key(page, key);
    snprintf(name, WP_OWN_NAME, "~own-%.80s.html", key);
}

int wp_own_page_choose(struct wp_own_page *page, const char *selector, struct wp_error *err)
{
    struct wp_selector parsed;
    struct wp_buffer text = {0};
    *page = (struct wp_own_page){0};
    int rc = wp_selector_parse(&parsed, selector, err);
    if (rc)
        return rc;
    wp_selector_print(&parsed, &text);
    wp_selector_fini(&parsed);
    wp_buffer_putc(&text, 0);
    if (text.failed)
        rc = wp_error_set(err, -ENOMEM, "out of memory for a selector");
    else if (text.size > sizeof(page->selector))
        rc = wp_error_set(err, -E2BIG, "a selector of more than %u bytes", WP_OWN_SELECTOR - 1);
    else
        memcpy(page->selector, text.data, text.size);
    wp_buffer_fini(&text);
    return rc;
}

/* In its place among those that are there; what is there already stays alone. */
static void insert(uint32_t ids[WP_OWN_OTHERS + 1], unsigned *count, uint32_t id)
{
    unsigned at = *count;
    while (at && ids[at - 1] > id)
        at--;
    if (at && ids[at - 1] == id)
        return;
    memmove(&ids[at + 1], &ids[at], (*count - at) * sizeof(*ids));
    ids[at] = id;
    ++*count;
}

bool wp_own_page_parse(struct wp_own_page *page, const char *text)
{
    uint32_t ids[WP_OWN_OTHERS + 1] = {0};
    unsigned count = 0;
    *page = (struct wp_own_page){.is_thread = !strncmp(text, "tid-", 4)};
    if (!page->is_thread && strncmp(text, "pid-", 4))
        return false;
    for (text += 4;; text++) {
        char *end = NULL;
        unsigned long id = *text >= '1' && *text <= '9' ? strtoul(text, &end, 10) : 0;
        if (!id || id > MOST_ID || (*end && *end != '+') || count > WP_OWN_OTHERS)
            return false;
        insert(ids, &count, (uint32_t)id);
        text = end;
        if (!*text)
            break;
    }
    page->id = ids[0];
    memcpy(page->others, ids + 1, sizeof(page->others));
    return true;
}

/* "cc1-4711", "main-interval": of the bytes that an id may have. */
static void name_aggregate(const struct wp_own_page *page, char name[AGGREGATE_ROOM])
{
    char known[32], ids[IDS_ROOM];
    put_ids(page, ids);
    wp_id_from(*page->name ? page->name : *page->selector ? "chosen" : kind_of(page), known, sizeof(known));
    if (*page->selector)
        snprintf(name, AGGREGATE_ROOM, "%s%s", known, strstr(page->selector, "between=") ? "-interval" : "");
    else
        snprintf(name, AGGREGATE_ROOM, "%s-%s", known, ids);
    if (!wp_aggregate_valid(name))
        snprintf(name, AGGREGATE_ROOM, "chosen");
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
            &(struct wp_child_options){.name = own->step ? "wakepath-reporter" : "wakepath-store",
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
    if (own->count == 1) { /* it marks the threads of all aggregates of the import as of interest */
        wp_args_add(&args, "--system-window");
        wp_args_addf(&args, "%s/" SYSTEM, own->options.folder);
    }
    if (own->options.release) {
        wp_args_add(&args, "--force");
        wp_args_add(&args, "--release");
        wp_args_add(&args, own->options.release);
    }
    for (unsigned i = 0; i < own->count; i++) {
        char name[AGGREGATE_ROOM], ids[IDS_ROOM];
        name_aggregate(&own->pages[i], name);
        put_ids(&own->pages[i], ids);
        wp_args_add(&args, "--aggregate");
        if (*own->pages[i].selector)
            wp_args_addf(&args, "%s=%s", name, own->pages[i].selector);
        else
            wp_args_addf(&args, "%s=%s=%s", name, kind_of(&own->pages[i]), ids);
    }
    return start(own, &args, err);
}

static void system_path(const struct wp_own_pages *own, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/" SYSTEM, own->options.folder);
}

/* Whether the import has written what all threads did; that of several pages is not asked to. */
static bool has_system(const struct wp_own_pages *own)
{
    char path[PATH_MAX];
    system_path(own, path);
    return own->count == 1 && !access(path, R_OK);
}

static int start_page(struct wp_own_pages *own, const struct wp_own_page *page, struct wp_error *err)
{
    struct wp_args args = {0};
    char name[AGGREGATE_ROOM], file[WP_OWN_NAME];
    name_aggregate(page, name);
    wp_own_page_file(page, file);
    wp_args_add(&args, "wakepath-reporter");
    wp_args_add(&args, "--no-config");
    wp_args_add(&args, "--store");
    wp_args_addf(&args, "%s/" STORE, own->options.folder);
    wp_args_add(&args, "--aggregate");
    wp_args_add(&args, name);
    wp_args_add(&args, "--single-file");
    if (has_system(own)) {
        wp_args_add(&args, "--system-window");
        wp_args_addf(&args, "%s/" SYSTEM, own->options.folder);
    }
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

static int explain(const struct wp_own_pages *own, struct wp_error *err)
{
    char path[PATH_MAX];
    struct wp_buffer log = {0};
    log_path(own, path);
    wp_file_read(path, LOG_BYTES, &log, NULL);
    wp_buffer_putc(&log, 0);
    const char *words = log.failed ? NULL : wp_log_last_words((char *)log.data);
    wp_error_set(err, -EIO, "%s", words ? words : own->step ? "the pages could not be made" : "the import failed");
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
    system_path(own, path);
    unlink(path);
    log_path(own, path);
    unlink(path);
}
