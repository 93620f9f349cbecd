"""What is asked of a prompt, as vLLM's sampling parameters: to write, to read, to weigh."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from evaljudge.engines.blocks import TEXT_AT
from evaljudge.model.asks import Writing


class Sampling:
    """Makes the parameters; `ends` are the ids that end a reply."""

    def __init__(self, ends: Collection[int]) -> None:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        self._parameters, self._ends = SamplingParams, sorted(ends)
        self._plainly = {
            "detokenize": False,
            "output_kind": RequestOutputKind.FINAL_ONLY,
            "skip_clone": True,  # the engine may keep them: nothing here changes them afterwards
        }

    def writing(self, how: Writing, seed: int | None) -> Any:
        return self._parameters(
            n=how.n,
            min_tokens=1,  # a reply says something
            max_tokens=how.max_tokens,
            temperature=how.temperature,
            top_p=how.top_p,
            seed=seed,
            stop_token_ids=self._ends,
            structured_outputs=_form(how),
            **self._plainly,
        )

    def reading(self, ids: Sequence[int]) -> Any:
        """The log-probabilities of these ids in the place of the next token."""
        return self._parameters(
            max_tokens=1, temperature=0.0, logprob_token_ids=list(ids), **self._plainly
        )

    def weighing(self, text_at: int, from_cache: bool) -> Any:
        """The log-probabilities of the prompt's own tokens; a text to weigh begins at this one."""
        return self._parameters(
            max_tokens=1,
            temperature=0.0,
            prompt_logprobs=0,
            skip_reading_prefix_cache=not from_cache,
            extra_args={TEXT_AT: text_at},
            **self._plainly,
        )


def _form(how: Writing) -> Any:
    from vllm.sampling_params import StructuredOutputsParams

    if how.schema:
        # without this a model may fill its limit with white space between two brackets
        return StructuredOutputsParams(json=how.schema, disable_any_whitespace=True)
    return StructuredOutputsParams(regex=how.regex) if how.regex else None
