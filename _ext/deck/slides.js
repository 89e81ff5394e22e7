// Opens a deck: formulas are typeset, what does not fit goes on to another slide, reveal.js starts.
(async () => {
  const WIDTH = 1120, HEIGHT = 700, SPARE = 10, deck = document.querySelector(".slides");

  // Write a part smaller while it leaves its slide.
  function shrink(part, leaves) {
    for (let size = 0.95; leaves() && size > 0.5; size -= 0.05) part.style.fontSize = `${size}em`;
  }

  // Move the last parts of a slide to one behind it until both fit.
  function divide(slide) {
    const parts = [...slide.children].filter((part) => !part.matches("h1, h2, aside"));
    const later = [];
    const wide = (part) => part.scrollWidth > part.clientWidth;
    for (const part of parts) shrink(part, () => wide(part));
    while (slide.scrollHeight > HEIGHT - SPARE && parts.length > 1) {
      later.unshift(parts.pop());
      later[0].remove();
    }
    if (parts.length === 1) shrink(parts[0], () => wide(parts[0]) || slide.scrollHeight > HEIGHT - SPARE);
    if (!later.length) return;
    const next = document.createElement("section");
    for (const part of [slide.querySelector("h1, h2"), slide.querySelector("aside")]) {
      next.append(part.cloneNode(true));
    }
    next.lastChild.before(...later);
    slide.after(next);
    divide(next);
  }

  document.documentElement.dataset.theme =        // for the colours of code
    matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  deck.classList.add("measured");
  deck.style.width = `${WIDTH}px`;
  await MathJax.startup.promise;
  await MathJax.typesetPromise();
  await Promise.all([...document.images].map((image) => image.decode().catch(() => {})));
  [...deck.children].forEach(divide);
  deck.classList.remove("measured");
  deck.style.removeProperty("width");
  await Reveal.initialize({ width: WIDTH, height: HEIGHT, margin: 0.08, center: false, hash: true,
    slideNumber: "c/t", transition: "none", scrollActivationWidth: null, plugins: [RevealNotes],
    keyboardCondition: () => !document.activeElement.closest(".odt-live-picture, .output") });
  document.documentElement.dataset.deck = "ready";
})();
