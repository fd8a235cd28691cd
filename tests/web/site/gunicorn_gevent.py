"""gunicorn's settings for --preload with gevent: what is imported before the workers begin must find gevent's modules."""

from gevent import monkey

monkey.patch_all()
