import schedule
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    def handle(self, *args, **options):
        schedule.every().day.at("06:00").do(print)
