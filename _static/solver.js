// Optimal decision trees over 0/1 columns, for a page: depth at most four, at most 20,000 rows.
// Chapter 5's search in small: pair counts for depth two, above it a cache, upper bounds, equal
// rows of different classes and the similarity bound. No package does this from the disk. A test
// compares it with MurTreeClassifier; live.js runs it in a worker.
// A tree is null (a leaf) or {column, zero, one}; `labelled` gives each node its counts and class.

function odtCore() {
  const LIMITS = { depth: 4, rows: 20000 };
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const bit = (line, at) => (line[at >>> 5] >>> (at & 31)) & 1;

  function popcount(v) {
    v -= (v >>> 1) & 0x55555555;
    v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
    return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
  }

  // Words for so many rows of each class. at: the place of every row.
  function layout(total) {
    const words = [0], at = [];
    for (const count of total) {
      for (let k = 0; k < count; k++) at.push(words.at(-1) * 32 + k);
      words.push(words.at(-1) + ((count + 31) >>> 5));
    }
    return { total, words, at, n: at.length, K: total.length };
  }

  function line(place, has) {
    const out = new Uint32Array(place.words.at(-1));
    place.at.forEach((at, r) => { if (has(r)) out[at >>> 5] |= 1 << (at & 31); });
    return out;
  }

  // columns: arrays of 0/1; y: classes 0 to K - 1. Columns that are constant, or an earlier one or
  // its opposite, are left out. lost: rows wrong in every tree, as more equal rows are of a class.
  function pack(columns, y, K) {
    const rows = Array.from({ length: K }, (_, c) => [...y.keys()].filter((r) => y[r] === c));
    const place = layout(rows.map((of) => of.length)), order = rows.flat();
    const ids = [], bits = [], seen = new Set();
    columns.forEach((column, j) => {
      const first = column[order[0]], made = line(place, (k) => column[order[k]] !== first);
      const key = made.join();
      if (!made.some(Boolean) || seen.has(key)) return;
      seen.add(key);
      ids.push(j);
      bits.push(first ? line(place, (k) => column[order[k]]) : made);
    });
    const groups = new Map(), group = order.map((r) => {
      const key = String.fromCharCode(...ids.map((j) => columns[j][r]));
      if (!groups.has(key)) groups.set(key, new Array(K).fill(0));
      groups.get(key)[y[r]]++;
      return groups.get(key);
    });
    const lost = line(place, (k) => y[order[k]] !== group[k].indexOf(Math.max(...group[k])));
    return { ...place, ids, bits, lost };
  }

  // The rows of T whose column i is v, with the columns that still split them.
  function restrict(T, i, v) {
    const from = T.at.filter((at) => bit(T.bits[i], at) === v), total = new Array(T.K).fill(0);
    for (const at of from) total[T.words.findIndex((word) => word * 32 > at) - 1]++;
    const place = layout(total), taken = (old) => line(place, (k) => bit(old, from[k]));
    const made = T.bits.map(taken), size = made.map((of) => sum([...of].map(popcount)));
    const kept = [...made.keys()].filter((j) => size[j] > 0 && size[j] < place.n);
    const [ids, bits] = [T.ids, made].map((of) => kept.map((j) => of[j]));
    return { ...place, ids, bits, lost: taken(T.lost) };
  }

  // Rows of each class that have both columns j <= k, and column i: out[(j * p + k) * K + c].
  // known[j]: the same counts with column j in place of i, which need no words.
  function pairs(T, out, i = -1, known = []) {
    const { K, words, bits } = T, p = bits.length;
    const mine = i < 0 ? bits : bits.map((of) => of.map((v, w) => v & bits[i][w]));
    for (let j = 0; j < p; j++) {
      for (let k = j; k < p; k++) {
        const into = (j * p + k) * K, old = known[j] ?? known[k];
        if (old) {
          const other = known[j] ? k : j, from = (i < other ? i * p + other : other * p + i) * K;
          for (let c = 0; c < K; c++) out[into + c] = old[from + c];
          continue;
        }
        const a = mine[j], b = bits[k];
        for (let c = 0; c < K; c++) {
          let count = 0;
          for (let w = words[c], end = words[c + 1]; w < end; w++) count += popcount(a[w] & b[w]);
          out[into + c] = count;
        }
      }
    }
    return out;
  }

  // The best trees of depth two with 0 to 3 feature nodes, from the pair counts P, or all - P.
  function depthTwo(P, all, total, p, K, ids) {
    const own = new Int32Array(p * K), [leaf0, leaf1] = [new Int32Array(p), new Int32Array(p)];
    for (let j = 0; j < p; j++) {     // rows that are right: a leaf predicts its largest class
      for (let c = 0; c < K; c++) {
        const at = (j * p + j) * K + c, a = own[j * K + c] = all ? all[at] - P[at] : P[at];
        leaf1[j] = Math.max(leaf1[j], a);
        leaf0[j] = Math.max(leaf0[j], total[c] - a);
      }
    }
    const [zero, one] = [leaf0.slice(), leaf1.slice()];
    const [at0, at1] = [new Int32Array(p).fill(-1), new Int32Array(p).fill(-1)];
    for (let j = 0; j < p; j++) {
      for (let k = j + 1, base = (j * p + k) * K; k < p; k++, base += K) {
        let m11 = 0, m10 = 0, m01 = 0, m00 = 0;
        for (let c = 0; c < K; c++) {
          const n11 = all ? all[base + c] - P[base + c] : P[base + c];
          const n10 = own[j * K + c] - n11, n01 = own[k * K + c] - n11;
          const n00 = total[c] - n11 - n10 - n01;
          m11 = Math.max(m11, n11); m10 = Math.max(m10, n10);
          m01 = Math.max(m01, n01); m00 = Math.max(m00, n00);
        }
        if (m11 + m10 > one[j]) { one[j] = m11 + m10; at1[j] = k; }
        if (m01 + m00 > zero[j]) { zero[j] = m01 + m00; at0[j] = k; }
        if (m11 + m01 > one[k]) { one[k] = m11 + m01; at1[k] = j; }
        if (m10 + m00 > zero[k]) { zero[k] = m10 + m00; at0[k] = j; }
      }
    }
    const test = (j, zero = null, one = null) => (j < 0 ? null : { column: ids[j], zero, one });
    const best = [[Math.max(...total), -1, -1, -1]];
    for (let m = 1; m < 4; m++) {
      best.push(best[m - 1]);
      for (let j = 0; j < p; j++) {
        const forms = m === 1 ? [[leaf0[j] + leaf1[j], j, -1, -1]] : m === 3
          ? [[zero[j] + one[j], j, at0[j], at1[j]]]
          : [[zero[j] + leaf1[j], j, at0[j], -1], [leaf0[j] + one[j], j, -1, at1[j]]];
        for (const form of forms) if (form[0] > best[m][0]) best[m] = form;
      }
    }
    return best.map(([right, j, a, b]) =>
      ({ errors: sum(total) - right, tree: test(j, test(a), test(b)) }));
  }

  // The search: {errors, tree, counts}, and no tree of that depth with so many feature nodes makes
  // fewer errors. start: a tree to beat; use: bounds to switch off; told(what happens);
  // early(the best so far, share of the root's columns done).
  function solve(T, { depth = 3, nodes = Infinity, start = null, use = {}, told, early } = {}) {
    const on = { pairs: true, cache: true, similarity: true, equal: true, upper: true, ...use };
    const counts = { subproblems: 0, counted: 0, hits: 0, upper: 0, similarity: 0, equal: 0 };
    const cache = new Map(), base = 2 * Math.max(0, ...T.ids) + 3;
    const tell = (kind, path, rest) => { if (told) told({ kind, path, ...rest }); };
    const opened = (path, nodes, upper) =>
      tell("open", path, { turn: ++counts.subproblems, nodes, upper });
    // What is known of the rows that pass some tests, in whatever order these were made.
    const known = (path) => {
      const key = path.map(([j, v]) => 2 * j + v + 1).sort((a, b) => a - b)
        .reduce((key, literal) => key * base + literal, 0);
      const entry = (on.cache && cache.get(key)) || { lower: [], exact: [] };
      cache.set(key, entry);
      return entry;
    };

    // The best tree over T with fewer errors than `upper`, or a lower bound that is no lower.
    function best(T, depth, nodes, upper, path) {
      nodes = Math.min(nodes, 2 ** depth - 1);
      opened(path, nodes, upper);
      const { K, n, total, bits, ids } = T, p = ids.length, leaf = n - Math.max(...total);
      if (leaf === 0 || nodes === 0 || p === 0) return { errors: leaf, tree: null };
      const P = pairs(T, new Int32Array(p * p * K));
      counts.counted++;
      if (depth < (on.pairs ? 3 : 2)) return depthTwo(P, null, total, p, K, ids)[nodes];
      const both = (j, k, at = (j < k ? j * p + k : k * p + j) * K, size = 0) => {
        for (let c = 0; c < K; c++) size += P[at + c];
        return size;
      };
      const ones = ids.map((_, j) => both(j, j)), cap = 2 ** (depth - 1) - 1, done = [];
      const ofClass = (j, c) => P[(j * p + j) * K + c];
      const outside = (i, v, j, u) => {         // rows with column i = v that have not column j = u
        const common = both(i, j), mine = v ? ones[i] : n - ones[i];
        return mine - (v ? (u ? common : ones[i] - common)
          : (u ? ones[j] - common : n - ones[i] - ones[j] + common));
      };
      const lost = (of) => of.reduce((size, v, w) => size + popcount(v & T.lost[w]), 0);
      const sides = ids.map((id, i) => [0, 1].map((v) => ({ i, v, seen: 0, like: [],
        entry: known([...path, [id, v]]), equal: lost(v ? bits[i] : bits[i].map((b) => ~b)) })));

      // A lower bound of a side, and why: it is like a side that is known but for a few rows.
      const bound = (s, m) => {
        let value = on.equal ? s.equal : 0, why = value ? "equal" : "upper";
        for (; on.similarity && s.seen < done.length; s.seen++) {
          const other = done[s.seen], apart = outside(other.i, other.v, s.i, s.v);
          other.entry.lower.forEach((l, k) => { s.like[k] = Math.max(s.like[k] ?? 0, l - apart); });
        }
        for (let k = m; k <= cap; k++) {        // fewer nodes make no fewer errors
          if (s.entry.lower[k] > value) [value, why] = [s.entry.lower[k], "upper"];
          if (s.like[k] > value) [value, why] = [s.like[k], "similarity"];
        }
        return [value, why];
      };

      const stored = [];
      const countsWith = (i) => {
        if (!stored[i]) {
          if (p ** 3 * K > 2 ** 24) stored.length = 0;    // there is no room for all of them
          stored[i] = pairs(T, new Int32Array(P.length), i, stored);
          counts.counted++;
        }
        return stored[i];
      };
      const solved = (s, m, upper) => {
        const { entry, i, v } = s, here = [...path, [ids[i], v]];
        if (entry.exact[m]) {
          counts.hits++;
          tell("hit", here, { nodes: m, ...entry.exact[m] });
          return entry.exact[m];
        } else if (depth === 3 && on.pairs) {
          opened(here, m, upper);
          entry.exact = depthTwo(countsWith(i), v ? null : P,
            total.map((all, c) => (v ? ofClass(i, c) : all - ofClass(i, c))), p, K, ids);
          entry.lower = entry.exact.map(({ errors }) => errors);
        } else {
          const found = best(restrict(T, i, v), depth - 1, m, on.upper ? upper : Infinity, here);
          if (found.tree !== undefined) entry.exact[m] = found;
          entry.lower[m] = Math.max(entry.lower[m] ?? 0, found.errors);
        }
        done.push(s);
        const result = entry.exact[m] ?? { errors: entry.lower[m] };
        tell("solved", here, { nodes: m, upper, ...result });
        return result;
      };

      const gini = ids.map((_, i) => total.reduce((rest, all, c) =>
        rest - ofClass(i, c) ** 2 / ones[i] - (all - ofClass(i, c)) ** 2 / (n - ones[i]), 0));
      const order = [...ids.keys()].sort((a, b) => gini[a] - gini[b]);
      let low = leaf, found = leaf < upper ? { errors: leaf, tree: null } : { errors: upper };
      order.forEach((i, turn) => {
        const [s0, s1] = sides[i];
        for (let l = Math.max(0, nodes - 1 - cap); l <= Math.min(cap, nodes - 1); l++) {
          const stop = on.upper ? found.errors : Infinity, r = nodes - 1 - l;
          let [[b0, why0], [b1, why]] = [bound(s0, l), bound(s1, r)];
          if (b0 > b1) why = why0;
          if (b0 + b1 < stop) [b1, why] = [solved(s1, r, stop - b0).errors, "upper"];
          if (b0 + b1 < stop) b0 = solved(s0, l, stop - b1).errors;
          else {
            counts[why]++;
            tell("pruned", path, { column: ids[i], bound: b0 + b1, stop, why });
          }
          low = Math.min(low, b0 + b1);
          if (b0 + b1 >= found.errors) continue;
          found = { errors: b0 + b1,
            tree: { column: ids[i], zero: s0.entry.exact[l].tree, one: s1.entry.exact[r].tree } };
          tell("better", path, found);
        }
        if (early && !path.length) early(found, (turn + 1) / p);
      });
      return found.tree === undefined ? { errors: low } : found;
    }
    const found = best(T, depth, nodes, start ? start.errors : Infinity, []);
    return { ...(found.tree === undefined ? start : found), counts };
  }

  // CART: the leaf whose best split lowers the Gini impurity most is split next.
  function cart(T, leaves, depth) {
    const size = (of, mask) => T.total.map((_, c) => {
      let count = 0;
      for (let w = T.words[c]; w < T.words[c + 1]; w++) count += popcount(of[w] & mask[w]);
      return count;
    });
    const impurity = (of) => sum(of) - sum(of.map((v) => v * v)) / Math.max(1, sum(of));
    const open = [], root = { tree: null };
    const consider = (parent, branch, mask, level) => {
      const mine = size(mask, mask), now = impurity(mine);
      const leaf = { parent, branch, mask, level, gain: -1 };
      if (now < 1e-9 || level === depth) return;
      T.bits.forEach((of, at) => {
        const one = size(of, mask), zero = mine.map((v, c) => v - one[c]);
        const gain = now - impurity(one) - impurity(zero);
        if (sum(one) && sum(zero) && gain > leaf.gain + 1e-9) Object.assign(leaf, { gain, at });
      });
      if (leaf.gain > -1) open.push(leaf);
    };
    consider(root, "tree", line(T, () => true), 0);
    for (let made = 1; made < leaves && open.length; made++) {
      const { parent, branch, mask, level, at } = open.sort((a, b) => b.gain - a.gain).shift();
      const node = parent[branch] = { column: T.ids[at], zero: null, one: null };
      consider(node, "zero", mask.map((v, w) => v & ~T.bits[at][w]), level + 1);
      consider(node, "one", mask.map((v, w) => v & T.bits[at][w]), level + 1);
    }
    return root.tree;
  }

  // A leaf predicts its largest class, the first of equals; an empty one that of its parent.
  function labelled(tree, columns, y, K, rows = [...y.keys()], above = 0) {
    const counts = new Array(K).fill(0);
    for (const r of rows) counts[y[r]]++;
    const label = rows.length ? counts.indexOf(Math.max(...counts)) : above;
    if (!tree) return { counts, label, errors: rows.length - counts[label], leaves: 1 };
    const [zero, one] = [tree.zero, tree.one].map((part, v) => labelled(part, columns, y, K,
      rows.filter((r) => +columns[tree.column][r] === v), label));
    return { column: tree.column, zero, one, counts, label, errors: zero.errors + one.errors,
      leaves: zero.leaves + one.leaves };
  }

  const predict = (tree, columns, r) => !tree.zero ? tree.label
    : predict(columns[tree.column][r] ? tree.one : tree.zero, columns, r);

  return { LIMITS, pack, solve, cart, labelled, predict };
}
