# SPDX-License-Identifier: Apache-2.0
"""The Pod Security Standards of Kubernetes, control by control, for pods of Linux: violations(level, template) lists what an
admission controller would refuse. From the published standard, version 1.34 of its controls; fields and their allowed values
stand beside each."""

LEVELS = ("privileged", "baseline", "restricted")
BASELINE_CAPABILITIES = {
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID",
    "SYS_CHROOT"}
SELINUX_TYPES = {"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
SYSCTLS = {
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start", "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}
RESTRICTED_VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
APPARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"


def violations(level, template):
    if level == "privileged":
        return []
    return _baseline(template) + (_restricted(template) if level == "restricted" else [])


def level_of(template):
    """The strictest level that admits a pod."""
    return next(level for level in reversed(LEVELS) if not violations(level, template))


def _containers(template):
    spec = template["spec"]
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or []:
            yield f"{field}[{container['name']}]", container, container.get("securityContext") or {}


def _contexts(template):
    yield "pod", template["spec"].get("securityContext") or {}
    for where, _, context in _containers(template):
        yield where, context


def _baseline(template):
    spec, found = template["spec"], []
    found += [field for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
    found += [f"volume {v['name']}: hostPath" for v in spec.get("volumes") or [] if "hostPath" in v]
    for sysctl in (spec.get("securityContext") or {}).get("sysctls") or []:
        if sysctl["name"] not in SYSCTLS:
            found.append(f"sysctl {sysctl['name']}")
    for key, profile in ((template.get("metadata") or {}).get("annotations") or {}).items():
        if key.startswith(APPARMOR_ANNOTATION) and profile != "runtime/default" and not profile.startswith("localhost/"):
            found.append(f"annotation {key}: {profile}")
    for where, context in _contexts(template):
        if (context.get("windowsOptions") or {}).get("hostProcess"):
            found.append(f"{where}: hostProcess")
        if (context.get("appArmorProfile") or {}).get("type") == "Unconfined":
            found.append(f"{where}: AppArmor unconfined")
        if (context.get("seccompProfile") or {}).get("type") == "Unconfined":
            found.append(f"{where}: seccomp unconfined")
        selinux = context.get("seLinuxOptions") or {}
        if selinux.get("type", "") not in SELINUX_TYPES or selinux.get("user") or selinux.get("role"):
            found.append(f"{where}: SELinux {selinux}")
    for where, container, context in _containers(template):
        if context.get("privileged"):
            found.append(f"{where}: privileged")
        added = set((context.get("capabilities") or {}).get("add") or [])
        if added - BASELINE_CAPABILITIES:
            found.append(f"{where}: capabilities {sorted(added - BASELINE_CAPABILITIES)}")
        if context.get("procMount", "Default") != "Default":
            found.append(f"{where}: procMount")
        found += [f"{where}: hostPort {p['hostPort']}" for p in container.get("ports") or [] if p.get("hostPort")]
        for handler in _handlers(container):
            if handler.get("host"):
                found.append(f"{where}: a probe or hook of another host")
    return found


def _handlers(container):
    hooks = [container.get(probe) or {} for probe in ("livenessProbe", "readinessProbe", "startupProbe")]
    hooks += [hook or {} for hook in (container.get("lifecycle") or {}).values()]
    for hook in hooks:
        yield hook.get("httpGet") or {}
        yield hook.get("tcpSocket") or {}


def _restricted(template):
    spec, found = template["spec"], []
    pod = spec.get("securityContext") or {}
    for volume in spec.get("volumes") or []:
        kinds = set(volume) - {"name"}
        if not kinds or kinds - RESTRICTED_VOLUMES:
            found.append(f"volume {volume['name']}: {sorted(kinds)}")
    for where, context in _contexts(template):
        if context.get("runAsUser") == 0:
            found.append(f"{where}: runAsUser 0")
    for where, _, context in _containers(template):
        if context.get("allowPrivilegeEscalation") is not False:
            found.append(f"{where}: allowPrivilegeEscalation")
        if context.get("runAsNonRoot", pod.get("runAsNonRoot")) is not True:
            found.append(f"{where}: runAsNonRoot")
        seccomp = context.get("seccompProfile") or pod.get("seccompProfile") or {}
        if seccomp.get("type") not in ("RuntimeDefault", "Localhost"):
            found.append(f"{where}: seccompProfile {seccomp}")
        capabilities = context.get("capabilities") or {}
        if "ALL" not in (capabilities.get("drop") or []):
            found.append(f"{where}: capabilities are not dropped")
        if set(capabilities.get("add") or []) - {"NET_BIND_SERVICE"}:
            found.append(f"{where}: capabilities {capabilities['add']}")
    return found
