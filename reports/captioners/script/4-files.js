// What can be downloaded from this page.
// One line a score and system, in full precision, with what separates it from the next.
async function tableCsv() {
  const statistics = JSON.parse(await unfoldText("statistics"));
  const human = new Map(statistics.against_human.map((r) => [r.metric, r.systems]));
  const lines = [csvLine(["metric", "family", "aggregate", "status", "system", "rank", "n", "score", "score_low", "score_high",
    "ahead_of", "difference", "p_permutation", "p_permutation_holm", "p_bootstrap", "p_bootstrap_holm",
    "rank_order_rho_against_human", "rho_low", "rho_high", "signature", "reason"])];
  for (const r of statistics.metrics) {
    const start = [r.metric, r.family, r.aggregate, r.status];
    if (r.status !== "ok") lines.push(csvLine([...start, ...Array(16).fill(""), r.reason]));
    for (const [name, scores] of Object.entries(r.systems)) {
      const test = r.neighbours.find((t) => t.better === name) ?? {};
      const duel = r.aggregate === "corpus" ? {} : human.get(r.column)?.[name] ?? {};
      const rank = r.ranking.indexOf(name) + 1 || "";
      lines.push(csvLine([...start, name, rank, scores.n, scores.score, ...scores.score_ci,
        test.worse, test.difference, test.p_permutation, test.p_permutation_holm, test.p_bootstrap, test.p_bootstrap_holm,
        duel.rank_order_rho, ...(duel.rank_order_rho_ci ?? ["", ""]), r.signature, r.reason]));
    }
  }
  return lines;
}

// One line a caption, one column a metric, five significant digits.
async function scoresCsv() {
  const data = await examplesData();
  const lines = [csvLine(["image_id", "disagreement", "system", "caption", ...meta.metrics.map((m) => m.name)])];
  data.rows.forEach(([id, disagreement, captions], i) => {
    captions.forEach((caption, s) => {
      if (caption === null) return;
      const scores = meta.metrics.map((_, m) => exact(data.score(m, s, i)));
      lines.push(csvLine([id, disagreement, meta.sets[s].name, caption, ...scores]));
    });
  });
  return lines;
}

offerDownloads("scores", "captions");
