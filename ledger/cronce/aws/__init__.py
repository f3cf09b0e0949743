"""How AWS is asked: HTTP, signatures, credentials, certificates, this task, and botocore clients."""
