// What can be downloaded from this page.
// One line a metric and selection of items, in full precision.
async function tableCsv() {
  const statistics = JSON.parse(await unfoldText("statistics"));
  const single = ["rank_order_rho", "rank_order_rho_tie_mean", "rank_order_rho_tie_std", "rank_order_rho_within",
    "spearman_rho", "kendall_tau_b", "tie_fraction", "pairwise_accuracy", "pairwise_ties", "monotone_rate", "inversion_rate"];
  const paired = ["rank_order_rho_ci", "rank_order_rho_within_ci", "rank_order_rho_bounds",
    "spearman_rho_ci", "kendall_tau_b_ci", "pairwise_accuracy_ci", "monotone_rate_ci", "inversion_rate_ci"];
  const steps = meta.sets.length - 1;
  const lines = [csvLine(["metric", "family", "status", "standing", "items", "n", "n_nan", ...single,
    ...paired.flatMap((k) => [`${k}_low`, `${k}_high`]),
    ...Array.from({ length: steps }, (_, k) => `auc_${k + 1}`), "signature", "reason"])];
  for (const record of statistics.metrics) {
    const selections = [["all", record], ["applied", record.every_level_applied], ["degrees", record.without_floor]];
    for (const [items, r] of selections) {
      if (!r) continue;
      lines.push(csvLine([record.metric, record.family, record.status,
        meta.metrics.find((m) => m.name === record.metric)?.kind ?? "absent", items, r.n, r.n_nan,
        ...single.map((k) => r[k]), ...paired.flatMap((k) => r[k] ?? ["", ""]),
        ...Array.from({ length: steps }, (_, k) => r.adjacent_auc?.[k]?.auc), record.signature, record.reason]));
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
