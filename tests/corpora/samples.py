"""Rows of published benchmarks, in their authors' forms."""

AXES = ("coherence", "consistency", "fluency", "relevance")
EXPERTS = [(4, 5, 5, 3), (5, 5, 4, 3), (3, 5, 5, 4)]
TURKERS = [(1, 2, 3, 4), (2, 2, 3, 4), (1, 2, 4, 4), (1, 3, 3, 4), (1, 2, 3, 5)]


def without(name, row):
    return {k: v for k, v in row.items() if k != name}


def annotations(ratings):
    return [dict(zip(AXES, of, strict=True)) for of in ratings]


def summeval(system="M0", **fields):
    return {
        "id": "dm-test-1a",
        "decoded": f"a flood , says {system} .",
        "expert_annotations": annotations(EXPERTS),
        "turker_annotations": annotations(TURKERS),
        "references": ["A flood came.", "Rain fell."],
        "model_id": system,
        "filepath": "cnndm/dailymail/stories/1a.story",
    } | fields


HUMAN = 'It said "hello".\nThen it ran.'


def hanna(number, model, text, ratings, **cells):
    axes = ("Relevance", "Coherence", "Empathy", "Surprise", "Engagement", "Complexity")
    return {
        "Story ID": number,
        "Prompt": "A river talks.",
        "Human": HUMAN,
        "Story": text,
        "Model": model,
        **dict(zip(axes, ratings, strict=True)),
        "Worker ID": "W",
        "Work time in seconds": 80.5,
    } | cells


STORIES = [
    hanna(1, "Human", HUMAN, (5, 4, 3, 2, 4, 3)),
    hanna(97, "GPT-2 (tag)", "The river ran.", (2, 3, 1, 1, 2, 1)),
    hanna(1, "Human", HUMAN, (4, 4, 3, 2, 4, 3)),
    hanna(97, "GPT-2 (tag)", "The river ran.", (2, 1, 1, 1, 2, 1)),
    hanna(1, "Human", HUMAN, (3, 4, 3, 2, 4, 5)),
    hanna(97, "GPT-2 (tag)", "The river ran.", (2, 2, 1, 1, 5, 1)),
]


def newsroom(system, summary, ratings):
    axes = ("Coherence", "Fluency", "Informativeness", "Relevance")
    return {
        "ArticleID": "2140",
        "System": system,
        "ArticleText": "It rained &amp; rained.</p><p>The river&#x27;s up.<br/>So 1 &lt; 2.",
        "SystemSummary": summary,
        "ArticleTitle": "A flood",
        **{f"{axis}Rating": r for axis, r in zip(axes, ratings, strict=True)},
    }


NEWS = [
    newsroom("lede3", "<p>It rained &quot;hard&quot;.</p>", (4, 5, 3, 4)),
    newsroom("textrank", "The river .", (1, 2, 1, 1)),
    newsroom("lede3", "<p>It rained &quot;hard&quot;.</p>", (2, 5, 3, 4)),
    newsroom("lede3", "<p>It rained &quot;hard&quot;.</p>", (3, 5, 4, 4)),
]

USR_RATINGS = {
    "Understandable": [1, 1, 0],
    "Natural": [3, 2, 3],
    "Maintains Context": [3, 3, 2],
    "Engaging": [2, 2, 1],
    "Uses Knowledge": [0, 0, 1],
    "Overall": [4, 3, 5],
}
RESPONSE = {"response": "which one ?\n", "model": "Argmax Decoding", **USR_RATINGS}
TRUE = {"response": "the rhine is long .\n", "model": "Original Ground Truth", **USR_RATINGS}


def usr(*responses, **fields):
    return {
        "context": "do you like rivers ? \n i do . \n\n",
        "fact": "the rhine is a river .\n",
        "annotators": ["ab", "cd", "ef"],
        "responses": list(responses or [RESPONSE]),
    } | fields


ACU = {"acu_labels": [1, 0], "acu": 0.5, "normalized_acu": 0.375}
PROTOCOLS = {"prior": 3.5, "ref_based": 2.25, "ref_free": 4.0}


def rose(**fields):
    return {
        "example_id": "1a2b",
        "count_id": 7,
        "source": "The river rose.",
        "reference": "A flood came.\nIt rained.",
        "reference_acus": ["A flood came", "It rained"],
        "annotations": {"bart": {**PROTOCOLS, **ACU}, "brio-ext": ACU},
        "system_outputs": {"brio-ext": "Rain.", "bart": "A flood.", "gold": "Water."},
    } | fields


PAPER = {
    "dataset": "arXiv",
    "dataset_id": "ID_1603.04792",
    "model_type": "BART (LEAD 1K)",
    "model_summary": " we study rivers. ",
    "relevance": 0.375,
    "factual_consistency": 0.75,
}
REPORT = PAPER | {"dataset": "GovReport", "dataset_id": "ID_R45741", "model_summary": "A report."}


def paper_rater(relevance, factual):
    return {
        "relevance_score": relevance,
        "factual_score": factual,
        "sentence_error_list": [],
        "model": "BART (LEAD 1K)",
        "document_id": "ID_1603.04792",
        "dataset": "arXiv",
        "summary": " we study rivers. ",
    }


def annotator(best, worst=None):
    chosen = {"best_summary": best.split()}
    return chosen if worst is None else chosen | {"worst_summary": worst.split()}


def choices(*annotators, **fields):
    return {
        "article": "The river rose.",
        "annotators": list(annotators or [annotator("t0")]),
        "t0": {"text": "It rained."},
        "gpt3": {"text": "A flood came."},
        "brio": {"text": "Rain."},
    } | fields


CHOSEN = {
    "0": choices(annotator("gpt3", "t0"), annotator("gpt3 brio", "t0"), annotator("brio", "t0")),
    "1": choices(
        annotator("brio gpt3", "brio gpt3 t0"), annotator("gpt3", "brio"), annotator("t0", "brio"),
        article="It snowed.",
    ),
}  # fmt: skip
