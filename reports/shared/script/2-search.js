// Which images' cards are shown, and in which order. The page adds what is its own: the node of a
// card (card), the texts of an image to search in (textsOf), and the order (arrange), which may
// add something to the line on what was found.
const by = $("#by"), sort = $("#sort"), query = $("#query"), cards = $("#cards"), more = $("#more");
const allMetrics = meta.metrics.map((m, k) => ({ ...m, k, sign: m.higher ? 1 : -1 }));
let order = [], shown = 0;

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
  const words = (row) => (row.words ??= textsOf(row).join("\n").toLowerCase());
  order = data.rows.map((_, i) => i).filter((i) => {
    if (!hit) return true;
    return String(data.rows[i][0]).toLowerCase() === hit || (!isId(hit) && words(data.rows[i]).includes(hit));
  });
  const note = arrange(data);
  $("#status").textContent = `${order.length.toLocaleString("en")} of ${data.rows.length.toLocaleString("en")} images${note}.`;
  cards.replaceChildren();
  shown = 0;
  await showMore();
}

// Show the first cards, and others whenever one of the controls or the search changes.
function startCards(controls, what) {
  let waiting = 0;
  for (const control of controls) control.addEventListener("change", find);
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
    $("#status").textContent = `The ${what} could not be unfolded: ${error.message}`;
  });
}
