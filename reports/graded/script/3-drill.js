// How a metric came by the scores of one image: a drawing for each version, made when first opened.
let unfolding = null;
const explanations = () => (unfolding ??= unfoldText("explanations").then(JSON.parse));

function drills(data, image, chosen) {
  const id = String(data.rows[image][0]);
  return meta.explained.filter((family) => family.images.includes(id)).map((family) => {
    const mine = Boolean(chosen) && family.columns.includes(chosen.name);
    const metric = mine ? chosen : allMetrics.find((m) => m.name === family.columns[0]);
    const body = element("div", { class: "drill" });
    const details = element("details", { class: "why" }, element("summary", {}, `How ${family.columns[0]} came by its scores`), body);
    details.addEventListener("toggle", () => {
      if (!details.open || body.childElementCount) return;
      unfoldDrill(body, family, data, image, metric).catch((error) => {
        body.textContent = `The explanation could not be drawn: ${error.message}`;
      });
    });
    // the first card of a metric's own order shows what there is to see
    if (mine && data.rows[image] === data.rows[order[0]]) details.open = true;
    return details;
  });
}

async function unfoldDrill(body, family, data, image, metric) {
  const [id, , , captions] = data.rows[image];
  const payloads = (await explanations())[family.name][String(id)];
  const sets = meta.sets.map((_, s) => s).filter((s) => payloads[s]).reverse();
  const [difference, worse] = metric ? inversion(data, metric, image) : [-1, -1];
  const first = difference > 0 && payloads[worse] ? worse : sets[0];
  const place = element("div", { class: "drawing" });
  const said = element("p", { class: "said" });

  function show(set) {
    const scores = new Map(family.columns.map((name) => {
      const scored = allMetrics.find((m) => m.name === name);
      return [name, scored ? data.score(scored.k, set, image) : NaN];
    }));
    const draw = { transport: drawTransport, grounding: drawGrounding, matches: drawMatches, alignment: drawAlignment, tuples: drawTuples, objects: drawObjects }[payloads[set].kind];
    said.replaceChildren(...marked(captions[set], ""));
    place.replaceChildren(...(draw ? draw(payloads, set, { id: String(id), scores, width: place.clientWidth }) : [
      element("p", {}, "This report cannot draw what the metric tells; see explanations.json."),
    ]));
  }

  const choice = element("fieldset", { class: "switch" }, element("legend", { class: "vh" }, "Version explained"),
    ...sets.map((s) => {
      const radio = element("input", { type: "radio", name: `drill-${family.name}-${id}`, value: String(s) });
      radio.checked = s === first;
      radio.addEventListener("change", () => show(s));
      return element("label", {}, radio, element("span", { class: `l${s}` }, element("i"), meta.sets[s].name));
    }));
  body.replaceChildren(choice, said, place);
  show(first);
}

// One tab stop for many marks; the arrow keys go from one to the next.
function rove(nodes) {
  nodes.forEach((node, k) => {
    node.setAttribute("tabindex", k ? "-1" : "0");
    node.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      const next = { Home: 0, End: nodes.length - 1 }[event.key] ?? (step ? k + step : -1);
      if (!nodes[next]) return;
      event.preventDefault();
      nodes[k].setAttribute("tabindex", "-1");
      nodes[next].setAttribute("tabindex", "0");
      nodes[next].focus();
    });
  });
}

// Calls `on` while a mark is pointed at or has the focus, `off` when it no longer is.
function attend(node, on, off) {
  for (const name of ["pointerenter", "focus"]) node.addEventListener(name, on);
  for (const name of ["pointerleave", "blur"]) node.addEventListener(name, off);
}

const share = (v) => `${Math.round(1000 * v) / 10}%`;
const brief = (v) => (Number.isFinite(v) ? v.toFixed(3).replace("-", "−") : "–");

// A value's place between the least and the greatest, as a percentage for the style's `--w`.
function scale(values) {
  const known = values.filter(Number.isFinite);
  const low = Math.min(...known), high = Math.max(...known);
  const percent = (v) => (Number.isFinite(v) ? (high > low ? (100 * (v - low)) / (high - low) : 50) : 0);
  return Object.assign((v) => `${percent(v).toFixed(1)}%`, { low, high });
}
const heat = (node, width) => (node.style.setProperty("--w", width), node);

// "0.12 ▒▓█ 0.87": what the shades stand for.
function legendOf(of, what) {
  return element("p", { class: "shades" }, `${what} `, element("b", {}, brief(of.low)), element("i", { class: "ramp" }), element("b", {}, brief(of.high)));
}
