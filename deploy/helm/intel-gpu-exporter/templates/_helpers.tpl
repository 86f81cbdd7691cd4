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
