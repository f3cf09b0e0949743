from torch.optim.lr_scheduler import StepLR


def scheduler(optimizer):
    scheduler = StepLR(optimizer, 10)
    scheduler.step()
    return scheduler
