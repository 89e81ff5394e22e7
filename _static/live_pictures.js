// The live pictures of the chapters. Each is short: live.js has what they share.

// Chapter 1: eight dots; CART's tree and the best one of depth two follow them.
live.picture("eight-dots", (box) => {
  const { element, button, controls, output, drawing, rect, movable, count } = live, core = odtCore();
  const X0 = [[1, 2], [3, 1], [2, 7], [4, 8], [5, 3], [7, 4], [6, 5], [8, 6]], y0 = [0, 0, 1, 1, 1, 1, 0, 0];
  let X = X0.map((row) => [...row]), y = [...y0], first = null;
  const STEP = 22, SIDE = 8 * STEP, words = output();
  const screen = ([a, b]) => [(a - 0.5) * STEP, SIDE - (b - 0.5) * STEP];
  const fit = (v) => Math.max(1, Math.min(8, Math.round(v)));
  const panels = ["CART", "The best tree"].map((title) => {
    const shade = element("svg:g", {}), tree = element("div", {}), said = element("p", {});
    const dots = X.map((_, r) => movable(element("svg:g", {}, element("svg:circle", { r: 9, stroke: "currentColor" }),
      live.text(0, 4, r + 1, "middle", { class: "odt-dot" })), "", {
      moved: (a, b) => move(r, [fit(a / STEP + 0.5), fit((SIDE - b) / STEP + 0.5)]),
      stepped: (a, b) => move(r, [fit(X[r][0] + a), fit(X[r][1] + b)]),
      pressed: () => { y[r] = 1 - y[r]; draw(`Row ${r + 1} changes its class. `); },
    }));
    return { title, shade, tree, said, dots, node: element("div", {}, element("b", {}, title), said,
      drawing(SIDE, SIDE, `${title}: eight dots that can be moved`, shade,
        rect(0, 0, SIDE, SIDE, { class: "odt-line odt-faint" }), dots), tree) };
  });

  function move(r, to) {
    if (to.join() === X[r].join()) return;
    X[r] = to;
    draw(`Row ${r + 1} is at ${to.join(", ")}. `);
  }

  function shake() {
    const r = Math.floor(8 * Math.random()), j = Math.floor(2 * Math.random());
    const to = [...X[r]];
    to[j] = fit(to[j] + (to[j] === 8 || (to[j] > 1 && Math.random() < 0.5) ? -1 : 1));
    move(r, to);
  }

  function draw(what = "") {
    const { tests, columns } = live.thresholds(X);
    const names = tests.map(([j, t]) => `x${j + 1} ≤ ${t}`);
    const T = core.pack(columns, y, 2);
    const made = [core.cart(T, 4, 2), core.solve(T, { depth: 2 }).tree].map((tree) => core.labelled(tree, columns, y, 2));
    panels.forEach(({ title, shade, tree, said, dots }, k) => {
      said.textContent = count(made[k].errors, "error");
      shade.replaceChildren(...live.regions(made[k], tests, [[0.5, 8.5], [0.5, 8.5]]).map(({ box: [u, v], label }) => {
        const [a, b] = screen([u[0], v[1]]);
        return rect(a, b, STEP * (u[1] - u[0]), STEP * (v[1] - v[0]), { fill: live.COLORS[label], "fill-opacity": 0.25 });
      }));
      dots.forEach((dot, r) => {
        dot.setAttribute("transform", `translate(${screen(X[r])})`);
        dot.firstChild.setAttribute("fill", live.COLORS[y[r]]);
        dot.setAttribute("aria-label", `row ${r + 1}, x1 = ${X[r][0]}, x2 = ${X[r][1]}, class ${y[r]}; Enter flips the class`);
      });
      tree.replaceChildren(live.drawTree(made[k], names, ["0", "1"], { alt: title, bars: false }));
    });
    const now = made[0].zero ? names[made[0].column] : "no test";
    const jump = first !== null && first !== now ? `CART's first test jumps from ${first} to ${now}. ` : "";
    first = now;
    const more = made[0].errors - made[1].errors;
    words.textContent = what + jump + (more ? `CART makes ${count(more, "error")} more than the best tree.` : "Here CART's tree is as good as the best one.");
  }

  box.append(element("div", { class: "odt-pair odt-narrow" }, panels.map(({ node }) => node)),
    controls(button("Move one row at random", shake), button("As in the text", () => {
      [X, y, first] = [X0.map((row) => [...row]), [...y0], null];
      draw();
    })), words);
  draw();
});

// Chapter 5: the search on eight rows, step by step, with every bound to switch off.
live.picture("search", (box) => {
  const { element, button, controls, output, slider, checkbox, count } = live, core = odtCore();
  const start = ["0000", "0010", "0111", "0111", "1011", "1001", "1100", "1100"];
  let rows = start.map((row) => [...row].map(Number)), at = 0, steps = [], seen = null;
  const use = { pairs: false, cache: true, similarity: true, equal: true, upper: true };
  const table = element("div", { class: "odt-scroll" }), list = element("ol", { class: "odt-steps", tabindex: 0 });
  const words = output(), total = element("p", {});
  const step = slider("Step", { min: 0, max: 1, value: 0 }, (k) => show(k));
  const bounds = { upper: "the upper bound", similarity: "the similarity bound", equal: "equal rows of two classes",
    cache: "the cache", pairs: "depth two from pair counts" };
  const saves = { upper: "what is left of the best so far", similarity: "the similarity bound", equal: "equal rows of two classes" };
  const test = ([j, v]) => `x${j + 1} = ${v}`, place = (path) => (path.length ? path.map(test).join(", ") : "all rows");

  function solve(off) {
    const columns = [0, 1, 2].map((j) => rows.map((row) => row[j])), y = rows.map((row) => row[3]), told = [];
    const T = core.pack(columns, y, 2);
    const result = core.solve(T, { depth: 3, use: { ...use, ...off }, told: (event) => told.push(event) });
    return { ...result, told, tree: core.labelled(result.tree, columns, y, 2) };
  }

  function sentence({ kind, path, errors, tree, upper, column, bound, stop, why, nodes }) {
    if (kind === "open") {
      return `Open ${place(path)}, ${nodes ? `at most ${count(nodes, "test")}` : "a leaf"}` +
        (Number.isFinite(upper) ? `, asked for fewer than ${count(upper, "error")}.` : ".");
    }
    if (kind === "hit") return `${place(path)}: the cache knows it, ${count(errors, "error")}.`;
    if (kind === "better") return `${place(path)}: x${tree.column + 1} first gives a tree with ${count(errors, "error")}, the best so far.`;
    if (kind === "pruned" && stop === 0) return `${place(path)}: x${column + 1} is left out, since there is a tree without an error.`;
    if (kind === "pruned") return `${place(path)}: x${column + 1} is closed by ${saves[why]}; it makes at least ${bound}, and fewer than ${stop} are asked for.`;
    return `${place(path)}: ` + (tree === undefined
      ? `no tree has fewer than ${upper} errors; the bound ${errors} is stored.` : `the best tree has ${count(errors, "error")}.`);
  }

  function show(k) {
    at = k;
    words.textContent = steps.length ? steps[k] : "A single leaf makes no error: there is nothing to search.";
    [...list.children].forEach((item, n) => {
      item.hidden = n > k;
      if (n === k) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    });
    list.scrollTop = list.scrollHeight;
    [back.disabled, next.disabled] = [k <= 0, k >= steps.length - 1];
  }

  function draw() {
    seen = solve({});
    steps = seen.told.map(sentence);
    list.replaceChildren(...seen.told.map(({ path }, k) => element("li", { style: `margin-left: ${path.length}em` }, steps[k])));
    step.set(0, { max: Math.max(0, steps.length - 1) });
    const { counts } = seen, all = solve({ upper: true, similarity: true, equal: true, cache: true }).counts;
    const off = ["upper", "similarity", "equal", "cache"].filter((name) => !use[name]);
    total.textContent = `The optimum has ${count(seen.errors, "error")}. This search opens ${count(counts.subproblems, "subproblem")}, ` +
      `finds ${counts.hits} in the cache, and closes ${counts.upper + counts.similarity + counts.equal} by a bound` +
      (off.length ? `; with ${off.map((name) => bounds[name]).join(", ")} on it opens ${all.subproblems}.`
        : `; without any of the four it opens ${solve({ upper: false, similarity: false, equal: false, cache: false }).counts.subproblems}.`);

    show(0);
  }

  const fill = () => table.replaceChildren(live.flips(["x1", "x2", "x3", "class"], rows, draw));
  const back = button("Back", () => { step.set(at - 1); show(at - 1); });
  const next = button("Next", () => { step.set(at + 1); show(at + 1); });
  box.append(table, controls(Object.entries(bounds).map(([name, what]) => checkbox(what, use[name], (on) => {
    use[name] = on;
    draw();
  }))), total, controls(back, next, step, button("As in the text", () => {
    rows = start.map((row) => [...row].map(Number));
    fill();
    draw();
  })), words, list);
  fill();
  draw();
});

// Chapter 8: a threshold swept over points, with the errors of every place.
live.picture("sweep", (box) => {
  const { element, controls, output, slider, drawing, path, text, movable, button, count } = live;
  const W = 320, FOOT = 150;
  let points = [[4, 0], [9, 0], [14, 0], [22, 1], [30, 0], [37, 0], [43, 1], [51, 1], [58, 0], [66, 1], [75, 1], [83, 1], [90, 0], [96, 1]];
  const words = output(), screen = (v) => W * v / 100;
  const line = path("", { "stroke-width": 2 }), cut = path("", { "stroke-width": 3 }), bound = path("", { "stroke-dasharray": "4 4" });
  let at = 80;
  const errors = (t) => [0, 1].map((side) => {
    const ones = points.filter(([v, c]) => (v > t) === Boolean(side) && c).length;
    const all = points.filter(([v]) => (v > t) === Boolean(side)).length;
    return Math.min(ones, all - ones);
  }).reduce((a, b) => a + b);
  const dots = points.map((_, r) => movable(element("svg:circle", { r: 8, cy: 20, stroke: "currentColor" }), "", {
    moved: (x) => { points[r][0] = Math.max(0, Math.min(100, Math.round(100 * x / W))); draw(); },
    stepped: (x) => { points[r][0] = Math.max(0, Math.min(100, points[r][0] + x)); draw(); },
    pressed: () => { points[r][1] = 1 - points[r][1]; draw(); },
  }));

  function draw() {
    const height = (e) => FOOT - 14 * e, ticks = Array.from({ length: 101 }, (_, k) => k);
    line.setAttribute("d", ticks.map((t) => `${t ? "L" : "M"}${screen(t)},${height(errors(t))}`).join(" "));
    cut.setAttribute("d", `M${screen(at)},4 V${FOOT}`);
    const here = errors(at);
    // one row that changes sides changes the errors by one at most
    bound.setAttribute("d", ticks.map((t) => {
      const between = points.filter(([v]) => (v <= t) !== (v <= at)).length;
      return `${t ? "L" : "M"}${screen(t)},${height(Math.max(0, here - between))}`;
    }).join(" "));
    dots.forEach((dot, r) => {
      dot.setAttribute("cx", screen(points[r][0]));
      dot.setAttribute("fill", live.COLORS[points[r][1]]);
      dot.setAttribute("aria-label", `point at ${points[r][0]}, class ${points[r][1]}`);
    });
    const best = Math.min(...ticks.map(errors));
    const shut = ticks.filter((t) => here - points.filter(([v]) => (v <= t) !== (v <= at)).length >= best + 1).length;
    words.textContent = `x ≤ ${at} makes ${count(here, "error")}; the best threshold makes ${best}. ` +
      `A row that changes sides changes the errors by one at most (dashed): this one count shows that ${shut} of the 101 thresholds are not the best.`;
  }

  box.append(drawing(W, FOOT + 20, "Points of two classes on a line, and the errors of every threshold", line, bound, cut,
    path(`M0,${FOOT} H${W}`, { class: "odt-line odt-faint" }), dots, text(0, FOOT + 15, "errors, from 0 at the line", "start"),
    text(W, FOOT + 15, "threshold →", "end")),
  controls(slider("Threshold", { max: 100, value: at }, (t) => { at = t; draw(); }),
    button("Best", () => {
      at = Array.from({ length: 101 }, (_, t) => t).reduce((a, b) => (errors(b) < errors(a) ? b : a));
      box.querySelector("input").value = at;
      box.querySelector("input").dispatchEvent(new Event("input"));
    })), words);
  draw();
});

// Chapter 9: all trees of depth two on eight rows, counted by their errors.
live.picture("good-trees", (box) => {
  const { element, controls, output, slider, button, count, rect, text, drawing } = live;
  const start = ["0000", "0010", "0111", "0111", "1011", "1001", "1100", "1100"];
  let rows = start.map((row) => [...row].map(Number)), extra = 1;
  const words = output(), table = element("div", { class: "odt-scroll" }), bars = element("div", {});

  // How many trees make k errors: the counts of two sides multiply. A leaf is one of its two classes.
  function counted(of, depth, used) {
    const ones = of.filter((row) => row[3]).length, result = new Array(9).fill(0);
    result[ones]++;
    result[of.length - ones]++;
    if (!depth) return result;
    for (let j = 0; j < 3; j++) {
      if (used.includes(j)) continue;
      const [a, b] = [0, 1].map((v) => counted(of.filter((row) => row[j] === v), depth - 1, [...used, j]));
      a.forEach((m, e) => b.forEach((n, f) => { if (m && n && e + f <= 8) result[e + f] += m * n; }));
    }
    return result;
  }

  function draw() {
    const result = counted(rows, 2, []), best = result.findIndex(Boolean), most = Math.max(...result);
    const inside = result.slice(best, best + extra + 1).reduce((a, b) => a + b, 0);
    bars.replaceChildren(drawing(324, 150, "Trees of depth two by their errors", result.map((n, k) => [
      rect(36 * k + 4, 118 - 96 * n / most, 28, 96 * n / most, { fill: live.COLORS[k >= best && k <= best + extra ? 0 : 7] }),
      text(36 * k + 18, 112 - 96 * n / most, n), text(36 * k + 18, 134, k)]), text(320, 148, "errors →", "end")));
    words.textContent = `Of ${count(result.reduce((a, b) => a + b, 0), "tree")} of depth at most two, ${inside} make at most ${count(extra, "error")} more than the optimum, which is ${best}.`;

  }

  const fill = () => table.replaceChildren(live.flips(["x1", "x2", "x3", "class"], rows, draw));
  box.append(table, controls(slider("Errors above the optimum", { max: 4, value: extra }, (k) => { extra = k; draw(); }),
    button("As in the text", () => { rows = start.map((row) => [...row].map(Number)); fill(); draw(); })), bars, words);
  fill();
  draw();
});

// Chapter 6: a threshold between five students; the means of both leaves are projected.
live.picture("leaves", (box) => {
  const { element, controls, output, slider, drawing, rect, text, movable, select, path } = live;
  const SIDE = 260, UNIT = SIDE / 10, words = output();
  const rows = [[1, 8, 0], [2, 6, 0], [3, 7, 0], [4, 0, 5], [5, 0, 6]];     // hours, two grades
  const one = ([a, b]) => (a >= b ? [a, 0] : [0, b]), low = (p) => p.map((v) => Math.min(3, v));
  const far = (p, q) => (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2;
  const sets = [
    ["at most one course", one, `M0,0 V${SIDE} H${SIDE} H0 Z`],
    ["one course, or both at most 3", (p) => [one(p), low(p)].sort((a, b) => far(p, a) - far(p, b))[0], `M0,0 V${SIDE} H${SIDE} H${3 * UNIT} v${-3 * UNIT} H0 Z`],
    ["course 1 at most course 2", ([a, b]) => (a <= b ? [a, b] : [(a + b) / 2, (a + b) / 2]), `M0,${SIDE} L${SIDE},0 L0,0 Z`],
    ["both between 3 and 6", (p) => p.map((v) => Math.max(3, Math.min(6, v))), `M${3 * UNIT},${4 * UNIT} h${3 * UNIT} v${3 * UNIT} h${-3 * UNIT} Z`],
  ];
  let chosen = 0, cut = 2;
  const shape = path("", { class: "odt-line", fill: live.COLORS[2], style: `fill: ${live.COLORS[2]}; fill-opacity: 0.2; stroke: ${live.COLORS[2]}; stroke-width: 3` });
  const screen = ([a, b]) => [UNIT * a, SIDE - UNIT * b], fit = (v) => Math.max(0, Math.min(10, Math.round(2 * v) / 2));
  const dots = rows.map((row, r) => movable(element("svg:circle", { r: 8, stroke: "currentColor" }), "", {
    moved: (a, b) => { [row[1], row[2]] = [fit(a / UNIT), fit((SIDE - b) / UNIT)]; draw(); },
    stepped: (a, b) => { [row[1], row[2]] = [fit(row[1] + a / 2), fit(row[2] + b / 2)]; draw(); },
  }));
  const marks = [0, 1].map((k) => ({ line: path("", { "stroke-dasharray": "4 3" }), mean: element("svg:circle", { r: 4, fill: "currentColor" }),
    to: rect(0, 0, 14, 14, { fill: live.COLORS[k], stroke: "currentColor", "stroke-width": 2 }) }));

  const middle = (leaf) => [1, 2].map((j) => leaf.reduce((s, row) => s + row[j], 0) / leaf.length);
  const price = (at) => [false, true].map((right) => rows.filter(([x]) => (x > at) === right)).reduce((total, leaf) => {
    const to = sets[chosen][1](middle(leaf));
    return total + leaf.reduce((s, row) => s + far(row.slice(1), to), 0);
  }, 0);

  function draw() {
    const project = sets[chosen][1];
    shape.setAttribute("d", sets[chosen][2]);
    let cost = 0, free = 0;
    const said = [0, 1].map((k) => {
      const leaf = rows.filter(([x]) => (x > cut) === Boolean(k));
      const mean = middle(leaf), to = project(mean);
      for (const row of leaf) {
        cost += (row[1] - to[0]) ** 2 + (row[2] - to[1]) ** 2;
        free += (row[1] - mean[0]) ** 2 + (row[2] - mean[1]) ** 2;
      }
      const [[a, b], [c, d]] = [mean, to].map(screen), mark = marks[k];
      mark.line.setAttribute("d", `M${a},${b} L${c},${d}`);
      mark.mean.setAttribute("cx", a);
      mark.mean.setAttribute("cy", b);
      mark.to.setAttribute("x", c - 7);
      mark.to.setAttribute("y", d - 7);
      const short = (p) => p.map((v) => +v.toFixed(2)).join(", ");
      return `hours ${k ? ">" : "≤"} ${cut}.5: the mean (${short(mean)}) goes to (${short(to)})`;
    });
    rows.forEach((row, r) => {
      const [a, b] = screen(row.slice(1));
      dots[r].setAttribute("cx", a);
      dots[r].setAttribute("cy", b);
      dots[r].setAttribute("fill", live.COLORS[+(row[0] > cut)]);
      dots[r].setAttribute("fill-opacity", 0.5);
      dots[r].setAttribute("aria-label", `student with ${row[0]} hours, grades ${row[1]} and ${row[2]}`);
    });
    const best = [1, 2, 3, 4].map(price).map((c, k) => [c, k + 1]).sort((a, b) => a[0] - b[0])[0];
    words.textContent = `${said.join("; ")}. Squared error ${cost.toFixed(1)}, without the rule ${free.toFixed(1)}: the difference is the number of rows times the squared distance of each move. The best split is ${best[1]}.5, at ${best[0].toFixed(1)}.`;
  }

  box.append(controls(select("Every prediction obeys", sets.map(([name]) => name), (k) => { chosen = k; draw(); }),
    slider("The tree tests hours ≤", { min: 1, max: 4, value: cut, said: (v) => `${v}.5` }, (v) => { cut = v; draw(); })),
  drawing(SIDE, SIDE + 18, "Five students in the plane of two grades, two leaves, their means and projections", shape,
    rect(0, 0, SIDE, SIDE, { class: "odt-line odt-faint" }), dots, marks.map(({ line, mean, to }) => [line, mean, to]),
    text(SIDE, SIDE + 14, "course 1 →", "end"), text(2, 12, "↑ course 2", "start")), words);
  draw();
});
