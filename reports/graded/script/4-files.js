// The downloads of this page.
// One line a metric and selection of items, in full precision.
async function tableCsv() {
  const statistics = JSON.parse(await unfoldText("statistics"));
  const estimates = ["rank_order_rho", "rank_order_rho_within", "spearman_rho", "kendall_tau_b", "pairwise_accuracy",
    "monotone_rate", "inversion_rate"];
  const single = ["rank_order_rho_tie_mean", "rank_order_rho_tie_std", "tie_fraction", "pairwise_ties"];
  const steps = meta.sets.length - 1;
  const lines = [csvLine(["metric", "family", "status", "standing", "items", "n", "n_nan",
    ...estimates.flatMap((k) => [k, `${k}_low`, `${k}_high`]), ...single,
    "rank_order_rho_bounds_low", "rank_order_rho_bounds_high",
    ...Array.from({ length: steps }, (_, k) => `auc_${k + 1}`), "signature", "reason"])];
  for (const metric of statistics.metrics) {
    const all = metric.statistics ?? {};
    const name = metric.column.name;
    const selections = [["all", all], ["applied", all.every_level_applied], ["degrees", all.without_floor]];
    for (const [items, r] of selections) {
      if (!r) continue;
      lines.push(csvLine([name, metric.family, metric.status,
        meta.metrics.find((m) => m.name === name)?.kind ?? "absent", items, r.n ?? r.n_images, r.n_nan,
        ...estimates.flatMap((k) => [r[k]?.value, r[k]?.low, r[k]?.high]), ...single.map((k) => r[k]),
        ...(r.rank_order_rho_bounds ?? ["", ""]),
        ...Array.from({ length: steps }, (_, k) => r.adjacent_auc?.[k]?.auc.value), metric.signature, metric.reason]));
    }
  }
  return lines;
}

// One line a caption, one column a metric, five significant digits.
async function scoresCsv() {
  const data = await examplesData();
  const lines = [csvLine(["image_id", "set", "level", "applied", "caption", ...meta.metrics.map((m) => m.name)])];
  data.rows.forEach(([id, , applied, captions], i) => {
    captions.forEach((caption, s) => {
      if (caption === null) return;
      lines.push(csvLine([id, meta.sets[s].name, meta.sets[s].level, Boolean((applied >> s) & 1), plain(caption),
        ...meta.metrics.map((_, m) => exact(data.score(m, s, i)))]));
    });
  });
  return lines;
}

offerDownloads("table", "scores");
