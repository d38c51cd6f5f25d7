"""Names in the invented world. The order matters: tasks keep the end of a tuple for their dev and test splits."""


def words(text: str, by: str | None = None) -> tuple[str, ...]:
    """The words of a text, or its parts between `by`."""
    return tuple(word.strip() for word in text.split(by))


WOMEN = words("""
    Alice Clara Edith Helen Irene Julia Laura Martha Nora Olive Ruth Sarah Tessa Vera Wendy Agnes Bridget Celia
    Dorothy Ellen Fiona Gwen Harriet Ingrid Joan Lydia Miriam Petra Rosalind Sylvia Ursula Beatrice Cora Maud
""")
MEN = words("""
    Adam Arthur Benjamin Daniel Edward George Henry Isaac James Leonard Martin Oliver Peter Robert Samuel Thomas
    Victor Albert Charles David Ernest Francis Gerald Hugh Jonathan Kenneth Lewis Michael Patrick Simon Walter
    Cedric Rupert Otto
""")
# Surnames only.
SURNAMES = words("""
    Abbott Barlow Cartwright Dawson Ellery Fletcher Goddard Hargreaves Ingram Jarvis Kellaway Loxley Merrick
    Nesbitt Ogilvie Pemberton Quigley Radcliffe Saunders Thackeray Underhill Vickers Whitlock Yardley Atkinson
    Bellamy Corbett Driscoll Everett Finch Gilmore Hopkins Jennings Larkin Mortimer Osborne Prescott Rafferty
    Sinclair Tolliver
""")
# Surnames that are also towns and firms: only the sentence shows which is meant.
SHARED = words("""
    Ashford Bradley Burton Carlisle Clayton Clifton Crawford Dalton Denton Douglas Easton Fairfax Grantham
    Halifax Hamilton Hartley Hastings Houston Jackson Kendal Kingston Lancaster Lincoln Madison Melrose Milton
    Morley Newton Norton Preston Ramsey Selby Shelby Stafford Sutton Thornton Warwick Wellington Weston Whitby
    Alston Beverley Chester Clinton Compton Davenport Dayton Eaton Hampton Harwood Holden Hudson Langley Marlow
    Nelson Oakley Paisley Ripley Rutland Shelton Stanton Walton Wentworth Winslow
""")
# Surnames that are also common words: "Banks said" and "Banks closed early".
WORDLIKE = words("""
    Banks Stone Rivers Young Page Rose May Price Bishop Marsh Wood Fields Summers Frost Bell Cook Gray Winter
    Mills Waters Church Snow Hill Knight
""")
# Places only.
TOWNS = words("""
    Brackwater Coldharbour Dunmere Eastgate Fernhill Greycliff Holmwick Kirkby Langmoor Millbrook Northwold
    Overbury Penwith Redcastle Saltmarsh Thornbury Uppingham Wakeford Yarrow Applecross Bridgend Cawdor Deepdale
    Elmstead Foxborough Glenmore Hexworth Inverlea Kelmouth Lowestow
""")
REGIONS = words("""
    Westmark Norland Southmere Eastvale Caldonia Merania Velmont Ostria Tarnwall Arvenia Bellmarch Corvany
""")
# Names of firms, clubs and offices; {} is a town or a surname.
FIRMS = (
    "{} Steel", "{} Shipping Company", "{} Motors", "{} & Sons", "{} Bank", "{} Foods", "{} Gas", "{} Railway",
    "{} Holdings",
    "{} Brothers", "{} Press", "{} Textiles", "{} Energy", "{} Airways", "{} Timber Ltd", "{} Insurance Group",
)  # fmt: skip
CLUBS = ("{} United", "{} City", "{} Rovers", "{} Wanderers", "{} Town", "{} Athletic")
OFFICES = (
    "{} University", "{} City Council", "Bank of {}", "{} Fire Department", "{} Harbour Board", "Radio {}",
    "{} General Hospital", "{} Museum",
)  # fmt: skip
FIRM_NAMES = words("""
    Norvex Altair Brightline Corvus Delphine Equinox Falconer Gryphon Halcyon Ironside Kestrel Lumina Meridian
    Northstar Orbis Pinnacle Quantrell Solaris Tessaly Unicorp Vantage Zephyr
""")
ACRONYMS = words("NRC WTA BMC OPA KLT DFA RSB TUW CHA EFP GNL LPU")
# Places that contain a shared name.
PLACE_FORMS = ("Port {}", "Lake {}", "Mount {}", "North {}", "{} Bay", "{} Street", "{} Island", "New {}", "{} Castle")
CONTESTS = ("{} Cup", "{} Marathon", "{} Regatta", "{} Derby", "{} Prize", "{} Games")
BATTLES = ("Battle of {}", "{} Rebellion", "Siege of {}", "{} Campaign")
# Ships, plays, products.
WORKS = words(
    """
    Nightingale | Sea Queen | Silver Arrow | Endeavour | Morning Star | Evening Tide | Pathfinder | Wild Swan |
    Golden Hind | Clipper | Windrose | Thunderbolt | Blue Lantern | Harvest Moon | Swift | Firefly | Lady Jane |
    Old Mill Song
""",
    by="|",
)
JOBS = words("""
    teacher doctor lawyer painter engineer nurse farmer captain judge architect chemist editor baker pilot
    minister sculptor librarian surveyor carpenter composer
""")
PRODUCTS = words("steel timber coal wool paper glass grain salt copper sugar cotton ships bricks tea")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = words("January February March April May June July August September October November December")
# Capitalised words that are not entities.
TITLES = ("Mr.", "Mrs.", "Dr.", "Sir", "Professor", "Captain", "Judge", "President", "Sergeant", "Lady")
