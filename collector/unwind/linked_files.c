/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/unwind/linked_files.h"

#include "collector/elf/elf_file.h"
#include "common/buffer.h"
#include "common/path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES 256u
#define SECTION_BYTES ((size_t)16 << 20)
#define CACHE_BYTES ((size_t)64 << 20)
#define CACHE "/etc/ld.so.cache"
#define CACHE_MAGIC "glibc-ld.so.cache1.1" /* elf/dl-cache.h of glibc: struct cache_file_new */
#define CACHE_HEADER 48u
#define CACHE_ENTRY 24u

struct walk {
    char *files[FILES]; /* owned; real paths in the order they were found */
    unsigned count;
    GElf_Half machine;
    struct wp_buffer cache;
};

static bool is_for(struct walk *w, const char *path)
{
    struct wp_elf_file file;
    GElf_Ehdr header;
    if (wp_elf_file_open_path(&file, path, NULL))
        return false;
    bool is_elf = gelf_getehdr(file.elf, &header);
    if (is_elf && !w->machine)
        w->machine = header.e_machine;
    bool is_same = is_elf && header.e_machine == w->machine;
    wp_elf_file_close(&file);
    return is_same;
}

/* True when it is there, and now or before among the files. */
static bool add(struct walk *w, const char *path)
{
    char *real = realpath(path, NULL);
    if (!real)
        return false;
    for (unsigned i = 0; i < w->count; i++)
        if (!strcmp(w->files[i], real)) {
            free(real);
            return true;
        }
    if (w->count == FILES || !is_for(w, real)) {
        free(real);
        return false;
    }
    w->files[w->count++] = real;
    return true;
}

/* In the folders of a list as ld.so has them: "$ORIGIN/../lib:/opt/lib". */
static bool add_in(struct walk *w, const char *folders, const char *origin, const char *name)
{
    char path[PATH_MAX];
    for (const char *at = folders, *end; at && *at; at = *end ? end + 1 : end) {
        end = strchrnul(at, ':');
        int size = (int)(end - at);
        bool is_own = !strncmp(at, "$ORIGIN", 7) || !strncmp(at, "${ORIGIN}", 9);
        int skip = !is_own ? 0 : at[1] == '{' ? 9 : 7;
        int used = snprintf(path, sizeof(path), "%s%.*s/%s", is_own ? origin : "", size - skip, at + skip, name);
        if (size > skip - 1 && used < (int)sizeof(path) && *path == '/' && add(w, path))
            return true;
    }
    return false;
}

static uint32_t number_at(const struct walk *w, size_t at)
{
    uint32_t value = 0;
    if (at + sizeof(value) <= w->cache.size)
        memcpy(&value, w->cache.data + at, sizeof(value));
    return value;
}

/* A text of the cache; "" beyond it. It was read with a NUL behind. */
static const char *text_at(const struct walk *w, uint32_t at)
{
    return at < w->cache.size ? (const char *)w->cache.data + at : "";
}

static bool add_cached(struct walk *w, const char *name)
{
    if (!w->cache.size || memcmp(w->cache.data, CACHE_MAGIC, sizeof(CACHE_MAGIC) - 1))
        return false;
    size_t count = number_at(w, 20);
    for (size_t i = 0; i < count && CACHE_HEADER + (i + 1) * CACHE_ENTRY <= w->cache.size; i++) {
        size_t entry = CACHE_HEADER + i * CACHE_ENTRY;
        if (!strcmp(text_at(w, number_at(w, entry + 4)), name) && add(w, text_at(w, number_at(w, entry + 8))))
            return true;
    }
    return false;
}

struct dynamic {
    const char *runpath, *rpath;
};

static const char *dynamic_text(Elf *elf, const GElf_Shdr *header, uint64_t value)
{
    const char *text = elf_strptr(elf, header->sh_link, value);
    return text ? text : "";
}

static void add_needed(struct walk *w, const char *path, const struct wp_elf_file *file)
{
    GElf_Shdr header;
    Elf_Data *data = wp_elf_file_section(file, ".dynamic", SECTION_BYTES, &header);
    size_t count = data && header.sh_entsize ? data->d_size / header.sh_entsize : 0;
    struct dynamic found = {"", ""};
    GElf_Dyn entry;
    char origin[PATH_MAX];
    snprintf(origin, sizeof(origin), "%.*s", (int)(strrchr(path, '/') - path), path);
    for (size_t i = 0; i < count && i < INT_MAX && gelf_getdyn(data, (int)i, &entry) && entry.d_tag; i++)
        if (entry.d_tag == DT_RUNPATH || entry.d_tag == DT_RPATH)
            *(entry.d_tag == DT_RUNPATH ? &found.runpath : &found.rpath) =
                dynamic_text(file->elf, &header, entry.d_un.d_val);
    for (size_t i = 0; i < count && i < INT_MAX && gelf_getdyn(data, (int)i, &entry) && entry.d_tag; i++) {
        const char *name = entry.d_tag == DT_NEEDED ? dynamic_text(file->elf, &header, entry.d_un.d_val) : "";
        if (*name == '/')
            add(w, name);
        else if (*name && !add_in(w, *found.runpath ? found.runpath : found.rpath, origin, name) &&
            !add_cached(w, name))
            add_in(w, "/lib64:/usr/lib64:/lib:/usr/lib", origin, name);
    }
}

/* "#!/usr/bin/env -S python3 -u": of the words behind env the first that is no option and no variable. */
static bool interpreter_of(const char *program, char *path, size_t room)
{
    char line[512], *rest;
    FILE *file = fopen(program, "re");
    bool has_line = file && fgets(line, sizeof(line), file) && line[0] == '#' && line[1] == '!';
    if (file)
        fclose(file);
    char *word = has_line ? strtok_r(line + 2, " \t\n", &rest) : NULL;
    if (!word || *word != '/')
        return false;
    snprintf(path, room, "%s", word);
    const char *slash = strrchr(word, '/');
    if (strcmp(slash, "/env"))
        return true;
    do
        word = strtok_r(NULL, " \t\n", &rest);
    while (word && (*word == '-' || strchr(word, '=')));
    const char *folders = getenv("PATH");
    for (const char *at = folders ? folders : "/usr/bin:/bin", *end; word && *at; at = *end ? end + 1 : end) {
        end = strchrnul(at, ':');
        snprintf(path, room, "%.*s/%s", (int)(end - at), at, word);
        if (!access(path, X_OK))
            return true;
    }
    return false;
}

void wp_linked_files(const char *program, void (*take)(void *context, const char *path), void *context)
{
    struct walk w = {0};
    char path[PATH_MAX];
    bool is_script = interpreter_of(program, path, sizeof(path));
    if (!wp_file_read(CACHE, CACHE_BYTES, &w.cache, NULL) && wp_buffer_append(&w.cache, "", 1))
        w.cache.size = 0;
    add(&w, is_script ? path : program);
    for (unsigned i = 0; i < w.count; i++) {
        struct wp_elf_file file;
        if (wp_elf_file_open_path(&file, w.files[i], NULL))
            continue;
        add_needed(&w, w.files[i], &file);
        wp_elf_file_close(&file);
    }
    for (unsigned i = 0; i < w.count; i++) {
        take(context, w.files[i]);
        free(w.files[i]);
    }
    wp_buffer_fini(&w.cache);
}
