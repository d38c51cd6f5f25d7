"""Names of the world: plain tuples. Order matters, because a task may keep the end of a tuple for its test split."""

WOMEN = tuple(
    "Alice Clara Edith Helen Irene Julia Laura Martha Nora Olive Ruth Sarah Tessa Vera Wendy Agnes Bridget Celia Dorothy "
    "Ellen Fiona Gwen Harriet Ingrid Joan Lydia Miriam Petra Rosalind Sylvia Ursula Beatrice Cora Maud".split()
)
MEN = tuple(
    "Adam Arthur Benjamin Daniel Edward George Henry Isaac James Leonard Martin Oliver Peter Robert Samuel Thomas Victor "
    "Albert Charles David Ernest Francis Gerald Hugh Jonathan Kenneth Lewis Michael Patrick Simon Walter Cedric Rupert Otto".split()
)
# Surnames that are nothing else.
SURNAMES = tuple(
    "Abbott Barlow Cartwright Dawson Ellery Fletcher Goddard Hargreaves Ingram Jarvis Kellaway Loxley Merrick Nesbitt Ogilvie "
    "Pemberton Quigley Radcliffe Saunders Thackeray Underhill Vickers Whitlock Yardley Atkinson Bellamy Corbett Driscoll "
    "Everett Finch Gilmore Hopkins Jennings Larkin Mortimer Osborne Prescott Rafferty Sinclair Tolliver".split()
)
# Surname, town and firm in one: only the sentence says which.
SHARED = tuple(
    "Ashford Bradley Burton Carlisle Clayton Clifton Crawford Dalton Denton Douglas Easton Fairfax Grantham Halifax Hamilton "
    "Hartley Hastings Houston Jackson Kendal Kingston Lancaster Lincoln Madison Melrose Milton Morley Newton Norton Preston "
    "Ramsey Selby Shelby Stafford Sutton Thornton Warwick Wellington Weston Whitby "
    "Alston Beverley Chester Clinton Compton Davenport Dayton Eaton Hampton Harwood Holden Hudson Langley Marlow Nelson "
    "Oakley Paisley Ripley Rutland Shelton Stanton Walton Wentworth Winslow".split()
)
# Surnames that are words too: "Banks said" and "Banks closed early".
WORDLIKE = tuple(
    "Banks Stone Rivers Young Page Rose May Price Bishop Marsh Wood Fields Summers Frost Bell Cook Gray Winter Mills Waters "
    "Church Snow Hill Knight".split()
)
# Places that are nothing else.
TOWNS = tuple(
    "Brackwater Coldharbour Dunmere Eastgate Fernhill Greycliff Holmwick Kirkby Langmoor Millbrook Northwold Overbury "
    "Penwith Redcastle Saltmarsh Thornbury Uppingham Wakeford Yarrow Applecross Bridgend Cawdor Deepdale Elmstead Foxborough "
    "Glenmore Hexworth Inverlea Kelmouth Lowestow".split()
)
REGIONS = tuple(
    "Westmark Norland Southmere Eastvale Caldonia Merania Velmont Ostria Tarnwall Arvenia Bellmarch Corvany".split()
)
# What the firms, clubs and offices of the world call themselves; {} is a town or a surname.
FIRMS = (
    "{} Steel", "{} Shipping Company", "{} Motors", "{} & Sons", "{} Bank", "{} Foods", "{} Gas", "{} Railway", "{} Holdings",
    "{} Brothers", "{} Press", "{} Textiles", "{} Energy", "{} Airways", "{} Timber Ltd", "{} Insurance Group",
)  # fmt: skip
CLUBS = ("{} United", "{} City", "{} Rovers", "{} Wanderers", "{} Town", "{} Athletic")
OFFICES = (
    "University of {}", "{} City Council", "Bank of {}", "{} Fire Department", "{} Harbour Board", "{} High Court",
    "{} General Hospital", "Museum of {}",
)  # fmt: skip
FIRM_NAMES = tuple(
    "Norvex Altair Brightline Corvus Delphine Equation Falconer Gryphon Halcyon Ironside Kestrel Lumina Meridian Northstar Orbis "
    "Pinnacle Quantrell Solaris Tessaly Unicorp Vantage Zephyr".split()
)
ACRONYMS = tuple("NRC WTA BMC OPA KLT DFA RSB TUW CHA EFP GNL LPU".split())
# Places with the shared names inside.
PLACE_FORMS = ("Port {}", "Lake {}", "Mount {}", "North {}", "{} Bay", "{} Street", "{} Island", "New {}", "{} Castle")
EVENTS = (
    "{} Cup", "{} Festival", "{} Marathon", "Battle of {}", "Treaty of {}", "{} Regatta", "{} Prize", "{} Agreement",
)  # fmt: skip
# Ships, plays, products.
WORKS = tuple(
    "Nightingale|Sea Queen|Silver Arrow|Endeavour|Morning Star|Evening Tide|Pathfinder|Wild Swan|Golden Hind|Clipper|Windrose|"
    "Thunderbolt|Blue Lantern|Harvest Moon|Swift|Firefly|Lady Jane|Old Mill Song".split("|")
)
JOBS = tuple(
    "teacher doctor lawyer painter engineer nurse farmer captain judge architect chemist editor baker pilot minister sculptor "
    "librarian surveyor carpenter composer".split()
)
PRODUCTS = tuple("steel timber coal wool paper glass grain salt copper sugar cotton ships bricks tea".split())
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = tuple("January February March April June July August September October November December".split())
# Capitalised, and no names of anybody or anything that counts.
TITLES = ("Mr.", "Mrs.", "Dr.", "Sir", "Professor", "Captain", "Judge", "President", "Sergeant", "Lady")
