// "Your own table" on the landing page: CART's tree and the optimal one for a CSV of the reader's,
// which stays on the reader's computer. Numbers and words are cut roughly as AutoBinarizer cuts them.
(() => {
  const { element, button, controls, output, slider, select, count } = live;
  const MISSING = /^(|na|n\/a|nan|null|none|\?|-)$/i, COLUMNS = 300, CLASSES = 20;

  // A text of lines to {names, rows of strings}: commas, semicolons or tabs, quotes, any line end.
  function readCsv(text) {
    text = text.replace(/^\uFEFF/, "");
    const first = text.split(/\r?\n/, 1)[0].replace(/"[^"]*"/g, "");
    const mark = [",", ";", "\t"].sort((a, b) => first.split(b).length - first.split(a).length)[0];
    const rows = [[]];
    let cell = "", quoted = false;
    const end = () => { rows.at(-1).push(cell.trim()); cell = ""; };
    for (let k = 0; k < text.length; k++) {
      const c = text[k];
      if (quoted && c === '"' && text[k + 1] === '"') { cell += c; k++; }
      else if (c === '"' && (quoted || cell === "")) quoted = !quoted;
      else if (!quoted && c === mark) end();
      else if (!quoted && (c === "\n" || c === "\r")) {
        end();
        if (c === "\r" && text[k + 1] === "\n") k++;
        rows.push([]);
      } else cell += c;
    }
    end();
    const full = rows.filter((row) => row.length > 1 || row[0] !== "");
    const names = full.shift() ?? [];
    return { names: names.map((name, j) => name || `column ${j + 1}`),
      rows: full.map((row) => names.map((_, j) => row[j] ?? "")), comma: mark === ";" };
  }

  const numberOf = (cell, comma) => Number(comma ? cell.replace(",", ".") : cell);

  // What a column is: {kind: "number" | "words", values, different}; a missing cell is null.
  function columnOf(table, j) {
    const cells = table.rows.map((row) => (MISSING.test(row[j]) ? null : row[j]));
    const there = cells.filter((cell) => cell !== null);
    const isNumber = there.length > 0 && there.every((c) => Number.isFinite(numberOf(c, table.comma)));
    const values = isNumber ? cells.map((c) => (c === null ? null : numberOf(c, table.comma))) : cells;
    return { kind: isNumber ? "number" : "words", values, different: new Set(there).size };
  }

  const short = (v) => String(+v.toPrecision(4));

  // The target: a class for each row, or a sentence that says why there is none.
  function classesOf(column, name) {
    const { kind, values, different } = column, said = [];
    if (different < 2) throw Error(`The column ${name} has one value only: there is nothing to predict.`);
    let labels = values.map((v) => (v === null ? null : String(v)));
    if (kind === "number" && different > CLASSES) {
      const sorted = values.filter((v) => v !== null).sort((a, b) => a - b);
      let middle = sorted[(sorted.length - 1) >> 1];
      if (middle === sorted.at(-1)) middle = sorted.findLast((v) => v < middle);
      labels = values.map((v) => (v === null ? null : v <= middle ? `≤ ${short(middle)}` : `> ${short(middle)}`));
      said.push(`${name} is a number: the classes are its lower and its upper half.`);
    } else if (different > CLASSES) {
      throw Error(`The column ${name} has ${different} different values; the page takes ${CLASSES} classes.`);
    }
    const classes = [...new Set(labels.filter((v) => v !== null))].sort();
    const lost = labels.filter((v) => v === null).length;
    if (lost) said.push(`${count(lost, "row")} without ${name} left out.`);
    return { classes, y: labels.map((v) => (v === null ? -1 : classes.indexOf(v))), said };
  }

  // 0/1 columns of one feature, with cuts that the training rows choose.
  function cut(name, column, training, most) {
    const { kind, values } = column, made = [];
    const seen = training.map((r) => values[r]).filter((v) => v !== null);
    const add = (words, test) => made.push({ name: words, values: values.map((v) => +(v !== null && test(v))) });
    if (kind === "number" && new Set(seen).size <= 2 && seen.every((v) => v === 0 || v === 1)) {
      add(name, (v) => v === 1);
    } else if (kind === "number") {
      const sorted = seen.sort((a, b) => a - b), cuts = new Set();
      const steps = [...new Set(sorted)];
      for (let k = 1; k <= most; k++) {
        const at = steps.length - 1 <= most ? steps.indexOf(steps[k - 1])
          : steps.indexOf(sorted[Math.floor(k * sorted.length / (most + 1))]);
        if (at >= 0 && at + 1 < steps.length) cuts.add((steps[at] + steps[at + 1]) / 2);
      }
      for (const t of cuts) add(`${name} ≤ ${short(t)}`, (v) => v <= t);
    } else {
      const often = new Map();
      for (const v of seen) often.set(v, (often.get(v) ?? 0) + 1);
      const words = [...often].sort((a, b) => b[1] - a[1]).slice(0, Math.max(3, Math.min(12, most)));
      for (const [word] of often.size === 2 ? words.slice(0, 1) : words) add(`${name} = ${word}`, (v) => v === word);
    }
    if (values.includes(null)) {
      made.push({ name: `${name} is missing`, values: values.map((v) => +(v === null)) });
    }
    return made;
  }

  // Numbers between 0 and 1 from a seed, the same in every browser.
  function random(seed) {
    return () => {
      seed = (seed + 0x6d2b79f5) | 0;
      let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }

  // A table of cells to a problem of 0/1 columns: training rows and a held-out third.
  function prepare(table, target, seed) {
    const kinds = table.names.map((_, j) => columnOf(table, j));
    const { classes, y, said } = classesOf(kinds[target], table.names[target]);
    const rows = [...y.keys()].filter((r) => y[r] >= 0), next = random(seed);
    for (let k = rows.length - 1; k > 0; k--) {
      const other = Math.floor(next() * (k + 1));
      [rows[k], rows[other]] = [rows[other], rows[k]];
    }
    const held = rows.slice(0, Math.floor(rows.length / 3)), training = rows.slice(held.length);
    if (held.length < 2) throw Error("A table needs at least six rows, for training and for a held-out third.");
    const used = table.names.map((_, j) => j).filter((j) => j !== target && kinds[j].different > 1);
    const ids = used.filter((j) => kinds[j].kind === "words" && kinds[j].different > 0.5 * rows.length && kinds[j].different > 12);
    if (ids.length) said.push(`Left out, since almost every row has a value of its own: ${ids.map((j) => table.names[j]).join(", ")}.`);
    const features = used.filter((j) => !ids.includes(j));
    const most = Math.max(3, Math.min(31, Math.floor(60 / Math.max(1, features.length))));
    const columns = features.flatMap((j) => cut(table.names[j], kinds[j], training, most));
    if (features.some((j) => kinds[j].different > 2)) {
      said.push(`Numbers are cut at up to ${most} places and words one by one, roughly as the library's default does.`);
    } else if (features.length) said.push("The columns hold two values each and are taken as they are.");
    const part = (of) => ({ columns: columns.map(({ values }) => Uint8Array.from(of, (r) => values[r])), y: of.map((r) => y[r]) });
    return { names: columns.map(({ name }) => name), classes, said, training: part(training), held: part(held) };
  }

  const csv = (names, rows) => [names, ...rows].map((row) => row.join(",")).join("\n");
  const SAMPLES = {
    "patients": () => {
      const next = random(2), rows = Array.from({ length: 240 }, () => {
        const [age, dose] = [20 + Math.floor(61 * next()), 5 + Math.floor(91 * next())];
        const ill = (age > 50) !== (dose > 55);
        return [age, dose, Math.floor(40 * next()) + 50, (next() < 0.06) === ill ? "well" : "ill"];
      });
      return csv(["age", "dose", "weight", "state"], rows);
    },
    "robots (monks)": () => {
      const rows = [];
      const word = { head: ["round", "square", "octagon"], colour: ["red", "yellow", "green", "blue"] };
      for (const head of word.head) for (const body of word.head) for (const tie of ["yes", "no"]) {
        for (const colour of word.colour) for (const holds of ["sword", "balloon", "flag"]) {
          rows.push([head, body, holds, colour, tie, head === body || colour === "red" ? "in" : "out"]);
        }
      }
      return csv(["head", "body", "holds", "jacket", "tie", "club"], rows);
    },
    "customers (mostly noise)": () => {
      const next = random(5), rows = Array.from({ length: 180 }, () => {
        const row = Array.from({ length: 5 }, () => Math.floor(100 * next()));
        return [...row, row[0] + 90 * next() > 95 ? "stays" : "leaves"];
      });
      return csv(["months", "calls", "age", "visits", "spent", "outcome"], rows);
    },
  };

  function build(box) {
    const file = element("input", { type: "file", id: "own-table", accept: ".csv,.tsv,.txt,text/csv" });
    const samples = Object.entries(SAMPLES).map(([name, make]) => button(name, () => take(make(), name)));
    const chooser = element("label", {}), notes = element("p", { class: "odt-note" });
    const result = element("div", { id: "own-table-result" });
    const trees = element("div", { class: "odt-pair" }), words = output();
    const bar = element("progress", { max: 1, value: 0 }), halt = button("Stop", stop);
    const working = controls(bar, halt), again = button("Another third", () => { seed++; solve(); });
    let table = null, fileName = "", target = 0, leaves = 8, seed = 1, end = null, last = null, waits = 0;
    const size = slider("Leaves", { min: 2, max: 16, value: leaves }, (n) => {
      leaves = n;
      clearTimeout(waits);
      waits = setTimeout(solve, 150);
    });
    const rest = element("div", { hidden: true }, controls(chooser, size, again), working, words, trees, notes);
    result.append(rest);
    box.append(element("div", { class: "odt-drop" },
      element("label", { for: "own-table" }, element("b", {}, "Your own table: "),
        "drop a CSV file here or choose one. It stays on your computer."), file,
      controls(element("span", {}, "Or take a sample:"), samples)), result);

    for (const name of ["dragover", "drop"]) {
      box.addEventListener(name, (event) => {
        event.preventDefault();
        if (name === "drop" && event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
      });
    }
    file.addEventListener("change", () => { if (file.files[0]) open(file.files[0]); });
    const open = async (chosen) => take(await chosen.text(), chosen.name);

    function say(sentence) {
      rest.hidden = false;
      working.hidden = true;
      trees.replaceChildren();
      notes.textContent = "";
      words.textContent = sentence;
    }

    function take(text, name) {
      table = readCsv(text);
      fileName = name;
      if (table.names.length < 2 || !table.rows.length) {
        return say(`${name} has no table with a line of names and at least two columns.`);
      }
      target = table.names.length - 1;
      const choice = select("Predict", table.names, (j) => { target = j; solve(); });
      choice.querySelector("select").value = target;
      chooser.replaceChildren(...choice.childNodes);
      leaves = table.rows.length * table.names.length > 100000 ? 4 : 8;
      size.set(leaves);
      solve();
    }

    function stop() {
      clearTimeout(waits);                     // of a slider that was moved just before
      end?.();
      end = null;
      working.hidden = true;
      if (last) show({ ...last, stopped: true });
    }

    function solve() {
      end?.();
      last = null;
      result.dataset.done = "false";
      delete result.dataset.errors;
      if (!table) return;
      const command = `MurTreeClassifier(max_depth=4, max_nodes=${leaves - 1}).fit(X, y)`;
      if (table.rows.length > odtCore().LIMITS.rows) {
        return say(`The table has ${count(table.rows.length, "row")}. The page takes 20,000; in Python run ${command}, or in a terminal odt try ${fileName} --target ${table.names[target]}`);
      }
      let problem;
      try {
        problem = prepare(table, target, seed);
      } catch (error) {
        return say(error.message);
      }
      if (problem.names.length > COLUMNS) {
        return say(`The table gives ${problem.names.length} columns of zeros and ones. The page takes ${COLUMNS}; in Python run ${command}`);
      }
      rest.hidden = working.hidden = false;
      bar.value = 0;
      notes.textContent = [`${problem.training.y.length} training rows, ${problem.held.y.length} held out, ${problem.names.length} columns of zeros and ones.`, ...problem.said].join(" ");
      const core = odtCore();
      end = odtCompareApart({ ...problem.training, K: problem.classes.length, leaves, depth: core.LIMITS.depth }, (seen) => {
        if (seen.error) return say(`The search stopped: ${seen.error}`);
        last = { ...last, ...seen, problem, core };
        if (seen.share !== undefined) bar.value = seen.share;
        show(last);
      });
    }

    // right, of the held-out rows, by row
    const hits = ({ core, problem: { held } }, tree) => held.y.map((c, r) => core.predict(tree, held.columns, r) === c);

    function show(found) {
      const { problem, best, cart, any, done, stopped } = found, n = problem.training.y.length;
      const sum = (list) => list.filter(Boolean).length;
      const side = (title, tree) => element("div", {}, element("b", {}, title),
        live.drawTree(tree, problem.names, problem.classes, { alt: title }),
        element("p", {}, `${count(tree.errors, "error")} on ${n} training rows, ${sum(hits(found, tree))} of ${problem.held.y.length} held-out rows right`));
      trees.replaceChildren(...[cart && side("CART", cart), best && side(done ? "Optimal" : "Best so far", best)].filter(Boolean));
      result.dataset.errors = best.errors;
      if (!done) {
        words.textContent = stopped ? `Stopped: the best tree so far makes ${count(best.errors, "error")}, without a proof.`
          : `Depth ${found.depth}: ${Math.round(100 * found.share)} % of the first tests tried.`;
        return;
      }
      working.hidden = true;
      const [a, b, c] = [best, cart, any].map((tree) => hits(found, tree));
      const only = sum(a.map((right, r) => right && !b[r])), other = sum(a.map((right, r) => !right && b[r]));
      const points = 100 * (cart.errors - best.errors) / n, more = only - other;
      const held = more > 0 ? `${more} more` : more < 0 ? `${-more} fewer` : "as many";
      const verdict = cart.errors === best.errors
        ? "It does not pay here: with so many leaves CART's tree is optimal too."
        : more > 0 && more >= 2 * Math.sqrt(only + other) ? "It pays here, if at most four questions may be asked."
          : more > 0 ? "It may pay here; a gain of so few rows can be chance. Try another third."
            : "It does not pay here: the better fit is no better on new rows.";
      words.textContent = `Does it pay here? With at most ${leaves} leaves, four questions deep, the optimal tree makes ${best.errors} errors on the training rows and CART's ${cart.errors} (${points.toFixed(1)} points). Of the held-out rows it has ${held} right. ${verdict} CART of any depth has ${any.leaves} leaves and ${sum(c)} of ${problem.held.y.length} held-out rows right, against ${sum(a)} and ${sum(b)}.`;
      result.dataset.rows = n;
      result.dataset.leaves = leaves;
      result.dataset.done = "true";
    }

    window.odtOwnTable = { readCsv, prepare };      // for the tests
  }

  live.picture("own-table", build);
})();
