"""Which layer of an encoder BERTScore reads, by the encoder's name: its authors' table.

    own_layer("roberta-large")               -> 17      FacebookAI/roberta-large too
    own_layer("models/bert-base-uncased")    -> 9       a folder, by its last part
    own_layer("all-MiniLM-L6-v2")            -> None    the table does not know it

The table is that of the package bert-score, whose authors chose nearly all layers by correlation
with people on WMT16. Left out are the encoders that end in a normalisation of their own (T5,
Pegasus, mBART, Blenderbot 400M): the package applies it to the layer it reads, and we do not, so
that numbers would differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_OWNERS = frozenset(
    {"albert", "distilbert", "FacebookAI", "google-bert", "openai-community", "xlnet"}
)
"""Under whom the hub keeps the encoders today that the table names without an owner."""
_NAMES: Mapping[int, str] = {
    0: "amazon/bort",
    1: """
        google/bert_uncased_L-2_H-128_A-2 google/bert_uncased_L-2_H-256_A-4
        google/bert_uncased_L-2_H-512_A-8
    """,
    2: "google/bert_uncased_L-2_H-768_A-12",
    3: """
        google/bert_uncased_L-4_H-128_A-2 google/bert_uncased_L-4_H-256_A-4
        google/bert_uncased_L-4_H-512_A-8 google/bert_uncased_L-4_H-768_A-12
    """,
    4: """
        dbmdz/distilbert-base-turkish-cased distilbert-base-uncased-distilled-squad
        microsoft/deberta-v3-small microsoft/prophetnet-large-uncased
        zhiheng-huang/bert-base-uncased-embedding-relative-key
    """,
    5: """
        distilbert-base-multilingual-cased distilbert-base-uncased distilroberta-base
        google/bert_uncased_L-6_H-128_A-2 google/bert_uncased_L-6_H-256_A-4
        google/bert_uncased_L-6_H-512_A-8 google/bert_uncased_L-6_H-768_A-12 xlnet-base-cased
    """,
    6: """
        allenai/led-base-16384 facebook/bart-base google/bert_uncased_L-8_H-512_A-8
        xlm-mlm-en-2048
    """,
    7: """
        allenai/longformer-base-4096 facebook/blenderbot_small-90M
        google/bert_uncased_L-8_H-128_A-2 google/bert_uncased_L-8_H-256_A-4
        google/bert_uncased_L-8_H-768_A-12 microsoft/prophetnet-large-uncased-cnndm
        microsoft/xprophetnet-large-wiki100-cased roberta-base-openai-detector
        xlnet-large-cased zhiheng-huang/bert-base-uncased-embedding-relative-key-query
    """,
    8: """
        albert-xxlarge-v1 albert-xxlarge-v2 allenai/scibert_scivocab_uncased bert-base-chinese
        google/bert_uncased_L-10_H-128_A-2 google/bert_uncased_L-10_H-256_A-4
        google/bert_uncased_L-10_H-768_A-12 google/bigbird-base-trivia-itc
        microsoft/mpnet-base princeton-nlp/unsup-simcse-roberta-base
        SpanBERT/spanbert-base-cased
    """,
    9: """
        albert-base-v2 allenai/scibert_scivocab_cased bert-base-cased-finetuned-mrpc
        bert-base-multilingual-cased bert-base-uncased facebook/bart-large-xsum
        google/bert_uncased_L-10_H-512_A-8 google/bert_uncased_L-12_H-768_A-12
        google/electra-base-discriminator google/electra-small-generator
        microsoft/deberta-base microsoft/deberta-base-mnli microsoft/deberta-v3-base
        nfliu/scibert_basevocab_uncased squeezebert/squeezebert-mnli
        squeezebert/squeezebert-mnli-headless squeezebert/squeezebert-uncased
        vinai/bertweet-base xlm-roberta-base YituTech/conv-bert-medium-small
    """,
    10: """
        albert-base-v1 dbmdz/bert-base-turkish-cased facebook/bart-large
        facebook/bart-large-cnn google/bert_uncased_L-12_H-128_A-2
        google/bert_uncased_L-12_H-512_A-8 google/bigbird-roberta-base
        google/electra-base-generator microsoft/deberta-v2-xlarge microsoft/deberta-v3-xsmall
        microsoft/mdeberta-v3-base princeton-nlp/sup-simcse-bert-base-uncased
        princeton-nlp/sup-simcse-roberta-base princeton-nlp/unsup-simcse-bert-base-uncased
        ProsusAI/finbert roberta-base xlm-mlm-100-1280 YituTech/conv-bert-base
        YituTech/conv-bert-small
    """,
    11: """
        facebook/bart-large-mnli google/bert_uncased_L-12_H-256_A-4
        google/electra-small-discriminator
    """,
    12: "microsoft/deberta-v3-large",
    13: "albert-xlarge-v2 princeton-nlp/unsup-simcse-roberta-large",
    14: """
        albert-large-v2 allenai/longformer-large-4096
        allenai/longformer-large-4096-finetuned-triviaqa google/bigbird-roberta-large
        google/electra-large-discriminator
    """,
    15: "roberta-large-openai-detector",
    16: "albert-xlarge-v1 microsoft/deberta-large princeton-nlp/sup-simcse-roberta-large",
    17: """
        albert-large-v1 microsoft/deberta-v2-xlarge-mnli roberta-large
        SpanBERT/spanbert-large-cased xlm-roberta-large
    """,
    18: """
        bert-large-uncased google/electra-large-generator khalidalt/DeBERTa-v3-large-mnli
        microsoft/deberta-large-mnli microsoft/deberta-xlarge
        princeton-nlp/sup-simcse-bert-large-uncased
        princeton-nlp/unsup-simcse-bert-large-uncased
    """,
    19: """
        roberta-large-mnli
        zhiheng-huang/bert-large-uncased-whole-word-masking-embedding-relative-key-query
    """,
    21: "microsoft/deberta-v2-xxlarge",
    22: "microsoft/deberta-v2-xxlarge-mnli",
    40: "microsoft/deberta-xlarge-mnli",
}
_LAYERS = {name: layer for layer, names in _NAMES.items() for name in names.split()}
_BY_LAST_PART = {name.rpartition("/")[2]: layer for name, layer in _LAYERS.items()}


def own_layer(encoder: str) -> int | None:
    """None where the table does not know the encoder; a namesake of another owner is another."""
    if encoder in _LAYERS:
        return _LAYERS[encoder]
    if Path(encoder).is_dir():
        return _BY_LAST_PART.get(Path(encoder).resolve().name)
    owner, _, name = encoder.partition("/")
    return _LAYERS.get(name) if owner in _OWNERS else None
