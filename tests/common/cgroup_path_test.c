/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cgroup_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define ID "3f4e8d1c2b5a69788796a5b4c3d2e1f00123456789abcdef0123456789abcdef"
#define UID "0a1b2c3d-1111-2222-3333-444455556666"
#define UID_ "0a1b2c3d_1111_2222_3333_444455556666"

static const struct {
    const char *path, *container, *runtime, *pod, *unit, *slice;
} paths[] = {
    {"", "", "", "", "", ""},
    {"/", "", "", "", "", ""},
    {"/init.scope", "", "", "", "init.scope", ""},
    {"/system.slice/nginx.service", "", "", "", "nginx.service", "system.slice"},
    {"/system.slice/system-postgresql.slice/postgresql@15-main.service", "", "", "", "postgresql@15-main.service",
        "system-postgresql.slice"},
    {"/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-firefox-4242.scope", "", "", "",
        "app-gnome-firefox-4242.scope", "app.slice"},
    {"/user.slice/user-1000.slice/session-3.scope", "", "", "", "session-3.scope", "user-1000.slice"},
    /* Docker: cgroupfs, systemd, inside a build */
    {"/docker/" ID, ID, "docker", "", "", ""},
    {"/system.slice/docker-" ID ".scope", ID, "docker", "", "docker-" ID ".scope", "system.slice"},
    {"/system.slice/docker-" ID ".scope/system.slice/cron.service", ID, "docker", "", "cron.service", "system.slice"},
    {"/system.slice/docker.service", "", "", "", "docker.service", "system.slice"},
    /* Podman, of root and of a user, and what watches over it */
    {"/machine.slice/libpod-" ID ".scope/container", ID, "libpod", "", "libpod-" ID ".scope", "machine.slice"},
    {"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope", ID, "libpod", "",
        "libpod-" ID ".scope", "user.slice"},
    {"/libpod_parent/libpod-" ID, ID, "libpod", "", "", ""},
    {"/machine.slice/libpod-conmon-" ID ".scope", "", "", "", "libpod-conmon-" ID ".scope", "machine.slice"},
    {"/user.slice/user-1000.slice/user@1000.service/user.slice/user-libpod_pod_" ID ".slice", "", "", "",
        "user@1000.service", "user-libpod_pod_" ID ".slice"},
    /* Kubernetes: systemd driver with containerd and CRI-O, cgroupfs driver, guaranteed, mirror pod, kind, an odd
       mixture */
    {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID ".scope", ID,
        "cri-containerd", UID, "cri-containerd-" ID ".scope", "kubepods-burstable-pod" UID_ ".slice"},
    {"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope", ID, "crio", UID, "crio-" ID ".scope",
        "kubepods-pod" UID_ ".slice"},
    {"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" ID ".scope", "", "", UID, "crio-conmon-" ID ".scope",
        "kubepods-pod" UID_ ".slice"},
    {"/kubepods/burstable/pod" UID "/" ID, ID, "", UID, "", ""},
    {"/kubepods/besteffort/pod" UID, "", "", UID, "", ""},
    {"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod0a1b2c3d111122223333444455556666.slice/"
     "docker-" ID ".scope",
        ID, "docker", "0a1b2c3d111122223333444455556666", "docker-" ID ".scope",
        "kubepods-besteffort-pod0a1b2c3d111122223333444455556666.slice"},
    {"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod" UID_
     ".slice/cri-containerd-" ID ".scope",
        ID, "cri-containerd", UID, "cri-containerd-" ID ".scope", "kubelet-kubepods-burstable-pod" UID_ ".slice"},
    {"/system.slice/containerd.service/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" ID, ID, "cri-containerd",
        UID, "containerd.service", "system.slice"},
    /* Amazon ECS, LXC */
    {"/ecs/0123456789abcdef0123456789abcdef/" ID, ID, "", "", "", ""},
    {"/lxc.payload.web/system.slice/nginx.service", "web", "lxc", "", "nginx.service", "system.slice"},
    {"/lxc/web/init.scope", "web", "lxc", "", "init.scope", ""},
    /* nearly */
    {"/docker/3f4e8d1c2b5a", "", "", "", "", ""},
    {"/x" ID, "", "", "", "", ""},
    {"/" ID "0", "", "", "", "", ""},
    {"/tripod" UID, "", "", "", "", ""},
    {"/pod" UID "7", "", "", "", "", ""},
    {"/.service/.scope/.slice", "", "", "", "", ""},
};

static void known_paths(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct wp_cgroup_path p;
        wp_cgroup_path_parse(&p, paths[i].path);
        print_message("%s\n", paths[i].path);
        assert_string_equal(p.container, paths[i].container);
        assert_string_equal(p.runtime, paths[i].runtime);
        assert_string_equal(p.pod, paths[i].pod);
        assert_string_equal(p.unit, paths[i].unit);
        assert_string_equal(p.slice, paths[i].slice);
    }
}

static void matches(void **state)
{
    (void)state;
    struct wp_cgroup_path p;
    wp_cgroup_path_parse(&p, "/kubepods/burstable/pod" UID "/" ID);
    assert_true(wp_cgroup_path_in_container(&p, ID));
    assert_true(wp_cgroup_path_in_container(&p, "3f4e8d1c2b5a"));
    assert_false(wp_cgroup_path_in_container(&p, "3f4e8d1c2b5"));
    assert_false(wp_cgroup_path_in_container(&p, "3f4e8d1c2b5b"));
    assert_false(wp_cgroup_path_in_container(&p, ""));
    assert_true(wp_cgroup_path_in_pod(&p, UID));
    assert_true(wp_cgroup_path_in_pod(&p, UID_));
    assert_true(wp_cgroup_path_in_pod(&p, "0a1b2c3d111122223333444455556666"));
    assert_false(wp_cgroup_path_in_pod(&p, "0a1b2c3d-1111-2222-3333-44445555666"));
    assert_false(wp_cgroup_path_in_pod(&p, ""));
    wp_cgroup_path_parse(&p, "/");
    assert_false(wp_cgroup_path_in_container(&p, ""));
    assert_false(wp_cgroup_path_in_pod(&p, ""));
}

/* A cgroup may be called anything that a directory may, and its path has no bound. */
static void hostile(void **state)
{
    (void)state;
    static char path[70000];
    struct wp_cgroup_path p;
    memset(path, 'a', sizeof(path) - 1);
    wp_cgroup_path_parse(&p, path);
    assert_string_equal(p.container, "");
    memcpy(path + sizeof(path) - 8, ".slice", 7);
    wp_cgroup_path_parse(&p, path);
    assert_int_equal(strlen(p.slice), sizeof(p.slice) - 1);
    memset(path, '-', sizeof(path) - 1);
    memcpy(path, "/lxc.payload.", 13);
    wp_cgroup_path_parse(&p, path);
    assert_int_equal(strlen(p.container), sizeof(p.container) - 1);
    memset(path, '_', sizeof(path) - 1);
    memcpy(path, "/pod", 4);
    wp_cgroup_path_parse(&p, path);
    assert_string_equal(p.pod, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_paths), cmocka_unit_test(matches), cmocka_unit_test(hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
