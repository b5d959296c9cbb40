"""Subjects and their vocabularies: what a page is about is known, so relevance has a truth."""

from typing import Final

TOPICS: Final[dict[str, str]] = {
    "health": "doctor patient clinic vaccine therapy nurse hospital symptom diagnosis virus infection medicine surgery "
    "dose recovery allergy pulse tissue antibody remedy",
    "sailing": "harbour mast keel spinnaker rudder regatta anchor tide skipper hull jib mooring starboard knot wharf "
    "gale buoy deck compass chart",
    "baking": "flour dough yeast oven crust butter sugar whisk batter knead pastry sourdough loaf glaze crumb proving "
    "vanilla biscuit tin sieve",
    "astronomy": "telescope galaxy orbit nebula comet planet eclipse asteroid supernova quasar parallax redshift "
    "constellation aperture lunar solar meteor spectrum crater zenith",
    "finance": "bond dividend equity portfolio interest hedge ledger audit inflation credit loan yield broker asset "
    "liability currency futures margin tax pension",
    "gardening": "compost seedling pruning mulch orchard trellis perennial bulb soil fertiliser greenhouse blossom "
    "weed hedge lawn rake harvest graft pollen nursery",
    "railway": "locomotive signal platform carriage timetable junction freight gauge sleeper conductor siding tunnel "
    "viaduct boiler coupling points depot ballast terminus express",
    "music": "violin sonata tempo chord melody orchestra conductor fugue octave rhythm cello quartet harmony score "
    "overture clarinet bassoon aria tenor encore",
    "birds": "wader curlew whimbrel plumage migration nest fledgling estuary wetland beak warbler heron flock roost "
    "talon egg hatch moult wingspan sandpiper",
    "chemistry": "molecule catalyst solvent reagent titration isotope polymer acid alkali electron valence "
    "distillation crystal oxide compound flask burette enthalpy ion ester",
    "football": "goal striker midfield penalty referee offside tackle league fixture keeper corner dribble header cup "
    "stadium squad coach transfer volley whistle",
    "history": "empire treaty archive dynasty monarch parchment siege charter medieval republic chronicle envoy "
    "fortress revolt guild relic ancestor coronation census decree",
}
"""Words that occur on pages of one subject and, but for a few, on no other."""

COMMON: Final = (
    *("the", "of", "and", "to", "in", "that", "it", "is", "was", "for", "on", "are", "as", "with", "his", "they", "at"),
    *("be", "this", "from", "have", "or", "by", "one", "had", "not", "but", "what", "all", "were", "when", "we"),
    *("there", "can", "an", "your", "which", "their", "said", "if", "do", "will", "each", "about", "how", "up", "out"),
    *("them", "then", "she", "many", "some", "so", "these", "would", "other", "into", "has", "more", "her", "two"),
    *("like", "him", "see", "time", "could", "no", "make", "than", "first", "been", "its", "who", "now", "people"),
    *("my", "made", "over", "did", "down", "only", "way", "find", "use", "may", "water", "long", "little", "very"),
    *("after", "words", "called", "just", "where", "most", "know"),
)
"""Words of every subject."""

TOPIC_NAMES: Final = tuple(TOPICS)
VOCABULARY: Final[dict[str, tuple[str, ...]]] = {name: tuple(words.split()) for name, words in TOPICS.items()}
