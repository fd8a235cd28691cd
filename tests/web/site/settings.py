"""The settings of the example project, a tool that tells what it sees, and a view that counts what is there."""

from chat.settings import *  # noqa: F403
from chat.settings import KOVA, MIDDLEWARE

ROOT_URLCONF = "tests.web.site.urls"
MIDDLEWARE = [*MIDDLEWARE, "tests.web.site.inside.note_visitor"]
KOVA = {**KOVA, "tools": [*KOVA["tools"], "tests.web.site.inside.visitor", "tests.web.site.inside.visitor_async"]}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "loggers": {name: {"handlers": ["console"], "level": "ERROR"} for name in ("django", "kova")},
}
