"use strict";
// Theme, section links, copying.
document.documentElement.classList.add("on");
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const themes = ["auto", "light", "dark"];
function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  const button = $("#theme");
  button.textContent = theme[0].toUpperCase() + theme.slice(1);
  button.setAttribute("aria-label", `Colour theme: ${theme === "auto" ? "automatic" : theme}`);
  button.dataset.now = theme;
  try {
    localStorage.setItem("metaeval-theme", theme);
  } catch {
    // storage may be closed to file:// pages; the choice then lasts as long as the page
  }
}
let stored = null;
try {
  stored = localStorage.getItem("metaeval-theme");
} catch {
  // as above
}
setTheme(themes.includes(stored) ? stored : "auto");
$("#theme").addEventListener("click", () => {
  setTheme(themes[(themes.indexOf($("#theme").dataset.now) + 1) % themes.length]);
});

const links = new Map($$(".bar .links a").map((a) => [a.hash.slice(1), a]));
const seen = new Set();
const watcher = new IntersectionObserver(
  (entries) => {
    for (const e of entries) e.isIntersecting ? seen.add(e.target.id) : seen.delete(e.target.id);
    const first = [...links.keys()].find((id) => seen.has(id));
    for (const [id, a] of links) a.classList.toggle("here", id === first);
  },
  { rootMargin: "-15% 0px -65% 0px" },
);
for (const section of $$("main section")) watcher.observe(section);

for (const button of $$("[data-copy]")) {
  button.addEventListener("click", async () => {
    const code = $("code", button.parentElement);
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code); // no clipboard for this page: select it for Ctrl-C
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
}

// On paper there is nothing to click: intervals, p-values and evidence are printed.
addEventListener("beforeprint", () => {
  for (const details of $$("details.pvalues, details.evidence")) details.open = true;
});

// A link into a closed part opens it; not every browser does so by itself.
const reveal = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const closed = target?.closest("details:not([open])");
  if (!closed) return;
  closed.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();
