"""A script that runs one turn of an agent."""

import sys

import kova

model = kova.OpenAICompatibleProvider("m", api_key="key", base_url=f"{sys.argv[1]}/v1")
agent = kova.Agent(model)
print(agent.run("Hi").text, flush=True)
