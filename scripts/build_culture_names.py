"""Build the lists of names by gender and culture that ship as `pii_components/resources/names/cultures.tsv`.

    python scripts/build_culture_names.py [--out pii_components/resources/names/cultures.tsv]

Needs names-dataset 3.3.1 (the `train` extra) and spacy-lookups-data; takes about a minute and 3 GB. The steps are those of the
JEDM paper (seeds/gpt4omini_jedm.txt, section 3.6): countries of a culture by the UN's regions, the most frequent names of each
country, all countries of a culture in one list, names with other than English letters left out. What differs is said in
resources/names/README.md. No count and no full name of anybody. Deterministic: the same packages give the same bytes.
"""

import argparse
import gzip
import pickle
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pii_components.corpus.people import CULTURES, GENDERS, SURNAMES, write_lists  # noqa: E402
from pii_components.names.table import fold  # noqa: E402
from scripts.build_name_table import JUNK, RUDE, SMALL, common_words, display, place_names, read_probabilities  # noqa: E402

# Names per list: what Fiji, the only country of Oceania in the source, has of both genders; equal for all, so that no group is
# measured on rarer names than another.
PER_LIST = 260
# Share of a given name's bearers that have the gender. The source's own `get_top_names` takes the gender of most.
LEAST_SHARE = 0.6
# The source has few people of some countries, and deep ranks there are what single people called themselves. Of SMALL ones only the
# first names count, of SPARSE ones those of them that English texts hold; other countries of the culture make up for it.
ALONE, FIRST = "FJ", 20
SPARSE = {"SV", "HN", "KH", "BF"}
SEEN_IN_PRINT = -19.5
# No names, found by reading the lists.
PLAYFUL = """
ahgy ahrkun anzie baebi benthe bunah cclia dibouuta diimere embex fantasha feliciaa gmaima graysess haidyy havillia jaydoll joytee
karmie kellce kinnysalote lbuadromo lebzy ledcy leenyloo leetha lichee littyana livzy luggymijico mannynjoanne maryruru mellcy memcy
mereonny miagrace mirryama mirryaremmer mitah mrsreddy myangels peii pollah sandune seinny sency sharrah tangii tinaii tyah tyrra veekah
vheron virleo wqvky xamina adilagii amuk boniboy casmani changkhan chickky deptfonews dezine dricks duddy eess fijizlurfin flynton
kaivitiink leps lsimeli mikaelegukibau mojee myzdo nemznkesh patex pex quintyn radenn scorpian seinqh siswanto superfazil superstarkrish
tevitajaxinta tgodboso tukity tuks tukz tukzz vaks vaurisii vikz ronyl ashlyna harysh kalvaka esteek alyrah boold brasto fremlin
halsted katzuky lumut mcgoon nbae nongrum rizvy shorov trupp veronicah yemo zibran niteshni roinesh jenggot ifraan intiyaz kalmet
chands lotcha mirray rexcy salcy salzy shiff athome doughty duffie ettah komz loddy prout strivers targaryens gungrave qween mca wac ail
mhiz syr homs kcha imms khmer aliraqi nesvarbu abdii taysi
"""
ENGLISH = re.compile(r"[A-Za-z]{3,14}")


def ranked_names(
    entries: dict[str, dict[str, Any]], country: str, unfit: set[str], probs: dict[str, float], *, gender: str | None = None
) -> list[str]:
    """The names of a country, the most frequent first."""
    found: list[tuple[int, str]] = []
    for raw, entry in entries.items():
        rank = entry["rank"].get(country)
        if not rank or (gender and entry["gender"].get(gender, 0.0) < LEAST_SHARE):
            continue
        name = display(raw)
        if name and ENGLISH.fullmatch(name) and fold(name) not in unfit and not RUDE.search(fold(name)):
            found.append((rank, name))
    names = [name for _, name in sorted(found)]
    if country in SMALL and country != ALONE:
        names = names[:FIRST]
    return [name for name in names if country not in SPARSE or probs.get(name, -99.0) > SEEN_IN_PRINT]


def merge(lists: list[list[str]], limit: int) -> list[str]:
    """The first name of each country, then the second of each, and so on, without doubles, sorted at the end."""
    merged: dict[str, None] = {}
    for place in range(max(map(len, lists))):
        for names in lists:
            if place < len(names) and len(merged) < limit:
                merged.setdefault(names[place])
    return sorted(merged)


def main() -> None:
    import names_dataset
    import spacy_lookups_data

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=ROOT / "pii_components" / "resources" / "names" / "cultures.tsv")
    out = parser.parse_args().out
    source = Path(names_dataset.__file__).parent / "v3"
    given = pickle.loads(gzip.decompress((source / "first_names.pkl.gz").read_bytes()))
    last = pickle.loads(gzip.decompress((source / "last_names.pkl.gz").read_bytes()))
    probs = read_probabilities(Path(spacy_lookups_data.__file__).parent / "data" / "en_lexeme_prob.json.gz")
    unfit = common_words(probs) | place_names() | JUNK | set(PLAYFUL.split())
    known = {c for entry in given.values() for c in entry["rank"]}
    lists = {}
    for culture, text in CULTURES.items():
        countries = text.split()
        if missing := set(countries) - known:
            raise SystemExit(f"names-dataset has no {', '.join(sorted(missing))}")
        for gender in GENDERS:
            lists[culture, gender] = merge([ranked_names(given, c, unfit, probs, gender=gender) for c in countries], PER_LIST)
        lists[culture, SURNAMES] = merge([ranked_names(last, c, unfit, probs) for c in countries], PER_LIST)
    if left := known - {c for text in CULTURES.values() for c in text.split()}:
        raise SystemExit(f"No culture has {', '.join(sorted(left))}")
    write_lists(out, lists)
    for (culture, kind), names in lists.items():
        print(f"{culture} {kind}: {len(names)} names")
    print(f"{out.name}: {out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
