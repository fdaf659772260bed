#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pods and containers by name, in real control groups, without an API: live_containers_test.py BIN_DIR."""
import json, os, secrets, shutil, subprocess, sys, tempfile, unittest, uuid

BIN = os.path.abspath(sys.argv[1])
with open("/proc/self/mounts", encoding="utf-8") as file:
    MOUNTS = [line.split() for line in file]
ROOT = next((mount[1] for mount in MOUNTS if mount[2] == "cgroup2"), "/nowhere")
FIRST = next((mount[1] for mount in MOUNTS if mount[2] == "cgroup" and "pids" in mount[3].split(",")), "/nowhere")


class Containers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="wakepath-containers-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.folder)

    def group(self, path, root=ROOT):
        """Makes a control group, and takes it away again with those above it that are empty then."""
        whole = root + path
        os.makedirs(whole)

        def remove(at=whole):
            while at != root:
                try:
                    os.rmdir(at)
                except OSError:
                    return
                at = os.path.dirname(at)
        self.addCleanup(remove)
        return whole

    def bundle(self, identity, annotations):
        path = f"/run/containerd/io.containerd.runtime.v2.task/k8s.io/{identity}"
        made = path
        while not os.path.exists(os.path.dirname(made)):
            made = os.path.dirname(made)
        os.makedirs(path)
        self.addCleanup(shutil.rmtree, made)
        with open(path + "/config.json", "w", encoding="utf-8") as file:
            json.dump({"annotations": annotations}, file)

    def shares(self, group, *selectors):
        """The aggregates of these selectors that a process which goes to live in the group is in."""
        aggregates = [part for i, selector in enumerate(selectors) for part in ("--aggregate", f"a{i}={selector}")]
        command = f"echo $$ > {group}/cgroup.procs; exec sleep 2"
        subprocess.run([f"{BIN}/wakepath", "record", "--quiet", "--out", f"{self.folder}/site", "--store", f"{self.folder}/store",
                        "--release", "r", *aggregates, "--", "sh", "-c", command], check=True)
        found = []
        for i, selector in enumerate(selectors):
            run = subprocess.run([f"{BIN}/wakepath-reporter", "--store", f"{self.folder}/store", "--release", "r", "--aggregate", f"a{i}",
                                  "--format", "folded"], capture_output=True, text=True, check=False)
            if "clock_nanosleep" in run.stdout:
                found.append(selector)
        return found

    @unittest.skipUnless(os.access(FIRST + "/cgroup.procs", os.W_OK), "no control groups of version 1 that may be made")
    def test_version_1(self):
        identity = secrets.token_hex(32)
        group = self.group(f"/docker/{identity}", FIRST)
        right = [f"container={identity[:12]}", f"cgroup=/docker/{identity}"]
        self.assertEqual(self.shares(group, *right, "container=" + secrets.token_hex(6)), right)

    @unittest.skipUnless(os.access(ROOT + "/cgroup.procs", os.W_OK), "no control groups of version 2 that may be made")
    def test_a_pod(self):
        identity, uid, pod = secrets.token_hex(32), str(uuid.uuid4()), "web-" + secrets.token_hex(4)
        slice_name = f"kubepods-burstable-pod{uid.replace('-', '_')}.slice"
        group = self.group(f"/kubepods.slice/kubepods-burstable.slice/{slice_name}/cri-containerd-{identity}.scope")
        self.bundle(identity, {"io.kubernetes.cri.container-name": "app", "io.kubernetes.cri.sandbox-name": pod,
                               "io.kubernetes.cri.sandbox-namespace": "shop"})
        right = [f"container={identity[:12]}", "container=app", f"pod={uid}", f"pod={pod}", f"pod=shop/{pod}", "namespace=shop",
                 "namespace=shop,container=app", f"unit=cri-containerd-{identity}.scope", f"unit={slice_name}"]
        wrong = ["container=ap", "pod=web", f"pod=other/{pod}", "namespace=sho", "namespace=shop,container=other"]
        self.assertEqual(self.shares(group, *right, *wrong), right)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
