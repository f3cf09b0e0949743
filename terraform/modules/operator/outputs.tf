output "policy_json" {
  description = "The policy's document"
  value       = try(aws_iam_role_policy.this[0].policy, null)
}
