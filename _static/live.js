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
    made.append(...inside.flat(Infinity).filter((part) => part || part === 0));
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

  // A tree as a list in lists: names[column] is the test, the rows that pass it come first.
  function drawTree(tree, names, classes, { alt = "A tree", bars = true } = {}) {
    const bar = ({ counts }) => element("span", { class: "odt-bar", "aria-hidden": "true" }, counts.map((n, c) =>
      element("i", { style: `flex-grow: ${n}; background: ${COLORS[c % COLORS.length]}` })));
    const line = (node, branch) => {
      const total = node.counts.reduce((a, b) => a + b, 0);
      const rows = node.counts.length > 3 ? `${total} rows` : node.counts.join(" | ");
      return element("li", {}, element("div", {}, branch && element("small", {}, branch),
        node.zero ? element("span", {}, names[node.column]) : element("b", {}, `→ ${classes[node.label]}`),
        element("small", {}, rows), bars && bar(node)),
        node.zero && element("ul", {}, line(node.one, "yes"), line(node.zero, "no")));
    };
    return element("ul", { class: "odt-tree", "aria-label": alt }, line(tree, ""));
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

  // A table of zeros and ones whose cells are flipped by a click or by Enter.
  const flips = (names, rows, changed) => element("table", {}, names.map((name, j) => element("tr", {},
    element("th", { scope: "row" }, name), rows.map((row, r) => {
      const cell = element("button", { type: "button", onclick: () => { row[j] = 1 - row[j]; show(); changed(); } });
      const show = () => {
        cell.textContent = row[j];
        cell.setAttribute("aria-label", `${name} of row ${r + 1}, now ${row[j]}`);
      };
      show();
      return element("td", {}, cell);
    }))));

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
    movable, drawTree, regions, thresholds, flips, count, start,
    picture(name, build) { builders[name] = build; } };
})();
