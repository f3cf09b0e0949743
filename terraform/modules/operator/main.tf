data "aws_partition" "this" {
  count = var.create ? 1 : 0
}

data "aws_region" "this" {
  count  = var.create ? 1 : 0
  region = var.region
}

data "aws_caller_identity" "this" {
  count = var.create ? 1 : 0
}

locals {
  partition = try(data.aws_partition.this[0].partition, "aws")
  region    = try(data.aws_region.this[0].region, "")
  account   = try(data.aws_caller_identity.this[0].account_id, "")

  # What follows from the ledger's name, as cronce's command line and CDK constructs derive it.
  digest           = substr(sha256(var.ledger.name), 0, 12)
  derived_group    = length(var.ledger.name) <= 64 ? var.ledger.name : "${substr(var.ledger.name, 0, 51)}-${local.digest}"
  plain            = replace(var.ledger.name, ".", "-")
  queue_stem       = local.plain == var.ledger.name && length(var.ledger.name) <= 66 ? var.ledger.name : "${substr(local.plain, 0, 50)}-${local.digest}"
  group            = coalesce(var.ledger.schedule_group, local.derived_group)
  table_arn        = coalesce(var.ledger.table_arn, "arn:${local.partition}:dynamodb:${local.region}:${local.account}:table/${var.ledger.name}")
  dead_letters_arn = coalesce(var.ledger.dead_letters_arn, "arn:${local.partition}:sqs:${local.region}:${local.account}:${local.queue_stem}-dead-letters")

  clusters = length(var.cluster_arns) == 0 ? ["*"] : [for arn in var.cluster_arns : element(split("/", arn), 1)]
  here     = "${local.region}:${local.account}"

  # The same as RunLedger.grant_operate: all that the commands read, and nothing that they write.
  statements = concat(
    [
      { actions = ["dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive", "dynamodb:GetItem", "dynamodb:Query"], resources = [local.table_arn] },
      { actions = ["scheduler:GetSchedule"], resources = ["arn:${local.partition}:scheduler:${local.here}:schedule/${local.group}/*"] },
      { actions = ["ecs:DescribeTasks"], resources = [for name in local.clusters : "arn:${local.partition}:ecs:${local.here}:task/${name}/*"] },
      { actions = ["ecs:DescribeServices"], resources = [for name in local.clusters : "arn:${local.partition}:ecs:${local.here}:service/${name}/*"] },
      { actions = ["ecs:DescribeClusters"], resources = [for name in local.clusters : "arn:${local.partition}:ecs:${local.here}:cluster/${name}"] },
      { actions = ["iam:SimulatePrincipalPolicy"], resources = ["arn:${local.partition}:iam::${local.account}:role/*"] },
      { actions = ["sqs:GetQueueAttributes", "sqs:GetQueueUrl"], resources = [local.dead_letters_arn] },
      { actions = ["lambda:GetFunctionConcurrency"], resources = ["arn:${local.partition}:lambda:${local.here}:function:*"] },
      { actions = ["events:DescribeRule"], resources = ["arn:${local.partition}:events:${local.here}:rule/*"] },
      { actions = ["ecr:DescribeImages"], resources = ["arn:${local.partition}:ecr:${local.here}:repository/*"] },
      { actions = ["secretsmanager:DescribeSecret"], resources = ["arn:${local.partition}:secretsmanager:${local.here}:secret:*"] },
      {
        # Lists, whose resource cannot be named or is not known.
        actions = [
          "cloudwatch:DescribeAlarms",
          "ec2:DescribeSecurityGroups",
          "ec2:DescribeSubnets",
          "ecs:DescribeTaskDefinition",
          "ecs:ListServices",
          "ecs:ListTasks",
          "events:ListRuleNamesByTarget",
          "lambda:ListEventSourceMappings",
          "lambda:ListFunctions",
          "logs:DescribeLogGroups",
          "scheduler:ListSchedules",
        ]
        resources = ["*"]
      },
    ],
    length(var.log_group_arns) == 0 ? [] : [
      { actions = ["logs:GetLogEvents"], resources = [for arn in var.log_group_arns : "${trimsuffix(arn, ":*")}:*"] },
    ],
  )
}

resource "aws_iam_role_policy" "this" {
  count = var.create ? 1 : 0

  name = coalesce(var.name, "${substr(local.plain, 0, 100)}-operate")
  role = var.role_name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      for each in local.statements : { Effect = "Allow", Action = each.actions, Resource = each.resources }
    ]
  })
}
