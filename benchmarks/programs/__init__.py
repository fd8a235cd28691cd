"""Programs that are measured from start to end, each in a fresh process; the first argument is the server's URL."""
