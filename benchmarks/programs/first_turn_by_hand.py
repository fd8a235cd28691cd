"""A script that does one POST."""

import sys

import httpx

response = httpx.post(
    f"{sys.argv[1]}/v1/chat/completions",
    json={"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
    headers={"authorization": "Bearer key"},
    timeout=60,
)
response.raise_for_status()
print(response.json()["choices"][0]["message"]["content"], flush=True)
