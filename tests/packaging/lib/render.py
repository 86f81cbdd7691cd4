# SPDX-License-Identifier: Apache-2.0
"""Kubernetes manifests, as kubectl and Helm render them, without a cluster."""

import copy
import glob
import json
import os
import shutil
import subprocess
import tempfile

import yaml

from checks import NAME, SOURCE, WORK, output, run

CHART = f"{SOURCE}/deploy/helm/{NAME}"


def kustomized(folder):
    """Renders a folder with kubectl. Debian's kubectl has kustomize 2, in which some fields had other names; a copy is
    translated for it: folders among the resources were bases, patches were patchesStrategicMerge, labels were commonLabels."""
    version = json.loads(output("kubectl", "version", "--client", "-o", "json"))
    old = "kustomizeVersion" not in version
    root, copied = SOURCE, None
    if old:
        copied = root = tempfile.mkdtemp(dir=WORK)
        for folder in ("kubernetes", "fleet", "prometheus"):
            shutil.copytree(f"{SOURCE}/deploy/{folder}", f"{root}/deploy/{folder}")
        shutil.copytree(f"{SOURCE}/grafana", f"{root}/grafana")
        for path in glob.glob(f"{root}/**/kustomization.yaml", recursive=True):
            with open(path) as f:
                content = yaml.safe_load(f)
            here = os.path.dirname(path)
            resources = content.pop("resources", [])
            content["bases"] = [r for r in resources if os.path.isdir(f"{here}/{r}")]
            content["resources"] = [r for r in resources if r not in content["bases"]]
            content["patchesStrategicMerge"] = [p["path"] for p in content.pop("patches", [])]
            for labels in content.pop("labels", []):
                content["commonLabels"] = labels["pairs"]
            with open(path, "w") as f:
                yaml.safe_dump(content, f)
    documents = list(yaml.safe_load_all(output("kubectl", "kustomize", f"{root}/deploy/kubernetes/{folder}")))
    if copied:
        shutil.rmtree(copied)
        # It adds a nameSuffix to the namespace, too; newer ones do not.
        namespace = next((d["metadata"]["namespace"] for d in documents if "namespace" in d["metadata"]), None)
        for document in documents:
            if document["kind"] == "Namespace" and document["metadata"]["name"].startswith(f"{namespace}-"):
                document["metadata"]["name"] = namespace
    return documents


def merged(defaults, values):
    """Values over defaults, as Helm merges files: maps by key, everything else as a whole."""
    result = copy.deepcopy(defaults)
    for key, value in values.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else copy.deepcopy(value)
    return result


def values_file(name):
    """values-NAME.yaml of the chart; "" is values.yaml."""
    with open(f"{CHART}/values{'-' * bool(name)}{name}.yaml") as f:
        return yaml.safe_load(f)


PRESETS = sorted(os.path.basename(p)[len("values-"):-len(".yaml")] for p in glob.glob(f"{CHART}/values-*.yaml"))


class Chart:
    def __init__(self, work):
        self.program, self.notes = f"{work}/render_chart", f"{work}/notes"
        environment = {**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOFLAGS": "", "GOCACHE": f"{work}/go-cache"}
        run("go", "build", "-o", self.program, f"{SOURCE}/tests/packaging/render_chart.go", env=environment)

    def try_to_render(self, values, kubernetes="v1.31.0", folder=CHART, release=("gpu", "monitoring")):
        """(exit status, manifests, error messages)"""
        done = subprocess.run([self.program, folder, *release, kubernetes], input=json.dumps(values), text=True, capture_output=True,
                              timeout=60, env={**os.environ, "RENDER_NOTES": self.notes})
        return done.returncode, done.stdout, done.stderr

    def __call__(self, values, kubernetes="v1.31.0", **what):
        status, text, complaints = self.try_to_render(values, kubernetes, **what)
        if status != 0:
            raise SystemExit(f"FAIL the chart with {values}: {complaints}")
        return [d for d in yaml.safe_load_all(text) if d]

    def notes_of(self, values):
        self(values)
        with open(self.notes) as f:
            return f.read()


def name_of(document):
    return f"{document['kind']}/{document['metadata']['name']}"


def pods(documents):
    """(name, template) of everything that starts pods."""
    for document in documents:
        if document["kind"] in ("DaemonSet", "Deployment", "StatefulSet"):
            yield name_of(document), document["spec"]["template"]
        elif document["kind"] == "Job":
            yield name_of(document), document["spec"]["template"]
        elif document["kind"] == "Pod":
            yield name_of(document), document


def containers_of(template):
    return template["spec"].get("initContainers", []) + template["spec"]["containers"]
