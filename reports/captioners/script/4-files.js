// What can be downloaded from this page.
// One line a score and system, in full precision, with what separates it from the next.
async function tableCsv() {
  const statistics = JSON.parse(await unfoldText("statistics"));
  const human = new Map(statistics.against_human.map((m) => [m.column.name, m.statistics?.systems]));
  const lines = [csvLine(["metric", "family", "aggregate", "status", "system", "rank", "n", "score", "score_low", "score_high",
    "ahead_of", "difference", "p_permutation", "p_permutation_holm", "p_bootstrap", "p_bootstrap_holm",
    "rank_order_rho_against_human", "rho_low", "rho_high", "signature", "reason"])];
  for (const metric of statistics.metrics) {
    const r = metric.statistics;
    const start = [metric.column.name, metric.family, r?.aggregate ?? "", metric.status];
    if (!r) {
      lines.push(csvLine([...start, ...Array(16).fill(""), metric.reason]));
      continue;
    }
    for (const [name, score] of Object.entries(r.systems)) {
      const lead = r.neighbours.pairs.find((pair) => pair.a === name);
      const ps = (method) => {
        const test = lead?.tests.find((t) => t.method === method);
        return [test?.p, test?.p_adjusted];
      };
      const rho = r.aggregate === "corpus" ? undefined : human.get(r.sentence_column)?.[name]?.rank_order_rho;
      const rank = r.ranking.indexOf(name) + 1 || "";
      lines.push(csvLine([...start, name, rank, score.n, score.value, score.low, score.high,
        lead?.b, lead?.difference.value, ...ps("permutation"), ...ps("bootstrap"),
        rho?.value, rho?.low, rho?.high, metric.signature, metric.reason]));
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
