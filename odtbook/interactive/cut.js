// Rows of two classes, and the first cut of a tree of depth two to drag.
(box, data) => {
  const find = (selector) => box.querySelector(selector);
  const svg = find("svg[role]"), axis = find("select"), slider = find("input");
  const said = find("output"), [toCart, toBest] = box.querySelectorAll("button");
  const [wide, high] = data.size;
  const errors = (n) => `${n} error${n === 1 ? "" : "s"}`;
  const short = (t) => +t.toPrecision(4);

  function draw() {
    const f = +axis.value, cut = data.cuts[f][+slider.value];
    for (const part of box.querySelectorAll("[data-axis]")) {
      part.style.display = +part.dataset.axis === f ? "" : "none";
    }
    find('[data-part="regions"]').innerHTML = cut.leaves.map(([a, c, b, d, label]) =>
      `<rect x="${wide * a}" y="${high * (1 - d)}" width="${wide * (b - a)}" ` +
      `height="${high * (d - c)}" fill="${data.colors[label]}" fill-opacity="0.22"/>`).join("");
    find('[data-part="cut"]').setAttribute("d", `M${wide * cut.at},-4 V${data.foot}`);
    const test = `${data.names[f]} ≤ ${short(cut.t)}`;
    const [best, cart] = [data.best, data.cart].map(([j, k]) => data.cuts[j][k]);
    const isCart = data.cart[0] === f && data.cart[1] === +slider.value;
    let words = `${test} first: the best tree of depth two that begins so makes ` +
      `${errors(cut.errors)} on ${data.rows} rows. `;
    if (isCart) {
      words += `CART begins here, where Gini is lowest, and its own tree makes ` +
        `${errors(data.greedy)}. It never looks back.`;
    } else if (cut.errors === best.errors) {
      words += "No tree of depth two makes fewer: this is the optimum.";
    } else {
      words += `From CART's cut it is ${cart.errors}, from the best one ${best.errors}.`;
    }
    said.textContent = words;
    slider.setAttribute("aria-valuetext", `${test}, ${errors(cut.errors)}`);
  }

  function go([f, k]) {
    axis.value = f;
    slider.max = data.cuts[f].length - 1;
    slider.value = k;
    draw();
  }

  function drag(event) {
    const frame = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
    const at = (view.x + (event.clientX - frame.left) / frame.width * view.width) / wide;
    const cuts = data.cuts[+axis.value];
    let near = 0;
    cuts.forEach((cut, k) => { if (Math.abs(cut.at - at) < Math.abs(cuts[near].at - at)) near = k; });
    slider.value = near;
    draw();
  }

  svg.style.touchAction = "pan-y";
  svg.style.cursor = "ew-resize";
  svg.addEventListener("pointerdown", (event) => { svg.setPointerCapture(event.pointerId); drag(event); });
  svg.addEventListener("pointermove", (event) => { if (svg.hasPointerCapture(event.pointerId)) drag(event); });
  axis.addEventListener("change", () => {
    const f = +axis.value;
    go([f, data.cuts[f].length >> 1]);
  });
  slider.addEventListener("input", draw);
  toCart.addEventListener("click", () => go(data.cart));
  toBest.addEventListener("click", () => go(data.best));
  draw();
}
