/* SPDX-License-Identifier: Apache-2.0 */
/* Names of containers by the files of the kubelet and of each runtime, in a root of their own. */
#include "collector/host/containers.h"
#include "common/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#define ID "3f4e8d1c2b5a69788776655443322110ffeeddccbbaa99887766554433221100"
#define UID "0a1b2c3d-1111-2222-3333-444455556666"
#define UID_ "0a1b2c3d_1111_2222_3333_444455556666"
#define POD "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice"

struct bench {
    char root[64];
    struct wp_containers *containers;
    uint64_t group;
};

static int create(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    strcpy(b->root, "/tmp/wp-containers-XXXXXX");
    if (!mkdtemp(b->root))
        return -1;
    b->containers = wp_containers_create(b->root);
    *state = b;
    return !b->containers;
}

static int destroy(void **state)
{
    struct bench *b = *state;
    wp_containers_destroy(b->containers);
    wp_path_remove(b->root, NULL);
    free(b);
    return 0;
}

/* A file below the root, and the folders above it. */
static void make(struct bench *b, const char *path, const char *text)
{
    char whole[1024];
    snprintf(whole, sizeof(whole), "%s%s", b->root, path);
    mkdir(b->root, 0700);
    for (char *at = whole + strlen(b->root) + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(whole, 0755);
        *at = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_name(struct bench *b, const char *cgroup, const char *name)
{
    assert_string_equal(wp_containers_name(b->containers, ++b->group, cgroup), name);
}

static void by_the_kubelet(void **state)
{
    struct bench *b = *state;
    make(b, "/var/log/containers/web-7d9f-x2x_shop_app-" ID ".log", "");
    make(b,
        "/var/log/containers/web-7d9f-x2x_shop_app-"
        "0"
        ".log",
        "");
    assert_name(b, POD "/cri-containerd-" ID ".scope", "shop/web-7d9f-x2x/app");
    assert_name(b, POD "/crio-" ID ".scope", "shop/web-7d9f-x2x/app");
    assert_name(b, "/kubepods/burstable/pod" UID "/" ID, "shop/web-7d9f-x2x/app");
    make(b, "/var/log/pods/shop_web-7d9f-x2x_" UID "/app/0.log", "");
    assert_name(b, POD, "shop/web-7d9f-x2x/"); /* in the pod, in no container */
    assert_name(b, "/system.slice/ssh.service", "");
    assert_name(b, "/", "");
}

static void by_runtimes(void **state)
{
    struct bench *b = *state;
    make(b, "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
        "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"app\",\"io.kubernetes.cri.sandbox-name\":\"web-0\","
        "\"io.kubernetes.cri.sandbox-namespace\":\"shop\"}}");
    assert_name(b, POD "/cri-containerd-" ID ".scope", "shop/web-0/app");
    wp_path_remove(b->root, NULL);
    make(b, "/run/containers/storage/overlay-containers/" ID "/userdata/config.json",
        "{\"annotations\":{\"io.kubernetes.container.name\":\"app\",\"io.kubernetes.pod.name\":\"web-1\","
        "\"io.kubernetes.pod.namespace\":\"shop\"}}");
    assert_name(b, POD "/crio-" ID ".scope", "shop/web-1/app");
    wp_path_remove(b->root, NULL);
    make(b, "/var/lib/containers/storage/overlay-containers/containers.json",
        "[{\"id\":\"11\",\"names\":[\"other\"]},{\"id\":\"" ID "\",\"names\":[\"bold_turing\"]}]");
    assert_name(b, "/machine.slice/libpod-" ID ".scope/container", "bold_turing");
    wp_path_remove(b->root, NULL);
    make(b, "/var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":\"/web\",\"Config\":{\"Labels\":{}}}");
    assert_name(b, "/system.slice/docker-" ID ".scope", "web");
    assert_name(b, "/lxc.payload.builder/init.scope", "builder");
}

/* `ctr run`, `runc run` and `crun run` with a name of one's own; a group of that name alone is no container. */
static void without_an_engine(void **state)
{
    static const char *const files[] = {"/run/runc/web/state.json", "/run/crun/web/status",
        "/run/containerd/io.containerd.runtime.v2.task/default/web/config.json"};
    static const char *const paths[][4] = {
        {"/web", "/web/inner/one", "/system.slice/runc-web.scope", "/user.slice/web"},
        {"/web", "/web/inner/one", "/system.slice/crun-web.scope", "/user.slice/web"},
        {"/default/web", "/default/web/inner"}};
    struct bench *b = *state;
    for (size_t i = 0; i < 3; i++) {
        make(b, files[i], "{}");
        for (size_t j = 0; j < 4 && paths[i][j]; j++)
            assert_name(b, paths[i][j], "web");
        assert_name(b, "/other/we", "");
        assert_name(b, "/..", "");
        wp_path_remove(b->root, NULL);
        assert_name(b, paths[i][0], "");
    }
}

#define PODMAN_POD "89fafb0ee40ee15481a06fc3bbfe01f3941a421c2894bf691f4289c393c7f897"
#define PODMAN_CONFIG                                                                                                  \
    "{\"annotations\":{\"io.container.manager\":\"libpod\",\"io.kubernetes.cri-o.SandboxID\":\"" PODMAN_POD "\"}}"
#define PODMAN_LIST "[{\"id\":\"" ID "\",\"names\":[\"bold_turing\"]}]"

/* As Podman 4.3 (BoltDB) and 5 (SQLite) write it: pages of other things around the pod's JSON. */
static void podman_pods(void **state)
{
    static const char *const pods[] = {"shop-pod", "a\040b", "../etc", ""};
    static const char *const wanted[] = {"/shop-pod/bold_turing", "bold_turing", "bold_turing", "bold_turing"};
    struct bench *b = *state;
    for (size_t i = 0; i < sizeof(pods) / sizeof(pods[0]); i++) {
        char text[512];
        snprintf(text, sizeof(text),
            "\x01\x02{\"id\":\"" ID "\",\"name\":\"no\"}" PODMAN_POD "{\"id\":\"" PODMAN_POD
            "\",\"name\":\"%s\",\"labels\":{},\"cgroupParent\":\"/libpod_parent\"}",
            pods[i]);
        for (unsigned way = 0; way < 3; way++) {
            bool is_own = way == 2;
            char path[256];
            const char *storage = is_own ? "/home/ann/.local/share/containers/storage" : "/var/lib/containers/storage";
            make(b, "/etc/passwd", "root:x:0:0::/root:/bin/sh\n\nbroken:\nann:x:1000:1000:,,,:/home/ann:/bin/sh\n");
            snprintf(path, sizeof(path), "%s/%s", storage, way == 1 ? "db.sql" : "libpod/bolt_state.db");
            make(b, path, text);
            snprintf(path, sizeof(path), "%s/overlay-containers/containers.json", storage);
            make(b, path, PODMAN_LIST);
            snprintf(path, sizeof(path), "%s/overlay-containers/" ID "/userdata/config.json", storage);
            make(b, path, PODMAN_CONFIG);
            assert_name(b,
                is_own ? "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope"
                       : "/libpod_parent/libpod-" ID,
                wanted[i]);
            assert_name(b, "/user.slice/user-1001.slice/user@1001.service/user.slice/libpod-" ID ".scope",
                is_own ? "" : wanted[i]);
            wp_path_remove(b->root, NULL);
        }
    }
}

/* Not there yet, then there; and what is not there is not asked for again and again. */
static void comes_later(void **state)
{
    struct bench *b = *state;
    const char *path = "/system.slice/docker-" ID ".scope";
    assert_string_equal(wp_containers_name(b->containers, 7, path), "");
    make(b, "/var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":\"/late\"}");
    assert_string_equal(wp_containers_name(b->containers, 7, path), "late");
    wp_path_remove(b->root, NULL);
    assert_string_equal(wp_containers_name(b->containers, 7, path), "late");
    for (unsigned i = 0; i < 4; i++)
        assert_string_equal(wp_containers_name(b->containers, 8, path), "");
    make(b, "/var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":\"/late\"}");
    assert_string_equal(wp_containers_name(b->containers, 8, path), "");
}

static void hostile(void **state)
{
    static const char *const texts[] = {"", "{", "[]", "null", "{\"Name\":7}", "{\"Name\":\"/a b\"}",
        "{\"Name\":\"/\"}", "{\"Config\":[]}",
        "{\"Config\":{\"Labels\":{\"io.kubernetes.pod.name\":{},\"io.kubernetes.pod.namespace\":[]}}}",
        "{\"Name\":\"../../etc\",\"Config\":{\"Labels\":7}}", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["};
    struct bench *b = *state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        make(b, "/var/lib/docker/containers/" ID "/config.v2.json", texts[i]);
        make(b, "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json", texts[i]);
        make(b, "/var/lib/containers/storage/overlay-containers/containers.json", texts[i]);
        assert_name(b, "/system.slice/docker-" ID ".scope", "");
    }
    make(b, "/var/log/containers/-" ID ".log", "");
    make(b, "/var/log/containers/__-" ID ".log", "");
    make(b, "/var/log/containers/a_b-" ID ".log", "");
    assert_name(b, "/kubepods/burstable/pod" UID "/" ID, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(by_the_kubelet, create, destroy),
        cmocka_unit_test_setup_teardown(by_runtimes, create, destroy),
        cmocka_unit_test_setup_teardown(podman_pods, create, destroy),
        cmocka_unit_test_setup_teardown(without_an_engine, create, destroy),
        cmocka_unit_test_setup_teardown(comes_later, create, destroy),
        cmocka_unit_test_setup_teardown(hostile, create, destroy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
