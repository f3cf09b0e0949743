from pydantic_settings import BaseSettings


class Settings(BaseSettings):
    keep_days: int = 90


settings = Settings()
