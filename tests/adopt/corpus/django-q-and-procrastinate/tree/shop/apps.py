from django.apps import AppConfig


class ShopConfig(AppConfig):
    name = "shop"

    def ready(self):
        from django_q.models import Schedule

        Schedule.objects.get_or_create(func="shop.tasks.digest", schedule_type=Schedule.DAILY)
