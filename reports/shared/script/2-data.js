// The data of the page: `meta` at once, captions, scores and statistics when first asked for.
const meta = JSON.parse($("#meta").textContent);

async function unfold(name) {
  const packed = atob($(`#data-${name}`).textContent);
  const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

const unfoldText = async (name) => new TextDecoder().decode(await unfold(name));

// Four byte planes to float32; value (c, s, i) stands at (c * sets + s) * images + i.
async function unfoldScores() {
  const planes = new Uint8Array(await unfold("scores"));
  const n = planes.length / 4;
  const bytes = new Uint8Array(planes.length);
  for (let k = 0; k < 4; k++) for (let i = 0; i < n; i++) bytes[4 * i + k] = planes[k * n + i];
  return new Float32Array(bytes.buffer);
}

let loading = null;
function examplesData() {
  loading ??= Promise.all([unfoldText("captions").then(JSON.parse), unfoldScores()]).then(
    ([rows, scores]) => {
      const sets = meta.sets.length;
      return {
        rows,
        score: (metric, set, image) => scores[(metric * sets + set) * rows.length + image],
      };
    },
  );
  return loading;
}

// The caption inside a marked caption, piece by piece: [kind ("" = unchanged), before, text].
function pieces(marked) {
  const parts = [];
  let rest = marked;
  for (;;) {
    const open = rest.indexOf("\x01");
    if (open < 0) break;
    const mid = rest.indexOf("\x02", open);
    const close = rest.indexOf("\x03", mid);
    if (open) parts.push(["", "", rest.slice(0, open)]);
    parts.push([rest[open + 1], rest.slice(open + 2, mid), rest.slice(mid + 1, close)]);
    rest = rest.slice(close + 1);
  }
  if (rest) parts.push(["", "", rest]);
  return parts;
}

// The caption that a marked caption stands for.
function plain(marked) {
  const kept = marked.replace(/\x01d[^\x03]*\x03 ?/g, "").replace(/\x01[^\x02]*\x02|\x03/g, "");
  return marked.endsWith("\x03") ? kept.replace(/ $/, "") : kept;
}
