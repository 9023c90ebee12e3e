"""The words that the built-in parser knows. Any other word is a noun, unless its ending tells.

English as captions use it: all function words, the verbs and adjectives of everyday scenes, and
the nouns that look like something else.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# ---- function words ---------------------------------------------------------------------------

DETERMINERS = _words(
    "a an the this these those some any no every each both all another either neither half"
)
POSSESSIVES = _words("his her its their my your our")
PRONOUNS = _words("he she it they him them i we us you himself herself itself themselves")
RELATIVE = _words("who which that whose")
CARDINALS = _words(
    "one two three four five six seven eight nine ten eleven twelve dozen hundred thousand"
)
PREPOSITIONS = _words(
    "of in on at with by from into onto for over under near behind beside between through across"
    " around along against inside outside above below beneath underneath among amongst amid"
    " during about toward towards upon off like within without past beyond atop alongside after"
    " before until via per down up out as than"
)
# Written as one relation; their nouns ("front", "top") are objects all the same.
PREPOSITION_PHRASES = {
    ("in", "front", "of"): "front",
    ("on", "top", "of"): "top",
    ("in", "back", "of"): "back",
    ("next", "to"): None,
    ("close", "to"): None,
    ("out", "of"): None,
    ("off", "of"): None,
    ("inside", "of"): None,
    ("outside", "of"): None,
    ("along", "with"): None,
    ("away", "from"): None,
    ("because", "of"): None,
    ("instead", "of"): None,
    ("across", "from"): None,
    ("such", "as"): None,
    ("together", "with"): None,
    ("ahead", "of"): None,
    ("due", "to"): None,
    ("far", "from"): None,
}
PARTICLES = _words("up down out off over away back around along together")
SUBORDINATORS = _words("while when where because if so whilst although though since")
CONJUNCTIONS = _words("and or but nor &")
MODALS = _words("can could will would may might must shall should ca wo")
BE = _words("is are was were be been being am 's 're")
HAVE = _words("has have had having")
DO = _words("does do did")
ADVERBS = _words(
    "very there here not n't just also too only still almost well back away together outdoors"
    " indoors upside apart nearby now then ever never always really quite rather already soon"
    " forward backwards downhill uphill even yet maybe perhaps currently approximately else"
    " alone ahead aside sideways inward outward somewhere instead again once how"
)

# ---- open classes -----------------------------------------------------------------------------

# Their base and -s forms are verbs nearly always …
VERBS = _words(
    "sit stand hold ride wear eat carry lie sleep lean walk look jump fly grab throw hang catch"
    " pull push run swim feed graze smile pose prepare wait read cook chase chew climb sniff reach"
    " enjoy enter cross contain include perform attempt try get go come take give make put do"
    " let lick bite hug wash brush clean fix float follow gather hit kick kneel laugh lay leap"
    " learn listen move observe overlook open pass pet pick play pour practice race raise receive"
    " roam sail say sell serve set share sip skateboard ski slide snowboard sniff spray squat stare"
    " stick surround swing talk teach tell think touch travel try turn type use visit wade wander"
    " watch work write appear attach await balance become begin bend blow break bring browse build"
    " buy celebrate check compete converse cover crawl create crouch cuddle cut dance decorate"
    " depict descend dig display dive draw dress drink drive drop dry examine explore extend face"
    " fall feature fight fill find flip fold forage gallop gaze glide groom grow guide head help"
    " herd hike hop hover indicate interact juggle keep land laze lead leave lift line live load"
    " lounge march meet mount navigate nibble nurse offer paddle paint park peek peel peer perch"
    " place plow point poke pop protrude provide reflect relax remain rest roll rub sample sand"
    " scratch seat seem shake shave shine shop show skate slice smell smoke snuggle soar speak"
    " speed spin splash stack steer step stop store stretch strike stroll stuff surf swerve tackle"
    " taste tie top toss tow train trot unload urinate vandalize view wash wave wipe yawn stay"
    " approach assemble bathe bask beg bike board bounce bow bury call camp comb commute"
    " connect consist control cruise decide deliver demonstrate destroy dine discuss dock doze dunk"
    " exit fetch fish flow frolic garnish glance gesture greet grill grin grind guard handle haul"
    " hide hitch huddle hunt inspect install jog kiss kite lift light mow nap near operate order"
    " pack parade parasail participate pedal photograph picture pitch plant pile portray posses press"
    " pretend print proceed race reading remove repair return rise rock row scoop search see"
    " seat separate sew shear shovel sign sing skim sled smash snack sort spread sprinkle squeeze"
    " stir strap suck suspend swat sweep tag text tilt traverse trek try tuck unpack unwrap wag"
    " want warm watch water wind windsurf wrap yell advertise age arrange bake bearded blend block blur"
    " carve chop crowd curl design fashion fence freeze fry frost furnish glaze graffiti "
    " illuminate line lock locate mark melt mix pave position propel roast rust shade shape situate"
    " steam stain tile toast whip win allow add adjust aim bark beat belong boil buckle burn cater"
    " change circle clear clutter coat collect combine complete confine construct cool cram crash"
    " curve cycle cast drag drape drip drool dump equip escort expose fasten flank flash fly focus"
    " gear give haul hook inflate insert intersect investigate jam join kneel label leash lower"
    " maneuver match measure milk mash microwave mix moor model nail name nestle obscure occupy own"
    " part patrol pave perform perch pierce pin play plug point polish pot pound preparing process"
    " propel protect pump punch rack record remodel resemble restore ring rinse sculpt scatter"
    " season secure shoot signal simmer sink skid snap socialize split spot staff steal stock strip"
    " stripe style support swarm tether think tow trail trim twist wheel wilt zip zoom"
) - {"reading", "preparing", "graffiti", "bearded"}
# … but these are nouns as often: in base and -s form they are verbs only where one is needed.
NOUN_OR_VERB = _words(
    "play plant plate park sign train stop face surf ski skate swing walk ride drink cut show look"
    " stand watch lead box fence top line group board bat bike block boat bow brush cook coat"
    " cover crowd cross design display dive dock draw dress drive drop dress fall fence fight fish"
    " flash float flow fold frost gear grill guard guide head help herd hook kick kiss kite label"
    " land light line load lock lounge march mark match measure milk model mount name nail nap"
    " order pack paddle paint parade part pass picture pile pin pitch plow plug point post pot pound"
    " practice press print pump punch race rack record repair rest return ring rise rock roll row"
    " sail sand seat shade shape share shop shake shave shovel sign signal sink skateboard sled slice"
    " slide smile smoke snack snowboard snap sort spot spray spread stack staff stain step stick"
    " stock store strap strike stripe strip stroll style support surround swing swim tag taste text"
    " tie tile tilt toast touch tow trail travel trek trick trim turn twist type use view visit"
    " wash water wave wheel wind work wrap yawn zip zoom cast catch chase circle camp call cast"
    " change check climb comb control cook cool cruise curl curve cycle dance dump hit hug hunt"
    " jam jump jog laugh lift microwave pet photograph phone plate pose process run season shoot"
    " split spin swat sweep talk wade warm watch win beat bend bite blow break burn commute text"
    " nurse polish fly fry feature mix microwave process parasail row board blur crash clutter bark"
    " light near pick plug pop"
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
    "building ceiling clothing wedding railing frosting string icing thing ring wing flooring"
    " morning evening spring king awning topping bedding shelving siding seating pudding stuffing"
    " crossing painting something nothing everything dining parking swing drawing opening"
    " serving marking dressing dumpling earring fencing housing gelding duckling lightning meeting"
    " outing paneling setting sibling surroundings wiring ping filling covering sterling plumbing"
    " packing helping string sling inning"
)
# Before a noun these are its first half ("a parking lot"), not something that it does.
ING_COMPOUNDS = _words(
    "parking dining shopping cutting sitting baking cooking washing training serving racing"
    " fishing swimming boxing bathing landing running wedding building skiing ironing sewing riding"
    " frying knitting drinking waiting vending mixing rolling surfing hiking walking"
) - {"running", "sitting", "rolling"}
ADJECTIVES = _words(
    "white black red blue green yellow brown orange pink purple gray grey tan beige silver golden"
    " dark light bright colorful multicolored colored large small big little tiny huge giant young"
    " old new long short tall high low wide narrow thick thin fat skinny wooden metal plastic empty"
    " full several many few other various multiple different same single double numerous more most"
    " next open closed clean dirty wet dry hot cold warm cool fresh ripe raw sunny cloudy snowy sandy"
    " grassy rocky dusty muddy foggy rainy windy cute pretty beautiful nice happy sad angry funny"
    " male female busy quiet lush bare blurry fuzzy furry fluffy hairy shiny modern vintage antique"
    " ancient traditional public private professional elderly asian african american chinese french"
    " italian indian english european striped spotted checkered floral oriental rural urban domestic"
    " wild tropical natural electric electronic digital portable mobile remote multi ready visible"
    " available delicious tasty yummy sweet healthy vegetarian nearby distant far close low upper"
    " lower front rear top bottom middle left right main entire whole partial half extra overhead"
    " stainless steep flat round square rectangular circular curved straight crooked sharp plain"
    " fancy elegant ornate decorative simple basic casual formal messy neat tidy cluttered crowded"
    " vacant lone lonely solitary alone asleep awake alert calm clear overcast deep shallow heavy"
    " soft hard smooth rough loose tight strange odd weird interesting unusual unique special"
    " famous popular large-sized older younger larger smaller bigger smallest largest oldest tallest"
    " baby adult junior senior stuffed fake real live dead bald bearded blonde blond naked shirtless"
    " barefoot leafy leafless wooded forested hilly mountainous coastal outdoor indoor interior"
    " exterior residential industrial commercial historic historical military medieval gothic"
    " ceramic concrete woolen rusty rustic worn dilapidated abandoned broken damaged adorable"
    " aerial abstract artistic assorted average awesome brick bushy chubby classic comfortable cozy"
    " crispy crusty curly cheesy creamy deserted dense dim dirt double-decker elaborate enormous"
    " excited expensive cheap faded festive filthy fluorescent foreign free frozen fried grilled"
    " baked gentle gloomy good great bad best better grand hazy homemade hungry icy inflatable "
    " joint lean local lovely luxurious massive mini miniature misty mixed mounted murky old-fashioned"
    " opposite patterned peaceful perfect personal plush polar potted powdered quaint raised random"
    " reflective regular retro scenic serious shaggy similar sized skinny sleek sleepy slender slim"
    " slippery sloped snow-covered spacious speckled spiral stacked sliced steel stormy strong sturdy"
    " stylish thirsty tired tiled tasty unfinished unidentified unmade unripe used vast vertical"
    " wavy weathered winding woody worn-out wrinkled young-looking sleeping glazed seated toy"
) - {"metal", "plastic", "toy", "joint", "top", "front", "adult", "brick", "steel", "dirt", "alone"}
# Look like plurals or verbs, and are singular nouns.
S_NOUNS = _words(
    "bus grass glass dress tennis lens gas canvas news asparagus octopus cactus pass mattress class"
    " cross press virus campus circus mess moss brass boss chess harness address lettuce hummus citrus"
    " tennis bass oasis wii ross princess business wilderness darkness wireless hibiscus"
)
# Plurals that have no singular, or are their own.
PLURAL_LEMMAS = _words(
    "people scissors sheep clothes pants jeans glasses sunglasses fish deer series shorts cattle"
    " fries electronics graffiti goggles headphones binoculars police trousers tongs outdoors pliers species woods"
) - {"glasses", "sunglasses", "headphones", "woods", "goggles", "outdoors"}
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
# "a couple of dogs" is about dogs …
QUANTITIES = _words(
    "lot assortment number couple bunch handful dozen series variety multitude array string ton"
    " range form kind type version bit pair sort mountain heap wave"
)
# … and so is "lots of dogs".
PLURAL_QUANTITIES = _words("lots many several plenty tons dozens loads pairs hundreds thousands")
