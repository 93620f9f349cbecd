"""The phrases by which a text is chosen or turned down, each pattern with an example of it.

    would prefer to read A        CHOSEN
    A is much worse than B        TURNED_DOWN
    Choice: A                     labelled
    A, because it is clear        LEADING: where a part begins with it

They read what `Names.marked` gives: lower case, and one letter for each name, which the examples
write as A and B. The group `n` is the text that a phrase is about.
"""

from __future__ import annotations

import re

from evaljudge.judges.roles.names import A_NAME


def any_of(phrases: str) -> str:
    r"""`votes? | goes for` as the pattern `(?:votes?|goes\s+for)`."""
    tight = re.sub(r"\s*\|\s*", "|", phrases.strip())
    return "(?:" + r"\s+".join(tight.split()) + ")"


def many_of(phrases: str) -> str:
    """A few of them, each after a space; or none."""
    return rf"(?:\s+{any_of(phrases)}){{0,9}}"


# what stands around a name

_NOT_BOTH = (
    r"(?!\s*+(?:/|&|,?\s*+(?:(?:and|or|nor|versus)\b|vs\b\.?))"  # not: A and B, A vs. B
    rf"\s*(?:{A_NAME}|\d\b))"  # not: 1/2
    r"(?!['’]s\b)"  # not: A's style
)
_NOT_IF = r"(?!\s*+,?\s*+(?:(?:only\s+)?if|unless|were|had|less|least)\b)"
"""not: A, if it were short"""

_SUBJECT = rf"(?<!and )(?<!or )(?<!& )(?<!/)(?P<n>{A_NAME})"
"""[A] is better; not: B and A are"""

_BE = r"\s+" + any_of("is | was | seems | appears | looks | feels | would be | will be")
_HOW = many_of("""
    clearly | slightly | much | far | overall | generally | therefore | thus | definitely | still
    | also | probably | simply | by far | a bit | somewhat | marginally | significantly | ultimately
    | likely | the | a | to be | considered | judged
""")
"""is [clearly the] better"""

_THING = many_of("""
    summary | text | version | option | one | candidate | response | story | choice | overall
    | suited
""")
"""is the better [one]"""

_AND_SO_ON = any_of("""
    because | since | as (?:it|they|this) | due | overall | and | but | by | here | of the two
    | for (?:me|us|them|him|her|some|others?|this role|this reader|these readers)
""")
"""is better [because …], [for me]; not: is better for a quick read"""

_THAN = rf"(?:over|to|than)\s+{A_NAME}(?!\s+(?:in|at|on|with|when|regarding)\b)"
"""is better [than B]; not: better than B in style"""

_AS_A_WHOLE = (
    rf"(?=\s*(?:\Z|[.,;:!)|\n–—}}]|{_AND_SO_ON}\b|{_THAN}))"  # is better[.]
    r"(?!\s*+,?\s*+(?:in\s+terms|with\s+regard|if)\b)"  # not: is better in terms of style
)


# what is chosen, and what is not

_PREFERS = any_of("""
    prefers? | preferred | chooses? | chose | picks? | picked | selects? | selected
    | favou?rs? | favou?red | leans? towards? | sides? with | in favou?r of
""")
"""prefers A"""

_GOES_FOR = (
    any_of("votes? | voted | voting | opts? | opted | go | goes | went | roots?")
    + rf"(?:\s+{any_of('for | with | in favou?r of')})?"
)
"""votes for A"""

_PREFERRED = re.compile(
    rf"\b(?:{_PREFERS}|{_GOES_FOR})\s+(?:to\s+(?:read|see|have)\s+)?(?:the\s+)?"
    rf"(?P<n>{A_NAME}){_NOT_BOTH}{_NOT_IF}"
)
"""would prefer to read A"""

_FOUND_BETTER = re.compile(
    rf"\b{any_of('finds? | considers? | rates? | deems? | likes? | ranks? | judges?')}"
    rf"\s+(?P<n>{A_NAME})\s+(?:to\s+be\s+|as\s+)?(?:the\s+)?"
    rf"(?:better|superior|preferable|best){_THING}{_AS_A_WHOLE}"
)
"""finds A to be the better one"""

_BETTER = any_of("""
    better | superior | preferable | preferred | stronger | best | winner | favou?red | favou?rite
    | chosen
""")
_IS_BETTER = re.compile(rf"{_SUBJECT}{_BE}{_HOW}\s+{_BETTER}{_THING}{_AS_A_WHOLE}")
"""A is clearly better than B"""

_WINS = re.compile(rf"{_SUBJECT}\s+wins\b(?!\s+(?:on|in))")
"""A wins; not: A wins on style"""

_GETS_THE_VOTE = re.compile(
    rf"{_SUBJECT}\s+(?:has|gets|receives|earns)\s+(?:my|the|their|our)\s+(?:\w+\s+)?vote\b"
)
"""A gets my vote"""

_IS_THE_CHOICE = re.compile(
    rf"{_SUBJECT}{_BE}\s+(?:my|our|their|the)\s+(?:(?:clear|preferred|better)\s+)?"
    r"(?:choice|pick|vote|preference|winner|selection)\b"
)
"""A is my clear choice"""

CHOSEN = (_PREFERRED, _FOUND_BETTER, _IS_BETTER, _WINS, _GETS_THE_VOTE, _IS_THE_CHOICE)

_IS_WORSE = re.compile(
    rf"{_SUBJECT}{_BE}{_HOW}\s+(?:worse|inferior|weaker|worst){_THING}{_AS_A_WHOLE}"
)
"""A is much worse"""

_IS_LESS_GOOD = re.compile(
    rf"{_SUBJECT}\s+(?:(?:is|was)(?:\s+not|n['’]t)\s+(?:quite\s+|nearly\s+)?(?:as|so)\s+good\s+as"
    rf"|is\s+less\s+good\s+than)\s+{A_NAME}(?!\s+(?:in|at|on|with)\b)"
)
"""A isn't quite as good as B"""

TURNED_DOWN = (_IS_WORSE, _IS_LESS_GOOD)


# a choice with a label before it

_NOUN = any_of("""
    choices? | votes? | voted | verdict | decision | preference | prefers | selection | pick
    | answer | winner | favou?rite | judge?ment | conclusion
""")
"""[Choice]: A, my [vote] is for A"""

_BEST = any_of("preferred | selected | winning | chosen | better | best | favou?red")
_OPENS = r"(?:(?:^|(?<=[\n.;|{(,/]))[^\w\n]{0,8}|\b(?:the|my|our|its|their|overall)\s+)"
"""[**]Better: A, [the] better one is A; not: B is better"""

_OF_WHAT = many_of("""
    summary | text | version | option | one | candidate | response | story | choice | vote | is
    | of the two | for (?:me|this role|them)
""")
"""the better [of the two] is A, choice [for me]: A"""

LABEL = rf"(?:\b{_NOUN}|{_OPENS}{_BEST}){_OF_WHAT}"

_IS = (
    r"(?:\s*+(?:\([^()]*\)\s*+)?[:=–—|>-]\W*?"  # choice: A, choice (of the two) – A
    rf"|\s+{any_of('is | are | goes to | would be | would go to | will be | for | remains')}"
    r"\s+(?:for\s+|given\s+to\s+|to\s+)?)"  # my vote goes to A, the vote is given to A
)
_ENDS = (
    r"(?=\s*(?:\Z|[\n,;|}\].)(:!>/–—-]"  # choice: A.
    r"|(?:because|since|as|for|over|due|with|by|in|and)\b))"  # choice: A because …
)
_ENDS_BARE = r"(?=\s*(?:\Z|[\n,;|}\].)]|because))"  # choice: 1; not: choice: 1 of the two


def labelled(bare: str) -> re.Pattern[str]:
    """Choice: A, the better summary is A, my vote goes to A; `bare`: Choice: 1."""
    return re.compile(
        rf"{LABEL}{_IS}(?P<n>{A_NAME}{_ENDS}|(?<=[:=|\s])(?:{bare}){_ENDS_BARE})"
        rf"{_NOT_BOTH}{_NOT_IF}"
    )


# a choice that opens the part

_CONTRAST = any_of(r"""
    while | whereas | when | though | although | albeit | even | only if | if | unless | provided
    | assuming | despite | in spite of | unlike | like | compared | in (?:comparison|contrast|terms)
    | with regard | at least | on the (?:one|other) hand | as (?:opposed|compared|well|long|far)
    | as (?:it|they|this) stands? | for (?:some|others?|those|people|readers|anyone)
    | however | but | yet | and | or | nor
""")
"""not: A, [unlike] B; A, [if] short"""

_VERB = any_of(r"""
    (?:is|was|has|had|does|would|will|can|could|may|might)(?:n['’]t)? | cannot | can['’]t | won['’]t
    | seems | appears | looks | feels | reads | remains | tends | lacks | fails | misses | loses
    | gives | offers | provides | leaves
""")
"""not: A, in my view, [is] long"""

COMMA = (
    rf"\s*+,(?!\s*(?:{_CONTRAST}\b|{A_NAME}|\d+\b))"  # not: A, B
    rf"(?![^,.!?\n]*+,\s*{_VERB}\b)"
    r"(?![^.!?\n]*+\?)"  # not: A, right?
)
"""A[,] which is clear"""

LEADING = re.compile(
    rf"\W*+(?P<n>{A_NAME}){_NOT_BOTH}(?:"
    r"\s*(?:\Z|\n|[.;:|!)}\]>–—-])"  # A. It is clear.
    r"|\s*\([^()]*\)\s*(?:\Z|[.:;|\n–—-])"  # A (clear).
    r"|\s*+(?:\([^()]*\)|\()?\s*+,?\s*+(?:because|since|due\s+to)\b"  # A, because …
    r"|\s*+,?\s*+as\s+(?:it|they|this)\b(?!\s+stands)"  # A, as it is clear; not: A as it stands
    r"|\s+for\s+(?:its|being)\b"  # A for its clarity
    rf"|(?:\s*\([^()]*\))?{COMMA}"  # A, which is clear
    rf"|\s+over\s+{A_NAME})"  # A over B
)


def leading_bare(bare: str) -> re.Pattern[str]:
    """1, 1 because …"""
    return re.compile(rf"[^\w\n]*(?P<n>{bare})(?!\w)[^\w\n.)]*(?:\n|\Z|\||(?:because|since)\b)")
