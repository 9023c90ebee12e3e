// VIFIDEL: objects on the left, words on the right; a ribbon is as wide as the mass that moves and
// coloured by the price it pays per unit.
const SVG = "http://www.w3.org/2000/svg";
function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, v] of Object.entries(attributes)) node.setAttribute(key, v);
  node.append(...children);
  return node;
}

function drawTransport(payloads, set, { scores, width }) {
  const payload = payloads[set];
  const one = width < 800 ? width : (width - 40) / 2; // two plans side by side where there is room
  const plans = [...scores].map(([column, score]) => {
    const plan = payload.plans[column];
    const dearest = Math.max(1e-9, ...Object.values(payloads).flatMap((each) => (each.plans[column]?.flows ?? []).map((f) => f.price)));
    const head = element("h4", {}, column, " ", element("b", {}, plan ? brief(plan.score) : brief(score)),
      plan ? element("span", {}, `= exp(−${brief(plan.distance)})`) : null,
      plan ? element("span", { class: "shades" }, "price ", element("b", {}, "0"), element("i", { class: "ramp price" }), element("b", {}, brief(dearest))) : null);
    const drawn = plan ? transportPlan(plan, dearest, column, payload.p, one) : [element("p", { class: "none" }, Number.isNaN(score)
      ? "Nothing can be compared: no object, no reference or no word of the caption has a vector."
      : "The caption has no content word, so there is nothing that the objects could become.")];
    return element("div", { class: "plan" }, head, ...drawn);
  });
  const left = [["objects", payload.unknown_objects], ["the caption", payload.unknown_words]].filter(([, words]) => words.length);
  return [element("div", { class: "plans" }, ...plans),
    ...left.map(([where, words]) => element("p", { class: "unknown" }, `Without a vector, and so left out of ${where}: `, element("b", {}, words.join(", "))))];
}

const BAR = 7, PITCH = 17, MASS = 170;

// Both sides in an order that crosses few ribbons: the dearer mass first, then by what it meets.
function arranged(plan) {
  const mean = (flows, key, at) => flows.reduce((sum, f) => sum + f.mass * at.get(f[key]), 0) / flows.reduce((sum, f) => sum + f.mass, 0);
  const sides = { object: [...plan.objects].sort((a, b) => b.mass - a.mass), word: [...plan.words] };
  for (let turn = 0; turn < 4; turn++) {
    for (const [side, other] of [["word", "object"], ["object", "word"]]) {
      const at = new Map(sides[other].map((x, k) => [x.word, k]));
      const place = new Map(sides[side].map((x) => [x.word, mean(plan.flows.filter((f) => f[side] === x.word), other, at)]));
      sides[side].sort((a, b) => place.get(a.word) - place.get(b.word));
    }
  }
  return sides;
}

function transportPlan(plan, dearest, column, p, room) {
  const wide = Math.max(260, Math.min(560, Math.floor(room)));
  const edge = Math.round(Math.min(150, 0.33 * wide)); // where the words stand
  const sides = arranged(plan);
  const tall = (side) => side.reduce((sum, x) => sum + Math.max(MASS * x.mass + 4, PITCH), 0);
  const height = Math.max(tall(sides.object), tall(sides.word));
  const tops = {};
  for (const key of ["object", "word"]) {
    let y = (height - tall(sides[key])) / 2;
    tops[key] = new Map();
    for (const x of sides[key]) {
      const extent = Math.max(MASS * x.mass + 4, PITCH);
      tops[key].set(x.word, { y: y + (extent - MASS * x.mass) / 2, used: 0 });
      y += extent;
    }
  }
  const right = wide - edge, x0 = edge + BAR, x1 = right - BAR;
  const rank = (key) => new Map(sides[key].map((x, k) => [x.word, k]));
  const [places, partners] = [rank("object"), rank("word")];
  const flows = [...plan.flows].sort((a, b) => places.get(a.object) - places.get(b.object) || partners.get(a.word) - partners.get(b.word));
  const ribbons = flows.map((f) => {
    const [a, b] = [tops.object.get(f.object), tops.word.get(f.word)];
    const thick = MASS * f.mass;
    const [ya, yb, middle] = [a.y + a.used, b.y + b.used, (x0 + x1) / 2];
    a.used += thick;
    b.used += thick;
    const points = [[x0, ya], [middle, ya], [middle, yb], [x1, yb], [x1, yb + thick], [middle, yb + thick], [middle, ya + thick], [x0, ya + thick]].map(([x, y]) => `${x} ${y.toFixed(2)}`);
    const path = svg("path", { class: "ribbon", d: `M${points[0]}C${points.slice(1, 4)}L${points[4]}C${points.slice(5)}z` },
      svg("title", {}, `${f.object} → ${f.word}: ${share(f.mass)} at ${brief(f.price)} costs ${brief(f.cost)}`));
    return { ...f, node: heat(path, `${((100 * f.price) / dearest).toFixed(1)}%`) };
  });
  const line = element("p", { class: "told", "aria-live": "polite" });
  const rest = plan.flows.length && plan.flows[0].cost > 0
    ? `Dearest: ${plan.flows[0].object} → ${plan.flows[0].word}, ${share(plan.flows[0].cost / plan.distance)} of the cost.`
    : "Every object found its word: it costs nothing.";
  line.textContent = rest;
  const nodes = ["object", "word"].flatMap((key) => sides[key].map((x) => {
    const other = key === "object" ? "word" : "object";
    const attached = ribbons.filter((f) => f[key] === x.word).sort((a, b) => b.cost - a.cost);
    const { y } = tops[key].get(x.word), tallness = Math.max(MASS * x.mass, 1);
    const words = `${x.word} (${share(x.mass)}) ${key === "object" ? "to" : "from"} ${attached.map((f) => `${f[other]} ${share(f.mass)} at ${brief(f.price)}`).join(", ")}`;
    const label = svg("text", { x: key === "object" ? edge - 6 : right + 6, y: y + tallness / 2 + 4, "text-anchor": key === "object" ? "end" : "start" },
      svg("tspan", { class: "word" }, x.word), svg("tspan", { class: "mass", dx: 5 }, share(x.mass)));
    const node = svg("g", { class: "node", role: "img", "aria-label": words },
      svg("rect", { x: key === "object" ? 0 : right, y: y + tallness / 2 - PITCH / 2, width: edge, height: PITCH, class: "touch" }),
      svg("rect", { x: key === "object" ? edge : right - BAR, y, width: BAR, height: tallness, class: "bar" }), label);
    attend(node, () => {
      node.ownerSVGElement.classList.add("chosen");
      for (const f of attached) f.node.classList.add("here");
      line.textContent = words;
    }, () => {
      node.ownerSVGElement.classList.remove("chosen");
      for (const f of attached) f.node.classList.remove("here");
      line.textContent = rest;
    });
    return node;
  }));
  rove(nodes);
  const drawing = svg("svg", { class: "transport", viewBox: `0 0 ${wide} ${Math.ceil(height)}`, role: "group", "aria-label": `${column}: objects on the left, words on the right` },
    svg("g", {}, ...ribbons.map((f) => f.node)), svg("g", {}, ...nodes));
  const row = (f) => element("tr", {}, element("td", { class: "w" }, f.object), element("td", { class: "w" }, f.word), element("td", {}, share(f.mass)), element("td", {}, brief(f.price)), element("td", {}, brief(f.cost)));
  const table = element("details", {}, element("summary", {}, `${plan.flows.length} flows in numbers`),
    element("table", {}, element("thead", {}, element("tr", {}, ...["Object", "Word", "Share", p === 2 ? "Price (distance²)" : "Price (distance)", "Cost"].map((name, k) => element("th", { scope: "col", class: k < 2 ? "w" : "" }, name)))),
      element("tbody", {}, ...plan.flows.map(row)),
      element("tfoot", {}, element("tr", {}, element("th", { scope: "row", class: "w", colspan: "4" }, "Distance"), element("td", {}, brief(plan.distance))))));
  return [drawing, line, table];
}
