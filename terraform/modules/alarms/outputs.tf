output "alarm_arns" {
  description = "ARNs of the alarms: of the ledger by kind, of a job or clock by `job/kind`"
  value       = { for name, alarm in merge(aws_cloudwatch_metric_alarm.happened, aws_cloudwatch_metric_alarm.queue, aws_cloudwatch_metric_alarm.silence, { for alarm in aws_cloudwatch_metric_alarm.rerun_errors : "rerun_errors" => alarm }) : name => alarm.arn }
}
