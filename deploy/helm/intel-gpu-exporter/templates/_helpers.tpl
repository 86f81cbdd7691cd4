{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- define "intel-gpu-exporter.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "intel-gpu-exporter.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "intel-gpu-exporter.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "intel-gpu-exporter.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "intel-gpu-exporter.selectorLabels" -}}
app.kubernetes.io/name: {{ include "intel-gpu-exporter.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "intel-gpu-exporter.labels" -}}
{{ include "intel-gpu-exporter.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "intel-gpu-exporter.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "intel-gpu-exporter.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* With TLS or passwords the program checks itself: it needs neither a certificate nor a password for it. */ -}}
{{- define "intel-gpu-exporter.probe" -}}
{{- if .root.Values.webConfigSecret -}}
exec:
  command: ["/usr/bin/intel-gpu-exporter", "healthcheck", "--web.listen-address=:{{ .root.Values.port }}", "--web.config.file=/etc/intel-gpu-exporter/web.yml"]
{{- else -}}
httpGet:
  path: {{ .path }}
  port: metrics
{{- end -}}
{{- end -}}

{{- define "intel-gpu-exporter.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- /* Flags of a list or of a map, one a line. */ -}}
{{- define "intel-gpu-exporter.extraArgs" -}}
{{- if kindIs "map" . -}}
{{- range $name, $value := . -}}
{{- if kindIs "bool" $value }}
- {{ printf "--%s%s" (ternary "" "no-" $value) $name | quote }}
{{- else if kindIs "slice" $value -}}
{{- range $value }}
- {{ printf "--%s=%v" $name . | quote }}
{{- end -}}
{{- else if kindIs "float64" $value }}
- {{ printf "--%s=%s" $name (eq (floor $value) $value | ternary (int64 $value | toString) (toString $value)) | quote }}
{{- else if not (kindIs "invalid" $value) }}
- {{ printf "--%s=%v" $name $value | quote }}
{{- end -}}
{{- end -}}
{{- else -}}
{{- range . }}
- {{ . | quote }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The values of one DaemonSet: the chart's, with what its entry replaces. */ -}}
{{- define "intel-gpu-exporter.valuesOf" -}}
{{- $values := deepCopy .root.Values -}}
{{- range $key, $value := omit .entry "name" -}}
{{- if and (kindIs "map" $value) (has $key (list "rights" "devices")) -}}
{{- $_ := set $values $key (mergeOverwrite (get $values $key) (deepCopy $value)) -}}
{{- else -}}
{{- $_ := set $values $key $value -}}
{{- end -}}
{{- end -}}
{{- toJson $values -}}
{{- end -}}

{{- /* The Pod Security level that the namespace must allow. */ -}}
{{- define "intel-gpu-exporter.podSecurityLevel" -}}
{{- $level := "restricted" -}}
{{- range .Values.daemonSets -}}
{{- $values := include "intel-gpu-exporter.valuesOf" (dict "root" $ "entry" .) | fromJson -}}
{{- if or $values.rights.perf $values.rights.processes $values.rights.hangs $values.rights.kmsg $values.devices.hostPath (eq $values.seccompProfile.type "Unconfined") -}}
{{- $level = "privileged" -}}
{{- end -}}
{{- range $values.extraVolumes -}}
{{- if hasKey . "hostPath" -}}{{- $level = "privileged" -}}{{- end -}}
{{- end -}}
{{- with $values.seLinuxOptions -}}
{{- if or .user .role (not (has (default "" .type) (list "" "container_t" "container_init_t" "container_kvm_t" "container_engine_t"))) -}}
{{- $level = "privileged" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $level -}}
{{- end -}}

{{- /* What Prometheus' operator selects by. */ -}}
{{- define "intel-gpu-exporter.monitorLabels" -}}
{{- with mergeOverwrite (deepCopy .root.Values.monitorLabels) (deepCopy .labels) -}}
{{- toYaml . -}}
{{- end -}}
{{- end -}}
