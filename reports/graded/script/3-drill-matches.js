// FAIEr: how well each word, and each relation, matches each region. Only the best match of a word
// counts, so it has a ring; a word pointed at shades the image by its own matches.
function drawMatches(payloads, set, { id }) {
  const payload = payloads[set], names = regionNames(payload.regions);
  const every = Object.values(payloads);
  const words = scale(every.flatMap((each) => [...each.matches, ...each.references.flatMap((r) => r.matches)]).flat());
  const relations = scale(every.flatMap((each) => each.relation_matches ?? []).flat());
  const view = regionView(payload.regions, names, id, (v) => view.of(v));
  const best = (rows) => names.map((_, k) => Math.max(...rows.map((row) => row[k])));
  const rest = () => {
    view.of = words;
    view.shade(payload.matches.length ? best(payload.matches) : names.map(() => NaN), "All words of the caption");
  };
  const see = (of, row, title) => {
    view.of = of;
    view.shade(row, title);
  };
  rest();
  const main = heatTable("Caption", names, [
    { title: "Words", rows: payload.words, matches: payload.matches, of: words },
    { title: "Relations", rows: payload.relations ?? [], matches: payload.relation_matches ?? [], of: relations },
  ], view, see, rest);
  const others = payload.references.map((reference, k) =>
    heatTable(`Reference ${k + 1}`, names, [{ title: "Words", rows: reference.words, matches: reference.matches, of: words }], view, see, rest));
  return [valuesOf(payload), element("p", {}, "Rows are words and relations, columns regions. A ring marks the best match of a row, the only one that counts; a row pointed at is shown in the image."),
    element("div", { class: "matches" }, element("div", { class: "aside" }, view.node, legendOf(words, "words"), relations.low <= relations.high ? legendOf(relations, "relations") : null),
      element("div", { class: "maps" }, main, ...others))];
}

function heatTable(title, names, groups, view, see, rest) {
  const shown = groups.filter((group) => group.rows.length);
  const bodies = shown.map(({ title: kind, rows, matches, of }) => element("tbody", { "aria-label": kind },
    ...rows.map((word, w) => {
      const values = matches[w], top = values.indexOf(Math.max(...values));
      const head = element("th", { scope: "row", "aria-label": `${word}: best ${names[top]} ${brief(values[top])}` }, word);
      const cells = values.map((v, k) => heat(element("td", { class: k === top ? "cell best" : "cell", title: `${word} – ${names[k]}: ${brief(v)}` }), of(v)));
      const row = element("tr", {}, head, ...cells, element("td", { class: "most" }, brief(values[top])));
      const on = () => see(of, values, `“${word}”`);
      attend(head, on, rest);
      row.addEventListener("pointerenter", on);
      row.addEventListener("pointerleave", rest);
      cells.forEach((cell, k) => attend(cell, () => view.point(k), () => view.point(-1)));
      return row;
    })));
  rove(bodies.flatMap((body) => [...body.rows].map((row) => row.cells[0])));
  const columns = names.map((name, k) => {
    const head = element("th", { scope: "col" }, element("span", {}, name));
    attend(head, () => view.point(k), () => view.point(-1));
    return head;
  });
  return element("div", { class: "scroll" }, element("table", { class: "heat" }, element("caption", {}, title),
    element("thead", {}, element("tr", {}, element("td"), ...columns, element("th", { scope: "col", class: "most" }, "best"))), ...bodies));
}
