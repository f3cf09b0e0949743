from airflow import DAG
from datetime import datetime

with DAG("daily", schedule="@daily", start_date=datetime(2024, 1, 1)) as dag:
    ...
