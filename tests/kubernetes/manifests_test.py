#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/kubernetes is what a cluster takes: manifests_test.py SOURCE BUILD. Each pod's manifest goes through the types of a real kubectl
(Debian's, offline): a field that those do not know does not come back. Small kinds are held against the fields of their reference."""
import glob, json, os, shutil, subprocess, sys, tempfile, unittest

import yaml

SOURCE, BUILD = sys.argv[1:3]
FOLDER = SOURCE + "/deploy/kubernetes"
POLICY_PEER = {"podSelector": {"matchLabels": str}, "namespaceSelector": {"matchLabels": str}}
PORT = {"protocol": str, "port": int, "name": str, "targetPort": str}
RULE = {"from": [POLICY_PEER], "to": [POLICY_PEER], "ports": [PORT]}
META = {"name": str, "namespace": str, "labels": str, "annotations": str}
# Fields of the reference (Kubernetes 1.20 to 1.31) that these kinds may have; str under a map of free names.
SMALL = {
    ("v1", "Namespace"): {"metadata": META},
    ("v1", "Service"): {"metadata": META, "spec": {"clusterIP": str, "publishNotReadyAddresses": bool, "selector": str, "ports": [PORT]}},
    ("v1", "PersistentVolumeClaim"): {"metadata": META, "spec": {"accessModes": [str], "resources": {"requests": str}}},
    ("v1", "Secret"): {"metadata": META, "type": str, "data": str},
    ("networking.k8s.io/v1", "NetworkPolicy"): {"metadata": META, "spec": {
        "podSelector": {"matchLabels": str}, "policyTypes": [str], "ingress": [RULE], "egress": [RULE]}},
}
RESTRICTED = {"DaemonSet": False, "StatefulSet": True, "CronJob": True, "Deployment": True}


def kubectl(folder):
    """Debian's, without installing it: another one may be here."""
    subprocess.run(["apt-get", "download", "-qq", "kubernetes-client"], cwd=folder, check=True, capture_output=True)
    subprocess.run(["dpkg-deb", "-x", *glob.glob(folder + "/*.deb"), folder], check=True)
    return folder + "/usr/bin/kubectl"


def lost(given, kept, path=""):
    """Paths of what is in `given` and did not come back."""
    if isinstance(given, dict):
        if not isinstance(kept, dict):
            return [path] if given else []
        return [name for key, value in given.items() for name in (
            lost(value, kept[key], path + "." + key) if key in kept else [path + "." + key] if value not in ({}, "", 0, False) else [])]
    if isinstance(given, list):
        if not isinstance(kept, list) or len(kept) < len(given):
            return [path]
        return [name for i, value in enumerate(given) for name in lost(value, kept[i], "%s[%d]" % (path, i))]
    return [] if str(given) == str(kept) else [path]


def unknown(given, known, path=""):
    if isinstance(known, dict):
        return [name for key, value in given.items() for name in (
            unknown(value, known[key], path + "." + key) if key in known else [path + "." + key])]
    if isinstance(known, list):
        if not isinstance(given, list):
            return [path]
        return [name for i, value in enumerate(given) for name in unknown(value, known[0], "%s[%d]" % (path, i))]
    if isinstance(given, dict):
        return [name for key, value in given.items() for name in unknown(value, known, path + "." + key)]
    return [] if isinstance(given, known) and not (known is int and isinstance(given, bool)) else [path]


class ManifestsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="wakepath-kubectl-", dir="/var/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.kubectl = kubectl(cls.folder)
        text = subprocess.run([cls.kubectl, "kustomize", FOLDER], check=True, capture_output=True, text=True).stdout
        keys = subprocess.run([FOLDER + "/keys.sh"], check=True, capture_output=True, text=True,
                              env=dict(os.environ, WAKEPATH=BUILD + "/bin/wakepath")).stdout
        cls.all = list(yaml.safe_load_all(text)) + [one for one in yaml.safe_load_all(keys) if one]

    def typed(self, manifest):
        """The manifest as the types of that kubectl understand it."""
        path = self.folder + "/one.json"
        old = dict(manifest, apiVersion="batch/v1beta1") if manifest["kind"] == "CronJob" else manifest # the same fields, before 1.21
        with open(path, "w", encoding="utf-8") as file:
            json.dump(old, file)
        done = subprocess.run([self.kubectl, "set", "env", "--local", "-f", path, "-o", "json", "WAKEPATH_TEST=1"], check=False,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(json.loads(done.stdout), apiVersion=manifest["apiVersion"])

    def wrong(self, manifest):
        known = SMALL.get((manifest["apiVersion"], manifest["kind"]))
        if known:
            return unknown({k: v for k, v in manifest.items() if k not in ("apiVersion", "kind")}, known)
        return lost(manifest, self.typed(manifest))

    def schemas(self):
        """npm's copy of the API's schemas, as pinned; None, and said so, where npm cannot give it."""
        folder = self.folder + "/schemas"
        if os.path.exists(folder):
            return folder
        shutil.copytree(os.path.dirname(os.path.abspath(__file__)) + "/schemas", folder)
        try:
            done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder, check=False,
                                  capture_output=True, text=True, timeout=120)
            why = done.stderr if done.returncode else None
        except (OSError, subprocess.TimeoutExpired) as error:
            why = str(error)
        if why is not None:
            print("\n*** NOT CHECKED against the schemas of the Kubernetes API, npm does not give them; against kubectl's types alone: "
                  + why.strip()[-300:], file=sys.stderr, flush=True)
            self.skipTest("npm does not give kubernetes-models")
        return folder

    def against_schemas(self, manifests):
        done = subprocess.run(["node", "check.js"], cwd=self.schemas(), input=json.dumps(manifests), capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def test_the_schemas_of_the_api(self):
        """Types, formats and what is required, of the current API; unknown fields are those types' that kubectl has."""
        self.assertEqual(self.against_schemas(self.all), [""] * len(self.all))
        wrong = json.loads(json.dumps([one for one in self.all if one["kind"] in ("DaemonSet", "CronJob", "NetworkPolicy", "Service")][:4]))
        for one in wrong:
            if one["kind"] == "DaemonSet":
                one["spec"]["template"]["spec"]["containers"][0]["securityContext"]["capabilities"]["add"] = "BPF"
            elif one["kind"] == "CronJob":
                del one["spec"]["schedule"]
            elif one["kind"] == "NetworkPolicy":
                one["spec"]["policyTypes"] = "Ingress"
            else:
                one["spec"]["ports"][0]["port"] = "seven"
        self.assertNotIn("", self.against_schemas(wrong))

    def pods(self):
        for one in self.all:
            spec = one.get("spec", {})
            if one["kind"] == "CronJob":
                spec = spec["jobTemplate"]["spec"]
            if "template" in spec:
                yield one["kind"], one["metadata"]["name"], spec["template"]

    def test_every_field_is_known(self):
        for one in self.all:
            self.assertEqual(self.wrong(one), [], one["kind"] + " " + one["metadata"]["name"])
        self.assertEqual(sorted({one["kind"] for one in self.all}), sorted(
            ["CronJob", "DaemonSet", "Deployment", "Namespace", "NetworkPolicy", "PersistentVolumeClaim", "Secret", "Service",
             "StatefulSet"]))

    def test_a_wrong_field_is_found(self):
        def planted(kind, change):
            one = json.loads(json.dumps(next(m for m in self.all if m["kind"] == kind)))
            change(one)
            return self.wrong(one)
        self.assertEqual(planted("DaemonSet", lambda m: m["spec"]["template"]["spec"].update(hostPid=True)), [".spec.template.spec.hostPid"])
        self.assertEqual(planted("CronJob", lambda m: m["spec"].update(scedule="x")), [".spec.scedule"])
        self.assertEqual(planted("NetworkPolicy", lambda m: m["spec"].update(ingres=[])), [".spec.ingres"])
        self.assertEqual(planted("Service", lambda m: m["spec"]["ports"][0].update(port="7447")), [".spec.ports[0].port"])

    def test_names_meet(self):
        """What one manifest calls another one by is there."""
        have = {(one["kind"], one["metadata"]["name"]) for one in self.all}
        labels = [template["metadata"]["labels"] for _, _, template in self.pods()]
        for _, name, template in self.pods():
            volumes = {volume["name"]: volume for volume in template["spec"].get("volumes", [])}
            claims = {claim["metadata"]["name"] for one in self.all if one["metadata"]["name"] == name
                      for claim in one.get("spec", {}).get("volumeClaimTemplates", [])}
            for container in template["spec"].get("initContainers", []) + template["spec"]["containers"]:
                for mount in container["volumeMounts"]:
                    self.assertIn(mount["name"], volumes.keys() | claims)
            for volume in volumes.values():
                secrets = [volume["secret"]["secretName"]] if "secret" in volume else [
                    source["secret"]["name"] for source in volume.get("projected", {}).get("sources", [])]
                for secret in secrets:
                    self.assertIn(("Secret", secret), have)
                claim = volume.get("persistentVolumeClaim", {}).get("claimName", "wakepath-site")
                self.assertIn(claim, ("wakepath-site", "data-wakepath-aggregator-0"))
        for one in self.all:
            if one["kind"] == "Service":
                self.assertTrue(any(one["spec"]["selector"].items() <= label.items() for label in labels))
            if one["kind"] in ("DaemonSet", "StatefulSet", "Deployment"):
                self.assertLessEqual(one["spec"]["selector"]["matchLabels"].items(), one["spec"]["template"]["metadata"]["labels"].items())

    def test_the_number_of_shards(self):
        """It stands where each needs it, and is one."""
        said, replicas = [], None
        for kind, name, template in self.pods():
            for container in template["spec"].get("initContainers", []) + template["spec"]["containers"]:
                said += [int(one["value"]) for one in container.get("env", []) if one["name"] == "WAKEPATH_SHARDS"]
            if name == "wakepath-aggregator":
                replicas = next(one for one in self.all if (one["kind"], one["metadata"]["name"]) == (kind, name))["spec"]["replicas"]
        self.assertEqual(said, [replicas] * 4)

    def test_who_may_talk_with_whom(self):
        policies = {one["metadata"]["name"]: one["spec"] for one in self.all if one["kind"] == "NetworkPolicy"}

        def ports(policy, way, component):
            side = {"ingress": "from", "egress": "to"}[way]
            return {port["port"] for rule in policies[policy].get(way, []) for peer in rule[side] for port in rule["ports"]
                    if peer.get("podSelector", {}).get("matchLabels", {}).get("app.kubernetes.io/component") == component}
        self.assertEqual(ports("wakepath-collector", "egress", "aggregator"), {7447, 7448})
        self.assertEqual(ports("wakepath-aggregator", "ingress", "collector"), {7447, 7448})
        self.assertEqual(ports("wakepath-aggregator", "ingress", "aggregator"), {7447})
        self.assertEqual(ports("wakepath-aggregator", "egress", "aggregator"), {7447})

    def test_the_collector_has_no_token(self):
        """Nor any pod a secret key that is not its own."""
        for _, name, template in self.pods():
            volumes = {volume["name"]: str(volume) for volume in template["spec"].get("volumes", [])}
            for container in template["spec"].get("initContainers", []) + template["spec"]["containers"]:
                secrets = " ".join(volumes.get(mount["name"], "") for mount in container["volumeMounts"])
                if container["name"] not in ("aggregator", "enroller", "enroll", "key"):
                    self.assertNotIn("wakepath-token", secrets, container["name"])
                if name != "wakepath-aggregator":
                    self.assertNotIn("wakepath-aggregator'", secrets, container["name"])

    def test_privileges_are_the_least(self):
        with open(SOURCE + "/deploy/systemd/wakepath-collector.service", encoding="utf-8") as file:
            unit = next(line for line in file if line.startswith("CapabilityBoundingSet="))
        for kind, name, template in self.pods():
            spec = template["spec"]
            for container in spec.get("initContainers", []) + spec["containers"]:
                context = container["securityContext"]
                self.assertEqual(context["capabilities"]["drop"], ["ALL"], name)
                if name != "wakepath-collector": # never false beside SYS_ADMIN; it sets no_new_privs itself
                    self.assertIs(context["allowPrivilegeEscalation"], False, name)
                self.assertIs(context["readOnlyRootFilesystem"], True, name)
                added = context["capabilities"].get("add", [])
                if container["name"] == "collector":
                    self.assertEqual(sorted("CAP_" + cap for cap in added), sorted(unit.strip().split("=")[1].split()))
                    self.assertFalse(context["privileged"])
                else:
                    self.assertEqual(added, [])
            self.assertIs(spec["automountServiceAccountToken"], False, name)
            if RESTRICTED[kind]:
                self.assertTrue(spec["securityContext"]["runAsNonRoot"], name)
                self.assertNotIn("hostPID", spec)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
