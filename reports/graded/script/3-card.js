// One image's card: its versions with their changed words marked, references, all scores.
function marked(caption, hit) {
  return pieces(caption).map(([kind, before, after]) => {
    const node = document.createDocumentFragment();
    if (kind === "") node.append(...text(after, hit));
    else if (kind === "d") node.append(element("del", {}, ...text(before, hit)));
    else {
      const old = kind === "s" ? element("del", {}, before) : null;
      node.append(element("ins", { class: kind }, ...[old].filter(Boolean), ...text(after, hit)));
    }
    return node;
  });
}

// Whether a version is what its level says: an unchanged caption is not worse than the original,
// so no score of it is an inversion.
const isApplied = (data, set, image) => Boolean((data.rows[image][2] >> set) & 1);

// The most by which a worse version outscores a better one: [difference, worse, better].
function inversion(data, metric, image) {
  let worst = [-Infinity, -1, -1];
  for (let a = 0; a < meta.sets.length; a++) {
    for (let b = 0; b < meta.sets.length; b++) {
      if (meta.sets[a].level >= meta.sets[b].level) continue;
      if (!isApplied(data, a, image) || !isApplied(data, b, image)) continue;
      const d = metric.sign * (data.score(metric.k, a, image) - data.score(metric.k, b, image));
      if (d > worst[0]) worst = [d, a, b];
    }
  }
  return worst;
}

// Whether a version outscores ("inv") or ties ("tie") one that is better.
function fault(data, metric, set, image) {
  const score = data.score(metric.k, set, image);
  let sign = "";
  meta.sets.forEach((other, b) => {
    if (other.level <= meta.sets[set].level) return;
    if (!isApplied(data, set, image) || !isApplied(data, b, image)) return;
    const d = metric.sign * (score - data.score(metric.k, b, image));
    if (d > 0) sign = "inv";
    else if (d === 0 && !sign) sign = "tie";
  });
  return sign;
}

function card(data, image, hit) {
  const [id, , , captions, references] = data.rows[image];
  const chosen = allMetrics[by.selectedIndex];
  const columns = chosen ? [chosen, ...allMetrics.filter((m) => m !== chosen)] : [];
  const head = element("tr", {}, element("th", { scope: "col" }, "Version"), element("th", { scope: "col", class: "text" }, "Caption"),
    ...columns.map((m) => element("th", { scope: "col", class: m === chosen ? "by" : "" }, m.name)));
  const rows = captions.map((caption, s) => {
    if (caption === null) return null;
    const note = !isApplied(data, s, image) ? element("em", {}, "unchanged") : null;
    const scores = columns.map((m) => {
      const v = data.score(m.k, s, image), f = fault(data, m, s, image);
      const sign = f ? element("span", { class: "sg", "aria-label": f === "inv" ? "inversion" : "tie" }, f === "inv" ? "▲" : "=") : null;
      return element("td", { class: `${f} ${m === chosen ? "by" : ""}`.trim(), title: exact(v) }, ...[sign].filter(Boolean), digits(v));
    });
    return element("tr", {}, element("th", { scope: "row", class: `l${s}` }, element("i"), meta.sets[s].name),
      element("td", { class: "text" }, ...marked(caption, hit), note), ...scores);
  });
  let verdict = "";
  if (chosen) {
    const [d, a, b] = inversion(data, chosen, image);
    if (a >= 0) {
      const size = digits(Math.abs(d));
      verdict = d > 0 ? `${chosen.name}: ${meta.sets[a].name} outscores ${meta.sets[b].name} by ${size}`
        : d === 0 ? `${chosen.name}: ${meta.sets[a].name} ties with ${meta.sets[b].name}`
        : `${chosen.name}: all in order, closest ${size} apart`;
    }
  }
  const photo = meta.photos[String(id)];
  return element("article", { class: photo ? "card photo" : "card", "aria-label": `Image ${id}` },
    photo ? element("img", { src: photo, alt: `Image ${id}` }) : null,
    element("h3", {}, `Image ${id}`, element("span", {}, verdict)),
    element("div", { class: "scroll" }, element("table", {}, element("thead", {}, head),
      element("tbody", {}, ...rows.filter(Boolean).reverse()))),
    element("details", hit && references.some((r) => r.toLowerCase().includes(hit)) ? { open: "open" } : {},
      element("summary", {}, `${references.length} references`),
      element("ul", {}, ...references.map((r) => element("li", {}, ...text(r, hit))))),
    ...drills(data, image, chosen));
}
