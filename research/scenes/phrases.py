"""Words and phrases with which captions describe a scene, as often as COCO's captions use them."""

OWN_COLOUR_WORDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("cat", "orange"): ("orange", "orange", "ginger"),
    ("bear", "white"): ("white", "polar"),
    ("cake", "brown"): ("chocolate", "brown"),
    ("donut", "brown"): ("chocolate", "chocolate frosted", "brown"),
    ("donut", "pink"): ("pink", "pink frosted", "sprinkled"),
    ("donut", "white"): ("white", "glazed", "white frosted"),
    ("cake", "white"): ("white", "white frosted"),
    ("cake", "pink"): ("pink", "pink frosted"),
    ("apple", "green"): ("green",),
    ("traffic light", "red"): ("red",),
    ("traffic light", "yellow"): ("yellow",),
    ("traffic light", "green"): ("green",),
    ("banana", "yellow"): ("yellow", "ripe"),
}
SIZE_WORDS: dict[str, tuple[str, ...]] = {
    "large": ("large",) * 9
    + ("big",) * 6
    + ("huge", "giant", "enormous", "massive", "oversized", "gigantic", "sizable", "hefty"),
    "small": ("small",) * 9
    + ("little",) * 5
    + ("tiny", "miniature", "compact", "petite", "mini", "smallish"),
}
MATERIAL_WORDS: dict[str, tuple[str, ...]] = {
    "wooden": ("wooden", "wooden", "wood"),
    "metal": ("metal", "metal", "steel", "metallic"),
    "plastic": ("plastic",),
    "glass": ("glass",),
    "leather": ("leather",),
    "ceramic": ("ceramic", "ceramic", "porcelain"),
}
STEEL_KINDS = frozenset({"microwave", "oven", "refrigerator", "toaster"})
AGE_WORDS: dict[str, tuple[str, ...]] = {
    "old": ("old", "old", "older", "elderly", "senior", "gray haired"),
    "young": ("young",) * 5 + ("little",) * 4 + ("small",),
}

# Praise and blame, which no picture contradicts; by family of the thing.
OPINIONS: dict[str, tuple[str, ...]] = {
    family: tuple(words.split())
    for family, words in {
        "animal": "cute adorable beautiful lovely friendly curious gentle pretty sweet calm "
        "healthy quiet majestic handsome lovable peaceful graceful alert attentive "
        "gorgeous charming lively proud",
        "vehicle": "nice shiny fancy clean modern sleek stylish colorful classic spotless reliable "
        "ordinary roomy well-kept",
        "food": "delicious tasty fresh yummy appetizing tempting mouthwatering "
        "delectable tasty-looking scrumptious appealing simple inviting",
        "furniture": "nice comfortable simple modern cozy clean neat plain sturdy tidy comfy "
        "stylish elegant inviting practical tasteful fashionable",
        "person": "happy casual stylish friendly relaxed cheerful focused fit busy skilled",
        "kitchen": "clean nice simple shiny plain fancy",
        "electronic": "new modern sleek expensive nice handy slim working",
        "appliance": "clean new modern shiny nice spotless gleaming",
        "outdoor": "simple lonely solitary plain ordinary typical sturdy",
        "sports": "nice colorful shiny new sturdy",
        "accessory": "nice stylish fashionable trendy fancy new",
        "indoor": "nice pretty decorative simple elegant charming delicate cheerful",
    }.items()
}
GARMENTS = (
    "shirt",
    "shirt",
    "shirt",
    "jacket",
    "sweater",
    "top",
    "t-shirt",
    "outfit",
    "hoodie",
    "tee",
    "pullover",
    "sweatshirt",
    "jersey",
    "long-sleeved shirt",
)
SNOW_GARMENTS = (
    "jacket",
    "jacket",
    "coat",
    "ski jacket",
    "sweater",
    "parka",
    "winter coat",
    "snow jacket",
)
HATS = ("hat", "hat", "cap", "cap", "baseball cap", "ball cap")
DRESSES = ("dress", "dress", "sundress", "gown")
PLURALS = {"dress": "dresses", "sundress": "sundresses"}
HERDS = frozenset({"cow", "horse", "elephant", "zebra", "giraffe", "sheep"})
FLOCKS = frozenset({"sheep", "bird"})


def _p(text: str) -> tuple[tuple[str, ...], ...]:
    """'on the beach | by the sea *3' to tuples of words, repeated by weight."""
    out: list[tuple[str, ...]] = []
    for item in text.split("|"):
        words, _, weight = item.strip().partition("*")
        out += [tuple(words.split())] * int(weight or 1)
    return tuple(out)


# Where it happens, by setting or by what it is about.
WHERE: dict[str, tuple[tuple[str, ...], ...]] = {
    key: _p(text)
    for key, text in {
        "beach": "on the beach *5 | on a beach *5 | at the beach *4 | on a sandy beach *3 | by the "
        "ocean *2 | near the ocean *2 | on the sand *2 | near the water | by the sea | at "
        "the seaside | on the shore | along the shoreline | on the seashore | beside the "
        "sea | on the sandy shore | by the waterfront | on the coast | at the ocean",
        "ocean": "in the ocean *6 | in the water *4 | in the sea *2 | on the water *3 | out at "
        "sea | on the open ocean | in the blue water | on the open water | out on the "
        "ocean | in deep water | on the ocean",
        "wave": "on a wave *6 | in the ocean *5 | in the water *3 | on the waves *2 | over a "
        "wave | in the waves | in the surf | down a wave | on a small wave | across a "
        "breaking wave | along the crest of a wave | on ocean waves | on some rough "
        "water",
        "lake": "on a lake *4 | on the lake *4 | on the water *4 | in the water *3 | in a lake "
        "*2 | on calm water | on the calm lake | on a peaceful lake | on a body of "
        "water *2 | on smooth water | on still water | out on the lake",
        "afloat": "on the water *5 | on calm water | on a body of water | on the open water | out "
        "on the water *2 | on blue water | on rippling water",
        "street": "on the street *5 | on a street *4 | on a city street *4 | in the street *2 | in "
        "the city *3 | on the side of the road *3 | on the road *2 | on the side of the "
        "street *2 | in front of some buildings | in front of a building *2 | in a city | "
        "downtown | in town | near some buildings | on an urban street | in an urban area | "
        "on a paved road | by tall buildings | along the roadside | in a downtown area | on "
        "the pavement | in a busy neighborhood | outside an apartment building | on the "
        "avenue | across from some apartments",
        "park": "in the park *5 | in a park *5 | at the park *4 | on the grass *3 | in a grassy "
        "area *2 | in the grass *2 | on a lawn | outdoors | outside *2 | in a green park | "
        "on some green grass | on the green lawn | in a public park | on a lush lawn",
        "field": "in a field *6 | in the field *3 | in a grassy field *5 | on a farm *2 | in a "
        "pasture *2 | in the grass *2 | in a green field *2 | on a grassy field | in a "
        "meadow | on green pasture | in the countryside | in the open field | in a rural "
        "area | on a lush green field | on the open grassland | out in the country | on the "
        "ranch | in an open pasture",
        "savanna": "in a field *3 | in a dry field *2 | in the wild *3 | on the savanna *2 | in "
        "the savannah | on dry grass *2 | on the plains *2 | on a grassy plain | in "
        "the dry grass | on safari land | in a dusty field | in the wilderness | on "
        "the dry plain | in an open area | in a brown field | on the dusty ground",
        "snow": "in the snow *6 | on the snow *3 | on a snowy slope *3 | on a snowy mountain *2 | "
        "on the slopes *2 | on a ski slope *2 | at a ski resort | in a snowy area | on snow "
        "covered ground *2 | in the wintertime | on a snowy hillside | on the white snow | "
        "in a winter landscape | on a snowy field",
        "forest": "in the woods *5 | in the forest *5 | in a forest *3 | in a wooded area *3 | "
        "on the forest floor | near the trees *2 | by the trees *2 | among the trees "
        "| in front of some trees *2 | in a clearing | in the wilderness | on the "
        "grass | near the edge of a forest",
        "baseball field": "on a baseball field *4 | on the field *3 | at a baseball game *3 | "
        "on a field *2 | during a baseball game *3 | at home plate *3 | in a "
        "game | at a ballpark | on the baseball diamond | on a diamond | in "
        "the infield | during a game | at a ball game | at the plate *2 | "
        "near home base | on the dirt",
        "tennis court": "on a tennis court *6 | on the tennis court *3 | on the court *4 | on a "
        "court *2 | during a tennis match *2 | at a tennis match | in a tennis "
        "game | near the net | in front of the net | on a green court *2 | "
        "during a match | on an outdoor court",
        "skate park": "at a skate park *5 | at the skate park *3 | in a skate park *3 | at a "
        "skate park outside | on concrete | on the concrete *2 | on the pavement "
        "| at the skatepark *2 | on a cement surface | in a skating area | on the "
        "cement | outdoors",
        "station": "at a train station *4 | at the station *4 | by the tracks *2 | near the train "
        "tracks *2 | at a station *2 | next to the railroad tracks | at the train depot | "
        "by the railway | near the rails | at a railway station | along the railroad | at "
        "the platform",
        "train": "on the tracks *5 | on the train tracks *3 | at a train station *3 | on the "
        "railroad tracks *2 | at the station *2 | on the rails | at a station *2 | next to "
        "the platform *2 | at the railway station | near a platform | at the depot | on a "
        "track | at a railroad stop",
        "airport": "at the airport *5 | at an airport *4 | near the runway *2 | on the tarmac "
        "*2 | on the pavement | at an airfield | outside the terminal",
        "runway": "on the runway *5 | on a runway *4 | at the airport *4 | on the tarmac *3 | "
        "at an airport *3 | on the landing strip | on the airstrip | on an airport "
        "runway | on an airport tarmac | on the ground",
        "kitchen": "in the kitchen *6 | in a kitchen *6 | inside a kitchen | in a clean kitchen "
        "| in a home kitchen | inside the kitchen | in a small kitchen | in a tidy "
        "kitchen | in a residential kitchen",
        "dining room": "in a dining room *4 | in the dining room *3 | in a room *2 | indoors | "
        "at home | inside a house | in a house | inside a home | inside a room",
        "living room": "in a living room *5 | in the living room *5 | in a room *2 | at home | "
        "in a house | in a home | inside a house | in the house | in the den | "
        "in a lounge | indoors | in a cozy room | in the family room",
        "bedroom": "in a bedroom *6 | in the bedroom *5 | in a room *2 | in a small bedroom | in a "
        "hotel room | in a tidy bedroom | in an apartment | inside a bedroom | in a guest "
        "room",
        "office": "in an office *6 | in the office *4 | in a room *2 | in a home office *2 | in a "
        "work area | in a study | in a workspace | at work | in an office setting | in an "
        "office space",
        "bathroom": "in a bathroom *6 | in the bathroom *5 | inside a bathroom *2 | in a "
        "restroom *2 | in a small bathroom | in a clean bathroom | in the restroom "
        "| in a washroom | in a lavatory",
        "sky": "in the sky *6 | through the sky *4 | in the air *4 | overhead | through the air *3 "
        "| up in the sky *2 | high in the sky *2 | above the ground | in mid air | across "
        "the sky *2",
        "aloft": "in the sky *6 | in the air *3 | overhead *2 | up in the sky *2 | high in the sky "
        "*2 | above the ground",
        "counter": "on a counter *4 | on the counter *4 | on a kitchen counter *4 | on the kitchen "
        "counter *2 | on a countertop *2 | on top of a counter *2 | on a white counter | on "
        "the countertop",
        "wall": "on the wall *5 | on a wall *4 | high on the wall",
    }.items()
}

# The place itself as a noun phrase.
ROOMS: dict[str, tuple[tuple[str, ...], ...]] = {
    key: _p(text)
    for key, text in {
        "kitchen": "a kitchen *5 | a small kitchen | a clean kitchen *2 | the kitchen | a "
        "kitchen area | a modern kitchen | a tidy kitchen | a home kitchen",
        "living room": "a living room *5 | a small living room | a cozy living room | the "
        "living room | a living area | a room *2 | a simple living room | a nice "
        "living room",
        "bedroom": "a bedroom *5 | a small bedroom | a room *2 | a clean bedroom | a simple "
        "bedroom | a hotel room",
        "bathroom": "a bathroom *6 | a small bathroom *2 | a clean bathroom *2 | a restroom | a "
        "simple bathroom | a tidy bathroom",
        "dining room": "a dining room *4 | a room *3 | a dining area | a simple dining room",
        "office": "an office *4 | a small office | a home office *2 | an office area | a workspace",
        "street": "a city street *4 | a street *4 | a street scene *2 | a road | a city scene",
        "park": "a park *4 | a green park | a grassy park | a grassy area",
        "field": "a field *2 | a green field *3 | a grassy field *3 | a pasture",
        "beach": "a beach *4 | a sandy beach *3 | a beach scene",
        "snow": "a snowy slope *3 | a snowy mountain | a ski slope",
        "airport": "an airport *4 | an airport runway *2",
        "station": "a train station *5 | a railway station",
    }.items()
}

# The light, which an observer puts into words now and then.
LIGHTS: dict[str, tuple[tuple[str, ...], ...]] = {
    key: _p(text)
    for key, text in {
        "sunny": "on a sunny day *6 | under a blue sky *3 | under the sun | in the sun *2 | on a "
        "clear day *2 | on a bright day *2 | in the sunshine | on a beautiful day | under a "
        "clear blue sky *2 | in bright sunlight | in the daytime | on a nice day | during "
        "the day *2 | on a gorgeous sunny day",
        "cloudy": "on a cloudy day *4 | under a cloudy sky *4 | under white clouds | during the "
        "day *2 | under fluffy clouds | with clouds in the sky *2 | beneath puffy "
        "clouds | in the daytime | on a partly cloudy day | under scattered clouds",
        "overcast": "on a cloudy day *3 | under a gray sky *3 | on an overcast day *3 | under an "
        "overcast sky *2 | on a gloomy day | under gray clouds | on a grey day | in dreary "
        "weather | under dark clouds | on a dull day",
        "sunset": "at sunset *6 | at dusk *3 | during sunset *2 | under an orange sky *2 | in the "
        "evening *2 | as the sun sets *2 | with the sun setting *2 | during the golden hour "
        "| late in the day | in the evening light | against a colorful sky | at sundown | "
        "beneath a glowing sky",
        "night": "at night *8 | at nighttime *2 | in the dark *2 | under a night sky *2 | under "
        "the stars | during the night | late at night *2 | after dark | under the moon "
        "| on a dark night | beneath a starry sky | in the moonlight",
        "indoors": "indoors",
    }.items()
}

# What stands behind.
BACKDROPS: dict[str, tuple[tuple[str, ...], ...]] = {
    key: _p(text)
    for key, text in {
        "palm tree": "near a palm tree *3 | close to a leafy palm | with a palm tree in the "
        "background *2 | by a palm tree *2 | with a tropical palm nearby",
        "rocks": "near some rocks *3 | by a rocky outcrop | beside a rock pile | near rugged "
        "stones | with rocks in the background *2 | near some boulders | with large "
        "stones behind",
        "seashells": "near some seashells | with shells in the sand",
        "island": "with an island in the distance *2 | near a green island | near a small island",
        "mountains": "with mountains in the background *5 | with majestic peaks looming behind "
        "| beneath towering mountains | against a mountainous backdrop | near "
        "snowy mountains *2 | in front of a mountain *2 | with snow capped "
        "mountains behind | below some tall peaks | in the mountains *2 | with a "
        "mountain range in view",
        "trees": "near some trees *4 | with trees in the background *5 | by the trees *2 | in "
        "front of trees *3 | near green trees | with leafy trees behind | surrounded "
        "by trees | with lush foliage behind | by some shady oaks | with thick "
        "greenery behind",
        "dock": "near a dock *3 | by the wharf | beside a jetty | by a landing | by a wooden pier "
        "*2 | close to the pier",
        "crosswalk": "near a crosswalk *3 | at a striped crossing | by some painted stripes | "
        "by a cross walk | near a pedestrian crossing",
        "street lamp": "near a lamp post *2 | by a street lamp *2 | close to a lamppost",
        "shop": "in front of a shop *2 | near a store *3 | in front of a store *2 | by a shop with "
        "an awning | outside a small shop | near a striped awning",
        "path": "near a path *2 | by a dirt path *2 | along a pathway | near a walkway *2 | near a "
        "trail",
        "fence": "near a fence *3 | by a fence *3 | in front of a fence *4 | near a wooden "
        "fence *2 | beside a rail fence | with a fence behind | along a wooden railing "
        "| next to split rails | inside a fenced enclosure",
        "flowers": "near some flowers *2 | amid blooming daisies | near scattered petals | with "
        "flowers around | by some colorful flowers | near wildflowers | surrounded by "
        "flowers | with blossoms all around",
        "barn": "near a red barn *2 | with an old fashioned barn behind | near a barn *2 | with a "
        "barn in the background *2 | by a red barn",
        "hills": "with hills in the background *3 | near green hills | with rolling hills behind | "
        "beside sloping hillsides | with a hilly horizon behind | in the hills | in front "
        "of a grassy hill",
        "pine trees": "near some pine trees *2 | near the trees *2 | with trees in the "
        "background *3 | with evergreens in the background | by snowy pines | "
        "among the pines | in front of fir trees",
        "cabin": "near a cabin *2 | by a cozy chalet | near a hut | by a wooden cabin | with a "
        "lodge in the background | near a log cabin",
        "stream": "near a stream *2 | beside trickling water | near a winding creek | by a creek | "
        "near a small river *2 | by the stream | close to a brook",
        "crowd fence": "in front of a crowd *3 | as fans watch *2 | as spectators watch | while "
        "the crowd watches *2 | in front of an audience | at a stadium *2",
        "bleachers": "near the bleachers *2 | with bleachers behind | in front of empty bleachers",
        "ramp": "near a ramp *3 | by a sloped quarter pipe | near an incline | by a skate ramp "
        "*2 | beside a concrete ramp | with a ramp behind",
        "graffiti": "with graffiti in the background *2 | near a wall covered in graffiti | "
        "near some graffiti *2 | by a spray painted wall",
        "platform roof": "with a platform roof above",
        "control tower": "near a control tower *2 | with a tower in the background *2 | near "
        "the terminal *2",
        "window": "near a window *4 | with sunlight streaming in | with daylight coming through "
        "| by a framed window pane | by a window *3 | with a window *2 | next to a "
        "window *2 | with a view outside",
        "cabinets": "with wooden cabinets *3 | below brown cupboard doors | with cabinetry "
        "above | with brown cabinets *2 | near wooden cupboards | below the "
        "cabinets | under some cupboards",
        "tiles": "with a tiled wall *2 | with square wall tiles | with ceramic tile behind | with "
        "tile on the wall | with tiled walls *2",
        "picture": "near a picture *2 | below a landscape painting | near some framed art | with a "
        "picture on the wall *3 | with artwork on the wall *2 | near a painting | with a "
        "framed painting behind",
        "lamp": "near a lamp *3 | next to a tall lampshade | by a standing light | by a floor lamp "
        "*2 | with a lamp nearby *2 | beside a tall lamp",
        "curtains": "with red curtains *2 | with red draperies | with long drapes | with "
        "curtains on the window *2 | near the drapes",
        "rug": "with a rug on the floor *2 | with a round rug *2 | near a red rug",
        "shelf": "near a bookshelf *3 | below several rows of books | near some bookshelves | with "
        "shelves on the wall *2 | by some shelves | under a shelf",
        "mirror": "near a mirror *3 | below a wall mirror | near a reflective glass | with a "
        "mirror on the wall *3 | with a large mirror | beside a mirror",
        "towel": "with a towel hanging *2 | near a hanging towel *2 | with a towel rack | near a "
        "towel *2",
    }.items()
}

OPENERS: tuple[tuple[str, ...], ...] = _p(
    "a photo of *3 | a picture of *6 | an image of *4 | a view of *4 | a shot "
    "of | a photograph of *2 | this is a picture of *2 | this is a photo of | this is an image of "
    "| this is *2 | a scene of | a drawing of *2 | an illustration of *2 | the image shows | this "
    "picture shows | here is *2 | here we see | a cartoon of *2 | we see | an animated picture of"
)
TAILS: tuple[tuple[str, ...], ...] = _p("nearby *4 | close by *2 | to the side | beside them *0")
