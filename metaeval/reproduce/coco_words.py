"""Words that people use for what COCO annotates: the 80 categories and their everyday names."""

from __future__ import annotations

# a category's own name always counts; the words of a line are separated by commas
_NAMES = """
person: man, men, woman, women, boy, boys, girl, girls, child, children, people, player, guy, lady
bicycle: bike, bikes, bicycles
car: cars, taxi, suv
motorcycle: motorcycles, motorbike, motorbikes
airplane: plane, planes, airplanes, jet, airliner
bus: buses
train: trains
truck: trucks
boat: boats, ship, sailboat, canoe
traffic light: traffic lights, stoplight
fire hydrant: hydrant
stop sign: stop signs
parking meter: parking meters, meter
bench: benches
bird: birds, seagull, duck, pigeon, parrot
cat: cats, kitten
dog: dogs, puppy
horse: horses, pony
sheep: lamb, lambs
cow: cows, cattle, bull
elephant: elephants
bear: bears
zebra: zebras
giraffe: giraffes
backpack: backpacks
umbrella: umbrellas, parasol
handbag: purse
tie: necktie, ties
suitcase: suitcases, luggage
frisbee: frisbees
skis: ski
snowboard: snowboards
sports ball: ball, soccer ball, baseball, tennis ball
kite: kites
baseball bat: bat, bats
baseball glove: glove, mitt
skateboard: skateboards
surfboard: surfboards
tennis racket: racket, racquet
bottle: bottles
wine glass: wine glasses
cup: cups, mug
fork: forks
knife: knives
spoon: spoons
bowl: bowls
banana: bananas
apple: apples
sandwich: sandwiches
orange: oranges
broccoli:
carrot: carrots
hot dog: hot dogs
pizza: pizzas
donut: donuts, doughnut, doughnuts
cake: cakes, cupcake
chair: chairs
couch: sofa, couches
potted plant: plant, plants
bed: beds
dining table: table
toilet: toilets
tv: television, televisions
laptop: laptops
mouse:
remote: remotes, controller
keyboard: keyboards
cell phone: phone, cellphone
microwave:
oven: stove
toaster:
sink: sinks
refrigerator: fridge
book: books
clock: clocks
vase: vases
scissors:
teddy bear: teddy bears
hair drier: hair dryer
toothbrush: toothbrushes
"""

# Names of a category → its words, the category's own name first.
WORDS: dict[str, tuple[str, ...]] = {
    name: (name, *(word.strip() for word in rest.split(",") if word.strip()))
    for name, rest in (line.split(":") for line in _NAMES.strip().splitlines())
}
