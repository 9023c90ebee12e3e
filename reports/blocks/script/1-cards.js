// The examples that contain the words of the search.
for (const field of $$("[data-search]")) {
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const card of $(`#cards-${CSS.escape(field.dataset.search)}`).children) {
      const text = card.textContent.toLowerCase();
      card.hidden = !words.every((word) => text.includes(word));
    }
  });
}
