from django.urls import path

from news import feed

urlpatterns = []

feed.start_refreshing()
