// Live pictures of the chapters on linear programs and column generation.

// Primer: a point of the polygon and a pair of prices, pushed together.
live.picture("prices", (box) => {
  const { element, controls, output, slider, drawing, path, text, movable } = live;
  const UNIT = 60, H = 210, words = output(), short = (v) => +v.toFixed(2);
  let x = [1, 1], y = [1, 1];
  const screen = ([a, b]) => [10 + UNIT * a, H - UNIT * b];
  const line = path("", { "stroke-dasharray": "4 4" });
  const dot = movable(element("svg:circle", { r: 9, fill: live.COLORS[1], stroke: "currentColor" }), "", {
    moved: (a, b) => move([(a - 10) / UNIT, (H - b) / UNIT]),
    stepped: (a, b) => move([x[0] + a / 4, x[1] + b / 4]),
  });

  // to the nearest quarter that is allowed
  function move(to) {
    let [a, b] = to.map((v) => Math.max(0, Math.round(4 * v) / 4));
    a = Math.min(a, 4);
    b = Math.min(b, Math.floor(4 * Math.min((24 - 6 * a) / 4, (6 - a) / 2) + 1e-9) / 4);
    x = [a, b];
    draw();
  }

  function draw() {
    const [a, b] = screen(x), value = 5 * x[0] + 4 * x[1];
    dot.setAttribute("cx", a);
    dot.setAttribute("cy", b);
    dot.setAttribute("aria-label", `${x[0]} measurements and ${x[1]} questions`);
    line.setAttribute("d", `M${screen([value / 5, 0])} L${screen([0, value / 4])}`);
    const worth = [6 * y[0] + y[1], 4 * y[0] + 2 * y[1]], bound = 24 * y[0] + 6 * y[1];
    const low = [worth[0] < 5 && `a measurement costs ${short(worth[0])} and saves 5`,
      worth[1] < 4 && `a question costs ${short(worth[1])} and saves 4`].filter(Boolean);
    words.textContent = `${live.count(x[0], "measurement")} and ${live.count(x[1], "question")} save ${short(value)}. ` + (low.length
      ? `These prices prove nothing: ${low.join(", ")}.`
      : `These prices prove that no form saves more than 24 · ${y[0]} + 6 · ${y[1]} = ${short(bound)}.` +
        (bound - value < 1e-9 ? " The two meet: both are optimal." : ` Between the two lie ${short(bound - value)}.`));
  }

  box.append(drawing(270, 220, "The polygon of the form and a point that can be moved",
    element("svg:polygon", { points: [[0, 0], [4, 0], [3, 1.5], [0, 3]].map(screen).join(" "), fill: live.COLORS[0], "fill-opacity": 0.2 }),
    path(`M10,10 V${H} H265`, { class: "odt-line odt-faint" }), line, dot, text(265, H - 6, "measurements →", "end"), text(14, 14, "↑ questions", "start")),
  controls(["a minute", "a euro"].map((name, k) => slider(`Price of ${name}`, { max: 3, step: 0.25, value: y[k] }, (v) => { y[k] = v; draw(); }))), words);
  draw();
});

// Chapter 2: one node, a bit that may be a fraction, and what two formulations see of the errors.
live.picture("one-node", (box) => {
  const { element, button, controls, output, slider, drawing, path, text } = live;
  const start = [[1, 1], [1, 1], [1, 1], [1, 0], [0, 0], [0, 1]], W = 300, H = 120;
  let rows = start.map((row) => [...row]), tau = 0.75;
  const words = output(), table = element("div", {});
  const naive = path("", { "stroke-width": 2, style: `stroke: ${live.COLORS[0]}` });
  const summed = path("", { "stroke-width": 2, style: `stroke: ${live.COLORS[1]}` }), cut = path("");
  const short = (v) => +v.toFixed(2);

  // Rows with v = 1 go right for tau = 1; those with v = 0 always go left, where class 0 is predicted.
  function errors(t) {
    const always = rows.filter(([v, y]) => !v && y).length, M = rows.filter(([v]) => v).length;
    const ones = rows.filter(([v, y]) => v && y).length, zeros = M - ones;
    return [always + ones * (1 - t) + zeros * t,
      always + Math.max(0, ones - M * t) + Math.max(0, zeros - M * (1 - t))];
  }

  function draw() {
    const at = (t, e) => `${W * t},${H - 18 * e}`, ticks = Array.from({ length: 61 }, (_, k) => k / 60);
    [naive, summed].forEach((line, k) => line.setAttribute("d", ticks.map((t, n) => `${n ? "L" : "M"}${at(t, errors(t)[k])}`).join(" ")));
    cut.setAttribute("d", `M${at(tau, 0)} L${at(tau, 6.3)}`);
    const [a, b] = errors(tau), low = [0, 1].map((k) => Math.min(...ticks.map((t) => errors(t)[k])));
    words.textContent = `At τ = ${short(tau)} the naive form counts ${short(a)} errors and the summed one ${short(b)}. ` +
      `Their relaxations have the bounds ${short(low[0])} and ${short(low[1])}. Branching fixes τ: at 0 both count ${errors(0)[0]}, at 1 both ${errors(1)[0]}.`;
  }

  const shift = slider("τ", { max: 1, step: 0.05, value: tau, said: (v) => String(short(v)) }, (v) => { tau = v; draw(); });
  const fill = () => table.replaceChildren(live.flips(["v", "class"], rows, draw));
  box.append(table, drawing(W, H + 18, "Errors that two formulations count, for every value of the bit", path(`M0,${H} H${W} M0,6 V${H}`, { class: "odt-line odt-faint" }),
    naive, summed, cut, text(4, 12, "↑ errors counted", "start"), text(W, H + 15, "τ from 0 to 1 →", "end")),
  controls(element("span", {}, element("b", { style: `color: ${live.COLORS[0]}` }, "—"), " naive  ", element("b", { style: `color: ${live.COLORS[1]}` }, "—"), " summed"),
    shift, ["Branch: τ = 0", "τ = 1"].map((name, v) => button(name, () => { tau = v; shift.set(v); draw(); })),
    button("As in the text", () => { rows = start.map((row) => [...row]); fill(); draw(); })), words);
  fill();
  draw();
});

// The rows that follow a path: leaf (a, b) of a tree of depth two, tests i above and j below; its CP.
live.follow = (rows, [a, b], i, j) => rows.map((row, r) => r).filter((r) => rows[r][i] === a && rows[r][j] === b);
live.correct = (rows, of) => {
  const ones = of.filter((r) => rows[r][2]).length;
  return Math.max(ones, of.length - ones);
};
live.LEAVES = [[0, 0], [0, 1], [1, 0], [1, 1]];

// Chapter 3: move the dual values of a leaf, and see which path is priced.
live.picture("pricing", (box) => {
  const { element, controls, output, slider, select } = live;
  const rows = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]];
  let leaf = 0, duals = [0, 0, 0, 0, 0];
  const words = output(), table = element("div", { class: "odt-scroll" }), short = (v) => +v.toFixed(2);
  const names = ["α of the leaf", "γ of x1 at the root", "γ of x2 at the root", "γ of x1 below", "γ of x2 below"];

  function draw() {
    const paths = [[0, 0], [0, 1], [1, 0], [1, 1]].map(([i, j]) => {
      const of = live.follow(rows, live.LEAVES[leaf], i, j), cp = live.correct(rows, of);
      return { i, j, of, cp, reduced: cp - duals[0] - duals[1 + i] - duals[3 + j] };
    });
    const most = Math.max(...paths.map(({ reduced }) => reduced)), first = paths.find(({ reduced }) => reduced === most);
    table.replaceChildren(element("table", {}, element("tr", {}, ["root", "below", "rows", "CP", "reduced cost"].map((name) => element("th", {}, name))),
      paths.map((path) => element("tr", {}, [`x${path.i + 1}`, `x${path.j + 1}`, path.of.map((r) => r + 1).join(", ") || "none", path.cp, short(path.reduced)]
        .map((cell) => element("td", {}, path === first && most > 1e-9 ? element("b", {}, cell) : cell))))));
    words.textContent = most > 1e-9
      ? `The path with x${first.i + 1} at the root and x${first.j + 1} below is priced: it is worth ${first.cp} and has to pay ${short(first.cp - most)}.`
      : "No path of this leaf is worth more than it has to pay: none can improve the master.";
  }

  box.append(controls(select("Leaf", ["0", "1", "2", "3"], (k) => { leaf = k; draw(); }),
    names.map((name, k) => slider(name, { min: -2, max: 2, step: 0.5, value: 0, said: (v) => String(v) }, (v) => { duals[k] = v; draw(); }))), table, words);
  draw();
});

// Chapter 4: shares of two splits at each node, the value of the relaxation, and the rounded tree.
live.picture("rounding", (box) => {
  const { element, button, controls, output, slider } = live;
  const start = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1], [1, 1, 1]];
  let rows = start.map((row) => [...row]), shares = [0.5, 0.5, 0.5];
  const words = output(), table = element("div", {}), short = (v) => +v.toFixed(2);

  // Each leaf combines its two shares as well as it can; nothing else links the leaves.
  function value(root, below) {
    const follows = rows.map(() => 0);
    let total = 0;
    for (const leaf of live.LEAVES) {
      const r = root, c = below[leaf[0]];
      const [best] = [Math.max(0, r + c - 1), Math.min(r, c)].map((both) => {
        const x = [[0, 0, both], [0, 1, r - both], [1, 0, c - both], [1, 1, 1 - r - c + both]];
        return { x, value: x.reduce((s, [i, j, part]) => s + part * live.correct(rows, live.follow(rows, leaf, i, j)), 0) };
      }).sort((a, b) => b.value - a.value);
      total += best.value;
      for (const [i, j, part] of best.x) for (const r of live.follow(rows, leaf, i, j)) follows[r] += part;
    }
    return { total, follows };
  }

  function draw() {
    const { total, follows } = value(shares[0], shares.slice(1)), rounded = shares.map((v) => (v >= 0.5 ? 1 : 0));
    const tree = value(rounded[0], rounded.slice(1)).total, name = (v) => (v ? "x1" : "x2");
    const twice = follows.map((f, r) => [f, r + 1]).filter(([f]) => f > 1 + 1e-9);
    words.textContent = `The master counts ${short(total)} of ${rows.length} rows as right. Rounded, the tree tests ${name(rounded[0])} at the root, ${name(rounded[1])} on the left and ${name(rounded[2])} on the right, and has ${tree} right. ` +
      (twice.length ? `${twice.map(([f, r], k) => `${k ? "row" : "Row"} ${r} (${short(f)} times)`).join(" and ")} ` +
        (twice.length > 1 ? "follow more than one path. Their row constraints are violated, and would be the cuts."
          : "follows more than one path. Its row constraint is violated, and would be the cut.")
        : "No row follows more than one path.");
  }

  const shifts = ["Share of x1 at the root", "on the left", "on the right"].map((name, k) =>
    slider(name, { max: 1, step: 0.05, value: 0.5, said: (v) => String(short(v)) }, (v) => { shares[k] = v; draw(); }));
  const fill = () => table.replaceChildren(live.flips(["x1", "x2", "class"], rows, draw));
  const set = (to) => { shares = to; shifts.forEach((shift, k) => shift.set(to[k])); draw(); };
  box.append(table, controls(shifts, button("Round", () => set(shares.map((v) => (v >= 0.5 ? 1 : 0)))),
    button("As in the text", () => { rows = start.map((row) => [...row]); fill(); set([0.5, 0.5, 0.5]); })), words);
  fill();
  draw();
});

// Chapter 12: a certificate of eight rows, checked line by line; one of its lines can be forged.
live.picture("certificate", (box) => {
  const { element, button, controls, output, select, count } = live, names = ["a", "b", "c"];
  const start = [0, 1, 2, 3, 4, 5, 6, 7].map((r) => [r >> 2, (r >> 1) & 1, r & 1]).map((v) => [...v, +(v[0] + v[1] + v[2] > 1)]);
  let rows = start.map((row) => [...row]), forged = 0;
  const words = output(), table = element("div", { class: "odt-scroll" }), lines = element("table", {});
  const leaf = (part) => Math.min(...[0, 1].map((c) => part.filter((row) => row[3] !== c).length));
  const side = (part, j, v) => part.filter((row) => row[j] === v);
  const stump = (part) => Math.min(leaf(part), ...[0, 1, 2].map((j) => leaf(side(part, j, 0)) + leaf(side(part, j, 1))));

  function draw() {
    const said = [0, 1, 2].flatMap((j) => [0, 1].map((v) => ({ rows: `${names[j]} = ${v}`, depth: 1, why: "counted", bound: stump(side(rows, j, v)) })));
    said.push({ rows: "all", depth: 2, why: "every split: 0 and 1, 2 and 3, 4 and 5",
      bound: Math.min(leaf(rows), ...[0, 2, 4].map((k) => said[k].bound + said[k + 1].bound)) });
    const follows = said.map(({ bound }) => bound);
    if (forged) said[forged - 1].bound++;
    const wrong = forged - 1;
    lines.replaceChildren(element("tr", {}, ["line", "rows", "depth", "bound", "reason"].map((head) => element("th", {}, head))),
      ...said.map((line, k) => element("tr", {}, [k, line.rows, line.depth, line.bound, line.why].map((cell) =>
        element("td", {}, k === wrong ? element("b", {}, String(cell)) : String(cell))))));
    words.textContent = forged ? `Not proved: line ${wrong} says ${said[wrong].bound}, and what follows is ${follows[wrong]}.`
      : `Proved: no tree of depth 2 over these 3 columns makes fewer than ${count(follows[6], "error")} on these 8 rows.`;
  }

  const fill = () => table.replaceChildren(live.flips([...names, "label"], rows, draw));
  const raise = select("Forge", ["no line", ...[0, 1, 2, 3, 4, 5, 6].map((k) => `line ${k}: one more`)], (k) => { forged = k; draw(); });
  box.append(table, controls(raise, button("As in the text", () => {
    [rows, forged] = [start.map((row) => [...row]), 0];
    raise.querySelector("select").value = 0;
    fill();
    draw();
  })), element("div", { class: "odt-scroll" }, lines), words);
  fill();
  draw();
});
