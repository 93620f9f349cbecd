"""A model behind a URL: the OpenAI-compatible API, asked over HTTP by this process alone.

    model: {endpoint: "http://127.0.0.1:8000/v1", name: qwen}

`served` finds out, by one probe, what a server can; `model` asks accordingly; `bounds` says how
well a probability is known that the server shows only in part.
"""
