"""Settings of the chat. What is particular to kova is in `KOVA` and `INSTALLED_APPS`."""

import os
from pathlib import Path

BASE = Path(__file__).parents[1]
DEBUG = os.environ.get("DEBUG", "1") == "1"
SECRET_KEY = "for development alone" if DEBUG else os.environ["SECRET_KEY"]
ALLOWED_HOSTS = os.environ.get("ALLOWED_HOSTS", "127.0.0.1,localhost").split(",")

KOVA = {
    "model": os.environ.get("CHAT_MODEL", "openai:gpt-5"),
    "system_prompt": "You help the customers of a book shop. Be brief. Write plain text, not Markdown.",
    "tools": ["chat.orders.find_order"],
    "approval_handler": "chat.orders.may_find",
}

INSTALLED_APPS = ["django.contrib.sessions", "kova.contrib.django", "chat"]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
ROOT_URLCONF = "chat.urls"
WSGI_APPLICATION = "chat.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
    }
]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("CHAT_DATABASE", BASE / "chat.sqlite3"),
        # Without these three, SQLite refuses a writer that meets another one, in place of having it wait.
        "OPTIONS": {
            "timeout": 30,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL",
        },
    }
}
USE_TZ = True
