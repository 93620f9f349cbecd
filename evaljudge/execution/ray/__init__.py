"""Shards done by Ray's workers; the only importers of Ray, which these settings are for.

Ray reads whether it may listen beyond this machine as it is imported. Afterwards the variable is
removed, as it would make `ray start --address` fail for all programs that are started here.
"""

import os

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # its notes on itself, on our stderr
    "RAY_worker_niceness": "0",  # of a Ray that is started here; with Ray's own, 15, workers starve
    "RAY_COLOR_PREFIX": "0",  # what it says of workers that died goes to logs, too
}
_CLUSTERS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Switched off, all processes of a Ray that is started here listen on 127.0.0.1 only, on Linux too.
Ray has no other setting for this."""

os.environ.update({**_ENVIRONMENT, **os.environ})  # what the user has set stays
_is_own = not os.environ.get("RAY_ADDRESS") and _CLUSTERS not in os.environ
if _is_own:
    os.environ[_CLUSTERS] = "0"
import ray  # noqa: E402, F401

if _is_own:
    del os.environ[_CLUSTERS]
