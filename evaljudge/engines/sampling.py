"""What is asked of a prompt, as vLLM's sampling parameters, and how its output is read."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from evaljudge.engines.internals import TEXT_AT
from evaljudge.engines.tokens import Ids
from evaljudge.model.asks import Writing


class Sampling:
    """Makes parameters, and reads what was asked for by them; `ends`: the ids that end a reply."""

    def __init__(self, ends: Collection[int], takes_rows: bool) -> None:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        self._parameters, self._ends = SamplingParams, sorted(ends)
        self._takes_rows = takes_rows
        self._plainly = {
            "detokenize": False,
            "output_kind": RequestOutputKind.FINAL_ONLY,
            "skip_clone": True,  # the engine may keep them: nothing here changes them afterwards
        }

    def writing(self, how: Writing, seed: int | None, ends: Collection[int] = ()) -> Any:
        """`ends`: others than those of a reply."""
        from vllm.sampling_params import StructuredOutputsParams

        form = StructuredOutputsParams(regex=how.regex) if how.regex else None
        if how.schema:
            # without this a model may fill its limit with white space between two brackets
            form = StructuredOutputsParams(json=how.schema, disable_any_whitespace=True)
        return self._parameters(
            n=how.n,
            min_tokens=1,  # a reply says something
            max_tokens=how.max_tokens,
            temperature=how.temperature,
            top_p=how.top_p,
            seed=seed,
            stop_token_ids=sorted(ends) or self._ends,
            structured_outputs=form,
            **self._plainly,
        )

    def reading(self, ids: Sequence[int]) -> Any:
        """The log-probabilities of these ids in the place of the next token."""
        return self._parameters(
            max_tokens=1, temperature=0.0, logprob_token_ids=list(ids), **self._plainly
        )

    def weighing(self, prompt: Ids, since: int, from_cache: bool) -> Any:
        """The log-probabilities of the prompt's own tokens from `since` on."""
        wanted: dict[str, Any] = {"prompt_logprobs": 0}
        if self._takes_rows:
            # in place of logits for the whole prompt, of the wanted rows alone
            rows = np.array(prompt[since:], dtype=np.int32)[:, None]
            wanted = {"prompt_logprob_token_ids": rows, "prompt_logprob_start": since - 1}
        return self._parameters(
            max_tokens=1,
            temperature=0.0,
            skip_reading_prefix_cache=not from_cache,
            extra_args={TEXT_AT: since},
            **wanted,
            **self._plainly,
        )

    def rating(self, since: int | None) -> Any:
        """The numbers for the whole prompt; its tokens from `since` on are of another type."""
        from vllm import PoolingParams

        types = None if since is None else {"compressed_token_type_ids": since}
        return PoolingParams(task="classify", use_activation=False, extra_kwargs=types)

    def of_prompt(self, output: Any, prompt: Ids, since: int) -> tuple[float, ...] | None:
        """The log-probabilities of the prompt's tokens from `since` on; None where one is missing.

        The engine computes none for a token that the cache serves, and its two model runners leave
        out different rows then: so each is found from the end, by the token that was asked for.
        """
        if (output.num_cached_tokens or 0) >= since:
            return None
        if self._takes_rows:
            rows = output.prompt_token_id_logprobs
            return None if rows is None else tuple(map(float, rows[:, 0]))
        tokens = prompt[since:]
        logprobs = (output.prompt_logprobs or [])[-len(tokens) :]
        values = tuple(
            float(row[token].logprob)
            for row, token in zip(logprobs, tokens, strict=False)
            if row and token in row
        )
        return values if len(values) == len(tokens) else None
