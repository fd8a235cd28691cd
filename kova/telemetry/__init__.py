"""Seeing what agents do: the log, OpenTelemetry spans, and counters. All of it is off until it is asked for.

`TelemetryConfig(...).init()` turns the log and the spans on; a `MetricsCollector` is given to agents. Inside, a turn
tells its `watch` what happens, which sees nothing while telemetry is off. What is not driven by an agent's turn tells
`mcp.watch_mcp_call`: an MCP client enters it around each request.

The names for users are names of `kova`, which are loaded when they are first used.
"""
