// All systems' captions of an image side by side, with every metric's score.
const by = $("#by"), other = $("#other"), sort = $("#sort"), query = $("#query"), every = $("#every");
const cards = $("#cards"), more = $("#more");
const allMetrics = meta.metrics.map((m, k) => ({ ...m, k, sign: m.higher ? 1 : -1 }));
const systems = meta.sets.map((s, k) => ({ ...s, k }));
let order = [], shown = 0;

// The two captions on which two metrics contradict each other most: by how many standard
// deviations each prefers its own, and whose captions they are. `size` is the smaller lead.
function conflict(data, a, b, image) {
  let worst = { size: -1 };
  if (!a || !b || !a.sd || !b.sd) return worst;
  for (const one of systems) {
    for (const two of systems) {
      if (one.k === two.k) continue;
      const gap = (m) => (m.sign * (data.score(m.k, one.k, image) - data.score(m.k, two.k, image))) / m.sd;
      const [lead, behind] = [gap(a), -gap(b)];
      const size = Math.min(lead, behind);
      if (size > 0 && size > worst.size) worst = { size, lead, behind, one, two };
    }
  }
  return worst;
}

// The share of the image's other captions that each system's caption beats, by one metric.
function shares(data, metric, image) {
  const values = systems.map((s) => metric.sign * data.score(metric.k, s.k, image));
  const there = values.filter((v) => !Number.isNaN(v));
  return values.map((v) =>
    Number.isNaN(v) || there.length < 2 ? 0 : there.filter((w) => w < v).length / (there.length - 1));
}

function chosenColumns() {
  const first = [allMetrics[by.selectedIndex], allMetrics[other.selectedIndex]].filter(Boolean);
  const rest = allMetrics.filter((m) => !first.includes(m) && (every.checked || m.vote));
  return [...new Set(first), ...rest];
}

const deviations = (v) => `${v.toFixed(1)} SD`;

function card(data, image, hit) {
  const [id, disagreement, captions, references] = data.rows[image];
  const a = allMetrics[by.selectedIndex], b = allMetrics[other.selectedIndex];
  const columns = chosenColumns();
  const found = conflict(data, a, b, image);
  const named = (m) => (m === a || m === b ? "by" : "");
  const head = element("tr", {}, element("th", { scope: "col" }, "System"), element("th", { scope: "col", class: "text" }, "Caption"),
    ...columns.map((m) => element("th", { scope: "col", class: named(m) }, m.name)));
  const beaten = columns.map((m) => shares(data, m, image));
  const rank = (s) => (a ? a.sign * data.score(a.k, s.k, image) : 0);
  const place = (s) => (captions[s.k] === null ? 2 : Number.isNaN(rank(s)) ? 1 : 0);
  const sorted = [...systems].sort((s, t) => place(s) - place(t) || rank(t) - rank(s) || s.k - t.k);
  const rows = sorted.map((s) => {
    const gone = captions[s.k] === null;
    const scores = columns.map((m, c) => {
      const v = data.score(m.k, s.k, image);
      const mine = found.size > 0 && ((m === a && s === found.one) || (m === b && s === found.two));
      const cell = element("td", { class: `shade ${mine ? "one" : ""}`.trim(), title: exact(v) }, digits(v));
      cell.style.setProperty("--v", beaten[c][s.k].toFixed(3));
      return cell;
    });
    return element("tr", {}, element("th", { scope: "row", class: s.colour }, element("i"), s.name),
      gone ? element("td", { class: "text gone" }, "no caption") : element("td", { class: "text" }, ...text(captions[s.k], hit)),
      ...scores);
  });
  const told = disagreement === null ? "no two metrics compare two captions" : `disagreement ${disagreement.toFixed(2)}`;
  const clash = found.size > 0
    ? `; ${a.name} prefers ${found.one.name} to ${found.two.name} by ${deviations(found.lead)}, ${b.name} the opposite by ${deviations(found.behind)}`
    : a && b && a !== b ? `; ${a.name} and ${b.name} do not contradict each other` : "";
  const photo = meta.photos[String(id)];
  return element("article", { class: photo ? "card photo" : "card", "aria-label": `Image ${id}` },
    photo ? element("img", { src: photo, alt: `Image ${id}` }) : null,
    element("h3", {}, `Image ${id}`, element("span", {}, told + clash)),
    element("div", { class: "scroll" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows))),
    element("details", { open: "open" }, element("summary", {}, `${references.length} references`),
      element("ul", {}, ...references.map((r) => element("li", {}, ...text(r, hit))))));
}

const isId = (hit) => /^\d+$/.test(hit);

async function showMore() {
  const data = await examplesData();
  const hit = query.value.trim().toLowerCase();
  const next = order.slice(shown, shown + meta.examples);
  cards.append(...next.map((i) => card(data, i, isId(hit) ? "" : hit)));
  shown += next.length;
  more.hidden = shown >= order.length;
}

async function find() {
  const data = await examplesData();
  const hit = query.value.trim().toLowerCase();
  const a = allMetrics[by.selectedIndex], b = allMetrics[other.selectedIndex];
  const haystack = (row) => (row.words ??= [...row[2].map((c) => c ?? ""), ...row[3]].join("\n").toLowerCase());
  order = data.rows.map((_, i) => i).filter((i) => {
    if (!hit) return true;
    return String(data.rows[i][0]).toLowerCase() === hit || (!isId(hit) && haystack(data.rows[i]).includes(hit));
  });
  const of = (i) => data.rows[i][1];
  const last = (i) => (of(i) === null ? 1 : 0);
  if (sort.value === "most") order.sort((i, j) => last(i) - last(j) || of(j) - of(i) || i - j);
  if (sort.value === "least") order.sort((i, j) => last(i) - last(j) || of(i) - of(j) || i - j);
  let clashes = "";
  if (a && b && a !== b) {
    const size = new Map(order.map((i) => [i, conflict(data, a, b, i).size]));
    const n = order.filter((i) => size.get(i) > 0).length;
    clashes = `; ${a.name} and ${b.name} contradict each other on ${n.toLocaleString("en")} of them`;
    if (sort.value === "conflict") order.sort((i, j) => size.get(j) - size.get(i) || i - j);
  }
  $("#status").textContent = `${order.length.toLocaleString("en")} of ${data.rows.length.toLocaleString("en")} images${clashes}.`;
  cards.replaceChildren();
  shown = 0;
  await showMore();
}

for (const m of allMetrics) {
  by.append(new Option(m.name));
  other.append(new Option(m.name));
}
const voices = allMetrics.filter((m) => m.vote);
by.selectedIndex = Math.max(0, allMetrics.findIndex((m) => m.name === "CIDEr"));
other.selectedIndex = (voices.filter((m) => m.k !== by.selectedIndex).at(-1) ?? allMetrics.at(-1))?.k ?? -1;
let waiting = 0;
for (const control of [by, other, sort, every]) control.addEventListener("change", find);
query.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(find, 200);
});
$("#find").addEventListener("submit", (e) => {
  e.preventDefault();
  find();
});
more.addEventListener("click", showMore);
find().catch((error) => {
  $("#status").textContent = `The captions could not be unfolded: ${error.message}`;
});

for (const radio of $$("input[name=aggregate]")) {
  radio.addEventListener("change", () => ($("#metrics").dataset.aggregate = radio.value));
}
function showLevel() {
  const level = $("input[name=level]:checked")?.value;
  for (const part of $$(".level")) part.hidden = part.dataset.level !== level;
}
for (const radio of $$("input[name=level]")) radio.addEventListener("change", showLevel);
showLevel();
