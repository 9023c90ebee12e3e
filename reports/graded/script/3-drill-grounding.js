// TIGEr: the same image twice, shaded by how much each region is grounded in the candidate and in
// the references; and both numbers region by region, in the references' order.
function drawGrounding(payloads, set, { id }) {
  const payload = payloads[set], names = regionNames(payload.regions);
  const of = scale(Object.values(payloads).flatMap((each) => [...each.candidate, ...each.references]));
  const views = [["candidate", "Candidate"], ["references", "References (mean)"]].map(([key, title]) => {
    const view = regionView(payload.regions, names, id, of);
    view.shade(payload[key], title);
    return view;
  });
  const ranked = names.map((_, k) => k).sort((a, b) => payload.references[b] - payload.references[a]);
  const bar = (v) => heat(element("td", { class: "weight" }, element("span", { class: "track" }, element("i")), brief(v)), of(v));
  const rows = ranked.map((k) => {
    const head = element("th", { scope: "row" }, names[k]);
    const row = element("tr", {}, head, bar(payload.candidate[k]), bar(payload.references[k]));
    attend(head, () => views.forEach((view) => view.point(k)), () => views.forEach((view) => view.point(-1)));
    row.addEventListener("pointerenter", () => views.forEach((view) => view.point(k)));
    row.addEventListener("pointerleave", () => views.forEach((view) => view.point(-1)));
    return row;
  });
  rove(rows.map((row) => row.cells[0]));
  const table = element("table", { class: "weights" },
    element("thead", {}, element("tr", {}, ...["Region", "Candidate", "References"].map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...rows));
  return [valuesOf(payload), element("p", {}, "How much of each region is in the words. TIGEr asks whether the candidate ranks the regions as the references do (RRS) and weighs them alike (WDS)."), legendOf(of, "grounding weight"),
    element("div", { class: "grounding" }, ...views.map((view) => view.node), element("div", { class: "list" }, table))];
}

// The scores that the drawing explains.
function valuesOf(payload) {
  return element("p", { class: "values" }, ...Object.entries(payload.values ?? {}).map(([column, v]) => element("span", {}, column, " ", element("b", {}, brief(v)))));
}
