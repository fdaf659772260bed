/* SPDX-License-Identifier: Apache-2.0 */
/* Without libFuzzer: runs every file of the folders that are named through the target. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run_file(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    size_t room = 1 << 22;
    uint8_t *bytes = malloc(room);
    size_t size = bytes ? fread(bytes, 1, room, file) : 0;
    fclose(file);
    uint8_t *exact = malloc(size + 1); /* so that a sanitizer sees a byte too far */
    if (exact && bytes) {
        memcpy(exact, bytes, size);
        LLVMFuzzerTestOneInput(exact, size);
    }
    free(exact);
    free(bytes);
    return 1;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = *argv[i] == '-' ? NULL : opendir(argv[i]);
        struct dirent *entry;
        while (folder && (entry = readdir(folder)))
            if (*entry->d_name != '.')
                count += run_file(argv[i], entry->d_name);
        if (folder)
            closedir(folder);
    }
    printf("%d inputs\n", count);
    return count ? 0 : 1; /* a corpus that is missing is a failure */
}
