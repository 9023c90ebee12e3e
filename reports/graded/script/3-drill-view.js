// An image as its regions see it: the photo, or its boxes alone, shaded by one number a region.
const isWhole = ([x1, y1, x2, y2]) => (x2 - x1) * (y2 - y1) > 0.98;

// Regions' names for people: "person", "person 2", "region 7".
function regionNames(regions) {
  const met = new Map();
  return regions.map(({ label, box }, k) => {
    const name = label || (isWhole(box) ? "whole image" : `region ${k + 1}`);
    met.set(name, (met.get(name) ?? 0) + 1);
    return met.get(name) > 1 ? `${name} ${met.get(name)}` : name;
  });
}

// { node, shade(values, title), point(k or -1) }: the picture and what can be done with it.
function regionView(regions, names, id, of) {
  const photo = meta.photos[id];
  const boxes = regions.map(({ box: [x1, y1, x2, y2], cell }, k) => {
    // a name at the right edge is written to the left, so that the frame does not cut it
    const kind = `${isWhole([x1, y1, x2, y2]) ? " whole" : ""}${cell ? " cell" : ""}${x1 > 0.7 ? " right" : ""}${y1 > 0.9 ? " low" : ""}`;
    const node = element("div", { class: `box${kind}` }, element("span", {}, names[k]));
    const at = { left: x1, top: y1, width: x2 - x1, height: y2 - y1 };
    for (const [side, v] of Object.entries(at)) node.style[side] = `${(100 * v).toFixed(2)}%`;
    return node;
  });
  // small boxes above the large ones that hold them, and all above the cells of a grid
  const size = ({ box: [x1, y1, x2, y2], cell }) => (cell ? 1 : (x2 - x1) * (y2 - y1));
  const stack = boxes.map((node, k) => [size(regions[k]), node]).sort((a, b) => b[0] - a[0]).map(([, node]) => node);
  const picture = element("div", { class: photo ? "view" : "view bare", role: "img" }, photo ? element("img", { src: photo, alt: "" }) : null, ...stack);
  const caption = element("figcaption");
  // names are shown of the strongest, the cells of a grid aside: they would cover the objects'
  function shade(values, title) {
    const top = values.map((v, k) => [v, k]).filter(([v, k]) => Number.isFinite(v) && !regions[k].cell).sort((a, b) => b[0] - a[0]).slice(0, 3).map(([, k]) => k);
    boxes.forEach((node, k) => {
      heat(node, of(values[k])).classList.toggle("top", top.includes(k));
      node.title = `${names[k]}: ${brief(values[k])}`;
    });
    caption.textContent = title;
    picture.setAttribute("aria-label", `${title}; strongest: ${top.map((k) => `${names[k]} ${brief(values[k])}`).join(", ")}`);
  }
  const point = (k) => boxes.forEach((node, j) => node.classList.toggle("here", j === k));
  return { node: element("figure", { class: "seen" }, picture, caption), shade, point };
}
