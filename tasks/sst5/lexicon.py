"""Words of the opinions of the mini suite. Order matters: the end of each tuple is kept for dev and test."""

from elmo_bench.world.names import words

# Judgements whose worth, from -2 to 2, does not hang on the noun.
CLEAR = {
    -2: words("awful terrible horrible dreadful atrocious hideous appalling disastrous abysmal"),
    -1: words("bad dull weak unpleasant tiresome disappointing poor boring mediocre"),
    0: words("ordinary average usual typical standard conventional"),
    1: words("good pleasant nice decent enjoyable agreeable fine likeable satisfying"),
    2: words("brilliant wonderful superb excellent magnificent marvellous splendid outstanding fantastic"),
}
SUBJECTS = words("music food service weather show speech party lecture concert dinner journey film parade play")
# Judgements that hang on it: what it is good to be so, and what it is bad to be so.
MIXED = {
    "cold": (words("beer lemonade cider cola"), words("soup bath welcome coffee porridge")),
    "warm": (words("soup bath welcome coat coffee"), words("beer lemonade cider cola")),
    "long": (words("career friendship holiday life marriage"), words("queue delay wait illness jam")),
    "short": (words("queue delay wait illness jam"), words("career friendship holiday life marriage")),
    "high": (words("salary quality pension profit income"), words("rent fever crime tax damage")),
    "low": (words("rent fever crime tax damage"), words("salary quality pension profit income")),
    "big": (words("win bonus prize reward gain"), words("loss debt mistake bill deficit")),
    "small": (words("loss debt mistake bill deficit"), words("win bonus prize reward gain")),
    "loud": (words("applause cheering laughter"), words("snoring drilling traffic")),
    "faint": (words("snoring drilling traffic"), words("applause cheering laughter")),
}
STRONGER = words("very really extremely terribly awfully truly incredibly dreadfully remarkably")
SAME = words("rather fairly quite somewhat moderately")  # before a mild judgement
WEAKER = words("almost nearly")  # before a strong one
