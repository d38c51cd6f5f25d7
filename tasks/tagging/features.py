"""What can be seen of a token without vectors: its spelling and its neighbours."""

from elmo_bench.text.batch import Text

AFFIXES = (1, 2, 3, 4)  # characters of the beginnings and endings of a token
AROUND = (-2, -1, 1, 2)  # positions of the neighbours, counted from the token


def features_of(tokens: Text) -> list[list[str]]:
    """The features of each token of a sentence, each feature once."""
    lower = [token.lower() for token in tokens]
    shapes = [shape_of(token) for token in tokens]
    features = []
    for place, token in enumerate(tokens):
        of_token = [f"token {token}", f"lower {lower[place]}", f"shape {shapes[place]}"]
        of_token += _affixes(lower[place])
        for step in AROUND:
            neighbour = place + step
            is_inside = 0 <= neighbour < len(tokens)
            of_token.append(f"{step:+} {lower[neighbour] if is_inside else ''}")
            if is_inside and abs(step) == 1:
                of_token.append(f"{step:+} shape {shapes[neighbour]}")
        features.append(of_token)
    return features


def _affixes(token: str) -> list[str]:
    """Beginnings and endings that are shorter than the token."""
    affixes = []
    for length in AFFIXES:
        if length < len(token):
            affixes.append(f"starts {token[:length]}")
            affixes.append(f"ends {token[-length:]}")
    return affixes


def shape_of(token: str) -> str:
    """The kinds of a token's characters, repetitions left out.

    `Xx` of "Ada", `X` of "USA", `d-d` of "10-12".
    """
    shape = ""
    for character in token:
        kind = character
        if character.isdigit():
            kind = "d"
        elif character.isalpha():
            kind = "X" if character.isupper() else "x"
        if not shape.endswith(kind):
            shape += kind
    return shape
