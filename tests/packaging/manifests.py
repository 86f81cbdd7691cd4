# SPDX-License-Identifier: Apache-2.0
"""Kubernetes manifests, rendered by kubectl and by the chart's own templates: typed, tight, consistent, and as reviewed.

Every manifest is held against the types of the Kubernetes API and of the Prometheus operator's resources (npm packages,
compiled by TypeScript: unknown fields, wrong types and missing ones are errors). IGPU_UPDATE=1 rewrites the goldens."""

import copy
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile

import jsonschema
import yaml

from checks import NAME, SOURCE, WORK, check, equal, finish, output, run

GOLDEN = f"{SOURCE}/tests/packaging/golden"
CHART = f"{SOURCE}/deploy/helm/{NAME}"
NPM = {"typescript": "5.6.3", "kubernetes-models": "5.1.0", "@kubernetes-models/prometheus-operator": "6.0.0"}
KUSTOMIZATIONS = ["base", "overlays/perf", "overlays/node", "overlays/monitoring", "sidecar", "compat"]
EVERYTHING = {
    "rights": {"perf": True, "processes": True, "hangs": True}, "deviceResource": "gpu.intel.com/i915_monitoring",
    "supplementalGroups": [104],
    "extraArgs": ["--no-collector.imc"], "webConfigSecret": "gpu-web", "image": {"tag": "9.9.9"},
    "imagePullSecrets": [{"name": "registry"}], "tolerations": [{"operator": "Exists"}], "nodeSelector": {"rack": "7"},
    "priorityClassName": "system-node-critical", "podAnnotations": {"a": "b"}, "podLabels": {"c": "d"},
    "serviceAccount": {"annotations": {"e": "f"}}, "service": {"annotations": {"g": "h"}},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}, "scrapeTimeout": "10s", "scheme": "https",
                       "tlsConfig": {"ca": {"secret": {"name": "gpu-ca", "key": "ca.pem"}}, "serverName": "gpu"},
                       "basicAuth": {"username": {"name": "gpu-user", "key": "name"}, "password": {"name": "gpu-user", "key": "password"}}},
    "podMonitor": {"enabled": True, "scheme": "https", "tlsConfig": {"insecureSkipVerify": True}}, "prometheusRule": {"enabled": True, "compat": ["igpu", "hw", "drm"]}, "networkPolicy": {"enabled": True}}
CHART_VALUES = {
    "defaults": {}, "perf": {"rights": {"perf": True}}, "everything": EVERYTHING,
    "bare": {"nodeFeatureDiscovery": False, "serviceAccount": {"create": False}, "fullnameOverride": "gpu", "resources": {}}}
REFUSED = {
    "an unknown value": {"righs": {}}, "a right that is no switch": {"rights": {"perf": "yes"}},
    "a privileged port": {"port": 80}, "a resource without a domain": {"deviceResource": "gpu"},
    "a flag that is none": {"extraArgs": ["serve"]}, "a scheme that is none": {"serviceMonitor": {"scheme": "tls"}},
    "a group by its name": {"supplementalGroups": ["render"]}, "a password in the clear": {"serviceMonitor": {"basicAuth": {"password": "x"}}}, "an interval without a unit": {"serviceMonitor": {"interval": "15"}},
    "a local profile without its file": {"seccompProfile": {"type": "Localhost"}}}


# --- rendering --------------------------------------------------------------------------------------------------------

def kustomized(folder):
    """What kubectl makes of a folder. Debian's kubectl has kustomize 2, in which two fields had other names; for it a copy
    is translated: folders among the resources were bases, and patches were patchesStrategicMerge."""
    version = json.loads(output("kubectl", "version", "--client", "-o", "json"))
    old = "kustomizeVersion" not in version
    root = f"{SOURCE}/deploy/kubernetes"
    if old:
        root = f"{tempfile.mkdtemp(dir=WORK)}/kubernetes"
        shutil.copytree(f"{SOURCE}/deploy/kubernetes", root)
        for path in glob.glob(f"{root}/**/kustomization.yaml", recursive=True):
            with open(path) as f:
                content = yaml.safe_load(f)
            here = os.path.dirname(path)
            content["bases"] = [r for r in content["resources"] if os.path.isdir(f"{here}/{r}")]
            content["resources"] = [r for r in content["resources"] if r not in content["bases"]]
            content["patchesStrategicMerge"] = [p["path"] for p in content.pop("patches", [])]
            with open(path, "w") as f:
                yaml.safe_dump(content, f)
    documents = list(yaml.safe_load_all(output("kubectl", "kustomize", f"{root}/{folder}")))
    if old:
        shutil.rmtree(os.path.dirname(root))
    return documents


class Chart:
    def __init__(self, work):
        self.program = f"{work}/render_chart"
        environment = {**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOFLAGS": "", "GOCACHE": f"{work}/go-cache"}
        run("go", "build", "-o", self.program, f"{SOURCE}/tests/packaging/render_chart.go", env=environment)

    def __call__(self, values, kubernetes="v1.31.0"):
        done = subprocess.run([self.program, CHART, "gpu", "monitoring", kubernetes], input=json.dumps(values), text=True, capture_output=True,
                              timeout=60)
        if done.returncode != 0:
            raise SystemExit(f"FAIL the chart with {values}: {done.stderr}")
        return [d for d in yaml.safe_load_all(done.stdout) if d]


# --- checks -----------------------------------------------------------------------------------------------------------

def name_of(document):
    return f"{document['kind']}/{document['metadata']['name']}"


def golden(name, documents):
    path = f"{GOLDEN}/{name.replace('/', '-')}.yaml"
    # What rules say is reviewed where they are written.
    documents = [{**d, "spec": "(deploy/prometheus)"} if d["kind"] == "PrometheusRule" else d for d in documents]
    text = yaml.safe_dump_all(sorted(documents, key=name_of), default_flow_style=False)
    if os.environ.get("IGPU_UPDATE") == "1":
        os.makedirs(GOLDEN, exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        return
    with open(path) as f:
        check(f"{name} renders as reviewed", f.read() == text, f"IGPU_UPDATE=1 rewrites {path}; now:\n{text}")


class Types:
    """TypeScript's reading of the API's types."""

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
                package = "@kubernetes-models/prometheus-operator" if api.startswith("monitoring.coreos.com/") else "kubernetes-models"
                lines.append(f'import type {{ I{kind} as T{number} }} from "./node_modules/{package}/{api}/{kind}.js";')
                lines.append(f"export const d{number}: T{number} = {json.dumps(document, indent=1)};")
            with open(f"{self.work}/{re.sub('[^a-z]', '-', group)}.ts", "w") as f:
                f.write("\n".join(lines) + "\n")
        return [l for l in run(f"{self.work}/node_modules/.bin/tsc", "-p", self.work, check_status=False)[1].splitlines() if "error" in l]


def pods(documents):
    for document in documents:
        if document["kind"] in ("DaemonSet", "Deployment"):
            yield name_of(document), document["spec"]["template"]


def tight(group, documents, capabilities, host_pid):
    """No pod has more than what its overlay is for."""
    restricted = any(d["kind"] == "Namespace" and d["metadata"]["labels"].get("pod-security.kubernetes.io/enforce") == "restricted"
                     for d in documents)
    for name, template in pods(documents):
        pod = template["spec"]
        problems = []
        if bool(pod.get("hostPID")) != host_pid:
            problems.append("hostPID")
        problems += [key for key in ("hostNetwork", "hostIPC") if pod.get(key)]
        if not pod["securityContext"].get("runAsNonRoot") or pod["securityContext"]["runAsUser"] == 0:
            problems.append("root")
        if pod["securityContext"]["seccompProfile"]["type"] != "RuntimeDefault":
            problems.append("seccomp")
        if pod.get("automountServiceAccountToken") is not False:
            problems.append("token")
        problems += [f"volume {v['name']}" for v in pod.get("volumes", []) if "hostPath" in v]
        for container in pod["containers"]:
            context = container["securityContext"]
            if context.get("privileged") or context["allowPrivilegeEscalation"] or not context["readOnlyRootFilesystem"]:
                problems.append(f"{container['name']}: privileges")
            if context["capabilities"]["drop"] != ["ALL"] or (container["name"] == NAME and context["capabilities"].get("add", []) != capabilities):
                problems.append(f"{container['name']}: capabilities {context['capabilities']}")
            if "memory" not in container["resources"].get("limits", {"memory": 0}):
                problems.append(f"{container['name']}: no memory limit")
        if restricted and (capabilities or host_pid):
            problems.append("beyond the namespace's Pod Security level")
        equal(f"{group}: {name} has no right but what it is for", problems, [])


def connected(group, documents):
    """What selects finds what it is for."""
    all_pods = list(pods(documents))
    ports = {port["name"] for _, t in all_pods for c in t["spec"]["containers"] for port in c.get("ports", [])}

    def selects(selector, labels):
        return all(labels.get(key) == value for key, value in selector.items())

    for document in documents:
        kind, spec = document["kind"], document.get("spec", {})
        if kind in ("DaemonSet", "Deployment"):
            check(f"{group}: {name_of(document)} selects its pods",
                  selects(spec["selector"]["matchLabels"], spec["template"]["metadata"]["labels"]), spec["selector"])
            for container in spec["template"]["spec"]["containers"]:
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
    """Clusters before 1.30 refuse the field, newer ones do without the annotation."""
    annotation = f"container.apparmor.security.beta.kubernetes.io/{NAME}"
    for kubernetes, has_field in (("v1.29.14+k3s1", False), ("v1.30.0", True), ("v1.31.2-eks-7f9249a", True)):
        template = next(pods(chart({"rights": {"processes": True}}, kubernetes)))[1]
        field = template["spec"]["containers"][0]["securityContext"].get("appArmorProfile")
        told = (template["metadata"].get("annotations") or {}).get(annotation)
        equal(f"the chart says the AppArmor profile in the way of Kubernetes {kubernetes}, and once", (field, told),
              ({"type": "Unconfined"}, None) if has_field else (None, "unconfined"))


def lasting(groups):
    """No label of a scraped node's series changes with the pod."""
    for name, documents in groups.items():
        for endpoint in [e for d in documents if d["kind"] == "ServiceMonitor" for e in d["spec"]["endpoints"]]:
            dropped = {label for r in endpoint["relabelings"] if r.get("action") == "labeldrop" for label in r["regex"].split("|")}
            check(f"{name}: the pod's name is no label", {"pod", "container", "endpoint"} <= dropped, endpoint)


def sidecar_monitored(sidecar, others):
    template = next(pods(sidecar))[1]
    ports = {p["name"] for c in template["spec"]["containers"] for p in c.get("ports", [])}
    for document in others:
        if document["kind"] == "PodMonitor":
            spec = document["spec"]
            check("the PodMonitor finds the sidecar", spec["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items() and
                  {e["port"] for e in spec["podMetricsEndpoints"]} <= ports, spec)
    check("the sidecar shares the process namespace and the user", template["spec"]["shareProcessNamespace"] and
          all("runAsUser" not in c["securityContext"] for c in template["spec"]["containers"]), template["spec"])


def versions(groups):
    with open(f"{SOURCE}/CHANGELOG.md") as f:
        version = re.search(r"^## (\d+\.\d+\.\d+)", f.read(), re.M).group(1)
    with open(f"{CHART}/Chart.yaml") as f:
        chart = yaml.safe_load(f)
    equal("the chart has the version of the changelog", (chart["version"], chart["appVersion"]), (version, version))
    images = {c["image"] for g, documents in groups.items() if g != "chart/everything" for _, t in pods(documents)
              for c in t["spec"]["containers"] if c["name"] == NAME}
    equal("every manifest runs that version", images, {f"{NAME}:{version}"})


def schema(chart_values):
    with open(f"{CHART}/values.schema.json") as f:
        rules = json.load(f)
    jsonschema.Draft7Validator.check_schema(rules)
    with open(f"{CHART}/values.yaml") as f:
        defaults = yaml.safe_load(f)

    def problems(values):
        merged = copy.deepcopy(defaults)
        for key, value in values.items():
            merged[key] = {**merged[key], **value} if isinstance(value, dict) and isinstance(merged.get(key), dict) else value
        return [e.message for e in jsonschema.Draft7Validator(rules).iter_errors(merged)]

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


def compose():
    folder = f"{SOURCE}/deploy/compose"
    with open(f"{folder}/compose.yaml") as f:
        services = yaml.safe_load(f)["services"]
    # Without an engine it says what it has read: a wrong word or type is an error.
    def read(*files):
        arguments = [word for file in files for word in ("--file", file)]
        status, text = run("/usr/bin/docker-compose", *arguments, "config", cwd=folder, check_status=False)
        if not check(f"docker-compose takes {' and '.join(files)}", status == 0, text):
            return {}
        return yaml.safe_load(text)["services"]["exporter"]

    real, simulated = read("compose.yaml", "compose.override.yaml"), read("compose.yaml", "compose.simulate.yaml")
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
    check("Grafana looks where the dashboards are mounted", any(v.split(":")[1] == path for v in services["grafana"]["volumes"]), path)


def main():
    os.makedirs(WORK, exist_ok=True)
    work = tempfile.mkdtemp(dir=WORK, prefix="manifests.")
    try:
        chart = Chart(work)
        groups = {folder: kustomized(folder) for folder in KUSTOMIZATIONS}
        groups.update({f"chart/{name}": chart(values) for name, values in CHART_VALUES.items()})
        for name, documents in groups.items():
            golden(name, documents)
            connected(name, documents)
        both, perf = ["PERFMON", "SYS_PTRACE"], ["PERFMON"]
        for name, rights in {"base": ([], False), "overlays/perf": (perf, False), "overlays/node": (both, True),
                             "overlays/monitoring": (both, True), "sidecar": ([], False), "chart/defaults": ([], False),
                             "chart/perf": (perf, False), "chart/everything": (both + ["DAC_READ_SEARCH"], True), "chart/bare": ([], False)}.items():
            tight(name, groups[name], *rights)
        sidecar_monitored(groups["sidecar"], groups["overlays/monitoring"] + groups["chart/everything"])
        apparmor(chart)
        lasting(groups)
        versions(groups)
        schema(CHART_VALUES)
        rules(groups)
        compose()

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
