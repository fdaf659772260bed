/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/symbols/kernel_symbols.h"

#include "collector/host/kept_files.h"
#include "common/array.h"
#include "common/buffer.h"
#include "common/path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define SYMBOLS_LIMIT (8u << 20)
#define MODULES_BYTES ((size_t)4 << 20)
#define PAGE ((uint64_t)4096)
#define BLOCK 16384u     /* bytes; the kernel gives a page at a time, stdio asks for a quarter of one */
#define REACH (1u << 20) /* no function is longer: an address farther behind is in code that has no names */

struct symbol {
    uint64_t address;
    uint32_t name, module; /* in texts; module 0: the kernel */
};

struct wp_kernel_symbols {
    struct symbol *symbols; /* owned, but of kept ones */
    uint32_t count, room;
    struct wp_buffer texts; /* owned, but of kept ones; begins with an empty one */
    uint64_t first;         /* address of the first line */
    uint64_t text_start, text_end;
    void *kept; /* the file that all is in, mapped; NULL: they were read */
    size_t kept_size;
    FILE *rest; /* owned; of kept ones: what has all that the kernel knows now, opened while that may be; NULL */
};

/* Then the symbols, then the texts. */
struct kept_head {
    char magic[WP_KEPT_MAGIC];
    uint64_t first, text_start, text_end;
    uint32_t count, texts;
};

static const struct wp_kept_kind kept_kind = {
    .suffix = ".kernel", .magic = "WPKER01", .most_bytes = (uint64_t)64 << 20, .most_files = 16};

void wp_kernel_symbols_destroy(struct wp_kernel_symbols *s)
{
    if (!s)
        return;
    if (s->rest)
        fclose(s->rest);
    if (s->kept) {
        munmap(s->kept, s->kept_size);
    } else {
        free(s->symbols);
        wp_buffer_fini(&s->texts);
    }
    free(s);
}

/* What is kept may be damaged. */
static const char *text_at(const struct wp_kernel_symbols *s, uint32_t at)
{
    return at < s->texts.size ? (const char *)s->texts.data + at : "";
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
    if (!s->first)
        s->first = address;
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

static int read_lines(struct wp_kernel_symbols **symbols, FILE *file, struct wp_error *err)
{
    struct wp_kernel_symbols *s = calloc(1, sizeof(*s));
    char line[1024];
    int rc = s ? wp_buffer_append(&s->texts, "", 1) : -ENOMEM;
    while (!rc && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = 0;
        rc = take_line(s, line);
    }
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

int wp_kernel_symbols_read(struct wp_kernel_symbols **symbols, const char *path, struct wp_error *err)
{
    FILE *file = fopen(path, "re");
    char block[BLOCK];
    if (!file)
        return wp_error_errno(err, -errno, "cannot read '%s'", path);
    setvbuf(file, block, _IOFBF, sizeof(block));
    int rc = read_lines(symbols, file, err);
    fclose(file);
    return rc;
}

void wp_kernel_symbols_complete(struct wp_kernel_symbols **symbols)
{
    struct wp_kernel_symbols *s = *symbols, *all;
    if (!s->rest)
        return;
    rewind(s->rest);
    if (!read_lines(&all, s->rest, NULL)) {
        *symbols = all;
        wp_kernel_symbols_destroy(s);
        return;
    }
    fclose(s->rest);
    s->rest = NULL;
}

/* By its own length or by what follows. Kept ones have not all that is behind a module's last function: it may be
 * code that was made since. */
static bool is_of(const struct wp_kernel_symbols *s, const struct symbol *symbol, uint64_t address)
{
    const struct symbol *next = symbol + 1, *end = s->symbols + s->count;
    if (!symbol->module)
        return !s->text_end || symbol->address >= s->text_end || address < s->text_end;
    bool is_inside = next < end && next->module && !strcmp(text_at(s, next->module), text_at(s, symbol->module));
    return !s->kept || is_inside || address < (symbol->address | (PAGE - 1)) + 1;
}

int wp_kernel_symbols_find(const struct wp_kernel_symbols *s, uint64_t address, struct wp_kernel_function *function)
{
    uint32_t low = WP_LOWER_BOUND(middle, 0, s->count, s->symbols[middle].address <= address);
    if (!low || address - s->symbols[low - 1].address > REACH || !is_of(s, &s->symbols[low - 1], address))
        return s->rest ? -EAGAIN : -ENOENT;
    const struct symbol *symbol = &s->symbols[low - 1];
    while (symbol > s->symbols && symbol[-1].address == symbol->address) /* the first of several names */
        symbol--;
    *function = (struct wp_kernel_function){.name = text_at(s, symbol->name),
        .module = text_at(s, symbol->module),
        .offset = symbol->module ? address - symbol->address : address - s->text_start};
    return 0;
}

uint64_t wp_kernel_symbols_address(const struct wp_kernel_symbols *s, const char *name)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (!strcmp(text_at(s, s->symbols[i].name), name))
            return s->symbols[i].address;
    return 0;
}

/* --- kept --- */

/* Names and addresses of the modules; others of them are another kernel. */
static uint64_t modules_hash(const char *path)
{
    struct wp_buffer text = {0};
    XXH64_hash_t hash = 0;
    char *rest, line[512];
    bool is_read = !wp_file_read(path, MODULES_BYTES, &text, NULL) && !wp_buffer_append(&text, "", 1);
    char *at = is_read ? strtok_r((char *)text.data, "\n", &rest) : NULL;
    for (; at; at = strtok_r(NULL, "\n", &rest)) { /* "ext4 16384 1 - Live 0xffffffffc0000000" */
        char name[128] = "", address[64] = "";
        if (sscanf(at, "%127s %*s %*s %*s %*s %63s", name, address) == 2) {
            snprintf(line, sizeof(line), "%s %s", name, address);
            hash = XXH64(line, strlen(line), hash);
        }
    }
    wp_buffer_fini(&text);
    return hash;
}

/* Of this boot: addresses are others in the next. */
static bool kept_name(char name[WP_KEPT_NAME])
{
    struct wp_buffer boot = {0};
    bool is_known = !wp_file_read("/proc/sys/kernel/random/boot_id", 128, &boot, NULL) && boot.size;
    if (is_known) {
        XXH128_hash_t hash = XXH3_128bits_withSeed(boot.data, boot.size, modules_hash("/proc/modules"));
        snprintf(name, WP_KEPT_NAME, "%016llx%016llx%s", (unsigned long long)hash.high64,
            (unsigned long long)hash.low64, kept_kind.suffix);
    }
    wp_buffer_fini(&boot);
    return is_known;
}

/* What the kernel makes at run time (its own trampolines, BPF programs) is not of the next recording. */
static bool is_lasting(const struct wp_kernel_symbols *s, const struct symbol *symbol)
{
    const char *module = text_at(s, symbol->module);
    return strcmp(module, "[bpf]") && strncmp(module, "[__builtin__", 12);
}

void wp_kernel_symbols_keep(const struct wp_kernel_symbols *s, const char *folder)
{
    struct kept_head head = {.first = s->first, .text_start = s->text_start, .text_end = s->text_end};
    struct wp_buffer bytes = {0};
    char name[WP_KEPT_NAME];
    if (s->kept || !s->first || !kept_name(name))
        return;
    memcpy(head.magic, kept_kind.magic, sizeof(head.magic));
    head.texts = (uint32_t)s->texts.size;
    wp_buffer_append(&bytes, &head, sizeof(head));
    for (uint32_t i = 0; i < s->count; i++)
        if (is_lasting(s, &s->symbols[i])) {
            wp_buffer_append(&bytes, &s->symbols[i], sizeof(s->symbols[i]));
            head.count++;
        }
    wp_buffer_append(&bytes, s->texts.data, s->texts.size);
    if (!bytes.failed) {
        memcpy(bytes.data, &head, sizeof(head));
        wp_kept_files_bound(&kept_kind, folder, bytes.size);
        wp_kept_files_write(folder, name, &bytes);
    }
    wp_buffer_fini(&bytes);
}

/* Does the kernel still show its addresses, and are they those? */
static bool has_first(FILE *file, uint64_t first)
{
    char line[64] = "";
    return file && fgets(line, sizeof(line), file) && strtoull(line, NULL, 16) == first;
}

/* All of its sizes fit, and the texts end. */
static int take_kept(struct wp_kernel_symbols *s)
{
    struct kept_head head;
    if (s->kept_size < sizeof(head))
        return -EINVAL;
    memcpy(&head, s->kept, sizeof(head));
    size_t symbols = (size_t)head.count * sizeof(*s->symbols);
    char *texts = (char *)s->kept + sizeof(head) + symbols;
    if (head.count > SYMBOLS_LIMIT || !head.texts || s->kept_size != sizeof(head) + symbols + head.texts ||
        texts[head.texts - 1] || !has_first(s->rest, head.first))
        return -EINVAL;
    s->symbols = (struct symbol *)((char *)s->kept + sizeof(head));
    s->count = head.count;
    s->texts = (struct wp_buffer){.data = (uint8_t *)texts, .size = head.texts};
    s->first = head.first;
    s->text_start = head.text_start;
    s->text_end = head.text_end;
    return 0;
}

int wp_kernel_symbols_restore(struct wp_kernel_symbols **symbols, const char *folder, const char *path)
{
    char name[WP_KEPT_NAME];
    struct stat status;
    int fd = kept_name(name) ? wp_kept_files_open(&kept_kind, folder, name) : -1;
    if (fd < 0)
        return -ENOENT;
    struct wp_kernel_symbols *s = calloc(1, sizeof(*s));
    /* Nobody else writes there, and what is replaced keeps its length. */
    void *kept = s && !fstat(fd, &status) && status.st_size
        ? mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
        : MAP_FAILED;
    close(fd);
    if (kept == MAP_FAILED) {
        free(s);
        return -ENOMEM;
    }
    s->kept = kept;
    s->kept_size = (size_t)status.st_size;
    s->rest = fopen(path, "re"); /* the kernel asks who opens it, not who reads */
    int rc = take_kept(s);
    if (rc)
        wp_kernel_symbols_destroy(s);
    else
        *symbols = s;
    return rc;
}
