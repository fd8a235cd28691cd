"""The addresses of the chat."""

from django.urls import path

from . import views

urlpatterns = [
    path("", views.page, name="page"),
    path("async/", views.page, {"answer_by": "answer_async"}, name="page_async"),
    path("answer/", views.answer, name="answer"),
    path("answer/async/", views.answer_async, name="answer_async"),
    path("new/", views.new, name="new"),
    path("static/<str:name>", views.static, name="static"),
]
