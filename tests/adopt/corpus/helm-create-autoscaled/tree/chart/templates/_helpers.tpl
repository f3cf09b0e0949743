{{- define "orders.fullname" -}}
{{- .Release.Name }}-{{ .Chart.Name }}
{{- end }}
{{- define "orders.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
{{- end }}
