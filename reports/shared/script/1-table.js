// A table sorts by any column; parts stay under their metric, what is no result stays below.
const bodies = $$("#metrics tbody");

function value(row, index) {
  const v = row.cells[index]?.dataset.v;
  if (v === undefined) return null;
  return Number.isNaN(Number(v)) ? v : Number(v);
}

function sortBy(header, direction) {
  const index = header.cellIndex;
  const table = header.closest("table");
  for (const body of table.tBodies) {
    const rows = [...body.rows];
    const names = new Set(rows.map((r) => r.dataset.metric));
    const isPart = (r) => r.dataset.parent !== undefined && names.has(r.dataset.parent);
    const rank = (r) => ["random", "absent"].findIndex((kind) => r.classList.contains(kind));
    const heads = rows.filter((r) => !isPart(r));
    heads.sort((a, b) => {
      if (rank(a) !== rank(b)) return rank(a) - rank(b);
      const [x, y] = [value(a, index), value(b, index)];
      if (x === null || y === null) return (x === null) - (y === null);
      const order = typeof x === "string" ? x.localeCompare(y) : x - y;
      return direction === "ascending" ? order : -order;
    });
    for (const head of heads) {
      body.append(head, ...rows.filter((r) => isPart(r) && r.dataset.parent === head.dataset.metric));
    }
  }
  for (const th of table.tHead.rows[0].cells) th.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", direction);
  table.dispatchEvent(new Event("sorted"));
}

for (const button of $$("table.metrics thead button")) {
  button.addEventListener("click", () => {
    const header = button.parentElement;
    const first = header.dataset.key === "metric" ? "ascending" : "descending";
    const second = first === "ascending" ? "descending" : "ascending";
    sortBy(header, header.getAttribute("aria-sort") === first ? second : first);
  });
  button.addEventListener("keydown", (e) => e.key === "Escape" && button.blur());
}

for (const radio of $$("input[name=items]")) {
  radio.addEventListener("change", () => {
    for (const body of bodies) body.hidden = body.dataset.items !== radio.value;
  });
}
