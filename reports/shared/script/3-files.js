// Files made in the browser from the data of this page.
function save(name, type, parts) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = element("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function csvLine(values) {
  const cell = (v) => {
    const s = v === null || v === undefined ? "" : String(v);
    return /[",\n\r]/.test(s) ? `"${s.replaceAll('"', '""')}"` : s;
  };
  return values.map(cell).join(",") + "\n";
}

// The buttons save what the page's tableCsv and scoresCsv make, under these names.
function offerDownloads(table, scores) {
  const downloads = {
    table: async () => save(`${meta.name}-${table}.csv`, "text/csv", await tableCsv()),
    scores: async () => save(`${meta.name}-${scores}.csv`, "text/csv", await scoresCsv()),
    statistics: async () => save("statistics.json", "application/json", [await unfoldText("statistics")]),
    config: async () => save("config.yaml", "text/yaml", [meta.config]),
  };
  for (const button of $$("[data-download]")) {
    button.addEventListener("click", () => downloads[button.dataset.download]());
  }
}
