// A tree whose rows can be followed and whose thresholds can be moved.
(box, tree) => {
  const find = (selector) => box.querySelector(selector);
  const part = (node, name) => find(`[data-node="${node}"] [data-part="${name}"]`);
  const row = find("[data-row]"), chosen = find("[data-test]"), cut = find("[data-cut]");
  const where = find("[data-where]"), said = find("[data-said]");
  const start = [...tree.threshold];
  const threshold = [...start];
  const value = (j, r) => tree.columns[tree.feature[j]][r];
  const short = (number) => +number.toPrecision(4);
  const asks = (j) => tree.asks[j] ? "is 1?" : `≤ ${short(threshold[j])}`;
  const test = (j) => `${tree.names[tree.feature[j]]} ${asks(j)}`;

  function path(r) {
    const nodes = [0];
    for (let j = 0; tree.left[j] >= 0;) {
      j = value(j, r) <= threshold[j] ? tree.left[j] : tree.right[j];
      nodes.push(j);
    }
    return nodes;
  }

  // The class of most rows, the first of several; of an empty node that of its parent.
  function count() {
    const counts = tree.left.map(() => tree.classes.map(() => 0));
    tree.y.forEach((c, r) => path(r).forEach((j) => { counts[j][c] += 1; }));
    const labels = [];
    tree.left.forEach((left, j) => {
      const most = Math.max(...counts[j]);
      if (most > 0 || j === 0) labels[j] = counts[j].indexOf(most);
      if (left >= 0) labels[left] = labels[tree.right[j]] = labels[j];
    });
    return [counts, labels];
  }

  function errorsOf(counts, labels) {
    return counts.reduce((sum, at, j) => tree.left[j] >= 0 ? sum
      : sum + at.reduce((a, b) => a + b, 0) - at[labels[j]], 0);
  }

  const [atFirst, labelsAtFirst] = count();
  const found = errorsOf(atFirst, labelsAtFirst);

  function draw() {
    const [counts, labels] = count();
    const nodes = path(+row.value), c = tree.y[+row.value];
    tree.left.forEach((left, j) => {
      const total = counts[j].reduce((a, b) => a + b, 0);
      part(j, "title").textContent = left >= 0 ? asks(j) : tree.classes[labels[j]];
      part(j, "counts").textContent = counts[j].join(" | ");
      let x = 0;
      counts[j].forEach((k, i) => {
        const bar = part(j, `bar${i}`), width = total ? tree.width * k / total : 0;
        bar.setAttribute("x", x);
        bar.setAttribute("width", width);
        x += width;
      });
      part(j, "box").classList.toggle("odt-on", nodes.includes(j));
      find(`[data-edge="${j}"]`)?.classList.toggle("odt-on", nodes.includes(j));
    });
    const steps = nodes.slice(0, -1).map((j) => {
      const v = value(j, +row.value);
      const name = tree.names[tree.feature[j]];
      return tree.asks[j] ? `${name}: ${v ? "yes" : "no"}`
        : `${name} = ${short(v)} ${v <= threshold[j] ? "≤" : ">"} ${short(threshold[j])}`;
    });
    const told = labels[nodes.at(-1)];
    where.textContent = `Row ${+row.value + 1}: ${steps.join("; ")}. Predicted ` +
      `${tree.classes[told]}, ` + (told === c ? "which is right." : `but it is ${tree.classes[c]}.`);
    const errors = errorsOf(counts, labels);
    said.textContent = `${errors} of ${tree.y.length} rows ${errors === 1 ? "is" : "are"} wrong` +
      (errors === found ? "." : ` (${found} in the tree as found).`);
  }

  function choose(j) {
    chosen.value = j;
    const cuts = tree.cuts[tree.feature[j]];
    cut.max = cuts.length - 1;
    cut.disabled = cuts.length < 2;     // a column of zeros and ones has one threshold
    cut.value = cuts.findIndex((t) => t >= threshold[j]);
    cut.setAttribute("aria-valuetext", test(j));
  }

  row.addEventListener("input", draw);
  chosen.addEventListener("change", () => choose(+chosen.value));
  cut.addEventListener("input", () => {
    const j = +chosen.value;
    threshold[j] = tree.cuts[tree.feature[j]][+cut.value];
    cut.setAttribute("aria-valuetext", test(j));
    draw();
  });
  find("button").addEventListener("click", () => {
    threshold.splice(0, threshold.length, ...start);
    choose(+chosen.value);
    draw();
  });
  for (const node of box.querySelectorAll("[data-node]")) {
    const j = +node.dataset.node;
    if (tree.left[j] >= 0) node.addEventListener("click", () => choose(j));
  }
  choose(+chosen.value);
  draw();
}
