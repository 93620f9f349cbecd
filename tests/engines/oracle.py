"""Log-probabilities by transformers on the same weights, by a route of its own.

It renders with `apply_chat_template`, tokenises with the model's own tokenizer, finds each
spelling's ids by itself and adds up path probabilities over whole forward passes.
"""

import math
from pathlib import Path
from typing import Any


class Oracle:
    def __init__(self, folder: Path) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.torch = torch
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def render(self, text: str, reply: str = "") -> list[int]:
        tokenizer = self.tokenizer
        if tokenizer.chat_template:
            turns = [{"role": "user", "content": text}]
            said = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        else:
            said = text + "\n\nAnswer:"
        return list(tokenizer(said + reply, add_special_tokens=False)["input_ids"])

    def rows(self, ids: list[int]) -> Any:
        with self.torch.no_grad():
            return self.model(self.torch.tensor([ids])).logits[0].log_softmax(-1)

    def path(self, prompt: list[int], path: list[int]) -> float:
        rows = self.rows(prompt + path)
        return sum(float(rows[len(prompt) - 1 + n][t]) for n, t in enumerate(path))

    def option(self, text: str, name: str, others: list[str]) -> float:
        prompt = self.render(text)
        mine, theirs = self.spellings(text, [name]), self.spellings(text, others)
        kept = [p for p in mine if not any(p != q and p[: len(q)] == q for q in mine)]
        total = 0.0
        for path in kept:
            value = self.path(prompt, path)
            if any(q[: len(path)] == path for q in theirs):
                rows = self.rows(prompt + path)
                value += float(rows[-1][self.tokenizer.eos_token_id])
            total += math.exp(value)
        return math.log(total)

    def spellings(self, text: str, names: list[str]) -> list[list[int]]:
        prompt = self.render(text)
        found = []
        for name in names:
            for form in {name, name.lower(), name.upper(), name.capitalize()}:
                for lead in ("", " "):
                    ids = self.render(text, lead + form)
                    if ids[: len(prompt)] == prompt and ids[len(prompt) :] not in found:
                        found.append(ids[len(prompt) :])
        return found
