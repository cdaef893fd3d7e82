"""Hard negatives with another value each time: numbers that are no IDs, public addresses, months, towns and firms that are names.

    "The ISBN on the back is 978-0-14-118263-6."       no ID_NUM
    "It rained from April to June in Florence."        no name
    "The help line, 1-800-273-8255, is on the poster." no PHONE_NUM of a person

Sentences without a slot for the eye of assets/fragments/negatives.txt are there; here are those in which a value must vary, since a model
learns a fixed number by heart.
"""

import random

# "¤" is a digit from 1 to 9, "#" any digit.
_NUMBERS = (
    "The ISBN on the back cover is 978-¤-##-######-#.", "See doi:10.¤###/j.¤##.2019.##.0##.", "The ISSN of the journal is ¤###-####.",
    "That makes ¤#,### out of ¤##,### households.", "In the years 20##-20## it went down by ¤#.# %.", "We paid $¤,###.## for it in the end.",
    "Course code ¤### is full this term.", "The experiment ran for ¤####.## seconds.", "Room ¤## was locked again.",
    "I measured ¤.###, ¤.### and ¤.###.",
    "The part number of the bearing is ¤###-2RS.", "The bus is the ¤##, and it leaves at 07:##.", "It has ¤#,###,### inhabitants.",
    "Our sample was n = ¤##, with p = .0##.", "The result is ¤##########, which is prime.", "Section ¤#.#.# of the standard says so.",
    "The game ended ¤#-## after overtime.", "The recipe wants ¤## g of flour and ## ml of water.", "ISO ¤#### does not help here.",
    "Take highway ¤## to exit ##B.", "The model is the T-¤### from 2014.", "The case is reported at ¤## U.S. ###.",
    "Its catalogue number is NGC ¤###.",
    "arXiv:2¤0#.0#### was the first to say it.", "The comet comes back in 20## or 20##.", "The zip file is ¤##.# MB.", "It was version ¤.#.##.",
    "The invoice for the chairs was number 20##-0###.", "The gene lies at position ¤##,###,### of chromosome 7.", "Line ¤## throws error ¤###.",
)  # fmt: skip
_LINES = (
    "The crisis line, 1-800-###-####, is printed on the poster.", "Call the library desk on 555-01## to renew.",
    "The helpline 0800 ### #### is free.",
    "Write to admissions@college-example.edu for the form.", "The survey was at https://survey.example.org/f/¤###.",
    "The data are at https://data.example.gov/sets/¤####.csv.", "More on www.example-museum.org/visit.", "Questions go to support@example.com.",
    "The clinic's switchboard is (555) 01#-##00.",
)  # fmt: skip
_WORDS = (
    "It rained from {month} to {month2} in {city}.", "In {month} {city} is full of students.", "We took the train from {city} to {city2}.",
    "{brand} and {brand2} sell the same thing in another box.", "I bought it at {brand} in {city}.", "The {brand} logo is red.",
    "The class met on {place}, near {place2}.", "Last {month} the price of a {brand} went up.", "{city} has a museum on {place}.",
    "{virtue} is not a plan, and {virtue2} is not one either.", "A {brand} was parked on {place}.", "They closed the {brand} shop in {month}.",
)  # fmt: skip
_FILL = {
    "month": ("April", "May", "June", "August", "January", "March"),
    "city": (
        "Florence", "Charlotte", "Madison", "Austin", "Sydney", "Victoria", "Jackson", "Lincoln", "Houston", "Santiago", "San Jose", "Orlando",
        "Phoenix", "Paris", "Chelsea", "Adelaide", "Savannah", "Dallas", "Carson City", "Salvador", "Alexandria", "Regina", "Georgetown",
    ),
    "brand": (
        "Wendy's", "Ford", "Mercedes", "Dell", "Ben & Jerry's", "Tim Hortons", "Lidl", "Philips", "Siemens", "Johnson & Johnson", "Kellogg's",
        "Levi's", "Adidas", "Macy's", "Trader Joe's", "Heinz", "Hershey", "Procter & Gamble", "Papa John's", "Dr. Pepper", "Mary Kay",
    ),
    "place": (
        "Franklin Street", "Martin Luther King Boulevard", "Lincoln Avenue", "St. James Park", "Victoria Station", "Washington Square",
        "Jefferson Hall", "Roosevelt Road", "Marie Curie Street", "King Charles Bridge", "Simon Bolivar Square", "Kennedy Airport",
    ),
    "virtue": ("Hope", "Grace", "Faith", "Patience", "Charity", "Joy", "Prudence", "Honor"),
}  # fmt: skip


def _digits(text: str, rng: random.Random) -> str:
    kinds = {"¤": "123456789", "#": "0123456789"}
    return "".join(rng.choice(kinds[ch]) if ch in kinds else ch for ch in text)


def hard_negative(rng: random.Random) -> tuple[str, str]:
    """A sentence that holds nothing to protect and looks as if it did.

    rng (random.Random): Where chance comes from.
    RETURNS (tuple[str, str]): The sentence, and its kind: "number", "public contact" or "word that is a name".
    """
    kind = rng.choices(("number", "public contact", "word that is a name"), (5, 2, 4))[0]
    if kind == "number":
        return _digits(rng.choice(_NUMBERS), rng), kind
    if kind == "public contact":
        return _digits(rng.choice(_LINES), rng), kind
    values = {}
    for key, options in _FILL.items():
        values[key], values[f"{key}2"] = rng.sample(options, 2)
    return rng.choice(_WORDS).format(**values), kind
