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
NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}
VOWEL_EXCEPTIONS = ("ewe", "unicorn", "one", "european", "used", "utility", "uniform")


def article(word: str) -> str:
    """ "an" before a vowel sound, else "a"."""
    low = word.lower()
    if low.startswith(VOWEL_EXCEPTIONS):
        return "a"
    return "an" if low[:1] in "aeiou" or low.startswith(("hour", "honest")) else "a"
