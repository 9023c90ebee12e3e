"""Words for things: nouns, adjectives, numbers. Every word is true of what the scene draws."""

Noun = tuple[str, str]


def _nouns(text: str) -> tuple[Noun, ...]:
    """'car/cars vehicle/vehicles' to pairs; '_' stands for a space, '*n' repeats (weight)."""
    out: list[Noun] = []
    for item in text.split():
        item, _, weight = item.partition("*")
        one, _, many = item.partition("/")
        out += [(one.replace("_", " "), many.replace("_", " "))] * int(weight or 1)
    return tuple(out)


NOUNS: dict[str, tuple[Noun, ...]] = {
    kind: _nouns(text)
    for kind, text in {
        "man": "man/men*12 guy/guys*2 person/people*3 gentleman/gentlemen male/males adult/adults "
        "fellow/fellows individual/individuals",
        "woman": "woman/women*12 lady/ladies*4 person/people*3 female/females adult/adults "
        "individual/individuals",
        "boy": "boy/boys*8 kid/kids*2 child/children*3 youngster/youngsters lad/lads person/people",
        "girl": "girl/girls*8 kid/kids*2 child/children*3 youngster/youngsters person/people",
        "people": "person/people*8 person/individuals person/persons",
        "children": "kid/kids*3 child/children*4 child/youngsters",
        "adults": "person/people*10 person/adults person/individuals",
        "bicycle": "bicycle/bicycles*5 bike/bikes*6 cycle/cycles",
        "car": "car/cars*9 vehicle/vehicles*2 automobile/automobiles sedan/sedans",
        "motorcycle": "motorcycle/motorcycles*7 motorbike/motorbikes*3 bike/bikes cycle/cycles",
        "airplane": "airplane/airplanes*5 plane/planes*4 jet/jets*2 airliner/airliners "
        "aircraft/aircraft jetliner/jetliners",
        "bus": "bus/buses*9 passenger_bus/passenger_buses city_bus/city_buses coach/coaches",
        "train": "train/trains*9 passenger_train/passenger_trains*2 locomotive/locomotives "
        "commuter_train/commuter_trains",
        "truck": "truck/trucks*8 delivery_truck/delivery_trucks*2 lorry/lorries "
        "cargo_truck/cargo_trucks box_truck/box_trucks",
        "boat": "boat/boats*6 vessel/vessels",
        "sailing boat": "boat/boats*5 sailboat/sailboats*4 sailing_boat/sailing_boats yacht/yachts "
        "vessel/vessels",
        "row boat": "boat/boats*6 rowboat/rowboats*2 dinghy/dinghies",
        "traffic light": "traffic_light/traffic_lights*7 stoplight/stoplights*2 "
        "traffic_signal/traffic_signals*2 signal_light/signal_lights",
        "fire hydrant": "fire_hydrant/fire_hydrants*7 hydrant/hydrants*2 "
        "water_hydrant/water_hydrants fireplug/fireplugs",
        "stop sign": "stop_sign/stop_signs*7 street_sign/street_signs traffic_sign/traffic_signs "
        "road_sign/road_signs",
        "parking meter": "parking_meter/parking_meters*6 meter/meters",
        "bench": "bench/benches*9 park_bench/park_benches*2 seat/seats",
        "bird": "bird/birds*10 songbird/songbirds",
        "cat": "cat/cats*10 kitty/kitties kitten/kittens feline/felines house_cat/house_cats",
        "dog": "dog/dogs*11 puppy/puppies*2 pup/pups canine/canines pooch/pooches hound/hounds",
        "horse": "horse/horses*12 steed/steeds pony/ponies",
        "sheep": "sheep/sheep*9 ewe/ewes",
        "cow": "cow/cows*9 bovine/bovines",
        "elephant": "elephant/elephants*9 pachyderm/pachyderms",
        "bear": "bear/bears*9",
        "zebra": "zebra/zebras*9",
        "giraffe": "giraffe/giraffes*9",
        "backpack": "backpack/backpacks*7 rucksack/rucksacks bag/bags knapsack/knapsacks "
        "book_bag/book_bags",
        "umbrella": "umbrella/umbrellas*9 parasol/parasols",
        "handbag": "handbag/handbags*4 purse/purses*4 bag/bags tote/totes",
        "tie": "tie/ties*6 necktie/neckties*2 neck_tie/neck_ties",
        "suitcase": "suitcase/suitcases*6 suit_case/suit_cases luggage_bag/luggage_bags "
        "travel_case/travel_cases piece_of_luggage/pieces_of_luggage*2",
        "frisbee": "frisbee/frisbees*8 disc/discs flying_disc/flying_discs disk/disks",
        "skis": "pair_of_skis/pairs_of_skis set_of_skis/sets_of_skis",
        "snowboard": "snowboard/snowboards*6 board/boards*2",
        "sports ball": "ball/balls*4 soccer_ball/soccer_balls*4 football/footballs",
        "tennis ball": "tennis_ball/tennis_balls*4 ball/balls*2",
        "baseball": "baseball/baseballs*3 ball/balls*3",
        "kite": "kite/kites*8 diamond_kite/diamond_kites",
        "baseball bat": "baseball_bat/baseball_bats*5 bat/bats*5",
        "baseball glove": "baseball_glove/baseball_gloves*4 glove/gloves*2 mitt/mitts "
        "baseball_mitt/baseball_mitts catcher's_mitt/catcher's_mitts",
        "skateboard": "skateboard/skateboards*8 board/boards skate_board/skate_boards "
        "longboard/longboards",
        "surfboard": "surfboard/surfboards*8 surf_board/surf_boards*2 board/boards",
        "tennis racket": "tennis_racket/tennis_rackets*4 racket/rackets*3 racquet/racquets*2 "
        "tennis_racquet/tennis_racquets*2",
        "bottle": "bottle/bottles*5 wine_bottle/wine_bottles*2 bottle_of_wine/bottles_of_wine*2",
        "wine glass": "wine_glass/wine_glasses*3 glass_of_wine/glasses_of_wine*4 goblet/goblets "
        "wineglass/wineglasses",
        "cup": "cup/cups*3 mug/mugs*2 coffee_cup/coffee_cups*2 cup_of_coffee/cups_of_coffee*3 "
        "coffee_mug/coffee_mugs",
        "fork": "fork/forks",
        "knife": "knife/knives*5 kitchen_knife/kitchen_knives table_knife/table_knives",
        "spoon": "spoon/spoons*5 teaspoon/teaspoons",
        "bowl": "bowl/bowls*3 bowl_of_soup/bowls_of_soup*2 bowl_of_stew/bowls_of_stew "
        "dish/dishes bowl_of_food/bowls_of_food",
        "banana": "banana/bananas",
        "apple": "apple/apples",
        "sandwich": "sandwich/sandwiches*6 hamburger/hamburgers*1 "
        "plate_of_food/plates_of_food deli_sandwich/deli_sandwiches",
        "orange": "orange/oranges*5 tangerine/tangerines citrus_fruit/citrus_fruits",
        "broccoli": "piece_of_broccoli/pieces_of_broccoli*3 head_of_broccoli/heads_of_broccoli "
        "broccoli_floret/broccoli_florets stalk_of_broccoli/stalks_of_broccoli",
        "carrot": "carrot/carrots",
        "hot dog": "hot_dog/hot_dogs*5 hotdog/hotdogs*3 frankfurter/frankfurters ",
        "pizza": "pizza/pizzas*6 pepperoni_pizza/pepperoni_pizzas*2 pizza_pie/pizza_pies ",
        "donut": "donut/donuts*4 doughnut/doughnuts*4 pastry/pastries",
        "cake": "cake/cakes*5 birthday_cake/birthday_cakes*4 dessert/desserts "
        "layer_cake/layer_cakes",
        "chair": "chair/chairs*9 seat/seats",
        "couch": "couch/couches*6 sofa/sofas*5 loveseat/loveseats settee/settees",
        "potted plant": "potted_plant/potted_plants*4 plant/plants*3 house_plant/house_plants "
        "houseplant/houseplants plant_in_a_pot/plants_in_pots pot_plant/pot_plants",
        "bed": "bed/beds*9 mattress/mattresses",
        "dining table": "table/tables*7 dining_table/dining_tables*3 dinner_table/dinner_tables",
        "desk": "desk/desks*7 office_desk/office_desks computer_desk/computer_desks "
        "work_desk/work_desks",
        "toilet": "toilet/toilets*6 commode/commodes toilet_bowl/toilet_bowls",
        "tv": "tv/tvs*3 television/televisions*3 flat_screen_tv/flat_screen_tvs "
        "television_set/television_sets flatscreen/flatscreens",
        "monitor": "monitor/monitors*3 computer_monitor/computer_monitors*2 "
        "computer_screen/computer_screens screen/screens",
        "laptop": "laptop/laptops*5 laptop_computer/laptop_computers*3 computer/computers "
        "notebook_computer/notebook_computers",
        "mouse": "mouse/mice*2 computer_mouse/computer_mice*3",
        "remote": "remote/remotes*2 remote_control/remote_controls*3 tv_remote/tv_remotes",
        "keyboard": "keyboard/keyboards*3 computer_keyboard/computer_keyboards",
        "cell phone": "cell_phone/cell_phones*4 phone/phones*3 cellphone/cellphones*2 "
        "smartphone/smartphones mobile_phone/mobile_phones",
        "microwave": "microwave/microwaves*3 microwave_oven/microwave_ovens",
        "oven": "oven/ovens*3 stove/stoves*3 stove_top_oven/stove_top_ovens cooker/cookers "
        "kitchen_stove/kitchen_stoves",
        "toaster": "toaster/toasters",
        "sink": "sink/sinks*4 pedestal_sink/pedestal_sinks basin/basins wash_basin/wash_basins",
        "refrigerator": "refrigerator/refrigerators*5 fridge/fridges*4",
        "book": "book/books*5 hardcover_book/hardcover_books hardback/hardbacks",
        "clock": "clock/clocks*5 wall_clock/wall_clocks round_clock/round_clocks "
        "timepiece/timepieces",
        "vase": "vase/vases*3 vase_of_flowers/vases_of_flowers*3 "
        "flower_vase/flower_vases vase_with_flowers/vases_with_flowers",
        "scissors": "pair_of_scissors/pairs_of_scissors",
        "teddy bear": "teddy_bear/teddy_bears*6 stuffed_bear/stuffed_bears*2 "
        "stuffed_animal/stuffed_animals*2 toy_bear/toy_bears plush_bear/plush_bears",
        "hair drier": "hair_dryer/hair_dryers*3 blow_dryer/blow_dryers hairdryer/hairdryers "
        "hair_drier/hair_driers",
        "toothbrush": "toothbrush/toothbrushes*4 tooth_brush/tooth_brushes",
    }.items()
}

# What a person on or with a thing is called; such a noun already implies the relation.
ROLES: dict[str, tuple[Noun, ...]] = {
    "surfboard": _nouns("surfer/surfers"),
    "skis": _nouns("skier/skiers"),
    "snowboard": _nouns("snowboarder/snowboarders*3 boarder/boarders"),
    "skateboard": _nouns("skateboarder/skateboarders*3 skater/skaters"),
    "horse": _nouns("rider/riders*2 horseback_rider/horseback_riders equestrian/equestrians"),
    "bicycle": _nouns("cyclist/cyclists*2 bicyclist/bicyclists biker/bikers rider/riders"),
    "motorcycle": _nouns("motorcyclist/motorcyclists*2 biker/bikers*2 rider/riders"),
    "tennis racket": _nouns("tennis_player/tennis_players*4 player/players athlete/athletes"),
    "baseball bat": _nouns(
        "baseball_player/baseball_players*5 batter/batters*3 player/players hitter/hitters"
    ),
    "suitcase": _nouns("traveler/travelers*2 passenger/passengers tourist/tourists"),
    "kite": _nouns("kite_flyer/kite_flyers"),
    "backpack": _nouns("hiker/hikers backpacker/backpackers"),
}

COLOUR_WORDS: dict[str, tuple[str, ...]] = {
    "red": ("red",) * 8 + ("bright red", "crimson", "scarlet", "cherry red", "ruby red"),
    "blue": ("blue",) * 8 + ("dark blue", "bright blue", "royal blue", "cobalt", "sapphire"),
    "green": ("green",) * 8 + ("dark green", "bright green", "emerald", "kelly green"),
    "yellow": ("yellow",) * 8 + ("bright yellow", "golden", "lemon yellow", "sunny yellow"),
    "orange": ("orange",) * 8 + ("bright orange",),
    "purple": ("purple",) * 7 + ("violet", "plum", "grape colored"),
    "pink": ("pink",) * 7 + ("light pink", "hot pink", "bubblegum pink"),
    "brown": ("brown",) * 8 + ("dark brown", "chestnut", "chocolate brown"),
    "black": ("black",) * 9 + ("jet black", "dark"),
    "white": ("white",) * 9
    + (
        "plain white",
        "snowy white",
    ),
    "gray": ("gray",) * 5 + ("grey",) * 4 + ("slate gray", "dull gray"),
    "tan": ("tan",) * 5 + ("beige", "light brown", "khaki"),
    "black and white": ("black and white",) * 4 + ("spotted", "patchy"),
}
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

NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}
HERDS = frozenset({"cow", "horse", "elephant", "zebra", "giraffe", "sheep"})
FLOCKS = frozenset({"sheep", "bird"})
VOWEL_EXCEPTIONS = ("ewe", "unicorn", "one", "european", "used", "utility", "uniform")


def article(word: str) -> str:
    """ "an" before a vowel sound, else "a"."""
    low = word.lower()
    if low.startswith(VOWEL_EXCEPTIONS):
        return "a"
    return "an" if low[:1] in "aeiou" or low.startswith(("hour", "honest")) else "a"


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
