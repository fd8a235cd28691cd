"""The addresses of the example project, and those of the tests."""

from chat.urls import urlpatterns as chat_urls
from django.urls import path

from . import inside

urlpatterns = [
    *chat_urls,
    path("inside/counts/", inside.counts),
    path("inside/run/", inside.run_in_loop),
]
