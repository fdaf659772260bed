/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf/elf_file.h"

#include "collector/host/process_file.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_LIMIT ((off_t)4 << 30)
#define NOTE_BYTES ((size_t)1 << 16)
#define MINI_BYTES ((size_t)16 << 20) /* compressed */
#define MINI_OUT_BYTES ((size_t)64 << 20)
#define MINI_MEMORY ((uint64_t)128 << 20) /* that the decoder may take: xz -9 needs 65 MiB */

/* NT_GNU_BUILD_ID among some notes. */
static bool take_build_id(struct wp_elf_file *f, Elf_Data *data)
{
    GElf_Nhdr note;
    size_t name, content;
    for (size_t at = 0; data && (at = gelf_getnote(data, at, &note, &name, &content)) > 0;)
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz &&
            note.n_descsz <= WP_BUILD_ID_BYTES && !memcmp((char *)data->d_buf + name, "GNU", 4)) {
            memcpy(f->build_id, (char *)data->d_buf + content, note.n_descsz);
            f->build_id_size = note.n_descsz;
            return true;
        }
    return false;
}

/* By segments, which every file has that runs, then by sections, which is all that some debug files have. */
static void find_build_id(struct wp_elf_file *f)
{
    size_t count = 0;
    elf_getphdrnum(f->elf, &count);
    for (size_t i = 0; i < count && i < 4096; i++) {
        GElf_Phdr header;
        if (gelf_getphdr(f->elf, (int)i, &header) && header.p_type == PT_NOTE && header.p_filesz <= NOTE_BYTES &&
            take_build_id(f,
                elf_getdata_rawchunk(
                    f->elf, (int64_t)header.p_offset, header.p_filesz, header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR)))
            return;
    }
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(f->elf, section))) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE && header.sh_size <= NOTE_BYTES &&
            !(header.sh_flags & SHF_COMPRESSED) && take_build_id(f, elf_getdata(section, NULL)))
            return;
    }
}

static int look_at_file(struct wp_elf_file *f, struct wp_error *err)
{
    if (!f->elf || elf_kind(f->elf) != ELF_K_ELF) {
        wp_elf_file_close(f);
        return wp_error_set(err, -ENOEXEC, "it is not an ELF file");
    }
    find_build_id(f);
    return 0;
}

int wp_elf_file_open(struct wp_elf_file *f, int fd, struct wp_error *err)
{
    struct stat status;
    *f = (struct wp_elf_file){.fd = fd};
    if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_size > FILE_LIMIT) {
        wp_elf_file_close(f);
        return wp_error_set(err, -ENOEXEC, "no file that could hold functions");
    }
    elf_version(EV_CURRENT);
    f->elf = elf_begin(fd, ELF_C_READ, NULL);
    return look_at_file(f, err);
}

int wp_elf_file_open_path(struct wp_elf_file *f, const char *path, struct wp_error *err)
{
    int fd = wp_process_file_below(-1, path);
    *f = (struct wp_elf_file){.fd = -1};
    if (fd < 0)
        return wp_error_errno(err, fd, "cannot open '%s'", path);
    int rc = wp_elf_file_open(f, fd, err);
    return rc ? wp_error_wrap(err, rc, "'%s'", path) : 0;
}

int wp_elf_file_open_memory(struct wp_elf_file *f, const void *image, size_t size, struct wp_error *err)
{
    *f = (struct wp_elf_file){.fd = -1};
    elf_version(EV_CURRENT);
    f->elf = elf_memory((char *)image, size); /* only read: it is not opened for writing */
    return look_at_file(f, err);
}

bool wp_elf_file_separate_path(const uint8_t *id, uint32_t size, char path[WP_SEPARATE_PATH])
{
    static const char folder[] = "/usr/lib/debug/.build-id/";
    char *at = path + strlen(folder);
    if (size < 2 || size > WP_BUILD_ID_BYTES)
        return false;
    strcpy(path, folder);
    for (uint32_t i = 0; i < size; i++)
        at += sprintf(at, i == 0 ? "%02x/" : "%02x", id[i]);
    strcpy(at, ".debug");
    return true;
}

int wp_elf_file_open_separate(struct wp_elf_file *f, int root_fd, const uint8_t *id, uint32_t size)
{
    char path[WP_SEPARATE_PATH];
    *f = (struct wp_elf_file){.fd = -1};
    if (!wp_elf_file_separate_path(id, size, path))
        return -ENOENT;
    int fd = wp_process_file_below(root_fd, path);
    int rc = fd < 0 ? -ENOENT : wp_elf_file_open(f, fd, NULL);
    if (!rc && !wp_elf_file_is_build(f, id, size)) {
        wp_elf_file_close(f);
        rc = -ENOENT;
    }
    return rc;
}

static int unfold(struct wp_buffer *out, const Elf_Data *data)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    uint8_t piece[65536];
    if (lzma_stream_decoder(&stream, MINI_MEMORY, 0) != LZMA_OK)
        return -ENOMEM;
    stream.next_in = data->d_buf;
    stream.avail_in = data->d_size;
    lzma_ret rc = LZMA_OK;
    while (rc == LZMA_OK && !out->failed && out->size <= MINI_OUT_BYTES) {
        stream.next_out = piece;
        stream.avail_out = sizeof(piece);
        rc = lzma_code(&stream, LZMA_FINISH);
        wp_buffer_append(out, piece, sizeof(piece) - stream.avail_out);
    }
    lzma_end(&stream);
    if (out->failed)
        return -ENOMEM;
    return out->size > MINI_OUT_BYTES || rc == LZMA_MEMLIMIT_ERROR ? -E2BIG : rc == LZMA_STREAM_END ? 0 : -EINVAL;
}

int wp_elf_file_open_mini(struct wp_elf_file *f, const struct wp_elf_file *outer)
{
    GElf_Shdr header;
    Elf_Data *data = wp_elf_file_section(outer, ".gnu_debugdata", MINI_BYTES, &header);
    struct wp_buffer image = {0};
    *f = (struct wp_elf_file){.fd = -1};
    if (!data || !data->d_buf)
        return -ENOENT;
    int rc = unfold(&image, data);
    if (!rc)
        rc = wp_elf_file_open_memory(f, image.data, image.size, NULL) ? -EINVAL : 0;
    if (rc)
        wp_buffer_fini(&image);
    else
        f->image = image;
    return rc;
}

void wp_elf_file_close(struct wp_elf_file *f)
{
    elf_end(f->elf);
    if (f->fd >= 0)
        close(f->fd);
    wp_buffer_fini(&f->image);
    *f = (struct wp_elf_file){.fd = -1};
}

void wp_elf_file_read_anew(struct wp_elf_file *f)
{
    Elf *elf = f->fd >= 0 ? elf_begin(f->fd, ELF_C_READ, NULL) : NULL;
    if (!elf)
        return;
    elf_end(f->elf);
    f->elf = elf;
}

void wp_elf_file_done(struct wp_elf_file *f)
{
    if (f->fd < 0)
        return;
    elf_cntl(f->elf, ELF_C_FDDONE);
    close(f->fd);
    f->fd = -1;
}

bool wp_elf_file_is_build(const struct wp_elf_file *f, const uint8_t *build_id, uint32_t size)
{
    return f->build_id_size == size && !memcmp(f->build_id, build_id, size);
}

static Elf_Scn *section_of(const struct wp_elf_file *f, const char *name, GElf_Shdr *header)
{
    size_t names;
    Elf_Scn *section = NULL;
    if (elf_getshdrstrndx(f->elf, &names))
        return NULL;
    while ((section = elf_nextscn(f->elf, section))) {
        const char *found = gelf_getshdr(section, header) ? elf_strptr(f->elf, names, header->sh_name) : NULL;
        if (found && !strcmp(found, name))
            return section;
    }
    return NULL;
}

bool wp_elf_file_header(const struct wp_elf_file *f, const char *name, GElf_Shdr *header)
{
    return section_of(f, name, header);
}

Elf_Data *wp_elf_file_section(const struct wp_elf_file *f, const char *name, size_t limit, GElf_Shdr *header)
{
    Elf_Scn *section = section_of(f, name, header);
    bool is_readable =
        section && header->sh_type != SHT_NOBITS && !(header->sh_flags & SHF_COMPRESSED) && header->sh_size <= limit;
    return is_readable ? elf_getdata(section, NULL) : NULL;
}
