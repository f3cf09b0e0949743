import aws_cdk as cdk

from stacks.api import ApiStack

app = cdk.App()
ApiStack(app, "Api")
app.synth()
