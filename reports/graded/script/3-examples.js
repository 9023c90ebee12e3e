// Examples: the images in the order of a metric's inversions.
const textsOf = (row) => [row[1], ...row[3].map((c) => (c === null ? "" : plain(c))), ...row[4]];

function arrange(data) {
  const metric = allMetrics[by.selectedIndex];
  if (!metric) return "";
  const severity = new Map(order.map((i) => [i, inversion(data, metric, i)[0]]));
  const count = order.filter((i) => severity.get(i) > 0).length;
  if (sort.value === "worst") order.sort((a, b) => severity.get(b) - severity.get(a) || a - b);
  if (sort.value === "best") order.sort((a, b) => severity.get(a) - severity.get(b) || a - b);
  return `; ${metric.name} has an inversion in ${count.toLocaleString("en")} of them`;
}

for (const m of allMetrics) {
  by.append(new Option(m.kind === "random" ? `${m.name} (random weights)` : m.name));
}
by.selectedIndex = allMetrics.findIndex((m) => m.name === meta.opening);
if (by.selectedIndex < 0) by.selectedIndex = 0;
startCards([by, sort], "examples");
