// All systems' captions of an image side by side, with every metric's score.
const other = $("#other"), every = $("#every");
const systems = meta.sets.map((s, k) => ({ ...s, k }));

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
  const worst = conflict(data, a, b, image);
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
      const mine = worst.size > 0 && ((m === a && s === worst.one) || (m === b && s === worst.two));
      const cell = element("td", { class: `shade ${mine ? "one" : ""}`.trim(), title: exact(v) }, digits(v));
      cell.style.setProperty("--v", beaten[c][s.k].toFixed(3));
      return cell;
    });
    return element("tr", {}, element("th", { scope: "row", class: s.colour }, element("i"), s.name),
      gone ? element("td", { class: "text gone" }, "no caption") : element("td", { class: "text" }, ...text(captions[s.k], hit)),
      ...scores);
  });
  const verdict = disagreement === null ? "no two metrics compare two captions" : `disagreement ${disagreement.toFixed(2)}`;
  const clash = worst.size > 0
    ? `; ${a.name} prefers ${worst.one.name} to ${worst.two.name} by ${deviations(worst.lead)}, ${b.name} the opposite by ${deviations(worst.behind)}`
    : a && b && a !== b ? `; ${a.name} and ${b.name} do not contradict each other` : "";
  const photo = meta.photos[String(id)];
  return element("article", { class: photo ? "card photo" : "card", "aria-label": `Image ${id}` },
    photo ? element("img", { src: photo, alt: `Image ${id}` }) : null,
    element("h3", {}, `Image ${id}`, element("span", {}, verdict + clash)),
    element("div", { class: "scroll" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows))),
    element("details", { open: "open" }, element("summary", {}, `${references.length} references`),
      element("ul", {}, ...references.map((r) => element("li", {}, ...text(r, hit))))));
}

const textsOf = (row) => [...row[2].map((c) => c ?? ""), ...row[3]];

function arrange(data) {
  const a = allMetrics[by.selectedIndex], b = allMetrics[other.selectedIndex];
  const of = (i) => data.rows[i][1];
  const last = (i) => (of(i) === null ? 1 : 0);
  if (sort.value === "most") order.sort((i, j) => last(i) - last(j) || of(j) - of(i) || i - j);
  if (sort.value === "least") order.sort((i, j) => last(i) - last(j) || of(i) - of(j) || i - j);
  if (!a || !b || a === b) return "";
  const size = new Map(order.map((i) => [i, conflict(data, a, b, i).size]));
  if (sort.value === "conflict") order.sort((i, j) => size.get(j) - size.get(i) || i - j);
  const n = order.filter((i) => size.get(i) > 0).length;
  return `; ${a.name} and ${b.name} contradict each other on ${n.toLocaleString("en")} of them`;
}

for (const m of allMetrics) {
  by.append(new Option(m.name));
  other.append(new Option(m.name));
}
const voices = allMetrics.filter((m) => m.vote);
by.selectedIndex = Math.max(0, allMetrics.findIndex((m) => m.name === "CIDEr"));
other.selectedIndex = (voices.filter((m) => m.k !== by.selectedIndex).at(-1) ?? allMetrics.at(-1))?.k ?? -1;
startCards([by, other, sort, every], "captions");

for (const radio of $$("input[name=aggregate]")) {
  radio.addEventListener("change", () => ($("#metrics").dataset.aggregate = radio.value));
}
function showLevel() {
  const level = $("input[name=level]:checked")?.value;
  for (const part of $$(".level")) part.hidden = part.dataset.level !== level;
}
for (const radio of $$("input[name=level]")) radio.addEventListener("change", showLevel);
showLevel();
