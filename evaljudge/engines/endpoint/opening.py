"""An endpoint described on the driver, and opened on a worker."""

from evaljudge.engines.endpoint.client import Client
from evaljudge.engines.endpoint.model import EndpointModel
from evaljudge.engines.endpoint.served import Served, find_out
from evaljudge.engines.endpoint.settings import Endpoint
from evaljudge.engines.source import Identity, ModelFacts, ModelSource
from evaljudge.errors import UserError
from evaljudge.model.asks import Options, Prompt, Spent

LETTERS_PER_TOKEN = 4


def describe_endpoint(source: ModelSource, endpoint: Endpoint) -> ModelFacts:
    client = Client(endpoint)
    try:
        served = find_out(client, source)
    finally:
        client.close()
    identity = _identity(served, source, endpoint)
    return ModelFacts(identity, served.context, weighs=served.template is not None)


def _identity(served: Served, source: ModelSource, endpoint: Endpoint) -> Identity:
    model, exactness = served.model or served.name, source.exactness if served.template else None
    return Identity(
        *(served.name, model, source.chat, {}),
        commit=model,
        exactness=exactness,
        endpoint=endpoint.url,
        way=served.way,
    ).settled_as(source, served.chat, served.reply)


def open_endpoint(source: ModelSource, endpoint: Endpoint, seed: int) -> EndpointModel:
    """Refused where it is not what the driver saw, by another server behind the same name, say."""
    client = Client(endpoint)
    try:
        served = find_out(client, source)
        now = _identity(served, source, endpoint)
        if source.way and (now.way, now.revision) != (source.way, source.revision):
            raise UserError(
                f"endpoint {endpoint.url}: it was {source.revision} ({source.way}), and is "
                f"{now.revision} ({now.way}) now"
            )
        return EndpointModel(client, served, source, seed)
    except BaseException:
        client.close()
        raise


def estimated_tokens(prompt: Prompt, options: Options | None = None) -> tuple[Spent, ...]:
    return (Spent(len(prompt.text) // LETTERS_PER_TOKEN + 1, 0, 1),)
