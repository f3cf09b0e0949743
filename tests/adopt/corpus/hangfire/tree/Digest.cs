using Hangfire;

public class Digest
{
    [DisableConcurrentExecution(timeoutInSeconds: 0)]
    public void Send() { }
}
