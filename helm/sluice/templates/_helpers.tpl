{{- define "sluice.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Leaves room for the longest suffix of a name. */}}
{{- define "sluice.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- $name := include "sluice.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{/* Name of objects without a namespace. */}}
{{- define "sluice.clusterName" -}}
{{- printf "%s:%s" .Release.Namespace (include "sluice.fullname" .) }}
{{- end }}

{{/* Takes a list: the root, and the component or "". */}}
{{- define "sluice.selectorLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "sluice.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
{{- with index . 1 }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- define "sluice.labels" -}}
{{- $root := index . 0 -}}
{{ include "sluice.selectorLabels" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "sluice.image" -}}
{{- with .Values.image }}
{{- if .digest }}
{{- printf "%s@%s" .repository .digest }}
{{- else }}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "sluice.sealingSecret" -}}
{{- default (printf "%s-sealing" (include "sluice.fullname" .)) .Values.sealing.existingSecret }}
{{- end }}

{{- define "sluice.adminSecret" -}}
{{- default (printf "%s-admin" (include "sluice.fullname" .)) .Values.admin.existingSecret }}
{{- end }}

{{- define "sluice.redisSecret" -}}
{{- coalesce .Values.redis.existingSecret .Values.redis.serverSecret (printf "%s-redis" (include "sluice.fullname" .)) }}
{{- end }}

{{/* Entry of the Redis Secret for a component. */}}
{{- define "sluice.redisKey" -}}
{{- $root := index . 0 }}
{{- $component := index . 1 }}
{{- if $root.Values.redis.existingSecret }}
{{- get $root.Values.redis.existingSecretKeys $component }}
{{- else if $root.Values.redis.url -}}
url
{{- else }}
{{- printf "%s-url" $component }}
{{- end }}
{{- end }}

{{/* An entry of an existing Secret, or nothing. Takes a list: the root, the Secret, the entry. */}}
{{- define "sluice.kept" -}}
{{- $root := index . 0 }}
{{- $secret := lookup "v1" "Secret" $root.Release.Namespace (index . 1) | default dict }}
{{- get ($secret.data | default dict) (index . 2) | b64dec }}
{{- end }}

{{/* The environment that both programs need. */}}
{{- define "sluice.env" -}}
{{- $root := index . 0 }}
{{- $component := index . 1 -}}
- name: SLUICE_PORT
  value: "8080"
- name: SLUICE_ADMIN_PORT
  value: "8081"
- name: SLUICE_LOG_LEVEL
  value: {{ $root.Values.logLevel }}
- name: SLUICE_INSTANCE
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: SLUICE_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: SLUICE_REDIS_URL
  valueFrom:
    secretKeyRef:
      name: {{ include "sluice.redisSecret" $root }}
      key: {{ include "sluice.redisKey" . }}
{{- with $root.Values.redis.tls }}
{{- if .existingSecret }}
{{- range $name, $entry := dict "CA" .ca "CERT" .cert "KEY" .key }}
{{- with $entry }}
- name: SLUICE_REDIS_{{ $name }}_FILE
  value: /etc/sluice/redis-tls/{{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
- name: SLUICE_SEALING_KEYS_FILE
  value: /etc/sluice/sealing/keys
- name: SLUICE_ADMIN_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ include "sluice.adminSecret" $root }}
      key: token
{{- end }}

{{/* The restricted profile of Pod Security. */}}
{{- define "sluice.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "sluice.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Image, admin port, probes and sealing keys of both programs. Takes a list: the root, the component. */}}
{{- define "sluice.container" -}}
{{- $root := index . 0 }}
{{- $values := get $root.Values (index . 1) -}}
image: {{ include "sluice.image" $root }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
securityContext:
  {{- include "sluice.containerSecurityContext" $root | nindent 2 }}
startupProbe:
  httpGet: { path: /healthz, port: admin }
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /healthz, port: admin }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: admin }
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
volumeMounts:
  - name: sealing
    mountPath: /etc/sluice/sealing
    readOnly: true
  {{- if $root.Values.redis.tls.existingSecret }}
  - name: redis-tls
    mountPath: /etc/sluice/redis-tls
    readOnly: true
  {{- end }}
  {{- with $values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* Volumes: the sealing keys, and the component's extra volumes. Takes a list: the root, the component. */}}
{{- define "sluice.volumes" -}}
{{- $root := index . 0 }}
{{- $values := get $root.Values (index . 1) -}}
- name: sealing
  secret:
    secretName: {{ include "sluice.sealingSecret" $root }}
    defaultMode: 0440
    items:
      - key: keys
        path: keys
{{- with $root.Values.redis.tls.existingSecret }}
- name: redis-tls
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- with $values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Scheduling of pods. Takes a list: the root, the component. */}}
{{- define "sluice.placement" -}}
{{- $root := index . 0 }}
{{- $values := get $root.Values (index . 1) -}}
topologySpreadConstraints:
  {{- with $values.topologySpreadConstraints }}
  {{- toYaml . | nindent 2 }}
  {{- else }}
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "sluice.selectorLabels" $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
  {{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- include "sluice.scheduling" $values }}
{{- end }}

{{- define "sluice.scheduling" }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
