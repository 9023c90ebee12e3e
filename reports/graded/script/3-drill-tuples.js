// SPICE: what the caption says and what the references say, tuple by tuple.
function drawTuples(payloads, set) {
  const payload = payloads[set];
  const right = payload.candidate.filter((t) => t.matched).length;
  const part = (title, of) => `${title} ${right} of ${of}${of ? `: ${brief(right / of)}` : ""}`;
  const kinds = ["Objects", "Attributes", "Relations"];
  const side = (title, tuples, score) => element("section", { class: "tuples" }, element("h4", {}, title, element("span", {}, score)),
    ...kinds.map((kind, k) => [kind, tuples.filter((t) => t.tuple.length === k + 1)]).filter(([, group]) => group.length).map(([kind, group]) =>
      element("div", {}, element("b", {}, kind), element("ul", { "aria-label": `${title}, ${kind.toLowerCase()}` },
        ...group.map((t) => element("li", t.matched ? { class: "matched", title: "in both" } : { title: `only in ${title === "Caption" ? "the caption" : "the references"}` }, t.tuple.join(" – ")))))),
    tuples.length ? null : element("p", { class: "none" }, "The parser found nothing here."));
  return [valuesOf(payload), element("p", {}, "Tuples of the scene graphs; those that caption and references share are filled. The score is the harmonic mean of precision and recall."),
    element("div", { class: "sides" }, side("Caption", payload.candidate, part("precision", payload.candidate.length)),
      side("References", payload.references, part("recall", payload.references.length)))];
}
