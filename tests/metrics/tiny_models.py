"""Tiny random models for metrics, made on the spot."""

import json
from pathlib import Path
from typing import Any

POSITIONS = 64
"""So few that a long text is read in several windows."""
BOS, EOS = "<s>", "</s>"
WORDS = "the river rose town was cut off a flood closed bridge of two days rain . , 3.5 re ##open"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789;"


def bert(folder: Path, architecture: str = "BertForMaskedLM", **config: Any) -> Path:
    """A BERT of this architecture."""
    import torch
    import transformers

    letters = [f"{mark}{letter}" for letter in LETTERS for mark in ("", "##")]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS.split(), *letters]
    pieces = list(dict.fromkeys(vocabulary))
    (folder / "vocab.txt").write_text("\n".join(pieces))
    tokenizer = transformers.BertTokenizerFast(
        str(folder / "vocab.txt"), model_max_length=POSITIONS
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(3)
    sizes = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2}
    more = {"num_hidden_layers": 3, "max_position_embeddings": POSITIONS, "initializer_range": 0.6}
    how = transformers.BertConfig(vocab_size=len(pieces), **(sizes | more | config))
    getattr(transformers, architecture)(how).save_pretrained(folder)
    return folder


def _bart(vocabulary: int, marks: dict[str, int]) -> Any:
    from transformers import BartConfig, BartForConditionalGeneration

    sizes = {"d_model": 16, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "init_std": 0.5}
    layers = {"encoder_layers": 2, "decoder_layers": 1, "max_position_embeddings": POSITIONS}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    ids = {"bos_token_id": marks[BOS], "eos_token_id": marks[EOS], "pad_token_id": 0}
    ids |= {"decoder_start_token_id": marks[EOS], "forced_eos_token_id": None}
    return BartForConditionalGeneration(
        BartConfig(vocab_size=vocabulary, **sizes, **layers, **heads, **ids)
    )


def _t5(vocabulary: int, marks: dict[str, int]) -> Any:
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_heads": 2, "initializer_factor": 3.0}
    ids = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": marks[EOS]}
    layers = {"num_layers": 2, "num_decoder_layers": 1}
    return T5ForConditionalGeneration(T5Config(vocab_size=vocabulary, **sizes, **layers, **ids))


def _roberta(vocabulary: int, marks: dict[str, int]) -> Any:
    from transformers import RobertaConfig, RobertaModel

    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2}
    more = {"num_hidden_layers": 2, "max_position_embeddings": POSITIONS, "pad_token_id": 1}
    return RobertaModel(RobertaConfig(vocab_size=vocabulary, **sizes, **more))


def _roberta_of_pairs(vocabulary: int, marks: dict[str, int]) -> Any:
    from transformers import RobertaConfig, RobertaForSequenceClassification

    sizes = {"hidden_size": 64, "intermediate_size": 32, "num_attention_heads": 2}
    more = {"num_hidden_layers": 2, "max_position_embeddings": POSITIONS, "pad_token_id": 0}
    how = RobertaConfig(vocab_size=vocabulary, initializer_range=0.5, **sizes, **more)
    return RobertaForSequenceClassification(how)


ARCHITECTURES = {
    "bart": (_bart, f"{BOS} $A {EOS}"),
    "roberta": (_roberta, f"{BOS} $A {EOS}"),
    "roberta-pairs": (_roberta_of_pairs, f"{BOS} $A {EOS}"),
    "t5": (_t5, f"$A {EOS}"),
}


def with_marks(name: str, lent: Path, folder: Path) -> Path:
    """A checkpoint of this architecture, with the tokenizer of `lent`."""
    import torch
    from tokenizers import Tokenizer, processors

    architecture, form = ARCHITECTURES[name]
    tokenizer = Tokenizer.from_file(str(lent / "tokenizer.json"))
    marks = {mark: tokenizer.token_to_id(mark) for mark in (BOS, EOS)}
    used = [(mark, marks[mark]) for mark in marks if mark in form.split()]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=form, pair=f"{form} {EOS} $B {EOS}", special_tokens=used
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    told = json.loads((lent / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(told))
    torch.manual_seed(0)
    architecture(tokenizer.get_vocab_size(), marks).save_pretrained(folder)
    return folder
