// BERTScore: how alike each token of the caption and each token of a reference are. The best of a
// row counts for precision, the best of a column for recall.
function drawAlignment(payloads, set) {
  const payload = payloads[set];
  const of = scale(Object.values(payloads).flatMap((each) => each.references.flatMap((r) => r.similarity)).flat());
  const [best, ...others] = [payload.best, ...payload.references.keys()].filter((k, place, all) => all.indexOf(k) === place);
  return [valuesOf(payload),
    element("p", {}, "Rows are the caption’s tokens, columns those of a reference. A ring marks the best match of a row (precision), a dot that of a column (recall). Pale tokens can be met, but do not count. The reference with the highest F1 is the score."),
    legendOf(of, "cosine"),
    element("div", { class: "maps" }, alignmentTable(payload, best, of)),
    others.length ? element("details", {}, element("summary", {}, `The other ${others.length === 1 ? "reference" : `${others.length} references`}`),
      element("div", { class: "maps" }, ...others.map((k) => alignmentTable(payload, k, of)))) : null].filter(Boolean);
}

function alignmentTable(payload, k, of) {
  const reference = payload.references[k], { similarity } = reference;
  const top = (values) => values.indexOf(Math.max(...values));
  const rowBest = similarity.map(top);
  const columnBest = reference.words.map((_, j) => top(similarity.map((row) => row[j])));
  const pale = (weight) => (weight ? "" : "pale");
  const rows = payload.words.map((word, i) => {
    const head = element("th", { scope: "row", class: pale(payload.weights[i]), "aria-label": `${word}: best ${reference.words[rowBest[i]]} ${brief(similarity[i][rowBest[i]])}` }, word);
    const cells = similarity[i].map((v, j) => {
      const marks = `${j === rowBest[i] ? " best" : ""}${i === columnBest[j] ? " met" : ""}`;
      return heat(element("td", { class: `cell${marks}`, title: `${word} – ${reference.words[j]}: ${brief(v)}` }), of(v));
    });
    return element("tr", {}, head, ...cells, element("td", { class: "most" }, payload.weights[i] ? brief(similarity[i][rowBest[i]]) : "–"));
  });
  rove(rows.map((row) => row.cells[0]));
  const heads = reference.words.map((word, j) => element("th", { scope: "col", class: pale(reference.weights[j]) }, element("span", {}, word)));
  const title = `Reference ${k + 1}: precision ${brief(reference.precision)}, recall ${brief(reference.recall)}, F1 ${brief(reference.f1)}`;
  return element("div", { class: "scroll" }, element("table", { class: "heat" }, element("caption", {}, title),
    element("thead", {}, element("tr", {}, element("td"), ...heads, element("th", { scope: "col", class: "most" }, "best"))),
    element("tbody", {}, ...rows)));
}
