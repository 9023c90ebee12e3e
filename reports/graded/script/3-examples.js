// Examples: which images' cards are shown, and in which order.
const by = $("#by"), sort = $("#sort"), query = $("#query"), cards = $("#cards"), more = $("#more");
const shownMetrics = meta.metrics.map((m, k) => ({ ...m, k, sign: m.higher ? 1 : -1 }));
let order = [], shown = 0;

async function showMore() {
  const data = await examplesData();
  const hit = query.value.trim().toLowerCase();
  const next = order.slice(shown, shown + meta.examples);
  cards.append(...next.map((i) => card(data, i, /^\d+$/.test(hit) ? "" : hit)));
  shown += next.length;
  more.hidden = shown >= order.length;
}

async function find() {
  const data = await examplesData();
  const hit = query.value.trim().toLowerCase();
  const metric = shownMetrics[by.selectedIndex];
  const haystack = (row) =>
    (row.words ??= [row[1], ...row[3].map((c) => (c === null ? "" : plain(c))), ...row[4]].join("\n").toLowerCase());
  order = data.rows.map((_, i) => i).filter((i) => {
    if (!hit) return true;
    return String(data.rows[i][0]).toLowerCase() === hit || (!/^\d+$/.test(hit) && haystack(data.rows[i]).includes(hit));
  });
  let inverted = "";
  if (metric) {
    const severity = new Map(order.map((i) => [i, inversion(data, metric, i)[0]]));
    const count = order.filter((i) => severity.get(i) > 0).length;
    inverted = `; ${metric.name} has an inversion in ${count.toLocaleString("en")} of them`;
    if (sort.value === "worst") order.sort((a, b) => severity.get(b) - severity.get(a) || a - b);
    if (sort.value === "best") order.sort((a, b) => severity.get(a) - severity.get(b) || a - b);
  }
  $("#status").textContent = `${order.length.toLocaleString("en")} of ${data.rows.length.toLocaleString("en")} images${inverted}.`;
  cards.replaceChildren();
  shown = 0;
  await showMore();
}

for (const m of shownMetrics) {
  by.append(new Option(m.kind === "random" ? `${m.name} (random weights)` : m.name));
}
by.selectedIndex = shownMetrics.findIndex((m) => m.name === $("#metrics tbody tr.result")?.dataset.metric);
if (by.selectedIndex < 0) by.selectedIndex = 0;
let waiting = 0;
by.addEventListener("change", find);
sort.addEventListener("change", find);
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
  $("#status").textContent = `The examples could not be unfolded: ${error.message}`;
});
