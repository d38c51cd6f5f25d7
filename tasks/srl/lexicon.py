"""Words of the mini suite. The order matters: the end of each tuple is kept for dev and test."""

from elmo_bench.world.names import words


def _verbs(text: str) -> tuple[tuple[str, str, str], ...]:
    """(lemma, past, participle) of `lemma/past/participle` or, where the last two are one, `lemma/past`."""
    return tuple(
        (lemma, past, part or past) for lemma, past, part, *_ in (f"{verb}//".split("/") for verb in text.split())
    )


VERBS = {
    # Somebody gives something to somebody: ARG0, ARG1, ARG2.
    "give": _verbs(
        "give/gave/given sell/sold send/sent offer/offered lend/lent hand/handed show/showed/shown award/awarded "
        "mail/mailed grant/granted"
    ),
    # Somebody gets something from somebody: ARG0, ARG1, ARG2.
    "get": _verbs(
        "buy/bought take/took/taken borrow/borrowed receive/received steal/stole/stolen accept/accepted "
        "purchase/purchased obtain/obtained inherit/inherited"
    ),
    # Somebody does something to somebody: ARG0, ARG1.
    "meet": _verbs(
        "praise/praised hire/hired thank/thanked defeat/defeated blame/blamed visit/visited follow/followed "
        "warn/warned sue/sued arrest/arrested invite/invited admire/admired"
    ),
    # Somebody opens something (ARG0, ARG1); it opens (ARG1).
    "open": _verbs(
        "open/opened close/closed sink/sank/sunk burn/burned move/moved break/broke/broken shut/shut crack/cracked"
    ),
    # Somebody acts (ARG0), or something happens to somebody (ARG1).
    "work": _verbs(
        "work/worked wait/waited sing/sang/sung speak/spoke/spoken smile/smiled dance/danced resign/resigned"
    ),
    "fall": _verbs("fall/fell/fallen arrive/arrived vanish/vanished drown/drowned die/died disappear/disappeared"),
    "say": _verbs("say/said claim/claimed report/reported believe/believed announce/announced explain/explained"),
    # Somebody wants to do something; somebody asks somebody to do something.
    "want": _verbs("want/wanted try/tried decide/decided hope/hoped refuse/refused agree/agreed"),
    "ask": _verbs("ask/asked tell/told order/ordered persuade/persuaded force/forced"),
}
THINGS = words("letter book horse painting house boat piano lamp clock farm violin carpet parcel coat ring map")
OPENED = words("bridge mill shop gate window ferry warehouse school tower harbour lock workshop")
ADJECTIVES = words("old small new heavy famous empty cheap broken silver wooden")
MANNERS = words("quietly | quickly | with great care | in secret | politely | without a word | gladly", by="|")
MODALS = words("will may would could must should might")
TIMES = words("yesterday | last week | two years later | the next morning | in the evening | after the war", by="|")
SCENES = words(
    "on the bridge | at home | near the harbour | behind the church | in the garden | at the station", by="|"
)
