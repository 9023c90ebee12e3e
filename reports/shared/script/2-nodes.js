// Nodes, never markup: captions are other people's words.
function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, v] of Object.entries(attributes)) if (v) node.setAttribute(key, v);
  node.append(...children.filter((c) => c !== null));
  return node;
}

// Text with the words searched for marked.
function text(string, hit) {
  if (!hit) return [string];
  const parts = [];
  const lower = string.toLowerCase();
  let at = 0;
  for (let i; (i = lower.indexOf(hit, at)) >= 0; at = i + hit.length) {
    parts.push(string.slice(at, i), element("mark", {}, string.slice(i, i + hit.length)));
  }
  return [...parts, string.slice(at)];
}

const digits = (v) => (Number.isNaN(v) ? "–" : v.toFixed(4).replace("-", "−"));
const exact = (v) => (Number.isNaN(v) ? "" : String(Number(v.toPrecision(5))));
