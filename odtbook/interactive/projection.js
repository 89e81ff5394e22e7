// A point to drag, and its projection. Projections were computed before, on a lattice of points.
(box, lattice) => {
  const svg = box.querySelector("svg"), said = box.querySelector("output");
  const [first, second] = box.querySelectorAll("input");
  const [point, image, line] = ["point", "image", "line"].map(
    (name) => svg.querySelector(`[data-part="${name}"]`));
  const short = (number) => +number.toFixed(2) + 0;
  const { ticks, nearest, size } = lattice;
  const share = (at) => (at - ticks[0]) / (ticks.at(-1) - ticks[0]);
  const onScreen = ([u, v]) => [size * share(u), size * (1 - share(v))];

  function draw() {
    const i = +first.value, k = +second.value;
    const from = [ticks[i], ticks[k]], to = nearest[i * ticks.length + k];
    const [a, b] = [onScreen(from), onScreen(to)];
    point.setAttribute("cx", a[0]); point.setAttribute("cy", a[1]);
    image.setAttribute("cx", b[0]); image.setAttribute("cy", b[1]);
    for (const [name, number] of [["x1", a[0]], ["y1", a[1]], ["x2", b[0]], ["y2", b[1]]]) {
      line.setAttribute(name, number);
    }
    const far = Math.hypot(from[0] - to[0], from[1] - to[1]);
    said.textContent = `(${from.map(short).join(", ")}) goes to (${to.map(short).join(", ")}), ` +
      (far < 1e-9 ? "it is feasible." : `${short(far)} away.`);
    first.setAttribute("aria-valuetext", short(from[0]));
    second.setAttribute("aria-valuetext", short(from[1]));
  }

  function drag(event) {
    const frame = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
    const x = view.x + (event.clientX - frame.left) / frame.width * view.width;
    const y = view.y + (event.clientY - frame.top) / frame.height * view.height;
    first.value = Math.round(x / size * (ticks.length - 1));
    second.value = Math.round((1 - y / size) * (ticks.length - 1));
    draw();
  }

  svg.style.touchAction = "none";
  svg.addEventListener("pointerdown", (event) => {
    svg.setPointerCapture(event.pointerId);
    drag(event);
  });
  svg.addEventListener("pointermove", (event) => {
    if (svg.hasPointerCapture(event.pointerId)) drag(event);
  });
  first.addEventListener("input", draw);
  second.addEventListener("input", draw);
  draw();
}
