"""Checkpoints that mean their habit: nano, made to think or to open a channel before it answers.

Nano's hidden states are widened by a few dimensions, to which nothing of its own writes or listens.
A token may carry a mark there: after one, the model says "<think>" or "<|channel|>", after another
it says "First", which begins its thoughts. What closes a block or opens the last channel is read as
the line break after nano's own `<|assistant|>`. So behind it stands what nano itself says there.
"""

import json
import shutil
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

from evaljudge.bundled.nano import CHECKPOINT

WIDTH, WIDER = 128, 144
MARK, LOUD = 0.01, 20_000.0
"""Small beside a hidden state, and so made loud where words are said."""
ASKED, WITHIN = WIDTH, WIDTH + 1
"""The dimension of each mark: a reply is to begin, thoughts are to begin."""
EMPTY, FINAL = "<think>\n\n</think>\n\n", "<|channel|>final<|message|>"
_TURNS = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}<|user|>\n{{ m.content }}\n"
    "{% else %}ANSWER</s>\n{% endif %}{% endfor %}{% if add_generation_prompt %}PROMPT{% endif %}"
)
_SWITCH = "{% if enable_thinking is defined and enable_thinking is false %}" + EMPTY + "{% endif %}"


class Habit(NamedTuple):
    answer: str
    """How the template writes a reply that is known."""
    prompt: str
    """With which it asks for one."""
    opens: str
    reply: str
    """What is to be recognised, and the switches."""
    chat: dict[str, Any] = {}

    @property
    def template(self) -> str:
        return _TURNS.replace("ANSWER", self.answer).replace("PROMPT", self.prompt)


_CONTENT, _CLEARED = "{{ m.content }}", "{{ m.content.split('</think>')[-1] }}"
HABITS = {
    # as DeepSeek-R1, QwQ and MiniMax-M2: each reply begins within a block
    "open block": Habit(_CLEARED, "<think>\n", "<think>", "\n</think>\n\n"),
    # as Qwen3-…-Thinking: the same, and known replies stand behind an empty block
    "open block, shown": Habit(EMPTY + _CONTENT, "<think>\n", "<think>", "\n</think>\n\n"),
    # as the first DeepSeek-R1-Distill: the model opens the block
    "own block": Habit(_CLEARED, "<|assistant|>", "<think>", EMPTY),
    # as Qwen3: it does so unless a switch writes an empty one
    "switch": Habit(
        f"<|assistant|>{EMPTY}{_CONTENT}", f"<|assistant|>{_SWITCH}", "<think>", "",
        {"enable_thinking": False},
    ),
    # as gpt-oss
    "channel": Habit(f"<|assistant|>{FINAL}{_CONTENT}", "<|assistant|>", "<|channel|>", FINAL),
}  # fmt: skip


def make_habitual(folder: Path, name: str) -> Path:
    """Nano with this habit."""
    import torch
    from safetensors.torch import load_file, save_file
    from transformers import AddedToken, AutoTokenizer

    habit = HABITS[name]
    shutil.copytree(CHECKPOINT, folder)
    tokenizer = AutoTokenizer.from_pretrained(CHECKPOINT)
    opening = [AddedToken("<think>", rstrip=True), AddedToken("<|channel|>")]
    closing = [AddedToken("</think>", lstrip=True, rstrip=True)]
    tokenizer.add_tokens([*opening, *closing, AddedToken(EMPTY), AddedToken(FINAL)])
    tokenizer.chat_template = habit.template
    tokenizer.save_pretrained(folder)
    backend = tokenizer.backend_tokenizer
    turn, line, first = backend.encode("<|assistant|>\nFirst", add_special_tokens=False).ids

    kept = load_file(folder / "model.safetensors")
    wide = {name: _widened(name, weight.float()) for name, weight in kept.items()}
    read = wide["model.embed_tokens.weight"]
    said = torch.cat([read, torch.zeros(5, WIDER)])
    said[backend.token_to_id(habit.opens), ASKED] = said[first, WITHIN] = LOUD
    read = torch.cat([read, read[[turn, turn, line, line, line]]])
    read[turn, ASKED] = MARK
    read[[backend.token_to_id(one.content) for one in opening], WITHIN] = MARK
    wide |= {"model.embed_tokens.weight": read, "lm_head.weight": said}
    save_file(wide, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config |= {"vocab_size": len(read), "tie_word_embeddings": False, "hidden_size": WIDER}
    config["rms_norm_eps"] *= WIDTH / WIDER
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def _widened(name: str, weight: Any) -> Any:
    """With zeros for the new dimensions; a norm's mean is then over more numbers."""
    from torch.nn.functional import pad

    more = WIDER - WIDTH
    if weight.ndim == 1:
        return pad(weight * sqrt(WIDTH / WIDER), (0, more), value=1.0)
    writes = name.endswith(("o_proj.weight", "down_proj.weight"))
    return pad(weight, (0, 0, 0, more) if writes else (0, more))
