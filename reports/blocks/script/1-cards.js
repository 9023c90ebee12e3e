// The examples that contain the words of the search, some at a time.
for (const field of $$("[data-search]")) {
  const key = CSS.escape(field.dataset.search);
  const list = $(`#cards-${key}`);
  const more = $(`#more-${key}`);
  const step = Number(field.dataset.shown);
  let limit = step;
  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const card of list.children) {
      const text = card.textContent.toLowerCase();
      const fits = words.every((word) => text.includes(word));
      found += fits;
      card.hidden = !fits || found > limit;
    }
    more.hidden = found <= limit;
  };
  field.addEventListener("input", () => {
    limit = step;
    show();
  });
  list.closest("table")?.addEventListener("sorted", show);
  more.addEventListener("click", () => {
    limit += step;
    show();
  });
  show();
}
