"""The place behind the objects: sky and ground, or wall and floor, with what belongs there."""

from collections.abc import Mapping

from PIL import ImageDraw

from metaeval.data.scenes.art.drawings import draw_shapes
from metaeval.data.scenes.art.pen import RGB, Pen, dim, mix

SKIES: dict[str, tuple[RGB, RGB]] = {
    "sunny": ((112, 184, 240), (196, 228, 250)),
    "cloudy": ((142, 190, 226), (214, 230, 240)),
    "overcast": ((164, 172, 182), (210, 214, 218)),
    "sunset": ((240, 138, 92), (252, 214, 140)),
    "night": ((22, 28, 58), (50, 60, 104)),
}
GROUNDS = {
    "beach": "#4092c8",
    "ocean": "#4092c8",
    "lake": "#4092c8",
    "snow": "#f2f6fa",
    "savanna": "#d6c478",
    "forest": "#689654",
    "baseball field": "#6eac54",
    "tennis court": "#488c74",
    "skate park": "#bec0c2",
    "station": "#b4b0aa",
    "airport": "#84888e",
}
GRASS = "#80ba5c"  # of all other grounds
WALLS = {
    "brick": "#b06250",
    "white": "#eceae4",
    "yellow": "#f6e4a8",
    "blue": "#b8d4e8",
    "green": "#c4dcbe",
    "pink": "#f4d2d4",
    "gray": "#ced0d4",
    "tan": "#e6d4b6",
}
HOUSES = WALLS | {"gray": "#9ea4ac", "tan": "#d6bc96"}
FLOORS = {"wood": "#be9060", "tile": "#d8d8d4", "carpet": "#ac9c96"}
# Shapes as in `drawings`: "own" is the ground, or the walls of houses; light and dark of the hour
# change all colours but those that begin with "lit".
OUTDOORS = """
    sunny:
      disc lit#ffe25c 86 12 6
    sunset:
      disc lit#ffecaa 66 48 7
    night:
      disc lit#f6f0ce 84 11 5
      disc lit#161c3a 82 9.6 4.4
      disc lit#f4f4e6 8 9 0.5 / 22 17 0.5 / 33 6 0.5 / 47 13 0.5 / 58 5 0.5 / 68 19 0.5
      disc lit#f4f4e6 94 24 0.5 / 14 26 0.5
    cloudy:
      oval lit#fafcfe 4 11 28 17 / 10 7.6 21 16 / 36.4 8 67.6 15.8 / 44.2 3.58 58.5 14.5
      oval lit#fafcfe 73.2 17 94.8 22.4 / 78.6 13.94 88.5 21.5 / 24.4 21 43.6 25.8
      oval lit#fafcfe 29.2 18.28 38 25
    overcast:
      oval lit#b8bec6 4 11 28 17 / 10 7.6 21 16 / 36.4 8 67.6 15.8 / 44.2 3.58 58.5 14.5
      oval lit#b8bec6 73.2 17 94.8 22.4 / 78.6 13.94 88.5 21.5 / 24.4 21 43.6 25.8
      oval lit#b8bec6 29.2 18.28 38 25
    street:
      rect own-86 0 14 24 56
      rect own 25 4 47 56
      rect own-86 48 19 72 56
      rect own 73 9 100 56
    sunny & street, cloudy & street, overcast & street, sunset & street:
      rect lit#bed6e4 3 18 6 22 / 9 18 12 22 / 15 18 18 22 / 3 26 6 30 / 9 26 12 30
      rect lit#bed6e4 15 26 18 30 / 3 34 6 38 / 9 34 12 38 / 15 34 18 38 / 3 42 6 46
      rect lit#bed6e4 9 42 12 46 / 15 42 18 46 / 28 8 31 12 / 34 8 37 12 / 40 8 43 12
      rect lit#bed6e4 28 16 31 20 / 34 16 37 20 / 40 16 43 20 / 28 24 31 28 / 34 24 37 28
      rect lit#bed6e4 40 24 43 28 / 28 32 31 36 / 34 32 37 36 / 40 32 43 36 / 28 40 31 44
      rect lit#bed6e4 34 40 37 44 / 40 40 43 44 / 51 23 54 27 / 57 23 60 27 / 63 23 66 27
      rect lit#bed6e4 51 31 54 35 / 57 31 60 35 / 63 31 66 35 / 51 39 54 43 / 57 39 60 43
      rect lit#bed6e4 63 39 66 43 / 76 13 79 17 / 82 13 85 17 / 88 13 91 17 / 94 13 97 17
      rect lit#bed6e4 76 21 79 25 / 82 21 85 25 / 88 21 91 25 / 94 21 97 25 / 76 29 79 33
      rect lit#bed6e4 82 29 85 33 / 88 29 91 33 / 94 29 97 33 / 76 37 79 41 / 82 37 85 41
      rect lit#bed6e4 88 37 91 41 / 94 37 97 41 / 76 45 79 49 / 82 45 85 49 / 88 45 91 49
      rect lit#bed6e4 94 45 97 49
    night & street:
      rect lit#fae28c 3 18 6 22 / 9 18 12 22 / 15 18 18 22 / 3 26 6 30 / 9 26 12 30
      rect lit#fae28c 15 26 18 30 / 3 34 6 38 / 9 34 12 38 / 15 34 18 38 / 3 42 6 46
      rect lit#fae28c 9 42 12 46 / 15 42 18 46 / 34 8 37 12 / 34 16 37 20 / 34 24 37 28
      rect lit#fae28c 34 32 37 36 / 34 40 37 44 / 51 23 54 27 / 63 23 66 27 / 51 31 54 35
      rect lit#fae28c 63 31 66 35 / 51 39 54 43 / 63 39 66 43 / 76 13 79 17 / 82 13 85 17
      rect lit#fae28c 88 13 91 17 / 94 13 97 17 / 76 21 79 25 / 82 21 85 25 / 88 21 91 25
      rect lit#fae28c 94 21 97 25 / 76 29 79 33 / 82 29 85 33 / 88 29 91 33 / 94 29 97 33
      rect lit#fae28c 76 37 79 41 / 82 37 85 41 / 88 37 91 41 / 94 37 97 41 / 76 45 79 49
      rect lit#fae28c 82 45 85 49 / 88 45 91 49 / 94 45 97 49
      rect own-70 28 8 31 12 / 40 8 43 12 / 28 16 31 20 / 40 16 43 20 / 28 24 31 28
      rect own-70 40 24 43 28 / 28 32 31 36 / 40 32 43 36 / 28 40 31 44 / 40 40 43 44
      rect own-86-70 57 23 60 27 / 57 31 60 35 / 57 39 60 43
    shop:
      rect #465460 26 42 46 56
    shop & sunny, shop & cloudy, shop & overcast, shop & sunset:
      rect lit#dcecf2 28 46 38 56
    shop & night:
      rect lit#fae28c 28 46 38 56
    shop:
      rect #f6f4ee 25 40 29 45
      rect #d23c3c 29 40 33 45
      rect #f6f4ee 33 40 37 45
      rect #d23c3c 37 40 41 45
      rect #f6f4ee 41 40 45 45
      rect #d23c3c 45 40 49 45
    street:
      rect #c4c2bc 0 56 100 66
      rect #a09e9a 0 65 100 67
      rect #62666e 0 67 100 100
      rect #f0e296 2 92.4 12 93.8 / 20 92.4 30 93.8 / 38 92.4 48 93.8 / 56 92.4 66 93.8
      rect #f0e296 74 92.4 84 93.8 / 92 92.4 102 93.8
    crosswalk:
      poly #ecece8 58 68 62 68 65 90 60 90 / 66 68 70 68 73 90 68 90 / 74 68 78 68 81 90 76 90
      poly #ecece8 82 68 86 68 89 90 84 90 / 90 68 94 68 97 90 92 90
    street & trees:
      tree #48944e-90 8 58 0.84
      tree #48944e 62 58 1
      tree #48944e-90 92 58 0.84
    street lamp:
      rect lit#3c4046 22 18 23 58 / 22 18 28 19
      oval lit#fff0aa 26 18 31 22
    mountains:
      poly #848ea4 -8 47 18 22 44 47
      poly lit#f6f8fc 11.24 28.24 18 22 24.76 28.24 18 30.16
      poly #848ea4-92 20 47 50 15 80 47
      poly lit#f6f8fc 42.2 23.06 50 15 57.8 23.06 50 25.54
      poly #848ea4 58 47 84 20 110 47
      poly lit#f6f8fc 77.24 26.76 84 20 90.76 26.76 84 28.84
    beach, ocean, lake:
      rect own 0 46 100 100
      line own+30 0.7 -10 50 -4 49 2 50 / 0.7 24 50 30 49 36 50 / 0.7 58 50 64 49 70 50
      line own+30 0.7 92 50 98 49 104 50 / 0.7 7 57 13 56 19 57 / 0.7 41 57 47 56 53 57
      line own+30 0.7 75 57 81 56 87 57 / 0.7 -6 64 0 63 6 64 / 0.7 28 64 34 63 40 64
      line own+30 0.7 62 64 68 63 74 64 / 0.7 96 64 102 63 108 64 / 0.7 11 71 17 70 23 71
      line own+30 0.7 45 71 51 70 57 71 / 0.7 79 71 85 70 91 71 / 0.7 -2 78 4 77 10 78
      line own+30 0.7 32 78 38 77 44 78 / 0.7 66 78 72 77 78 78 / 0.7 15 85 21 84 27 85
      line own+30 0.7 49 85 55 84 61 85 / 0.7 83 85 89 84 95 85 / 0.7 2 92 8 91 14 92
      line own+30 0.7 36 92 42 91 48 92 / 0.7 70 92 76 91 82 92 / 0.7 19 99 25 98 31 99
      line own+30 0.7 53 99 59 98 65 99 / 0.7 87 99 93 98 99 99
    island:
      chord #6ea060 8 37 40 55 180 360
    yes:
      poly own+18 0 76 14 64 40 58 70 60 100 54 100 100 0 100
      oval lit#f6fafc -9 71.8 1 76.8 / -3 73.6 7 78.6 / 3 71.4 13 76.4 / 9 69.2 19 74.2
      oval lit#f6fafc 15 67 25 72 / 21 68.8 31 73.8 / 27 66.6 37 71.6 / 33 64.4 43 69.4
      oval lit#f6fafc 39 62.2 49 67.2 / 45 64 55 69 / 51 61.8 61 66.8 / 57 59.6 67 64.6
      oval lit#f6fafc 63 57.4 73 62.4 / 69 59.2 79 64.2 / 75 57 85 62 / 81 54.8 91 59.8
      oval lit#f6fafc 87 52.6 97 57.6 / 93 54.4 103 59.4
      poly own-90 0 90 30 84 60 90 100 82 100 100 0 100
    lake:
      rect #6ca060 0 44 100 48
    lake & trees:
      tree #48944e-90 6 47 0.588
      tree #48944e 20 47 0.7
      tree #48944e-90 36 47 0.588
      tree #48944e 70 47 0.7
      tree #48944e-90 84 47 0.588
      tree #48944e 96 47 0.7
    dock:
      poly #a27850 0 58 24 56 24 60 0 63
      rect #6e5038 4 59 5.6 68 / 13 59 14.6 68 / 21 59 22.6 68
    beach:
      rect lit#f0f6f8 0 57 100 60
      rect #eed8a4-92 0 59 100 63
      rect #eed8a4 0 62 100 100
      disc #eed8a4-88 1 66 0.5 / 38 89 0.5 / 75 80 0.5 / 14 71 0.5 / 51 94 0.5 / 88 85 0.5
      disc #eed8a4-88 27 76 0.5 / 64 67 0.5 / 3 90 0.5 / 40 81 0.5 / 77 72 0.5 / 16 95 0.5
      disc #eed8a4-88 53 86 0.5 / 90 77 0.5
    palm tree:
      line #926842 2.4 8 72 10 50 15 30
      poly #409052 15 28 7.5 27 0 34 7.5 33 16 32 / 15 28 8.5 22 2 24 8.5 28 16 32
      poly #409052 15 28 14.5 19.5 14 19 14.5 25.5 16 32 / 15 28 21.5 22 28 24 21.5 28 16 32
      poly #409052 15 28 23 27.5 31 35 23 33.5 16 32
    hills:
      oval #7aa868 -16 34 56 58 / 26 30 114 62
    forest:
      rect #3c744a 0 26 100 50
      tree #48944e-90 4 52 1.26
      tree #48944e 17 52 1.5
      tree #48944e-90 31 52 1.26
      tree #48944e 46 52 1.5
      tree #48944e-90 60 52 1.26
      tree #48944e 75 52 1.5
      tree #48944e-90 88 52 1.26
      tree #48944e 99 52 1.5
    park, field, savanna, snow, forest, baseball field, tennis court, skate park, station, airport:
      rect own 0 46 100 100
      rect own+16 0 46 100 51
    park, field, savanna, forest:
      line own-84 0.6 1 54 1.8 52 2.6 54 / 0.6 44 85 44.8 83 45.6 85 / 0.6 87 72 87.8 70 88.6 72
      line own-84 0.6 33 59 33.8 57 34.6 59 / 0.6 76 90 76.8 88 77.6 90
      line own-84 0.6 22 77 22.8 75 23.6 77 / 0.6 65 64 65.8 62 66.6 64
      line own-84 0.6 11 95 11.8 93 12.6 95 / 0.6 54 82 54.8 80 55.6 82
      line own-84 0.6 97 69 97.8 67 98.6 69 / 0.6 43 56 43.8 54 44.6 56
      line own-84 0.6 86 87 86.8 85 87.6 87 / 0.6 32 74 32.8 72 33.6 74
      line own-84 0.6 75 61 75.8 59 76.6 61 / 0.6 21 92 21.8 90 22.6 92
      line own-84 0.6 64 79 64.8 77 65.6 79 / 0.6 10 66 10.8 64 11.6 66
      line own-84 0.6 53 97 53.8 95 54.6 97 / 0.6 96 84 96.8 82 97.6 84
      line own-84 0.6 42 71 42.8 69 43.6 71 / 0.6 85 58 85.8 56 86.6 58
      line own-84 0.6 31 89 31.8 87 32.6 89
    barn:
      poly #b2342e 66 47 66 34 76 26 86 34 86 47
      poly #544e50 63 35 76 24 89 35 87 37 76 28 65 37
      rect #f6f0e6 73 38 79 47
    field & trees, savanna & trees, skate park & trees, station & trees:
      tree #48944e-90 7 51 1.008
      tree #48944e 22 51 1.2
      tree #48944e-90 90 51 1.008
    park & trees:
      tree #48944e-90 6 51 1.008
      tree #48944e 22 51 1.2
      tree #48944e-90 74 51 1.008
      tree #48944e 93 51 1.2
    tennis court & trees:
      tree #48944e-90 7 51 0.756
      tree #48944e 22 51 0.9
      tree #48944e-90 90 51 0.756
    pine trees:
      pine #2c684e 5 52 0.78 / 16 52 1 / 80 52 0.78 / 92 52 1
    cabin:
      rect #8c603e 36 36 52 48
      poly lit#ecf2f8 33 37 44 28 55 37
      rect lit#fade82 40 39 44 43
    path:
      poly #d6c4a0 46 49 52 49 78 100 28 100
    stream:
      poly #6eb0d8 0 62 100 57 100 64 0 70
    rocks:
      poly #8e8c8a 77 62 80 54 87 53 91 62
      poly #8e8c8a-86 87.1 62.8 89.2 57.2 94.1 56.5 96.9 62.8
      poly #8e8c8a 71.8 62.4 73.6 57.6 77.8 57 80.2 62.4
    fence:
      rect #b08458 0 50 100 51.3 / 0 54 100 55.3
      rect #b08458-86 4 47 5.8 58 / 17 47 18.8 58 / 30 47 31.8 58 / 43 47 44.8 58
      rect #b08458-86 56 47 57.8 58 / 69 47 70.8 58 / 82 47 83.8 58 / 95 47 96.8 58
    flowers:
      disc #e85460 4 52 1.1 / 38 96 1.1 / 72 94 1.1
      disc #fad854 15 95 1.1 / 44 93 1.1 / 78 53 1.1
      disc #fafafa 21 92 1.1 / 55 56 1.1 / 84 88 1.1
      disc #ba6ece 32 54 1.1 / 61 97 1.1 / 95 95 1.1
    seashells:
      slice lit#facebe 10 91 14 96 180 360 / 42 94 46 99 180 360 / 76 89 80 94 180 360
      slice lit#facebe 88 95 92 100 180 360
    baseball field:
      oval #cc9664 -10 70 110 112
      line #f4f4f0 0.8 50 94 -4 62 / 0.8 50 94 104 62
      poly #f4f4f0 46 92 54 92 54 95 50 97 46 95
      rect #285c46 0 38 100 48
    crowd fence:
      rect #787c84 0 24 100 38
      fan #d64640 2 27 / 22 27 / 42 27 / 62 27 / 82 27
      fan #f0f0ec 6 27 / 26 27 / 46 27 / 66 27 / 86 27
      fan #fad65a 10 27 / 30 27 / 50 27 / 70 27 / 90 27
      fan #3c4048 14 27 / 34 27 / 54 27 / 74 27 / 94 27
      fan #5682ce 18 27 / 38 27 / 58 27 / 78 27 / 98 27
      fan #fad65a 3 31 / 23 31 / 43 31 / 63 31 / 83 31
      fan #3c4048 7 31 / 27 31 / 47 31 / 67 31 / 87 31
      fan #5682ce 11 31 / 31 31 / 51 31 / 71 31 / 91 31
      fan #d64640 15 31 / 35 31 / 55 31 / 75 31 / 95 31
      fan #f0f0ec 19 31 / 39 31 / 59 31 / 79 31 / 99 31
      fan #5682ce 4 35 / 24 35 / 44 35 / 64 35 / 84 35
      fan #d64640 8 35 / 28 35 / 48 35 / 68 35 / 88 35
      fan #f0f0ec 12 35 / 32 35 / 52 35 / 72 35 / 92 35
      fan #fad65a 16 35 / 36 35 / 56 35 / 76 35 / 96 35
      fan #3c4048 20 35 / 40 35 / 60 35 / 80 35
    bleachers:
      rect #969ca4 0 30 100 33 / 0 35 100 38 / 0 40 100 43
    tennis court:
      rect #2e6e5a 0 46 100 54
      line #f4f4f0 0.8 0 72 100 72 / 0.8 14 58 2 100 / 0.8 86 58 98 100
      rect #3c4248 0 50 100 58
      line #c8ccce 0.25 0 50 0 58 / 0.25 4 50 4 58 / 0.25 8 50 8 58 / 0.25 12 50 12 58
      line #c8ccce 0.25 16 50 16 58 / 0.25 20 50 20 58 / 0.25 24 50 24 58 / 0.25 28 50 28 58
      line #c8ccce 0.25 32 50 32 58 / 0.25 36 50 36 58 / 0.25 40 50 40 58 / 0.25 44 50 44 58
      line #c8ccce 0.25 48 50 48 58 / 0.25 52 50 52 58 / 0.25 56 50 56 58 / 0.25 60 50 60 58
      line #c8ccce 0.25 64 50 64 58 / 0.25 68 50 68 58 / 0.25 72 50 72 58 / 0.25 76 50 76 58
      line #c8ccce 0.25 80 50 80 58 / 0.25 84 50 84 58 / 0.25 88 50 88 58 / 0.25 92 50 92 58
      line #c8ccce 0.25 96 50 96 58
      rect #f4f4f0 0 49 100 50.4
    skate park:
      rect #a0a2a6 0 40 100 49
    graffiti:
      line #e25460 1.6 6 46 10 42 14 47 19 42
      line #50a0d6 1.6 30 46 34 42 38 47 43 42
      line #f6ca4e 1.6 54 46 58 42 62 47 67 42
      line #7ebe62 1.6 78 46 82 42 86 47 91 42
    ramp:
      poly #96989e 58 66 100 48 100 70 58 70
      poly #808288 100 48 100 70 92 70
    station:
      rect #766c64 0 76 100 88
      rect #604c3c 0 79 3 87 / 6 79 9 87 / 12 79 15 87 / 18 79 21 87 / 24 79 27 87 / 30 79 33 87
      rect #604c3c 36 79 39 87 / 42 79 45 87 / 48 79 51 87 / 54 79 57 87 / 60 79 63 87
      rect #604c3c 66 79 69 87 / 72 79 75 87 / 78 79 81 87 / 84 79 87 87 / 90 79 93 87
      rect #604c3c 96 79 99 87
      rect #c4c6ca 0 80 100 81 / 0 85 100 86
      rect #fad65a 0 88 100 89.6
      rect #c4c2be 0 89.6 100 100
    platform roof:
      rect #5c6874 0 12 100 18
      rect #707a84 6 18 8 76 / 50 18 52 76 / 92 18 94 76
    airport:
      rect #80b264 0 46 100 56
      rect #f4f4f0 2 95 13 96.6 / 22 95 33 96.6 / 42 95 53 96.6 / 62 95 73 96.6 / 82 95 93 96.6
    control tower:
      rect #c8ccd0 8 22 13 48
      poly #567896 4 16 17 16 15 23 6 23
      rect #b4b8be 13 38 40 48
"""
# "own" is the wall, "trim" the floor.
ROOM = """
    always:
      rect own 0 0 100 66
    bathroom & tiles:
      rect own-90 0 34 100 34.5 / 0 40 100 40.5 / 0 46 100 46.5 / 0 52 100 52.5 / 0 58 100 58.5
      rect own-90 0 64 100 64.5 / 0 34 0.5 66 / 7 34 7.5 66 / 14 34 14.5 66 / 21 34 21.5 66
      rect own-90 28 34 28.5 66 / 35 34 35.5 66 / 42 34 42.5 66 / 49 34 49.5 66 / 56 34 56.5 66
      rect own-90 63 34 63.5 66 / 70 34 70.5 66 / 77 34 77.5 66 / 84 34 84.5 66 / 91 34 91.5 66
      rect own-90 98 34 98.5 66
    kitchen & tiles:
      rect own-90 0 30 100 30.5 / 0 36 100 36.5 / 0 42 100 42.5 / 0 48 100 48.5 / 0 54 100 54.5
      rect own-90 0 60 100 60.5 / 0 30 0.5 66 / 7 30 7.5 66 / 14 30 14.5 66 / 21 30 21.5 66
      rect own-90 28 30 28.5 66 / 35 30 35.5 66 / 42 30 42.5 66 / 49 30 49.5 66 / 56 30 56.5 66
      rect own-90 63 30 63.5 66 / 70 30 70.5 66 / 77 30 77.5 66 / 84 30 84.5 66 / 91 30 91.5 66
      rect own-90 98 30 98.5 66
    always:
      rect trim 0 66 100 100
    wood:
      rect trim-90 0 72 100 72.5 / 0 79 100 79.5 / 0 87 100 87.5 / 0 95 100 95.5
    tile:
      rect trim-88 0 71 100 71.5 / 0 78 100 78.5 / 0 88 100 88.5
      line trim-88 0.5 -16 66 -115 100 / 0.5 -6.4 66 -91 100 / 0.5 3.2 66 -67 100
      line trim-88 0.5 12.8 66 -43 100 / 0.5 22.4 66 -19 100 / 0.5 32 66 5 100
      line trim-88 0.5 41.6 66 29 100 / 0.5 51.2 66 53 100 / 0.5 60.8 66 77 100
      line trim-88 0.5 70.4 66 101 100 / 0.5 80 66 125 100 / 0.5 89.6 66 149 100
      line trim-88 0.5 99.2 66 173 100 / 0.5 108.8 66 197 100
    always:
      rect own+60 0 64 100 66.4
    window:
      rect #fafaf8 8 8 36 36
      rect #9ed0f0 10 10 34 34
      rect #82ba6e 10 28 34 34
      rect #fafaf8 21.4 10 22.6 34 / 10 21.4 34 22.6
    curtains:
      rect #c4565c 4 6 13 42 / 31 6 40 42
      rect #a8424a 8 6 9.4 42 / 35 6 36.4 42
      rect #6e5038 3 5 41 6.6
    picture:
      rect #785436 62 10 84 28
      rect #eee8d6 63.4 11.4 82.6 26.6
      poly #6ea078 63.4 26.6 70 17 76 26.6
      poly #5a82aa 70 26.6 77 15 82.6 26.6
    mirror:
      round #bec4ca 58 8 86 38 3
      round #d6e8f0 59.6 9.6 84.4 36.4 2
      poly #ecf6fa 62 34 76 12 80 12 66 34
    towel:
      rect #969ca2 40 40 54 41
      rect #e06e60 42 40.4 52 58
      rect #fae6dc 42 52 52 54
    shelf:
      rect #8c623e 60 16 94 17.8 / 60 28 94 29.8
      rect #be4642 62 9 64.2 16 / 74 7 76.2 16 / 86 8 88.2 16 / 62 21 64.2 28
      rect #be4642 74 19 76.2 28 / 86 20 88.2 28
      rect #466eaa 65 7 67.2 16 / 77 8 79.2 16 / 89 9 91.2 16 / 65 19 67.2 28
      rect #466eaa 77 20 79.2 28 / 89 21 91.2 28
      rect #deb450 68 8 70.2 16 / 80 9 82.2 16 / 68 20 70.2 28 / 80 21 82.2 28
      rect #5c9268 71 9 73.2 16 / 83 7 85.2 16 / 71 21 73.2 28 / 83 19 85.2 28
    cabinets:
      rect #b08054 42 2 100 24
      rect #be9672 43 3.4 55.6 22.4 / 57.4 3.4 70 22.4 / 71.8 3.4 84.4 22.4 / 86 3.4 98.6 22.4
      rect #46403c 53 17 54.2 21 / 67.4 17 68.6 21 / 81.8 17 83 21 / 96 17 97.2 21
    counter:
      rect #b08054 0 62 100 92
      rect #be9672 2 66 23 89 / 27 66 48 89 / 52 66 73 89 / 77 66 98 89
      rect #46403c 11 68 14 69.2 / 36 68 39 69.2 / 61 68 64 69.2 / 86 68 89 69.2
      rect #e2e2de 0 56 100 62
      rect #bebebc 0 61 100 62.6
    lamp:
      rect #5a5450 95 34 96 70
      poly #fadc8c 91 34 93.4 22 97.6 22 100 34
      rect #5a5450 92 69 99 70.4
    rug:
      oval #aa5454 8 78 92 99
      oval #e2c4a0 15 81 85 96
      oval #be6a64 24 84 76 93
"""


class Landscape(Pen):
    """Draws on the whole canvas; what is on the ground in the colours of the light."""

    def __init__(self, canvas: ImageDraw.ImageDraw, side: int, light: str) -> None:
        super().__init__(canvas, 0, 0, side, side)
        self.light = light

    def tree(self, fill: RGB, u: float, base: float, k: float) -> None:
        """A round tree; `k` is its size."""
        trunk = dim((120, 82, 52), self.light)
        self.rect(trunk, u - 1.2 * k, base - 14 * k, u + 1.2 * k, base)
        self.disc(fill, u, base - 20 * k, 9 * k)
        self.disc(fill, u - 6 * k, base - 14 * k, 6.5 * k)
        self.disc(fill, u + 6 * k, base - 14 * k, 6.5 * k)

    def pine(self, fill: RGB, u: float, base: float, k: float) -> None:
        """A fir with snow on it; `k` is its size."""
        self.rect(dim((104, 74, 50), self.light), u - 1, base - 4 * k, u + 1, base)
        for v, w in ((3, 8), (10, 6.4), (17, 4.6)):
            top = base - (v + 12) * k
            self.poly(fill, u - w * k, base - v * k, u + w * k, base - v * k, u, top)
            snow, edge = w * k * 0.34, base - (v + 8) * k
            self.poly((240, 246, 250), u - snow, edge, u + snow, edge, u, top)

    def fan(self, fill: RGB, u: float, v: float) -> None:
        """Someone behind a fence."""
        self.disc(dim((226, 184, 150), self.light), u, v - 1, 1)
        self.rect(fill, u - 1.2, v, u + 1.2, v + 3)


def backdrop(
    canvas: ImageDraw.ImageDraw,
    side: int,
    setting: str,
    light: str,
    decor: tuple[str, ...],
    options: Mapping[str, str],
) -> None:
    """Fill the whole canvas."""
    pen = Landscape(canvas, side, light)
    met = {setting, light, *decor, *options.values()}
    if light == "indoors":
        draw_shapes(pen, ROOM, met, WALLS[options["walls"]], FLOORS[options["floor"]])
        return
    top, low = SKIES[light]
    for i in range(8):
        pen.rect(mix(top, low, 100 * i // 7), 0, 56 * i / 8, 100, 56 * (i + 1) / 8)
    own = HOUSES[options["walls"]] if setting == "street" else GROUNDS.get(setting, GRASS)
    draw_shapes(pen, OUTDOORS, met, own, light=light)
