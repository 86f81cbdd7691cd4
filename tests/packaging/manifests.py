# SPDX-License-Identifier: Apache-2.0
"""Kubernetes manifests, rendered by kubectl and by the chart's own templates: types, privileges, consistency, and the
reviewed goldens.

Every manifest is checked against the types of the Kubernetes API and of the Prometheus operator's resources (npm packages,
compiled by TypeScript: unknown fields, wrong types and missing ones are errors). IGPU_UPDATE=1 rewrites the goldens."""

import copy
import glob
import json
import os
import re
import shutil
import sys
import tempfile

import jsonschema
import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from checks import BINARY, NAME, SOURCE, WORK, check, equal, finish, output, run, serving
from render import CHART, PRESETS, Chart, containers_of, kustomized, merged, name_of, pods, values_file

GOLDEN = f"{SOURCE}/tests/packaging/golden"
NPM = {"typescript": "5.6.3", "kubernetes-models": "5.1.0", "@kubernetes-models/prometheus-operator": "6.0.0",
       "@kubernetes-models/keda": "2.0.0", "@kubernetes-models/grafana-operator": "3.0.0"}
# The packages with the types of resources outside Kubernetes.
TYPED_BY = {"monitoring.coreos.com": "@kubernetes-models/prometheus-operator", "keda.sh": "@kubernetes-models/keda",
            "grafana.integreatly.org": "@kubernetes-models/grafana-operator"}
KUSTOMIZATIONS = ["base", "overlays/perf", "overlays/node", "overlays/i915", "overlays/xe", "overlays/i915-xe", "overlays/any-driver", "overlays/dra", "overlays/workloads",
                  "overlays/monitoring", "overlays/dashboards", "sidecar", "level-zero", "compat", "autoscaling/hpa", "autoscaling/keda", "../fleet/kubernetes/prometheus", "../fleet/kubernetes/victoriametrics"]
EVERYTHING = {
    "rights": {"perf": True, "processes": True, "bpf": True, "hangs": True}, "devices": {"resources": ["gpu.intel.com/i915_monitoring"]},
    "workloads": {"enabled": True, "by": "container"},
    "supplementalGroups": [104], "extraArgs": ["--no-collector.imc"], "env": [{"name": "TZ", "value": "UTC"}], "webConfigSecret": "gpu-web",
    "image": {"tag": "9.9.9"}, "imagePullSecrets": [{"name": "registry"}], "tolerations": [{"operator": "Exists"}], "nodeSelector": {"rack": "7"},
    "affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}, "updateStrategy": {"type": "OnDelete", "rollingUpdate": None},
    "seLinuxOptions": {"type": "spc_t"}, "extraVolumes": [{"name": "extra", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "extra", "mountPath": "/extra"}],
    "priorityClassName": "system-node-critical", "podAnnotations": {"a": "b"}, "podLabels": {"c": "d"},
    "serviceAccount": {"annotations": {"e": "f"}}, "service": {"annotations": {"g": "h"}}, "monitorLabels": {"release": "prometheus"},
    "serviceMonitor": {"enabled": True, "labels": {"i": "j"}, "scrapeTimeout": "10s", "scheme": "https",
                       "relabelings": [{"targetLabel": "cluster", "replacement": "one"}],
                       "metricRelabelings": [{"sourceLabels": ["comm"], "regex": "bash", "action": "drop"}],
                       "tlsConfig": {"ca": {"secret": {"name": "gpu-ca", "key": "ca.pem"}}, "serverName": "gpu"},
                       "basicAuth": {"username": {"name": "gpu-user", "key": "name"}, "password": {"name": "gpu-user", "key": "password"}}},
    "podMonitor": {"enabled": True, "scheme": "https", "scrapeTimeout": "10s", "tlsConfig": {"insecureSkipVerify": True},
                   "metricRelabelings": [{"sourceLabels": ["comm"], "regex": "bash", "action": "drop"}]},
    "prometheusRule": {"enabled": True, "compat": ["igpu", "hw", "drm"]}, "networkPolicy": {
        "enabled": True, "egress": [{"ports": [{"port": 53, "protocol": "UDP"}]}]},
    "dashboards": {"enabled": True, "annotations": {"grafana_folder": "GPUs"}, "operator": {"enabled": True}}}
CHART_VALUES = {
    "defaults": {}, "perf": {"rights": {"perf": True}}, "everything": EVERYTHING,
    "bare": {"nodeFeatureDiscovery": False, "serviceAccount": {"create": False}, "fullnameOverride": "gpu", "resources": {}, "tolerations": [],
             "image": {"digest": "sha256:" + "0" * 64}},
    "workloads": {"rights": {"perf": True, "processes": True}, "devices": {"hostPath": True}, "workloads": {"enabled": True}},
    "unnamed": {"rights": {"processes": True}, "workloads": {"enabled": True, "names": False}},
    "dra": {"rights": {"perf": True, "processes": True}, "devices": {"resourceClaim": {"enabled": True}}},
    "mixed": merged(values_file("privileged"), values_file("mixed")),
    **{preset: values_file(preset) for preset in PRESETS if preset != "mixed"}}
REFUSED = {
    "an unknown value": {"righs": {}}, "a right that is no switch": {"rights": {"perf": "yes"}},
    "an unknown way to group workloads": {"workloads": {"by": "node"}}, "a privileged port": {"port": 80}, "a resource without a domain": {"devices": {"resources": ["gpu"]}},
    "one resource as a word": {"devices": {"resources": "gpu.intel.com/xe_monitoring"}},
    "a flag that is none": {"extraArgs": ["serve"]}, "a flag of a map with its dashes": {"extraArgs": {"--collector.imc": False}},
    "a scheme that is none": {"serviceMonitor": {"scheme": "tls"}}, "a digest without its kind": {"image": {"digest": "0" * 64}},
    "a group by its name": {"supplementalGroups": ["render"]}, "a password in the clear": {"serviceMonitor": {"basicAuth": {"password": "x"}}},
    "an interval without a unit": {"serviceMonitor": {"interval": "15"}}, "an unknown strategy": {"updateStrategy": {"type": "Recreate"}},
    "an unknown affinity": {"affinity": {"nodes": {}}}, "a value that a DaemonSet cannot have of its own": {"daemonSets": [{"name": "a", "port": 1024}]},
    "a DaemonSet's name in capitals": {"daemonSets": [{"name": "Xe"}]}, "an SELinux option that is none": {"seLinuxOptions": {"kind": "spc_t"}},
    "a runbook that is no address": {"prometheusRule": {"runbookUrl": "docs/runbook.md"}},
    "a local profile without its file": {"seccompProfile": {"type": "Localhost"}}}


# --- checks -----------------------------------------------------------------------------------------------------------

def golden(name, documents):
    path = f"{GOLDEN}/{name.replace('/', '-')}.yaml"
    # The content of rules is reviewed where they are written.
    documents = [{**d, "spec": "(deploy/prometheus)"} if d["kind"] == "PrometheusRule" else d for d in documents]
    documents = [{**d, "data": {file: f"(grafana/{file})" for file in d["data"]}} if d["kind"] == "ConfigMap" else d for d in documents]
    text = yaml.safe_dump_all(sorted(documents, key=name_of), default_flow_style=False)
    if os.environ.get("IGPU_UPDATE") == "1":
        os.makedirs(GOLDEN, exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        return
    with open(path) as f:
        check(f"{name} renders as reviewed", f.read() == text, f"IGPU_UPDATE=1 rewrites {path}; now:\n{text}")


class Types:
    """Checks manifests against the API's types with TypeScript."""

    def __init__(self, work):
        self.work = f"{work}/npm"
        os.makedirs(self.work)
        with open(f"{self.work}/package.json", "w") as f:
            json.dump({"private": True, "type": "module", "dependencies": NPM}, f)
        run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", cwd=self.work)
        with open(f"{self.work}/tsconfig.json", "w") as f:
            json.dump({"compilerOptions": {"strict": True, "noEmit": True, "skipLibCheck": True, "module": "esnext", "target": "es2022",
                                           "moduleResolution": "bundler"}, "include": ["*.ts"]}, f)

    def complaints(self, groups):
        """{group: documents} -> lines of the compiler."""
        for path in glob.glob(f"{self.work}/*.ts"):
            os.unlink(path)
        for group, documents in groups.items():
            lines = []
            for number, document in enumerate(documents):
                api, kind = document["apiVersion"], document["kind"]
                if claim := document.get("spec", {}).get("storage", {}).get("volumeClaimTemplate"):
                    # The operator's types take an embedded claim for a resource of its own; the operator does not.
                    claim = {"apiVersion": api, "kind": "EmbeddedPersistentVolumeClaim", **claim}
                    document = {**document, "spec": {**document["spec"], "storage": {"volumeClaimTemplate": claim}}}
                package = TYPED_BY.get(api.split("/")[0], "kubernetes-models")
                lines.append(f'import type {{ I{kind} as T{number} }} from "./node_modules/{package}/{api}/{kind}.js";')
                lines.append(f"export const d{number}: T{number} = {json.dumps(document, indent=1)};")
            with open(f"{self.work}/{re.sub('[^a-z]', '-', group)}.ts", "w") as f:
                f.write("\n".join(lines) + "\n")
        return [l for l in run(f"{self.work}/node_modules/.bin/tsc", "-p", self.work, check_status=False)[1].splitlines() if "error" in l]


def tight(group, documents, *allowed):
    """No pod has more privileges than its overlay is for."""
    restricted = any(d["kind"] == "Namespace" and d["metadata"]["labels"].get("pod-security.kubernetes.io/enforce") == "restricted"
                     for d in documents)
    for name, template in pods(documents):
        pod = template["spec"]
        problems = []
        # The pod of "helm test" only queries an exporter.
        capabilities, host_pid, host_paths = ([], False, ()) if name.startswith("Pod/") else (*allowed, ())[:3]
        if bool(pod.get("hostPID")) != host_pid:
            problems.append("hostPID")
        problems += [key for key in ("hostNetwork", "hostIPC") if pod.get(key)]
        if not pod["securityContext"].get("runAsNonRoot") or pod["securityContext"]["runAsUser"] == 0:
            problems.append("root")
        if pod["securityContext"]["seccompProfile"]["type"] != "RuntimeDefault":
            problems.append("seccomp")
        if pod.get("automountServiceAccountToken") is not False and name != "StatefulSet/intel-gpu-scraper":  # which finds its targets with it
            problems.append("token")
        paths = {v["name"]: v["hostPath"]["path"] for v in pod.get("volumes", []) if "hostPath" in v}
        if sorted(paths.values()) != sorted(host_paths):
            problems.append(f"host paths {paths}")
        for container in containers_of(template):
            context = container["securityContext"]
            if context.get("privileged") or context["allowPrivilegeEscalation"] or not context["readOnlyRootFilesystem"]:
                problems.append(f"{container['name']}: privileges")
            if context["capabilities"]["drop"] != ["ALL"] or (container["name"] == NAME and context["capabilities"].get("add", []) != capabilities):
                problems.append(f"{container['name']}: capabilities {context['capabilities']}")
            problems += [f"{m['name']}: mounted for writing" for m in container.get("volumeMounts", []) if m["name"] in paths and not m.get("readOnly")]
            if "memory" not in container["resources"].get("limits", {"memory": 0}):
                problems.append(f"{container['name']}: no memory limit")
        if restricted and (capabilities or host_pid or host_paths):
            problems.append("beyond the namespace's Pod Security level")
        equal(f"{group}: {name} has no right but what it is for", problems, [])


def connected(group, documents):
    """Selectors match their targets."""
    all_pods = list(pods(documents))
    ports = {port["name"] for _, t in all_pods for c in containers_of(t) for port in c.get("ports", [])}

    def selects(selector, labels):
        return all(labels.get(key) == value for key, value in selector.items())

    for document in documents:
        kind, spec = document["kind"], document.get("spec", {})
        if kind in ("DaemonSet", "Deployment", "StatefulSet"):
            check(f"{group}: {name_of(document)} selects its pods",
                  selects(spec["selector"]["matchLabels"], spec["template"]["metadata"]["labels"]), spec["selector"])
            for container in containers_of(spec["template"]):
                own = {port["name"] for port in container.get("ports", [])}
                probes = [container[p]["httpGet"]["port"] for p in container if p.endswith("Probe") and "httpGet" in container[p]]
                check(f"{group}: probes ask a port of {container['name']}", set(probes) <= own, probes)
        elif kind == "Service":
            check(f"{group}: the service selects the pods", any(selects(spec["selector"], t["metadata"]["labels"]) for _, t in all_pods), spec)
            check(f"{group}: and their port", {p["targetPort"] for p in spec["ports"]} <= ports, ports)
        elif kind == "ServiceMonitor":
            services = [d for d in documents if d["kind"] == "Service"]
            check(f"{group}: the ServiceMonitor selects the service and its port", any(
                selects(spec["selector"]["matchLabels"], s["metadata"]["labels"]) and
                {e["port"] for e in spec["endpoints"]} <= {p["name"] for p in s["spec"]["ports"]} for s in services), spec)
        elif kind == "NetworkPolicy":
            check(f"{group}: the NetworkPolicy selects the pods", any(
                selects(spec["podSelector"]["matchLabels"], t["metadata"]["labels"]) for _, t in all_pods), spec)
            check(f"{group}: and lets their port in", {p["port"] for i in spec["ingress"] for p in i["ports"]} <= ports, spec)


def apparmor(chart):
    """Clusters before 1.30 reject the field, newer ones do not need the annotation."""
    annotation = f"container.apparmor.security.beta.kubernetes.io/{NAME}"
    for kubernetes, has_field in (("v1.29.14+k3s1", False), ("v1.30.0", True), ("v1.31.2-eks-7f9249a", True)):
        template = next(pods(chart({"rights": {"processes": True}}, kubernetes)))[1]
        field = template["spec"]["containers"][0]["securityContext"].get("appArmorProfile")
        stated = (template["metadata"].get("annotations") or {}).get(annotation)
        equal(f"the chart says the AppArmor profile in the way of Kubernetes {kubernetes}, and once", (field, stated),
              ({"type": "Unconfined"}, None) if has_field else (None, "unconfined"))


def lasting(groups):
    """No label of a scraped node's series changes with the pod."""
    for name, documents in groups.items():
        for endpoint in [e for d in documents if d["kind"] == "ServiceMonitor" for e in d["spec"]["endpoints"]]:
            dropped = {label for r in endpoint["relabelings"] if r.get("action") == "labeldrop" for label in r["regex"].split("|")}
            check(f"{name}: the pod's name is no label", {"pod", "container", "endpoint"} <= dropped, endpoint)


def sidecar_monitored(sidecar, others):
    template = next(pods(sidecar))[1]
    ports = {p["name"] for c in containers_of(template) for p in c.get("ports", [])}
    for document in others:
        if document["kind"] == "PodMonitor":
            spec = document["spec"]
            check("the PodMonitor finds the sidecar", spec["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items() and
                  {e["port"] for e in spec["podMetricsEndpoints"]} <= ports, spec)
            named = [{"sourceLabels": ["__meta_kubernetes_pod_name"], "targetLabel": "instance"}]
            equal("and its instance is the pod's name", [e["relabelings"][:1] for e in spec["podMetricsEndpoints"]], [named])
    check("the sidecar shares the process namespace and the user", template["spec"]["shareProcessNamespace"] and
          all("runAsUser" not in c["securityContext"] for c in containers_of(template)), template["spec"])


def flags_of(chart, arguments):
    return next(pods(chart({"extraArgs": arguments})))[1]["spec"]["containers"][0]["args"][1:]


def extra_arguments(chart):
    listed = ["--no-collector.imc", "--scrape.min-window=500ms", "--log.level=debug", "--gpu=card0", "--gpu=card1", "--web.max-requests=1000000"]
    equal("flags as a list", flags_of(chart, listed), listed)
    mapped = {"collector.imc": False, "scrape.min-window": "500ms", "log.level": "debug", "gpu": ["card0", "card1"], "web.max-requests": 1000000}
    equal("the same as a map", sorted(flags_of(chart, mapped)), sorted(listed))
    equal("a switch that is on, a fraction, and one that is taken back", flags_of(chart, {"collector.imc": True, "a": 0.5, "b": None}),
          ["--a=0.5", "--collector.imc"])


def workloads(chart, groups):
    """The switch: its flags, and read-only mounts below the folder that --path.rootfs names."""
    for group in ("overlays/workloads", "chart/workloads", "chart/everything"):
        for name, template in pods(groups[group]):
            if name.startswith("Pod/"):
                continue
            container = template["spec"]["containers"][0]
            flags = container["args"]
            check(f"{group}: workloads are on, with the host's names", {"--collector.workloads", "--path.rootfs=/host"} <= set(flags), flags)
            volumes = {v["name"]: v["hostPath"]["path"] for v in template["spec"]["volumes"] if "hostPath" in v}
            mounts = {m["mountPath"]: (volumes.get(m["name"]), m.get("readOnly")) for m in container["volumeMounts"] if m["mountPath"].startswith("/host")}
            equal(f"{group}: what is mounted for names", mounts, {f"/host{path}": (path, True) for path in ("/var/log/pods", "/var/log/containers")})
    equal("chart: workloads are off by default", [f for f in flags_of(chart, []) if "workload" in f or "rootfs" in f], [])
    _, template = next(pods(groups["chart/unnamed"]))
    equal("chart: workloads without names", template["spec"]["containers"][0]["args"][1:], ["--collector.workloads", "--workload.by=auto"])
    status, _, complaints = chart.try_to_render({"workloads": {"enabled": True}})
    check("the chart refuses workloads without the right to see processes", status != 0 and "rights.processes" in complaints, complaints)
    status, _, complaints = chart.try_to_render({"rights": {"bpf": True, "perf": True}})
    check("the chart refuses BPF without what it is for", status != 0 and "rights.bpf" in complaints, complaints)


def own_affinity(chart):
    def affinity(values):
        return next(pods(chart(values)))[1]["spec"].get("affinity", {})
    own = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
    equal("a nodeAffinity replaces the chart's", affinity({"affinity": {"nodeAffinity": own}}), {"nodeAffinity": own})
    equal("a podAffinity comes to it", sorted(affinity({"affinity": {"podAffinity": {"x": 1}}})), ["nodeAffinity", "podAffinity"])
    equal("without either there is none", affinity({"nodeFeatureDiscovery": False}), {})


def suits(expression, labels):
    value = labels.get(expression["key"])
    return {"In": value in expression.get("values", []), "DoesNotExist": value is None, "Exists": value is not None}[expression["operator"]]


def starts_on(template, labels):
    """Whether a DaemonSet starts its pod on a node with these labels."""
    spec = template["spec"]
    if any(labels.get(key) != value for key, value in spec.get("nodeSelector", {}).items()):
        return False
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return any(all(suits(e, labels) for e in term["matchExpressions"]) for term in required["nodeSelectorTerms"])


def mixed_fleet(groups):
    """Any GPU node gets one pod, and no pod waits for a resource that its node does not offer."""
    with open(f"{SOURCE}/docs/kubernetes.md") as f:
        program = re.search(r"kubectl get nodes -o json \| jq -r '(.+?)'", f.read(), re.S).group(1)
    drivers = {"i915": ["i915"], "xe": ["xe"], "both": ["i915", "xe"], "no plugin": []}
    offered = {node: [f"gpu.intel.com/{d}_monitoring" for d in names] for node, names in drivers.items()}
    offered["new plugin"] = ["gpu.intel.com/monitoring"]
    nodes = {"items": [{"metadata": {"name": node.replace(" ", "-")}, "status": {"allocatable": {"cpu": "4", "gpu.intel.com/i915": "1", **{r: "1" for r in resources}}}}
                       for node, resources in offered.items()]}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(nodes, f)
        f.flush()
        lines = output("jq", "-r", program, f.name).splitlines()
    set_labels = {line.split()[0]: dict([line.split()[1].split("=")]) for line in lines}
    equal("the command of docs/kubernetes.md labels the nodes by what they offer", {n: next(iter(l.items())) for n, l in set_labels.items()},
          {n: ("intel-gpu-exporter/monitoring", d) for n, d in (("i915", "i915"), ("xe", "xe"), ("both", "i915-xe"), ("new-plugin", "any"))})

    overlays = [t for folder in ("overlays/i915", "overlays/xe", "overlays/i915-xe", "overlays/any-driver") for _, t in pods(groups[folder])]
    for name, templates, everywhere in (("chart/mixed", [t for n, t in pods(groups["chart/mixed"]) if n.startswith("DaemonSet")], True), ("the overlays", overlays, False)):
        for node, resources in offered.items():
            labels = {"feature.node.kubernetes.io/pci-0380_8086.present": "true", **set_labels.get(node.replace(" ", "-"), {})}
            started = [t for t in templates if starts_on(t, labels)]
            equal(f"{name}: pods on a node with {node}", len(started), 1 if resources or everywhere else 0)
            for template in started:
                asked = [r for r in template["spec"]["containers"][0]["resources"]["limits"] if r.startswith("gpu.intel.com/")]
                equal(f"{name}: it asks for what that node offers", sorted(asked), resources)
                mounts = [v for v in template["spec"].get("volumes") or [] if v.get("hostPath")]
                equal(f"{name}: the host's /dev/dri only where the plugin brings none", bool(mounts), not resources)
        equal(f"{name}: nothing on a node without an Intel GPU", [t for t in templates if starts_on(t, {})], [])
    for folder in ("base", "overlays/perf", "overlays/node", "overlays/dra"):
        template = next(pods(groups[folder]))[1]
        asked = [r for r in template["spec"]["containers"][0]["resources"]["limits"] if "/" in r]
        equal(f"{folder} waits for no device plugin", asked, [])


def taints(groups):
    """GPU nodes have various taints; the pods start on all of them."""
    for group in ("base", "overlays/node", "overlays/i915", "chart/defaults", "chart/mixed"):
        for name, template in pods(groups[group]):
            if name.startswith("DaemonSet"):
                any_taint = {"operator": "Exists", "effect": "NoSchedule"} in template["spec"].get("tolerations", [])
                check(f"{group}: {name} tolerates every NoSchedule taint", any_taint, template["spec"].get("tolerations"))


def claims(groups):
    """Every claim of a pod has its template, is used by its container, and requests admin access."""
    for group in ("overlays/dra", "chart/dra"):
        documents = groups[group]
        templates = {d["metadata"]["name"]: d for d in documents if d["kind"] == "ResourceClaimTemplate"}
        for name, template in [(n, t) for n, t in pods(documents) if n.startswith("DaemonSet")]:
            claimed = {c["name"]: c["resourceClaimTemplateName"] for c in template["spec"]["resourceClaims"]}
            equal(f"{group}: {name} claims by a template that is there", set(claimed.values()) <= set(templates), True)
            equal(f"{group}: its container uses the claim", [c["name"] for c in template["spec"]["containers"][0]["resources"]["claims"]], list(claimed))
        requests = [r["exactly"] for t in templates.values() for r in t["spec"]["spec"]["devices"]["requests"]]
        equal(f"{group}: every GPU, without taking it away", [(r["allocationMode"], r["adminAccess"]) for r in requests], [("All", True)])
    labels = next(d for d in groups["overlays/dra"] if d["kind"] == "Namespace")["metadata"]["labels"]
    equal("overlays/dra: its namespace permits that", labels.get("resource.kubernetes.io/admin-access"), "true")


def daemon_sets_refused(chart):
    for name, entries in {"two without a name": [{"name": ""}, {"name": "a"}], "one name twice": [{"name": "a"}, {"name": "a"}]}.items():
        status, _, complaints = chart.try_to_render({"daemonSets": entries})
        check(f"the chart refuses DaemonSets with {name}", status != 0 and "daemonSets" in complaints, complaints)


def monitor_labels(groups):
    """A Prometheus of the operator selects by labels."""
    for document in groups["chart/everything"]:
        if document["kind"] in ("ServiceMonitor", "PodMonitor", "PrometheusRule"):
            check(f"chart/everything: {name_of(document)} has the release's label", document["metadata"]["labels"].get("release") == "prometheus",
                  document["metadata"])


def versions(groups):
    with open(f"{SOURCE}/CHANGELOG.md") as f:
        version = re.search(r"^## (\d+\.\d+\.\d+)", f.read(), re.M).group(1)
    with open(f"{CHART}/Chart.yaml") as f:
        chart = yaml.safe_load(f)
    equal("the chart has the version of the changelog", (chart["version"], chart["appVersion"]), (version, version))
    images = {c["image"] for g, documents in groups.items() if g not in ("chart/everything", "chart/bare") for _, t in pods(documents)
              for c in containers_of(t) if c["name"] == NAME}
    equal("every manifest runs that version", images, {f"{NAME}:{version}"})


def without_nulls(values):
    """Helm removes null values before it checks the schema."""
    return {k: without_nulls(v) if isinstance(v, dict) else v for k, v in values.items() if v is not None}


def schema(chart_values):
    with open(f"{CHART}/values.schema.json") as f:
        rules = json.load(f)
    jsonschema.Draft7Validator.check_schema(rules)
    with open(f"{CHART}/values.yaml") as f:
        defaults = yaml.safe_load(f)

    def problems(values):
        return [e.message for e in jsonschema.Draft7Validator(rules).iter_errors(without_nulls(merged(defaults, values)))]

    for name, values in chart_values.items():
        equal(f"the schema takes the values of chart/{name}", problems(values), [])
    for name, values in REFUSED.items():
        check(f"the schema refuses {name}", problems(values), "it does not")
    missing = set(defaults) - set(rules["properties"])
    equal("every value is in the schema", missing, set())


def rules(groups):
    """The PrometheusRules are those of deploy/prometheus."""
    ours = {}
    for path in glob.glob(f"{SOURCE}/deploy/prometheus/**/*.y*ml", recursive=True):
        with open(path) as f:
            content = yaml.safe_load(f)
        if isinstance(content, dict) and "groups" in content:
            ours[os.path.basename(path)] = content
    for names in (("overlays/monitoring", "compat"), ("chart/everything",)):
        shown = [d["spec"] for name in names for d in groups[name] if d["kind"] == "PrometheusRule"]
        same = sorted(json.dumps(spec, sort_keys=True) for spec in shown) == sorted(json.dumps(o, sort_keys=True) for o in ours.values())
        check(f"{' and '.join(names)}: the rules are those of deploy/prometheus ({len(ours)} files)", ours and same,
              "deploy/kubernetes/rules copies them")


def runbook(chart):
    """The chart's alerts link to the runbook that the user sets, and to none if none is set."""
    def alerts_of(values):
        return [r for d in chart({"prometheusRule": {"enabled": True, **values}}) if d["kind"] == "PrometheusRule" for g in d["spec"]["groups"]
                for r in g["rules"] if "alert" in r]

    without = alerts_of({})
    check(f"{len(without)} alerts link to no runbook", len(without) > 10 and not any("runbook_url" in r["annotations"] for r in without))
    alerts = alerts_of({"runbookUrl": "https://wiki.example.net/gpu"})
    wrong = [r["alert"] for r in alerts if r["annotations"]["runbook_url"] != f"https://wiki.example.net/gpu#{r['alert'].lower()}"]
    check(f"the runbook of {len(alerts)} alerts is where the values say", len(alerts) > 10 and not wrong, wrong)


def capture_command(groups):
    """docs/send-a-capture.md names the DaemonSet of the node's manifests, and the path of the program in the image."""
    with open(f"{SOURCE}/docs/send-a-capture.md") as f:
        text = f.read()
    line = re.search(r"^kubectl exec -n (\S+) ds/(\S+) -- (\S+) capture - ", text, re.M)
    with open(f"{SOURCE}/deploy/container/Containerfile") as f:
        program = json.loads(re.search(r"^ENTRYPOINT (.*)", f.read(), re.M).group(1))[0]
    for name in ("base", "overlays/node"):
        found = [(d["metadata"]["namespace"], d["metadata"]["name"], program) for d in groups[name] if d["kind"] == "DaemonSet"]
        equal(f"{name}: the command of a capture is that of its DaemonSet", found, [line.groups()])
        labels = [d["spec"]["template"]["metadata"]["labels"].get("app.kubernetes.io/name") for d in groups[name] if d["kind"] == "DaemonSet"]
        equal(f"{name}: and its pods have the label", labels, re.findall(r"-l app.kubernetes.io/name=([a-z-]+)", text))


def dashboards(groups):
    """The ConfigMaps hold Grafana's dashboards, all of them unchanged, with the label that its sidecar searches for."""
    ours = {}
    for path in glob.glob(f"{SOURCE}/grafana/*.json"):
        with open(path) as f:
            ours[os.path.basename(path)] = f.read().strip()
    for name in ("overlays/dashboards", "chart/everything"):
        maps = [d for d in groups[name] if d["kind"] == "ConfigMap"]
        shown = {file: text.strip() for d in maps for file, text in d["data"].items()}
        check(f"{name}: the ConfigMaps hold grafana/*.json ({len(ours)} dashboards)", ours and shown == ours, sorted(shown))
        equal(f"{name}: with the sidecar's label", {d["metadata"]["labels"].get("grafana_dashboard") for d in maps}, {"1"})
        largest = max(len(json.dumps(text).encode()) for text in shown.values())
        check(f"{name}: small enough for kubectl apply, which keeps a copy in an annotation", largest < 250_000, largest)
    selected = {d["metadata"]["name"]: d["spec"]["configMapRef"] for d in groups["chart/everything"] if d["kind"] == "GrafanaDashboard"}
    equal("grafana-operator finds each in its ConfigMap", {(r["name"], r["key"]) for r in selected.values()},
          {(d["metadata"]["name"], file) for d in groups["chart/everything"] if d["kind"] == "ConfigMap" for file in d["data"]})
    with open(f"{CHART}/.helmignore") as f:
        ignored = f.read().split()
    foreign = [f for f in os.listdir(f"{CHART}/dashboards") if not f.endswith(".json") and f"dashboards/*{os.path.splitext(f)[1]}" not in ignored]
    equal("Helm packs nothing else of their folder", foreign, [])


def helm_test(groups):
    """The pod of "helm test" runs the program's own health check, which distinguishes a running exporter from a missing one."""
    for name in ("chart/defaults", "chart/everything"):
        documents = groups[name]
        pod = next(d for d in documents if d["kind"] == "Pod")
        service = next(d for d in documents if d["kind"] == "Service")
        selected = service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
        equal(f"{name}: the service does not select the test's pod", selected, False)
        command, address, *rest = pod["spec"]["containers"][0]["args"]
        host = f"--web.listen-address={service['metadata']['name']}.monitoring.svc:10068"
        equal(f"{name}: it asks the service", (command, address), ("healthcheck", host))
        policy = next((d for d in documents if d["kind"] == "NetworkPolicy"), None)
        if policy:
            peers = [p["podSelector"]["matchLabels"] for rule in policy["spec"]["ingress"] for p in rule["from"]]
            check(f"{name}: and the NetworkPolicy lets it", any(p.items() <= pod["metadata"]["labels"].items() for p in peers), peers)
    pod = next(d for d in groups["chart/defaults"] if d["kind"] == "Pod")
    arguments = pod["spec"]["containers"][0]["args"]
    with serving([BINARY, "--simulate", "rack", "--web.listen-address=127.0.0.1:0"]) as url:
        there = [re.sub(r"=.*:10068$", "=localhost:" + url.rsplit(":", 1)[1], a) for a in arguments]
        equal("its command succeeds by a host's name", run(BINARY, *there)[0], 0)
    equal("and fails when nobody answers", run(BINARY, *there, check_status=False)[0], 1)


def native_sidecar(sidecar):
    """The exporter starts before the workload and does not prevent a Job from completing."""
    spec = next(pods(sidecar))[1]["spec"]
    equal("the sidecar is a native one", [(c["name"], c.get("restartPolicy")) for c in spec["initContainers"]], [(NAME, "Always")])
    equal("and alone beside the workload", [c["name"] for c in spec["containers"]], ["ffmpeg"])
    check("the workload waits for its startup probe", "startupProbe" in spec["initContainers"][0], spec["initContainers"])


def level_zero(sidecar):
    """The program finds the tracker that the image hands out, and writes its pages where the exporter reads them."""
    spec = next(pods(sidecar))[1]["spec"]
    install, exporter = spec["initContainers"]
    [server] = spec["containers"]
    mounts = {c["name"]: {m["name"]: m["mountPath"] for m in c["volumeMounts"]} for c in (install, exporter, server)}
    equal("the image copies the tracker into the volume", install["args"], ["level-zero", "install", mounts["level-zero-tracker"]["tracker"]])
    equal("with the exporter's own image", install["image"], exporter["image"])
    environment = {e["name"]: e["value"] for e in server["env"]}
    equal("the loader searches there", environment, {"LD_LIBRARY_PATH": mounts["server"]["tracker"], "ZE_ENABLE_VALIDATION_LAYER": "1"})
    default = re.search(r"--path.level-zero DIR.*?\(default:\s+([^)]*)\)", output(BINARY, "--help-all"), re.S).group(1)
    equal("both have the pages in the default folder", [mounts[c]["pages"] for c in (NAME, "server")], [default, default])
    check("the group owns the volumes", "fsGroup" in spec["securityContext"], spec["securityContext"])


def level_zero_chart(chart, example):
    """The example for Helm is the one for Kustomize."""
    folder = f"{SOURCE}/deploy/helm/level-zero-example"
    [deployment] = [d for d in example if d["kind"] == "Deployment"]
    equal("the chart's example is that of Kustomize", chart({}, folder=folder, release=("model-1", "inference")), [deployment])
    changed = {"server": {"image": "a/b:1", "args": ["-x", "y: z"], "resources": {"limits": {"gpu.intel.com/i915": "1"}}},
               "exporter": {"image": "c/d:2"}, "supplementalGroups": [44, 993]}
    [other] = chart(changed, folder=folder, release=("m", "n"))
    spec = other["spec"]["template"]["spec"]
    [server] = spec["containers"]
    equal("its values arrive", ([c["image"] for c in spec["initContainers"]], server["image"], server["args"],
                                server["resources"]["limits"]["gpu.intel.com/i915"], spec["securityContext"]["supplementalGroups"]),
          (["c/d:2", "c/d:2"], "a/b:1", ["-x", "y: z"], "1", [44, 993]))
    labels = {"app.kubernetes.io/name": "m"}
    equal("and its name", (other["metadata"]["name"], other["metadata"]["namespace"], other["spec"]["selector"]["matchLabels"]), ("m", "n", labels))


def autoscaling(groups):
    """The recording rules answer the autoscalers' query, from series as the exporter exports them."""
    scaled = next(d for d in groups["autoscaling/keda"] if d["kind"] == "ScaledObject")
    trigger = scaled["spec"]["triggers"][0]["metadata"]
    with open(f"{SOURCE}/deploy/kubernetes/autoscaling/hpa/adapter-values.yaml") as f:
        rule = yaml.safe_load(f)["rules"]["external"][0]
    hpa = next(d for d in groups["autoscaling/hpa"] if d["kind"] == "HorizontalPodAutoscaler")["spec"]["metrics"][0]["external"]
    equal("the HPA asks for what the adapter gives", hpa["metric"]["name"], rule["name"]["as"])
    equal("both want the same load", (hpa["target"]["value"], trigger["threshold"]), ("700m", "0.7"))
    series = rule["seriesQuery"].split("{")[0]
    queries = [trigger["query"], rule["metricsQuery"].replace("<<.Series>>", series)]
    with open(f"{SOURCE}/collectors/METRICS.md") as f:
        check("the exporter has the metric that the rules are made of", "`intel_gpu_engine_busy_seconds_total`" in f.read(), "METRICS.md")
    labels = 'job="intel-gpu",device="0000:03:00.0",gt="0"'
    busy = "intel_gpu_engine_busy_seconds_total"
    tests = {
        "rule_files": glob.glob(f"{SOURCE}/deploy/prometheus/rules/intel-gpu-recording*.yml"), "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": [
            # Two nodes: one engine always busy; two engines, busy for a quarter and for a half of the time. A render engine counts for nothing.
            {"series": f'{busy}{{{labels},instance="a",engine="vcs0",class="video",source="pmu"}}', "values": "0+60x20"},
            {"series": f'{busy}{{{labels},instance="b",engine="vcs0",class="video",source="pmu"}}', "values": "0+15x20"},
            {"series": f'{busy}{{{labels},instance="b",engine="vcs1",class="video",source="pmu"}}', "values": "0+30x20"},
            {"series": f'{busy}{{{labels},instance="b",engine="rcs0",class="render",source="pmu"}}', "values": "0+0x20"}],
            "promql_expr_test": [{"expr": query, "eval_time": "15m", "exp_samples": [{"labels": "{}", "value": 0.6875}]} for query in queries]}]}
    with tempfile.NamedTemporaryFile("w", suffix=".yml", dir=WORK) as f:
        yaml.safe_dump(tests, f)
        f.flush()
        status, text = run("promtool", "test", "rules", f.name, check_status=False)
    check(f"Prometheus answers {' and '.join(queries)}", status == 0, text)


def chart_metadata():
    """The chart agrees with deploy/project.env."""
    with open(f"{SOURCE}/deploy/project.env") as f:
        project = dict(line.strip().split("=", 1) for line in f if re.match("PROJECT_", line))
    with open(f"{CHART}/Chart.yaml") as f:
        chart = yaml.safe_load(f)
    equal("the chart's home, source and maintainer are the project's",
          (chart["home"], chart["sources"], chart["maintainers"]),
          (project["PROJECT_HOMEPAGE"], [project["PROJECT_SOURCE"]], [{"name": project["PROJECT_MAINTAINER"], "email": project["PROJECT_EMAIL"]}]))
    equal("its links and its icon, too", [u for u in re.findall(r"https?://\S+", json.dumps(chart))
          if not u.startswith((project["PROJECT_HOMEPAGE"], "https://artifacthub.io/"))], [])
    equal("the icon is in the repository", os.path.exists(f"{SOURCE}/docs/images/{os.path.basename(chart['icon'])}"), True)
    annotations = chart["annotations"]
    equal("its licence is said", annotations["artifacthub.io/license"], "Apache-2.0")
    for key in ("links", "recommendations"):
        entries = yaml.safe_load(annotations[f"artifacthub.io/{key}"])
        check(f"artifacthub.io/{key} is a list with addresses", entries and all("url" in entry for entry in entries), entries)


def compose():
    folder = f"{SOURCE}/deploy/compose"
    with open(f"{folder}/compose.yaml") as f:
        services = yaml.safe_load(f)["services"]
    # Without an engine it prints the parsed file: an unknown key or a wrong type is an error.
    def read(*files):
        arguments = [word for file in files for word in ("--file", file)]
        status, text = run("/usr/bin/docker-compose", *arguments, "config", cwd=folder, check_status=False)
        if not check(f"docker-compose takes {' and '.join(files)}", status == 0, text):
            return {}
        return yaml.safe_load(text)["services"]["exporter"]

    for path in sorted(glob.glob(f"{folder}/media/*.yaml")):
        media = os.path.relpath(path, folder)
        status, text = run("/usr/bin/docker-compose", "--file", "compose.yaml", "--file", "compose.override.yaml", "--file", media, "config", cwd=folder,
                           check_status=False)
        if check(f"docker-compose takes {media} beside exporter, Prometheus and Grafana", status == 0, text):
            all_services = yaml.safe_load(text)["services"]
            new = set(all_services) - set(services)
            equal(f"{media} adds one service, with the GPU and no more", [(all_services[n].get("devices"), all_services[n].get("privileged")) for n in new],
                  [(["/dev/dri:/dev/dri"], None)])
            with open(f"{SOURCE}/docs/containers.md") as f:
                check(f"docs/containers.md has its command", f"-f {media} up" in f.read(), media)

    real, simulated = read("compose.yaml", "compose.override.yaml"), read("compose.yaml", "compose.simulate.yaml")
    named = read("compose.yaml", "compose.override.yaml", "compose.workloads.yaml")
    equal("with workloads: its flags, and Docker's state files read-only",
          (named.get("command"), named.get("volumes"), named.get("cap_add"), named.get("privileged")),
          (["--collector.workloads", "--path.rootfs=/host"], ["/var/lib/docker/containers:/host/var/lib/docker/containers:ro"], ["PERFMON", "SYS_PTRACE"],
           None))
    with_log = read("compose.yaml", "compose.override.yaml", "compose.kmsg.yaml")
    equal("with the kernel log: one capability and one file more",
          (sorted(with_log.get("cap_add")), sorted(with_log.get("devices")), with_log.get("privileged")),
          (["PERFMON", "SYSLOG", "SYS_PTRACE"], ["/dev/dri:/dev/dri", "/dev/kmsg:/dev/kmsg:r"], None))
    equal("the exporter has the rights that the table lists",
          (real.get("cap_drop"), real.get("cap_add"), real.get("pid"), real.get("devices")),
          (["ALL"], ["PERFMON", "SYS_PTRACE"], "host", ["/dev/dri:/dev/dri"]))
    equal("simulated it has none", [key for key in ("cap_add", "pid", "devices", "security_opt", "privileged") if key in simulated], [])
    mounts = [v.split(":")[0] for s in services.values() for v in s.get("volumes", []) if v.startswith(".")]
    equal("what compose mounts is there", [m for m in mounts if not os.path.exists(f"{folder}/{m}")], [])
    context = services["exporter"]["build"]
    check("and the Containerfile", os.path.exists(f"{folder}/{context['context']}/{context['dockerfile']}"), context)
    equal("every port is this machine's only", [p for s in services.values() for p in s["ports"] if not p.startswith("127.0.0.1:")], [])
    tree = tempfile.mkdtemp(dir=WORK)
    shutil.copy(f"{folder}/prometheus.yml", tree)
    shutil.copytree(f"{SOURCE}/deploy/prometheus/rules", f"{tree}/rules")
    status, text = run("promtool", "check", "config", f"{tree}/prometheus.yml", check_status=False)
    check("Prometheus takes its configuration, with rules", status == 0 and re.search(r"[1-9]\d* rules found", text), text)
    shutil.rmtree(tree)
    with open(f"{folder}/prometheus.yml") as f:
        target = yaml.safe_load(f)["scrape_configs"][0]["static_configs"][0]["targets"]
    equal("it scrapes the exporter", target, ["exporter:10068"])
    with open(f"{folder}/grafana/dashboards.yaml") as f:
        path = yaml.safe_load(f)["providers"][0]["options"]["path"]
    check("Grafana reads the folder where the dashboards are mounted", any(v.split(":")[1] == path for v in services["grafana"]["volumes"]), path)


def fleet_compose():
    folder = f"{SOURCE}/deploy/fleet/compose"
    for path in sorted(glob.glob(f"{folder}/*.yaml")):
        with tempfile.NamedTemporaryFile("w", suffix=".env") as tokens:
            tokens.write("WRITE_TOKEN=one\nREAD_TOKEN=two\n")
            tokens.flush()
            status, text = run("/usr/bin/docker-compose", "--env-file", tokens.name, "--file", path, "config", check_status=False)
        if check(f"docker-compose takes {os.path.basename(path)}", status == 0, text):
            services = yaml.safe_load(text)["services"]
            equal("no service may more than it must", [n for n, s in services.items() if s.get("cap_drop") != ["ALL"] or not s.get("read_only")], [])
            with open(path) as f:
                mounts = set(re.findall(r"(\.\./[^:\s]+):/", f.read()))
            own = {"../tls", "../token", "../password", "../prometheus/prometheus-b.yml"}  # which the operator adds
            equal("what it mounts is there", [m for m in mounts - own if not os.path.exists(f"{folder}/{m}")], [])


def main():
    os.makedirs(WORK, exist_ok=True)
    work = tempfile.mkdtemp(dir=WORK, prefix="manifests.")
    try:
        chart = Chart(work)
        groups = {folder: kustomized(folder) for folder in KUSTOMIZATIONS}
        groups.update({f"chart/{name}": chart(values) for name, values in CHART_VALUES.items()})
        for name, documents in groups.items():
            if not name.startswith("../"):
                golden(name, documents)
            # overlays/monitoring is combined with one of the others.
            connected(name, documents + groups["overlays/node"] if name == "overlays/monitoring" else documents)
        both, perf, dri, logs = ["PERFMON", "SYS_PTRACE"], ["PERFMON"], ["/dev/dri"], ["/var/log/containers", "/var/log/pods"]
        rights = {
            "base": ([], False), "overlays/perf": (perf, False), "overlays/node": (both, True, dri), "overlays/i915": (both, True),
            "overlays/xe": (both, True), "overlays/i915-xe": (both, True), "overlays/any-driver": (both, True), "overlays/dra": (both, True), "sidecar": ([], False), "level-zero": ([], False), "overlays/workloads": (both, True, dri + logs),
            "chart/defaults": ([], False), "chart/perf": (perf, False), "chart/everything": (both + ["BPF", "DAC_READ_SEARCH"], True, logs),
            "chart/workloads": (both, True, dri + logs), "chart/unnamed": (["SYS_PTRACE"], True),
            "chart/bare": ([], False), "chart/dra": (both, True), "chart/privileged": (both, True, dri), "chart/baseline": ([], False),
            "chart/restricted": ([], False), "chart/sidecar": ([], False), "../fleet/kubernetes/victoriametrics": ([], False)}
        for name in groups:
            if name in rights:
                tight(name, groups[name], *rights[name])
            elif name != "chart/mixed":
                equal(f"{name} starts no pods", list(pods(groups[name])), [])
        sidecar_monitored(groups["sidecar"], groups["overlays/monitoring"] + groups["chart/everything"])
        apparmor(chart)
        extra_arguments(chart)
        workloads(chart, groups)
        own_affinity(chart)
        mixed_fleet(groups)
        taints(groups)
        claims(groups)
        daemon_sets_refused(chart)
        monitor_labels(groups)
        lasting(groups)
        versions(groups)
        schema(CHART_VALUES)
        rules(groups)
        runbook(chart)
        dashboards(groups)
        capture_command(groups)
        helm_test(groups)
        native_sidecar(groups["sidecar"])
        level_zero(groups["level-zero"])
        level_zero_chart(chart, groups["level-zero"])
        autoscaling(groups)
        chart_metadata()
        compose()
        fleet_compose()

        types = Types(work)
        count = sum(map(len, groups.values()))
        equal(f"the types of Kubernetes and of the Prometheus operator take all {count} manifests", types.complaints(groups), [])
        wrong = copy.deepcopy(groups["base"])
        daemonset = next(d for d in wrong if d["kind"] == "DaemonSet")
        daemonset["spec"]["template"]["spec"]["containers"][0]["securityContext"]["readOnlyRootFileSystem"] = True
        check("and refuse a misspelt field", types.complaints({"wrong": wrong}), "they do not")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    finish()


main()
