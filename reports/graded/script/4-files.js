// The scores of this page as a file.
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
