"""Words of the opinions of the mini suite. Order matters: the end of each tuple is kept for dev and test."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Judgements whose worth, from -2 to 2, does not hang on the noun.
CLEAR = {
    -2: _words("awful terrible horrible dreadful atrocious hideous appalling disastrous abysmal"),
    -1: _words("bad dull weak unpleasant tiresome disappointing poor boring mediocre"),
    0: _words("ordinary average usual typical standard conventional"),
    1: _words("good pleasant nice decent enjoyable agreeable fine likeable satisfying"),
    2: _words("brilliant wonderful superb excellent magnificent marvellous splendid outstanding fantastic"),
}
SUBJECTS = _words("music food service weather show speech party lecture concert dinner journey film parade play")
# Judgements that hang on it: what it is good to be so, and what it is bad to be so.
MIXED = {
    "cold": (_words("beer lemonade cider cola"), _words("soup bath welcome coffee porridge")),
    "warm": (_words("soup bath welcome coat coffee"), _words("beer lemonade cider cola")),
    "long": (_words("career friendship holiday life marriage"), _words("queue delay wait illness jam")),
    "short": (_words("queue delay wait illness jam"), _words("career friendship holiday life marriage")),
    "high": (_words("salary quality pension profit income"), _words("rent fever crime tax damage")),
    "low": (_words("rent fever crime tax damage"), _words("salary quality pension profit income")),
    "big": (_words("win bonus prize reward gain"), _words("loss debt mistake bill deficit")),
    "small": (_words("loss debt mistake bill deficit"), _words("win bonus prize reward gain")),
    "loud": (_words("applause cheering laughter"), _words("snoring drilling traffic")),
    "faint": (_words("snoring drilling traffic"), _words("applause cheering laughter")),
}
STRONGER = _words("very really extremely terribly awfully truly incredibly dreadfully remarkably")
SAME = _words("rather fairly quite somewhat moderately")  # before a mild judgement
WEAKER = _words("almost nearly")  # before a strong one
