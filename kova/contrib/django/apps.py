"""The Django app: its tables begin with `kova_`."""

from __future__ import annotations

from django.apps import AppConfig


class KovaConfig(AppConfig):
    """Conversations in Django's databases."""

    name = "kova.contrib.django"
    label = "kova"
    verbose_name = "Kova"
    default_auto_field = "django.db.models.BigAutoField"
