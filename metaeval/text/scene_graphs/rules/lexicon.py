"""The verbs, adjectives and odd nouns that the built-in parser knows; other words are nouns,
unless their endings decide. English as in captions: what happens in everyday scenes.
"""

from __future__ import annotations

from metaeval.text.scene_graphs.rules.function_words import words as _words

# The base and -s forms of these are verbs nearly always …
VERBS = _words(
    "add adjust advertise age aim allow appear approach arrange assemble attach attempt await"
    " bake balance bask bathe become beg begin belong blend boil bounce bring browse buckle build"
    " bury buy carry carve cater celebrate chew chop clean clear collect combine come compete"
    " complete confine connect consist construct contain converse cram crawl create crouch cuddle"
    " decide decorate deliver demonstrate depict descend destroy dig dine discuss do doze drag"
    " drape drip drool dry dunk eat enjoy enter equip escort examine exit explore expose extend"
    " fashion fasten feed fetch fill find fix flank flip focus follow forage freeze frolic furnish"
    " gallop garnish gather gaze gesture get give glance glaze glide go grab graze greet grin"
    " grind groom grow handle hang haul hide hike hitch hold hop hover huddle illuminate include"
    " indicate inflate insert inspect install interact intersect investigate join juggle keep"
    " kneel lay laze lean leap learn leash leave let lick lie listen live locate lower make"
    " maneuver mash meet melt moor move mow navigate nestle nibble obscure observe occupy offer"
    " open operate overlook own participate patrol pave pedal peek peel peer perch perform pierce"
    " place poke portray position posses pour prepare pretend proceed propel protect protrude"
    " provide pull push put raise reach read receive reflect relax remain remodel remove resemble"
    " restore rinse roam roast rub rust sample say scatter scoop scratch sculpt search secure see"
    " seem sell separate serve set sew shear shine simmer sing sip sit situate skid skim sleep"
    " smash smell sniff snuggle soar socialize speak speed splash sprinkle squat squeeze stare"
    " stay steal steam steer stir stretch stuff suck suspend swarm swerve tackle take teach tell"
    " tether think throw toss traverse trot try tuck unload unpack unwrap urinate vandalize wag"
    " wait wander want wear whip wilt windsurf wipe write yell"
)
# … but these are nouns as often: in base and -s form they are verbs only where one is needed.
NOUN_OR_VERB = _words(
    "bark bat beat bend bike bite block blow blur board boat bow box break brush burn call camp"
    " cast catch change chase check circle climb clutter coat comb commute control cook cool cover"
    " crash cross crowd cruise curl curve cut cycle dance design display dive dock draw dress"
    " drink drive drop dump face fall feature fence fight fish flash float flow fly fold frost fry"
    " gear grill group guard guide head help herd hit hook hug hunt jam jog jump kick kiss kite"
    " label land laugh lead lift light line load lock look lounge march mark match measure"
    " microwave milk mix model mount nail name nap near nurse order pack paddle paint parade"
    " parasail park part pass pet phone photograph pick picture pile pin pitch plant plate play"
    " plow plug point polish pop pose post pot pound practice press print process pump punch race"
    " rack record repair rest return ride ring rise rock roll row run sail sand season seat shade"
    " shake shape share shave shoot shop shovel show sign signal sink skate skateboard ski sled"
    " slice slide smile smoke snack snap snowboard sort spin split spot spray spread stack staff"
    " stain stand step stick stock stop store strap strike strip stripe stroll style support surf"
    " surround swat sweep swim swing tag talk taste text tie tile tilt toast top touch tow trail"
    " train travel trek trick trim turn twist type use view visit wade walk warm wash watch water"
    " wave wheel win wind work wrap yawn zip zoom"
)
IRREGULAR_VERBS = {  # form → (base, tag); a past form that is also a participle is the latter
    "sat": ("sit", "VBD"), "stood": ("stand", "VBD"), "held": ("hold", "VBN"),
    "rode": ("ride", "VBD"), "ridden": ("ride", "VBN"), "wore": ("wear", "VBD"),
    "worn": ("wear", "VBN"), "ate": ("eat", "VBD"), "eaten": ("eat", "VBN"),
    "lying": ("lie", "VBG"), "laid": ("lay", "VBN"), "lies": ("lie", "VBZ"),
    "flew": ("fly", "VBD"), "flown": ("fly", "VBN"), "threw": ("throw", "VBD"),
    "thrown": ("throw", "VBN"), "hung": ("hang", "VBN"), "caught": ("catch", "VBN"),
    "ran": ("run", "VBD"), "swam": ("swim", "VBD"), "fed": ("feed", "VBN"),
    "went": ("go", "VBD"), "gone": ("go", "VBN"), "came": ("come", "VBD"),
    "took": ("take", "VBD"), "taken": ("take", "VBN"), "gave": ("give", "VBD"),
    "given": ("give", "VBN"), "made": ("make", "VBN"), "put": ("put", "VBN"),
    "set": ("set", "VBN"), "cut": ("cut", "VBN"), "hit": ("hit", "VBN"),
    "bitten": ("bite", "VBN"), "lit": ("light", "VBN"), "left": ("leave", "VBN"),
    "led": ("lead", "VBN"), "met": ("meet", "VBN"), "seen": ("see", "VBN"),
    "saw": ("see", "VBD"), "shown": ("show", "VBN"), "built": ("build", "VBN"),
    "bought": ("buy", "VBN"), "broken": ("break", "VBN"), "brought": ("bring", "VBN"),
    "drawn": ("draw", "VBN"), "drank": ("drink", "VBD"), "drove": ("drive", "VBD"),
    "driven": ("drive", "VBN"), "fell": ("fall", "VBD"), "fallen": ("fall", "VBN"),
    "found": ("find", "VBN"), "grown": ("grow", "VBN"), "kept": ("keep", "VBN"),
    "lain": ("lie", "VBN"), "got": ("get", "VBD"), "swung": ("swing", "VBN"),
    "torn": ("tear", "VBN"), "tied": ("tie", "VBN"), "tying": ("tie", "VBG"),
    "written": ("write", "VBN"), "stuck": ("stick", "VBN"), "struck": ("strike", "VBN"),
    "spread": ("spread", "VBN"), "shot": ("shoot", "VBN"), "slept": ("sleep", "VBD"),
    "sold": ("sell", "VBN"), "split": ("split", "VBN"), "known": ("know", "VBN"),
    "bent": ("bend", "VBN"), "knelt": ("kneel", "VBD"), "blown": ("blow", "VBN"),
    "parked": ("park", "VBN"), "wrapped": ("wrap", "VBN"), "frozen": ("freeze", "VBN"),
    "woven": ("weave", "VBN"), "wound": ("wind", "VBN"), "swept": ("sweep", "VBN"),
    "skiing": ("ski", "VBG"), "skied": ("ski", "VBD"), "dying": ("die", "VBG"),
    "hidden": ("hide", "VBN"), "risen": ("rise", "VBN"), "upturned": ("upturn", "VBN"),
}  # fmt: skip
# End in -ing, and are things.
ING_NOUNS = _words(
    "awning bedding building ceiling clothing covering crossing dining drawing dressing duckling"
    " dumpling earring evening everything fencing filling flooring frosting gelding helping"
    " housing icing inning king lightning marking meeting morning nothing opening outing packing"
    " painting paneling parking ping plumbing pudding railing ring seating serving setting"
    " shelving sibling siding sling something spring sterling string stuffing surroundings swing"
    " thing topping wedding wing wiring"
)
# Before a noun these are its first half ("a parking lot"), not something that it does.
ING_COMPOUNDS = _words(
    "baking bathing boxing building cooking cutting dining drinking fishing frying hiking ironing"
    " knitting landing mixing parking racing riding serving sewing shopping skiing surfing"
    " swimming training vending waiting walking washing wedding"
)
ADJECTIVES = _words(
    "abandoned abstract adorable aerial african alert american ancient angry antique artistic"
    " asian asleep assorted available average awake awesome baby bad baked bald bare barefoot"
    " basic bearded beautiful beige best better big bigger black blond blonde blue blurry bottom"
    " bright broken brown bushy busy calm casual ceramic cheap checkered cheesy chinese chubby"
    " circular classic clean clear close closed cloudy cluttered coastal cold colored colorful"
    " comfortable commercial concrete cool cozy creamy crispy crooked crowded crusty curly curved"
    " cute damaged dark dead decorative deep delicious dense deserted different digital"
    " dilapidated dim dirty distant domestic double double-decker dry dusty elaborate elderly"
    " electric electronic elegant empty english enormous entire european excited expensive"
    " exterior extra faded fake famous fancy far fat female festive few filthy flat floral fluffy"
    " fluorescent foggy foreign forested formal free french fresh fried frozen full funny furry"
    " fuzzy gentle giant glazed gloomy golden good gothic grand grassy gray great green grey"
    " grilled hairy half happy hard hazy healthy heavy high hilly historic historical homemade hot"
    " huge hungry icy indian indoor industrial inflatable interesting interior italian junior"
    " large large-sized larger largest leafless leafy lean left light little live local lone"
    " lonely long loose lovely low lower lush luxurious main male many massive medieval messy"
    " middle military mini miniature misty mixed mobile modern more most mountainous mounted muddy"
    " multi multicolored multiple murky naked narrow natural nearby neat new next nice numerous"
    " odd old old-fashioned older oldest open opposite orange oriental ornate other outdoor"
    " overcast overhead partial patterned peaceful perfect personal pink plain plush polar popular"
    " portable potted powdered pretty private professional public purple quaint quiet rainy raised"
    " random raw ready real rear rectangular red reflective regular remote residential retro right"
    " ripe rocky rough round rural rustic rusty sad same sandy scenic seated senior serious"
    " several shaggy shallow sharp shiny shirtless short silver similar simple single sized skinny"
    " sleek sleeping sleepy slender sliced slim slippery sloped small smaller smallest smooth"
    " snow-covered snowy soft solitary spacious special speckled spiral spotted square stacked"
    " stainless steep stormy straight strange striped strong stuffed sturdy stylish sunny sweet"
    " tall tallest tan tasty thick thin thirsty tidy tight tiled tiny tired traditional tropical"
    " unfinished unidentified unique unmade unripe unusual upper urban used vacant various vast"
    " vegetarian vertical vintage visible warm wavy weathered weird wet white whole wide wild"
    " winding windy wooded wooden woody woolen worn worn-out wrinkled yellow young young-looking"
    " younger yummy"
)
# Look like plurals or verbs, and are singular nouns.
S_NOUNS = _words(
    "address asparagus bass boss brass bus business cactus campus canvas chess circus citrus"
    " class cross darkness dress gas glass grass harness hibiscus hummus lens lettuce mattress"
    " mess moss news oasis octopus pass press princess ross tennis virus wii wilderness wireless"
)
# Plurals that have no singular, or are their own.
PLURAL_LEMMAS = _words(
    "binoculars cattle clothes deer electronics fish fries graffiti jeans pants people pliers"
    " police scissors series sheep shorts species tongs trousers"
)
IRREGULAR_PLURALS = {
    "men": "man", "women": "woman", "children": "child", "teeth": "tooth", "feet": "foot",
    "mice": "mouse", "geese": "goose", "knives": "knife", "shelves": "shelf", "leaves": "leaf",
    "loaves": "loaf", "calves": "calf", "wolves": "wolf", "halves": "half", "wives": "wife",
    "lives": "life", "scarves": "scarf", "gentlemen": "gentleman", "policemen": "policeman",
    "firemen": "fireman", "snowmen": "snowman", "businessmen": "businessman", "skis": "ski",
    "taxis": "taxi", "bikinis": "bikini", "cookies": "cookie", "movies": "movie",
    "ties": "tie", "pies": "pie", "veggies": "veggy", "smoothies": "smoothie", "selfies": "selfie",
    "buses": "bus", "busses": "bus", "shoes": "shoe", "toes": "toe", "canoes": "canoe",
    "tomatoes": "tomato", "potatoes": "potato", "axes": "axe", "geishas": "geisha",
    "horses": "horse", "houses": "house", "noses": "nose", "roses": "rose", "vases": "vase",
    "cases": "case", "suitcases": "suitcase", "purses": "purse", "bases": "base", "hoses": "hose",
    "blouses": "blouse", "fuses": "fuse", "cheeses": "cheese", "nurses": "nurse",
    "briefcases": "briefcase", "bookcases": "bookcase", "houseboats": "houseboat",
    "toothbrushes": "toothbrush", "headaches": "headache", "cellos": "cello", "courses": "course",
    "grandchildren": "grandchild", "sandwiches": "sandwich", "aches": "ache", "ones": "one",
    "moustaches": "moustache", "dozens": "dozen", "women's": "woman", "zombies": "zombie",
    "brownies": "brownie", "puppies": "puppy", "hoodies": "hoodie", "pinkies": "pinky",
    "senses": "sense", "universities": "university", "caches": "cache", "quiches": "quiche",
}  # fmt: skip
