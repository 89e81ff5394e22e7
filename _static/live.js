// What live pictures share: elements, a plane of dots, trees, the solver in a worker. A picture is
// <div class="odt-live-picture" data-picture="NAME"> with what stands there without a script;
// live.picture(NAME, build) replaces that by what build(box) makes.

// CART's tree and the optimal one with so many leaves, found by growing depths.
function odtCompare(core, { columns, y, K, leaves, depth }, early = () => {}) {
  const T = core.pack(columns, y, K), label = (tree) => core.labelled(tree, columns, y, K);
  const greedy = core.cart(T, leaves, depth), deepest = Math.max(1, Math.min(depth, leaves - 1));
  let found = { errors: label(greedy).errors, tree: greedy };
  for (let d = Math.min(2, deepest); d <= deepest; d++) {
    found = core.solve(T, { depth: d, nodes: leaves - 1, start: found, early: (better, share) =>
      early({ best: label((better.tree === undefined ? found : better).tree), depth: d, share }) });
  }
  return { cart: label(greedy), best: label(found.tree),
    any: label(core.cart(T, Infinity, Infinity)) };
}

// The same in a worker: told(message), the last with `done`. The function returned stops it. A page
// from the disk may not open a worker's file, so that it is made from the text of the functions.
function odtCompareApart(problem, told) {
  const text = `const core = (${odtCore})(), compare = ${odtCompare}; let last = 0;
    onmessage = ({ data }) => {
      const result = compare(core, data, (seen) => {
        if (Date.now() - last > 100) { postMessage(seen); last = Date.now(); }
      });
      postMessage({ ...result, share: 1, done: true });
    };`;
  const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
  worker.onmessage = ({ data }) => told(data);
  worker.onerror = (event) => told({ error: event.message });
  worker.postMessage(problem);
  return () => worker.terminate();
}

const live = (() => {
  const COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#999999"];
  const builders = {};

  function element(name, attributes, ...inside) {
    const made = name.startsWith("svg:")
      ? document.createElementNS("http://www.w3.org/2000/svg", name.slice(4))
      : document.createElement(name);
    for (const [key, value] of Object.entries(attributes ?? {})) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value !== false && value !== undefined) made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...inside.flat().filter((part) => part !== null && part !== undefined));
    return made;
  }

  // A drawing that shrinks with the page while its text keeps its size.
  function drawing(width, height, alt, ...inside) {
    const svg = element("svg:svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": alt,
      style: `max-width: ${width}px` }, ...inside);
    new ResizeObserver(() => svg.style.setProperty("--odt-shrunk", width / (svg.clientWidth || width)))
      .observe(svg);
    return svg;
  }

  const text = (x, y, words, anchor = "middle", more = {}) =>
    element("svg:text", { x, y, "text-anchor": anchor, ...more }, String(words));
  const rect = (x, y, width, height, more) => element("svg:rect", { x, y, width, height, ...more });
  const path = (d, more) => element("svg:path", { d, class: "odt-line", ...more });
  const button = (words, onclick) => element("button", { type: "button", onclick }, words);
  const controls = (...inside) => element("div", { class: "odt-controls" }, ...inside);
  const output = () => element("output", { "aria-live": "polite" });

  function slider(words, { min = 0, max, value, step = 1, said = String }, oninput) {
    const input = element("input", { type: "range", min, max, step, value }), shown = element("b", {});
    const show = () => {
      shown.textContent = said(+input.value);
      input.setAttribute("aria-valuetext", shown.textContent);
    };
    input.addEventListener("input", () => { show(); oninput(+input.value); });
    show();
    return Object.assign(element("label", {}, `${words} `, shown, input), {
      set(at, limits = {}) { Object.assign(input, limits, { value: at }); show(); } });
  }

  function select(words, options, oninput) {
    const input = element("select", { oninput: () => oninput(+input.value) },
      options.map((option, k) => element("option", { value: k }, option)));
    return element("label", {}, `${words} `, input);
  }

  function checkbox(words, checked, oninput) {
    const input = element("input", { type: "checkbox", checked, oninput: () => oninput(input.checked) });
    return element("label", { class: "odt-check" }, input, ` ${words}`);
  }

  // A point that pointer, touch and arrow keys move: moved(x, y) in the drawing's own units,
  // stepped(dx, dy) for a key, pressed() for Enter, a click or a tap.
  function movable(mark, label, { moved, stepped, pressed }) {
    mark.setAttribute("tabindex", "0");
    mark.setAttribute("role", "button");
    mark.setAttribute("aria-label", label);
    mark.classList.add("odt-movable");
    let from = null, far = false;
    mark.addEventListener("pointerdown", (event) => {
      mark.setPointerCapture(event.pointerId);
      [from, far] = [event, false];
    });
    mark.addEventListener("pointermove", (event) => {
      if (!from) return;
      far ||= Math.hypot(event.clientX - from.clientX, event.clientY - from.clientY) > 5;
      const svg = mark.ownerSVGElement, at = new DOMPoint(event.clientX, event.clientY)
        .matrixTransform(svg.getScreenCTM().inverse());
      if (far) moved(at.x, at.y);
    });
    for (const name of ["pointerup", "pointercancel"]) {
      mark.addEventListener(name, () => {
        if (from && !far && name === "pointerup") pressed?.();
        from = null;
      });
    }
    mark.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (step) stepped(...step);
      else if (pressed && ["Enter", " "].includes(event.key)) pressed();
      else return;
      event.preventDefault();
    });
    return mark;
  }

  // A tree from left to right: names[column] is the test, which is true for the ones.
  function drawTree(tree, names, classes, { alt = "A tree", width = 96, most = 26 } = {}) {
    const boxes = [], lines = [], high = 46, step = 54, gap = 40;
    let row = 0, deepest = 0;
    const cut = (words) => (words.length > most ? `${words.slice(0, most - 1)}…` : words);
    const wide = (node) => Math.max(width, 7.2 * cut(node.zero ? names[node.column] : classes[node.label]).length + 14,
      node.zero ? Math.max(wide(node.zero), wide(node.one)) : 0);
    width = wide(tree);
    const place = (node, depth) => {
      deepest = Math.max(deepest, depth);
      const x = depth * (width + gap);
      let y;
      if (node.zero) {
        const ends = [place(node.one, depth + 1), place(node.zero, depth + 1)];
        y = (ends[0] + ends[1]) / 2;
        ends.forEach((end, k) => {
          lines.push(path(`M${x + width},${y} L${x + width + gap},${end}`, { class: "odt-line odt-faint" }),
            text(x + width + gap - 4, end + (k ? 14 : -6), k ? "no" : "yes", "end"));
        });
      } else y = high / 2 + step * row++;
      const total = node.counts.reduce((a, b) => a + b, 0), top = y - high / 2;
      let at = x + 6;
      const full = node.zero ? names[node.column] : classes[node.label];
      boxes.push(element("svg:g", {}, element("svg:title", {}, full),
        rect(x, top, width, high, { class: "odt-box", rx: node.zero ? 3 : 14 }),
        text(x + 7, top + 15, cut(full), "start", { class: node.zero ? "" : "odt-strong" }),
        text(x + 7, top + 30, node.counts.length > 4 ? `${total} rows` : node.counts.join(" | "), "start"),
        node.counts.map((count, c) => {
          const part = total ? (width - 12) * count / total : 0, bar = rect(at, top + 35, part, 6,
            { fill: COLORS[c % COLORS.length] });
          at += part;
          return bar;
        })));
      return y;
    };
    place(tree, 0);
    return drawing(deepest * (width + gap) + width + 2, step * row, alt,
      element("svg:g", { transform: "translate(1 0)" }, lines, boxes));
  }

  // The rectangles of a tree over tests x_j <= t: tests[column] = [j, t]; box = [[lo, hi], [lo, hi]].
  function regions(tree, tests, box) {
    if (!tree.zero) return [{ box, label: tree.label }];
    const [j, t] = tests[tree.column];
    const side = (one) => box.map((span, k) => (k !== j ? span
      : one ? [span[0], Math.min(t, span[1])] : [Math.max(t, span[0]), span[1]]));
    return [...regions(tree.one, tests, side(true)), ...regions(tree.zero, tests, side(false))];
  }

  // The 0/1 columns x_j <= t of numbers, with their tests.
  function thresholds(rows) {
    const tests = rows[0].map((_, j) => {
      const values = [...new Set(rows.map((row) => row[j]))].sort((a, b) => a - b);
      return values.slice(1).map((v, k) => [j, (v + values[k]) / 2]);
    }).flat();
    return { tests, columns: tests.map(([j, t]) => rows.map((row) => +(row[j] <= t))) };
  }

  const count = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

  function start() {
    for (const box of document.querySelectorAll(".odt-live-picture[data-picture]")) {
      const build = builders[box.dataset.picture];
      if (!build || box.classList.contains("odt-live")) continue;
      const made = element("div", {});
      build(made, box);
      box.replaceChildren(made);
      box.classList.add("odt-live");
    }
  }
  addEventListener("DOMContentLoaded", start);

  return { COLORS, element, drawing, text, rect, path, button, controls, output, slider, select, checkbox,
    movable, drawTree, regions, thresholds, count, start,
    picture(name, build) { builders[name] = build; } };
})();
