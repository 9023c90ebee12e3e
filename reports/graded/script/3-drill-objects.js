// CHAIR: which objects the caption mentions, and which objects the image has.
function drawObjects(payloads, set) {
  const payload = payloads[set];
  const wrong = payload.candidate.filter((m) => !m.matched).length;
  const total = payload.candidate.length;
  const named = new Set(payload.candidate.map((m) => m.object));
  const item = (text, matched) => element("li", matched ? { class: "matched" } : {}, text);
  const label = (m) => (m.words === m.object ? m.words : `${m.words}: ${m.object}`);
  const side = (title, score, items) => element("section", { class: "tuples" }, element("h4", {}, title, element("span", {}, score)),
    items.length ? element("ul", { "aria-label": title }, ...items) : element("p", { class: "none" }, "No object is named."));
  return [valuesOf(payload), element("p", {}, "Objects that are both in the caption and in the image are filled. The score is the share of mentions that are not."),
    element("div", { class: "sides" },
      side("Caption", `wrong ${wrong} of ${total}${total ? `: ${brief(wrong / total)}` : ""}`, payload.candidate.map((m) => item(label(m), m.matched))),
      side("Image", "", payload.image.map((object) => item(object, named.has(object)))))];
}
