/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/env/network_fs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#define FUSE_MAGIC 0x65735546ul

static const struct {
    unsigned long magic;
    const char *name;
} by_magic[] = {
    /* linux/magic.h of 6.1, and the ones that live outside of the kernel's tree */
    {0x6969, "NFS"},
    {0x517b, "SMB"},
    {0xff534d42, "CIFS"},
    {0xfe534d42, "SMB2"},
    {0x5346414f, "AFS"},
    {0x6b414653, "AFS"},
    {0x73757245, "Coda"},
    {0x00c36400, "Ceph"},
    {0x01021997, "9P"},
    {0x564c, "NCP"},
    {0x0bd00bd0, "Lustre"},
    {0x20030528, "OrangeFS"},
    {0x19830326, "BeeGFS"},
    {0xaad7aaea, "PanFS"},
};

static const char *const by_fuse_type[] = {"fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.ceph-fuse", "fuse.rclone",
    "fuse.s3fs", "fuse.gcsfuse", "fuse.goofys", "fuse.mount-s3", "fuse.davfs", "fuse.curlftpfs", "fuse.juicefs",
    "fuse.seaweedfs", "fuse.moosefs", "fuse.mfs", "fuse.lizardfs", "fuse.blobfuse", "fuse.blobfuse2"};

const char *wp_network_fs_name(unsigned long magic, const char *fuse_type)
{
    for (size_t i = 0; i < sizeof(by_magic) / sizeof(*by_magic); i++)
        if (by_magic[i].magic == magic)
            return by_magic[i].name;
    for (size_t i = 0; magic == FUSE_MAGIC && fuse_type && i < sizeof(by_fuse_type) / sizeof(*by_fuse_type); i++)
        if (!strcmp(by_fuse_type[i], fuse_type))
            return by_fuse_type[i];
    return NULL;
}

/* The type of the mount that holds `path`: "36 35 98:0 /mnt1 /mnt2 rw shared:1 - fuse.sshfs host:/ rw". */
static int fuse_type(const char *path, char type[128])
{
    struct stat st;
    FILE *mounts = stat(path, &st) ? NULL : fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t room = 0;
    int found = 0;
    while (mounts && !found && getline(&line, &room, mounts) > 0) {
        unsigned major_id, minor_id;
        const char *dash = strstr(line, " - ");
        found = dash && sscanf(line, "%*u %*u %u:%u", &major_id, &minor_id) == 2 && major_id == major(st.st_dev) &&
            minor_id == minor(st.st_dev) && sscanf(dash + 3, "%127s", type) == 1;
    }
    free(line);
    if (mounts)
        fclose(mounts);
    return found;
}

int wp_network_fs_refuse(const char *path, struct wp_error *err)
{
    struct statfs fs;
    char type[128];
    if (statfs(path, &fs))
        return 0; /* it will be said by who opens it */
    unsigned long magic = (unsigned long)fs.f_type & 0xfffffffful;
    const char *name = wp_network_fs_name(magic, magic == FUSE_MAGIC && fuse_type(path, type) ? type : NULL);
    if (!name)
        return 0;
    return wp_error_set(err, -ENOTSUP,
        "'%s' is on a network file system (%s), where LMDB's shared map and locks are not safe: keep the store on a "
        "local disk, and copy it when it is not being written",
        path, name);
}
