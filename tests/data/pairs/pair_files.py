"""Files of the official layouts, small: four images of COCO with five captions each, their objects,
and true and false captions of them."""

from pathlib import Path

from tests.data.table_files import write

IMAGES = (139, 285, 632, 724)
CAPTIONS = {
    139: (
        "A dog runs on the grass.",
        "The brown dog runs.",
        "A dog in a park.",
        "Dog on grass.",
        "A running animal outside.",
    ),
    285: (
        "A bear sits in the woods.",
        "A big bear on the grass.",
        "Bear in the wild.",
        "The brown bear looks up.",
        "A bear sits in  the wood",
    ),
    632: (
        "A room with a bed and books.",
        "A bed in a room.",
        "Many books near a bed.",
        "A bedroom with a shelf.",
        "The bed stands by the window.",
    ),
    724: (
        "A stop sign on the road.",
        "A red stop sign.",
        "The sign says stop.",
        "A street with a sign.",
        "Red sign near a truck.",
    ),
}
# image, true, false, true paraphrase
SAID = (
    (139, "A dog runs on the grass.", "A cat runs on the grass.", "On the grass a dog runs."),
    (139, "The brown dog runs.", "The white dog runs.", "A dog that is brown runs."),
    (285, "A bear sits in the woods.", "A bear sits on the woods.", "In the woods sits a bear."),
    (
        632,
        "A room with a bed and books.",
        "A room with a desk and books.",
        "A bed and books are in a room.",
    ),
    (724, "A red stop sign.", "A stop sign on a red truck.", "A stop sign that is red."),
)


def coco(folder: Path) -> Path:
    """METAEVAL_DATA: captions and objects of the four images."""
    annotations = folder / "annotations"
    images = [{"id": i, "file_name": f"{i:012d}.jpg", "width": 10, "height": 10} for i in IMAGES]
    said = [(i, c) for i in IMAGES for c in CAPTIONS[i]]
    captions = [{"id": k, "image_id": i, "caption": c} for k, (i, c) in enumerate(said)]
    write(annotations / "captions_val2017.json", {"images": images, "annotations": captions})
    objects = [
        {"id": k, "image_id": i, "category_id": 1, "bbox": [0, 0, 5, 5], "iscrowd": 0}
        for k, i in enumerate(IMAGES)
    ]
    content = {"images": images, "annotations": objects, "categories": [{"id": 1, "name": "dog"}]}
    write(annotations / "instances_val2017.json", content)
    return folder


def rococo(folder: Path) -> Path:
    """Two kinds: altered captions of two images, one of them with six true captions."""
    altered = {
        139: (
            "a cat runs on the grass",
            "the brown horse runs",
            "a dog in a garden",
            "cat on grass",
            "a running animal out there",
        ),
        285: (
            "a bear sits in the  bank",
            "a big desk on the grass",
            "bear in the wild",
            "the brown bear looks away",
            "a bear sits in the soup",
        ),
    }
    sixth = {139: [], 285: ["Bears are wild."]}
    records = [
        {
            "image": f"val2014/COCO_val2014_{i:012d}.jpg",
            "caption": [*CAPTIONS[i], *sixth[i], *altered[i]],
        }
        for i in altered
    ]
    write(folder / "rococo" / "same_concept.json", records[:1])
    write(folder / "rococo" / "rand_voca.json", records)
    return folder


def sugarcrepe(folder: Path) -> Path:
    """All of `SAID` as replace_obj and, made longer, as add_obj; one pair of each other kind."""
    records = [
        {"filename": f"{i:012d}.jpg", "caption": true, "negative_caption": false}
        for i, true, false, _ in SAID
    ]
    for kind in ("replace_obj", "replace_att", "replace_rel", "swap_obj", "swap_att", "add_att"):
        write(folder / "sugarcrepe" / f"{kind}.json", {"0": records[0]})
    write(folder / "sugarcrepe" / "replace_obj.json", {str(k): r for k, r in enumerate(records)})
    longer = [{**r, "negative_caption": f"{r['caption'][:-1]} with a red hat."} for r in records]
    write(folder / "sugarcrepe" / "add_obj.json", {str(k): r for k, r in enumerate(longer)})
    return folder


def sugarcrepe_pp(folder: Path) -> Path:
    records = [
        {
            "id": k,
            "filename": f"{i:012d}.jpg",
            "caption": true,
            "caption2": other,
            "negative_caption": false,
        }
        for k, (i, true, false, other) in enumerate(SAID)
    ]
    for kind in ("replace_obj", "replace_att", "replace_rel", "swap_obj", "swap_att"):
        write(folder / "sugarcrepe_pp" / f"{kind}.json", records)
    return folder


def reformulations(folder: Path) -> Path:
    """All of `SAID`, one that its person left as it was and one of an image of Flickr30k."""
    records = [
        {"question_id": str(k), "image": f"{i:012d}.jpg", "question": false, "answer": true}
        for k, (i, true, false, _) in enumerate(SAID)
    ]
    first = records[0]
    records += [{**first, "answer": first["question"]}, {**first, "image": "1000092795.jpg"}]
    write(folder / "reformulations" / "full_reformulation_dataset.json", records)
    return folder


def discourse_foil(folder: Path) -> Path:
    """All of `SAID`, one record that nobody corrected and one whose captions are equal."""
    records = [
        {
            "image_id": str(i),
            "image_url": f"https://example.org/train2017/{i:012d}.jpg",
            "caption": f"1. {other}\n2. {true}",
            "hall_caption": false,
            "human_corrected_hall_caption": true,
            "fixed": "true",
        }
        for i, true, false, other in SAID
    ]
    first = records[0]
    records += [{**first, "fixed": "not clear"}, {**first, "hall_caption": SAID[0][1]}]
    write(folder / "discourse_foil" / "DiscourseFOIL-200.json", records)
    return folder
