class ProductionConfig:
    SCHEDULER_API_ENABLED = False
