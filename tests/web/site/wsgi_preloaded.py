"""A site whose agent is made, and used, in the process that gunicorn forks its workers from."""

from chat.wsgi import application

from kova.contrib.django import agent

__all__ = ["application"]

agent().run("Are you there?")
